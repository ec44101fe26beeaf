"""The kernels of NumPy that compute operations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from ...core import AbstractValue, Primitive, infer
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
        return None, _in_host_memory(infer(primitive, params, tuple(avals))[0])
    key = primitive, parameters, avals
    known = _applications[key]
    return _applications.add(key, _prepare(primitive, params, avals)) if known is missing else known


def _prepare(primitive: Primitive, params: dict[str, Any], avals: tuple[Any, ...]) -> _Application:
    out_avals, _ = infer(primitive, params, tuple(avals))
    kernel = kernel_of(primitive, avals, params)
    if are_large(out_avals):
        kernel = pooled(kernel or partial(primitive.evaluate, **params))
    return kernel, _in_host_memory(out_avals)


def _in_host_memory(avals: tuple[Any, ...]) -> tuple[Any, ...]:
    """The avals of results that lie in host memory, not on the mesh that types may speak of."""
    if not any([aval.is_on_mesh for aval in avals]):
        return avals
    return tuple([aval.update(sharding=None) if aval.is_on_mesh else aval for aval in avals])


_applications: MemoTable[_Application] = MemoTable()
