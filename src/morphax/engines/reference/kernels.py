"""The kernels of NumPy that compute operations, and calls of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from types import BuiltinFunctionType
from typing import Any, final

import numpy as np

from ...array import Array
from ...core import Effects, Primitive, high_types, infer
from ...runtime.current_mesh import mesh_with_axes
from ...runtime.named_sharding import named
from ...util.host_memory import MANY, pooled
from ...util.memo import MemoTable, missing
from ...util.parameter_keys import params_key
from ...util.threads import WORTH_SHARING, shared
from ..addressable import check_addressable
from .float_errors import ignore_float_errors, restore_float_errors
from .fusion import OPERATIONS, single_operation

Collect = Callable[[list[Array]], Any]


@final
class KernelCall:
    """A function of NumPy arrays that makes arrays of known types.

    Args:
        function: of the operands' numbers.
        avals: of its results.
        collect: makes the result of the Arrays, where it is not the only one of them.
        is_plain: whether to call the function is all there is to do.
    """

    __slots__ = ("_aval", "_collect", "avals", "function", "is_plain")

    def __init__(
        self,
        function: Callable[..., Any],
        avals: Sequence[Any],
        collect: Collect | None,
        is_plain: bool = True,
    ) -> None:
        self.function = function
        self.avals = tuple(avals)
        self.is_plain = is_plain
        self._aval = self.avals[0] if collect is None else None
        self._collect = collect

    def __call__(self, operands: Sequence[np.ndarray[Any, Any]]) -> Any:
        setting = ignore_float_errors()
        try:
            result = self.function(*operands)
        finally:
            restore_float_errors(setting)
        if self._aval is not None:
            return Array(self._aval, np.asarray(result))
        assert self._collect is not None, "there is no one result"
        return self._collect(list(map(Array, self.avals, map(np.asarray, result))))


def are_large(avals: Iterable[Any]) -> bool:
    """Whether some results have so many elements that their memory is to come from our pool.

    Raises:
        ValueError: no memory has room for one of them.
    """
    large = [aval for aval in avals if aval.size >= MANY]
    for aval in large:
        check_addressable("evaluation", aval, aval.size * aval.dtype.itemsize)
    return bool(large)


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


def application(primitive: Primitive, params: dict[str, Any], avals: tuple[Any, ...]) -> KernelCall:
    """The kernel of one application, and the avals of its results."""
    parameters = params_key(params) if params else ()
    if parameters is None:
        # Such parameters are no key of a table, nor of the tables that kernels may have.
        return _prepare(primitive, params, avals, partial(primitive.evaluate, **params))
    key = primitive, parameters, avals
    known = applications[key]
    return applications.add(key, _prepare(primitive, params, avals)) if known is missing else known


def _prepare(
    primitive: Primitive,
    params: dict[str, Any],
    avals: tuple[Any, ...],
    function: Callable[..., Any] | None = None,
) -> KernelCall:
    out_avals, effects = infer(primitive, params, tuple(avals))
    if _is_high(avals, out_avals, effects):
        return KernelCall(of_high_types, out_avals, list, is_plain=False)
    return _call(function or kernel_or_rule(primitive, avals, params), primitive, out_avals)


def kernel_or_rule(
    primitive: Primitive, avals: Sequence[Any], params: dict[str, Any]
) -> Callable[..., Any]:
    """What computes an operation of one signature: its kernel or, without one, its `evaluate`."""
    kernel = kernel_of(primitive, avals, params)
    if avals and max([aval.size for aval in avals]) >= WORTH_SHARING:
        kernel = _of_many(kernel, primitive, avals, params)
    return kernel or (partial(primitive.evaluate, **params) if params else primitive.evaluate)


def _of_many(
    kernel: Callable[..., Any] | None,
    primitive: Primitive,
    avals: Sequence[Any],
    params: dict[str, Any],
) -> Callable[..., Any] | None:
    """The kernel for many numbers, which several threads share if it is of one by one."""
    if isinstance(kernel, np.ufunc):
        return shared(kernel, avals)
    # Kernels of ours see to it themselves.
    if primitive.fused is None or isinstance(kernel, BuiltinFunctionType):
        return kernel
    name = primitive.fused(*avals, **params)
    if name not in OPERATIONS:
        return kernel
    results: Any = infer(primitive, params, tuple(avals))[0]
    return single_operation(name, avals, dtype=results[0].dtype) or kernel


def _call(function: Callable[..., Any], primitive: Primitive, avals: tuple[Any, ...]) -> KernelCall:
    if are_large(avals):
        function = pooled(function)
    on_mesh = any([aval.is_on_mesh and aval.split is not None for aval in avals])
    if on_mesh:
        function = partial(_on_mesh, function, primitive, avals)
    is_plain = primitive.execute is None and primitive.process_eval is None and not on_mesh
    return KernelCall(function, avals, list if primitive.multiple_results else None, is_plain)


def _on_mesh(
    function: Callable[..., Any], primitive: Primitive, avals: tuple[Any, ...], *operands: Any
) -> Any:
    """The results of an operation, some of which go to the mesh that their types speak of."""
    result = function(*operands)
    if primitive.multiple_results:
        return list(map(_placed, result, avals))
    return _placed(result, avals[0])


def _placed(result: Any, aval: Any) -> Array:
    host = Array(aval.update(sharding=None), np.asarray(result))
    mesh = None if aval.split is None else mesh_with_axes(aval.split.mesh)
    return host if mesh is None else named(aval.split, mesh).distribute(host)


applications: MemoTable[KernelCall] = MemoTable()
"""By primitive, parameters and avals of the operands."""
