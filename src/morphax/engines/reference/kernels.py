"""The kernels of NumPy that compute operations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...array import Array
from ...core import AbstractValue, Effects, Primitive, high_types, infer
from ...runtime.current_mesh import mesh_with_axes
from ...runtime.named_sharding import named
from ...util.host_memory import MANY, pooled
from ...util.memo import MemoTable, missing
from ...util.parameter_keys import params_key


def are_large(avals: Iterable[Any]) -> bool:
    """Whether some results have so many elements that their memory is to come from our pool."""
    return any([aval.size >= MANY for aval in avals])


def of_high_types(*operands: Any) -> Any:
    """Stands for the kernel of an operation that is carried out by its rule `to_lojax`."""
    raise AssertionError("an operation on high types is lowered, it has no kernel")


def kernel_of(
    primitive: Primitive, avals: Sequence[Any], params: dict[str, Any]
) -> Callable[..., Any] | None:
    """The kernel for one signature, if there is one."""
    return None if primitive.kernel is None else primitive.kernel(*avals, **params)


def _is_high(avals: Sequence[Any], out_avals: Sequence[Any], effects: Effects) -> bool:
    return high_types <= effects or any([aval.is_high for aval in (*avals, *out_avals)])


_Application = tuple[Callable[..., Any] | None, tuple[AbstractValue, ...]]


def application(
    primitive: Primitive, params: dict[str, Any], avals: tuple[Any, ...]
) -> _Application:
    """The kernel of one application, if there is one, and the avals of its results."""
    parameters = params_key(params) if params else ()
    if parameters is None:
        out_avals, effects = infer(primitive, params, avals)
        kernel = of_high_types if _is_high(avals, out_avals, effects) else None
        return _on_mesh(kernel, primitive, params, out_avals)
    key = primitive, parameters, avals
    known = _applications[key]
    return _applications.add(key, _prepare(primitive, params, avals)) if known is missing else known


def _prepare(primitive: Primitive, params: dict[str, Any], avals: tuple[Any, ...]) -> _Application:
    out_avals, effects = infer(primitive, params, tuple(avals))
    if _is_high(avals, out_avals, effects):
        return of_high_types, out_avals
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
