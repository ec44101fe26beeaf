"""The kernels of NumPy that compute operations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...array import Array
from ...core import AbstractValue, Primitive, infer
from ...runtime.current_mesh import mesh_with_axes
from ...runtime.named_sharding import named
from ...util.host_memory import MANY, pooled
from ...util.memo import MemoTable, missing
from ...util.parameter_keys import params_key


def are_large(avals: Iterable[Any]) -> bool:
    """Whether some results have so many elements that their memory is to come from our pool."""
    return any([aval.size >= MANY for aval in avals])


def kernel_of(
    primitive: Primitive, avals: Sequence[Any], params: dict[str, Any]
) -> Callable[..., Any] | None:
    """The kernel for one signature, if there is one."""
    return None if primitive.kernel is None else primitive.kernel(*avals, **params)


_Application = tuple[Callable[..., Any] | None, tuple[AbstractValue, ...]]


def application(
    primitive: Primitive, params: dict[str, Any], avals: tuple[Any, ...]
) -> _Application:
    """The kernel of one application, if there is one, and the avals of its results."""
    parameters = params_key(params) if params else ()
    if parameters is None:
        return _on_mesh(None, primitive, params, infer(primitive, params, tuple(avals))[0])
    key = primitive, parameters, avals
    known = _applications[key]
    return _applications.add(key, _prepare(primitive, params, avals)) if known is missing else known


def _prepare(primitive: Primitive, params: dict[str, Any], avals: tuple[Any, ...]) -> _Application:
    out_avals, _ = infer(primitive, params, tuple(avals))
    kernel = kernel_of(primitive, avals, params)
    if are_large(out_avals):
        kernel = pooled(kernel or partial(primitive.evaluate, **params))
    return _on_mesh(kernel, primitive, params, out_avals)


def _on_mesh(
    kernel: Callable[..., Any] | None,
    primitive: Primitive,
    params: dict[str, Any],
    avals: tuple[Any, ...],
) -> _Application:
    """An application, some of whose results go to the mesh that their types speak of."""
    if not any([aval.is_on_mesh and aval.split is not None for aval in avals]):
        return kernel, avals
    compute = kernel or partial(primitive.evaluate, **params)

    def place(*operands: Any) -> Any:
        result = compute(*operands)
        if primitive.multiple_results:
            return list(map(_placed, result, avals))
        return _placed(result, avals[0])

    return place, avals


def _placed(result: Any, aval: Any) -> Array:
    host = Array(aval.update(sharding=None), np.asarray(result))
    mesh = None if aval.split is None else mesh_with_axes(aval.split.mesh)
    return host if mesh is None else named(aval.split, mesh).distribute(host)


_applications: MemoTable[_Application] = MemoTable()
