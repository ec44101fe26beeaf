"""Shapes and dtypes of values: as values, and taken over from others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, final

import numpy as np

from ... import dtypes
from ...core import (
    AxisFlow,
    BatchAxes,
    Primitive,
    Tracer,
    aval_of,
    current_trace,
    is_value,
    same_axes,
)
from ...core.dims import SymbolicDim
from ...engines.xla.stablehlo import Builder, Value
from ...util.messages import conversion_of, described, message
from ..elementwise.convert import convert
from ..ground.axes import integer, members
from .filling import size_value
from .joining import concatenate
from .shape_operations import broadcast_in_dim, reshape


def broadcast_like(arr: Any, like_arr: Any) -> Any:
    """`arr`, broadcast to the shape of `like_arr` by NumPy's rules; it keeps its dtype.

    Raises:
        ValueError: the shapes do not fit.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.lax.broadcast_like(jnp.arange(2), jnp.zeros((3, 2))).shape
        (3, 2)
    """
    shape, own = aval_of(like_arr).shape, aval_of(arr).shape
    first = len(shape) - len(own)
    if first < 0 or any(n not in (1, m) for n, m in zip(own, shape[first:], strict=True)):
        raise ValueError(
            message(
                "lax.broadcast_like",
                given=f"shape {own} to be broadcast to {shape}",
                expected="sizes that agree or are 1, axes counted from the last",
                fix="Insert axes of size 1 where arr should be repeated.",
            )
        )
    return broadcast_in_dim(arr, shape, tuple(range(first, len(shape))))


def dtype(x: Any) -> Any:
    """The dtype of a value, or that a name or scalar type stands for.

    Raises:
        ValueError: `x` is `None`.
        TypeError: `x` has no dtype.

    Example:
        >>> import morphax as jax
        >>> jax.lax.dtype(1.5)
        dtype('float32')
    """
    if is_value(x):
        return aval_of(x).dtype
    if isinstance(x, (str, type, np.dtype)) or hasattr(x, "dtype"):
        return dtypes.result_type(x)
    error = ValueError if x is None else TypeError
    raise error(
        message(
            "lax.dtype",
            given=described(x),
            expected="an array, a scalar, or a dtype",
            fix=conversion_of(x),
        )
    )


@final
class Stage(Primitive):
    """x as a value of the current trace: it is there at once, and no program has an equation of it.

    The rules are those of the identity.
    """

    name = "stage"
    linear = True

    def bind(self, *operands: Any, **params: Any) -> Any:
        (x,) = operands
        return x if isinstance(x, Tracer) else current_trace().constant(x)

    def abstract_eval(self, x: Any) -> Any:
        return x

    def axis_flow(self, x: Any) -> AxisFlow:
        return same_axes(x)

    def evaluate(self, x: Any) -> Any:
        return x

    def lower(self, b: Builder, out: Any, x: Value) -> Value:
        return x

    def transpose(self, ct: Any, x: Any) -> list[Any]:
        return [ct]

    def batch(
        self, axes: BatchAxes, operands: Sequence[Any], dims: Sequence[Any]
    ) -> tuple[Any, Any]:
        return operands[0], dims[0]


stage_p = Stage()


def stage(x: Any, /) -> Any:
    """`x` as an array: a tracer of the program that is being traced, if there is one.

    Raises:
        TypeError: `x` is no array of numbers, and no number.

    Example:
        >>> import morphax as jax
        >>> jax.make_jaxpr(lambda: jax.lax.stage(2.0))()
        { lambda ; . let  in (2.0:f32[],) }
    """
    if not is_value(x):
        raise TypeError(
            message(
                "lax.stage",
                given=described(x),
                expected="an array or a number",
                fix=conversion_of(x),
            )
        )
    return stage_p.bind(x)


def shape_as_value(shape: Iterable[Any]) -> Any:
    """A shape as a vector of integers; its sizes may be traced or symbolic.

    Raises:
        TypeError: a size is no integer.

    Example:
        >>> import morphax as jax
        >>> jax.lax.shape_as_value((2, 3))
        Array([2, 3], dtype=int32)
    """
    where = "lax.shape_as_value, argument shape"
    sizes = members(where, shape, "a sequence of sizes")
    dtype = dtypes.canonicalize(np.int64)
    if not any([isinstance(n, (Tracer, SymbolicDim)) for n in sizes]):
        numbers = [integer(where, n) for n in sizes]
        return current_trace().constant(np.array(numbers, dtype))
    each = [convert(n, dtype) if isinstance(n, Tracer) else size_value(n, dtype) for n in sizes]
    return concatenate([reshape(n, (1,)) for n in each], 0)
