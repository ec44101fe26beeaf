"""Arrays made of nothing but a shape: filled with one value, counted through, or left empty."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import Any, final

import numpy as np

from ... import dtypes
from ...array import Array
from ...core import (
    AbstractSharding,
    AxisFlow,
    BatchAxes,
    Primitive,
    ShapedArray,
    Tracer,
    aval_of,
    carries_aval,
    like,
    not_batchable,
    not_differentiable,
    not_linear,
    same_axes,
)
from ...core.dims import Dim, SymbolicDim
from ...core.partition_spec import PartitionSpec
from ...core.values import computed
from ...dtypes.numbers import host_scalar
from ...engines import loops
from ...engines.xla.stablehlo import Builder, Value
from ...errors import ShapeError
from ...runtime.named_sharding import NamedSharding
from ...runtime.sharding import Sharding
from ...util.messages import message
from ..elementwise.convert import convert, converted
from ..ground.axes import canonical_shape, integer
from ..ground.kinds import NUMBER
from ..ground.linear_structure import broadcast_in_dim_p
from ..ground.out_sharding import check_kind, says_nothing
from ..ground.placing import device_put
from .resharding import laid_out, resharded


class Nullary(Primitive):
    """Operations without operands: there is nothing to differentiate or to batch."""

    jvp = not_differentiable("it has no operands")
    transpose = not_linear("it has no operands")
    batch = not_batchable("it has no operands")


@final
class Iota(Nullary):
    """0, 1, 2, … along the axis `dimension`."""

    name = "iota"
    narrow_in_loops = "rounded"

    def abstract_eval(
        self, *, dtype: Any, shape: Any, dimension: Any, sharding: Any
    ) -> ShapedArray:
        if dtype not in NUMBER:
            raise TypeError(
                message(
                    "lax.iota, argument dtype",
                    given=f"{dtype}",
                    expected="an integer, floating or complex dtype",
                    fix="Count in int32 and convert the result.",
                )
            )
        if not 0 <= dimension < len(shape):
            raise np.exceptions.AxisError(
                message(
                    "lax.iota, argument dimension",
                    given=f"{dimension} for shape {shape}",
                    expected=f"an axis in [0, {len(shape)})",
                    fix="Count axes from 0 at the front.",
                )
            )
        return like(shape=shape, dtype=dtype, sharding=sharding)

    def evaluate(self, *, dtype: Any, shape: Any, dimension: Any, sharding: Any) -> Any:
        counted = _counted(shape[dimension], dtype)
        if len(shape) == 1:
            return counted
        out = np.empty(shape, dtype)
        out[...] = counted.reshape(_along(dimension, len(shape)))
        return out

    def view(
        self, *, dtype: Any, shape: Any, dimension: Any, sharding: Any
    ) -> Callable[..., Any] | None:
        if len(shape) == 1:
            return None
        along = _along(dimension, len(shape))
        return lambda: np.broadcast_to(_counted(shape[dimension], dtype).reshape(along), shape)

    def lower(self, b: Builder, out: Any, *, dimension: Any, **_: Any) -> Value:
        return b.iota(out, dimension)

    def to_loops(self, b: loops.Builder, out: Any, *, dimension: Any, **_: Any) -> loops.Value:
        return loops.joining.counted(b, out, dimension)


def _along(axis: int, ndim: int) -> list[int]:
    """The shape of a row along one of so many axes."""
    return [-1 if i == axis else 1 for i in range(ndim)]


# Dtypes in which the numbers below these bounds are exact, and so are sums of two of them.
_EXACT_BELOW = {np.dtype(x): 1 << n for x, n in (("f4", 24), ("f8", 53), ("i4", 31), ("i8", 63))}
_FIRST = 1 << 12


def _counted(size: int, dtype: Any) -> np.ndarray[Any, Any]:
    """0, 1, 2, …: rows of as many as the first caches hold, to which the row's start is added."""
    if size <= _FIRST or size > _EXACT_BELOW.get(dtype, 0):
        counted: np.ndarray[Any, Any] = np.arange(size).astype(dtype)
        return counted
    out, first = np.empty(size, dtype), np.arange(_FIRST).astype(dtype)
    whole = size - size % _FIRST
    starts = np.arange(0, whole, _FIRST).astype(dtype)
    np.add(first, starts[:, None], out=out[:whole].reshape(-1, _FIRST))
    np.add(first[: size - whole], dtype.type(whole), out=out[whole:])
    return out


@final
class Empty(Nullary):
    """An array whose elements do not matter; they are zero."""

    name = "empty"
    narrow_in_loops = "kept"

    def abstract_eval(self, *, shape: Any, dtype: Any, out_sharding: Any) -> ShapedArray:
        return like(shape=shape, dtype=dtype, sharding=out_sharding)

    def evaluate(self, *, shape: Any, dtype: Any, out_sharding: Any) -> Any:
        return np.zeros(shape, dtype)

    def lower(self, b: Builder, out: Any, **_: Any) -> Value:
        return b.full(0, out)

    def to_loops(self, b: loops.Builder, out: Any, **_: Any) -> loops.Value:
        return b.uniform(out.shape, b.writer.number(0, b.dtype_of(out)))


@final
class DimAsValue(Nullary):
    """The size of an axis as a number of a program, which may be traced for all sizes."""

    name = "dim_as_value"

    def abstract_eval(self, *, dim: Any) -> ShapedArray:
        return like(shape=(), dtype=dtypes.canonicalize(int), weak_type=True)

    def evaluate(self, *, dim: Any) -> Any:
        if type(dim) is SymbolicDim:
            raise NotImplementedError(
                message(
                    "eager evaluation of dim_as_value",
                    given=f"the symbolic size {dim}",
                    expected="a size that is a number: only programs can be for all sizes",
                    fix="Compute with the size in a function, and export that.",
                )
            )
        return np.asarray(index(dim), dtypes.canonicalize(int))

    def lower(self, b: Builder, out: Any, *, dim: Any) -> Value:
        return b.size(dim, out)


@final
class Copy(Primitive):
    """The operand in memory of its own."""

    name = "copy"
    linear = True
    reads = "alike"

    def abstract_eval(self, x: Any) -> ShapedArray:
        return like(x)

    def axis_flow(self, x: Any) -> AxisFlow:
        return same_axes(x)

    def evaluate(self, x: Any) -> Any:
        return x.copy()

    def lower(self, b: Builder, out: Any, x: Value) -> Value:
        return x

    def to_loops(self, b: loops.Builder, out: Any, x: loops.Value) -> loops.Value:
        return x

    def transpose(self, ct: Any, x: Any) -> list[Any]:
        return [copy_p.bind(ct)]

    def batch(
        self, axes: BatchAxes, operands: Sequence[Any], dims: Sequence[Any]
    ) -> tuple[Any, int]:
        return self.bind(operands[0]), dims[0]


iota_p = Iota()
empty_p = Empty()
dim_as_value_p = DimAsValue()
copy_p = Copy()

computed[SymbolicDim] = lambda size: dim_as_value_p.bind(dim=size)


def full(shape: Any, fill_value: Any, dtype: Any = None, *, sharding: Any = None) -> Any:
    """An array of one value.

    Args:
        shape: of the result.
        fill_value: scalar; it is converted like an array, so that integers wrap around; for random
            keys, the number that is every word of each key.
        dtype: of the result; that of `fill_value` if `None`.
        sharding: of the result.

    Raises:
        ValueError: if `fill_value` is not a scalar.
        TypeError: if it is a complex number, and the dtype is real.

    Example:
        >>> import morphax as jax
        >>> jax.lax.full((2, 3), 7.0)
        Array([[7., 7., 7.],
               [7., 7., 7.]], dtype=float32, weak_type=True)
    """
    if says_nothing(sharding):
        sharding = None
    elif not isinstance(sharding, Sharding):
        check_kind("lax.full, argument sharding", sharding)
    target = None if dtype is None else dtypes.requested(dtype, "lax.full")
    made = filled(shape, fill_value, target)
    return made if sharding is None else device_put(made, sharding)


def filled(
    shape: Any, fill_value: Any, dtype: Any, sharding: AbstractSharding | None = None
) -> Any:
    """`full` of a dtype that is an array's, which may have 64 bits where others are narrowed."""
    aval = aval_of(fill_value)
    if isinstance(dtype, dtypes.KeyType) and not isinstance(fill_value, (Array, Tracer)):
        fill_value = _key_of_words(dtype, fill_value)
        aval = aval_of(fill_value)
    if aval.shape:
        raise ShapeError(
            message(
                "lax.full, argument fill_value",
                given=aval.str_short(short_dtypes=False),
                expected="a scalar",
                fix="Use jnp.full or jnp.broadcast_to, which repeat arrays.",
            )
        )
    target = aval.dtype if dtype is None else dtype
    scalar = _scalar(fill_value, target, dtype is None and aval.weak_type)
    sizes = canonical_shape("lax.full, argument shape", shape)
    if not sizes and isinstance(scalar, (Array, Tracer)):
        return scalar
    return broadcast_in_dim_p.bind(scalar, shape=sizes, broadcast_dimensions=(), sharding=sharding)


def _key_of_words(dtype: dtypes.KeyType, value: Any) -> Array:
    """The random key all of whose words are `value`."""
    words = np.full(dtype.key_shape, value, np.uint32).reshape(-1)
    physical = words.view(dtype.physical_dtype).reshape(())
    return Array(ShapedArray((), dtype), physical)


def _scalar(value: Any, dtype: Any, weak_type: bool) -> Any:
    """A scalar of the given dtype; a number that is known stays one."""
    if type(value) is SymbolicDim:
        value = size_value(value, dtype)
    if isinstance(value, (Array, Tracer)):
        return convert(value, dtype, weak_type)
    if weak_type:
        return value
    if type(value) is complex and isinstance(dtype, np.dtype):
        value = host_scalar("lax.full, argument fill_value", value, dtype)
    number = converted(np.asarray(value), dtype)
    # A number of NumPy's is narrowed where it is an operand, an array is not.
    return (
        number[()] if dtypes.canonicalize(dtype) == dtype else Array(ShapedArray((), dtype), number)
    )


def full_like(
    x: Any, fill_value: Any, dtype: Any = None, shape: Any = None, sharding: Any = None
) -> Any:
    """An array of one value, with the shape and dtype of `x` unless others are given.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.lax.full_like(jnp.array([1, 2]), 7)
        Array([7, 7], dtype=int32)
    """
    if sharding is not None:
        return device_put(full_like(x, fill_value, dtype, shape), sharding)
    like = x if hasattr(x, "shape") and hasattr(x, "dtype") else aval_of(x)
    target = dtype_like(like) if dtype is None else dtypes.requested(dtype, "lax.full_like")
    if dtype is None and getattr(like, "weak_type", False):
        fill_value, target = convert(fill_value, target, weak_type=True), None
    if shape is not None:
        return placed_like(x, filled(shape, fill_value, target), fill_value)
    layout = x.aval.split if carries_aval(x) else None
    return placed_like(x, filled(like.shape, fill_value, target, layout), fill_value)


def dtype_like(x: Any) -> Any:
    """The dtype of new arrays like `x`, which nobody asked for: it is narrowed without a word."""
    return x.dtype if carries_aval(x) else dtypes.canonicalize(x.dtype)


def placed_like(x: Any, made: Any, fill_value: Any) -> Any:
    """A new array of one number, committed to where `x` is if that is, and fits its shape."""
    if isinstance(x, Tracer):
        split = x.aval.split if x.aval.is_on_mesh else None
        return resharded(made, split) if made.shape == x.shape else made
    if type(x) is not Array or not x.committed or type(made) is not Array or np.ndim(fill_value):
        return made
    place = x.sharding
    if made.shape != x.shape:
        if not x.is_fully_replicated:
            return made
        if isinstance(place, NamedSharding):
            # Its spec may speak of more axes than the new array has.
            place = place.update(spec=PartitionSpec())
    return place.distribute(made)


def size_value(size: Dim, dtype: Any) -> Any:
    """The size of an axis as a scalar, which a program computes unless it is known."""
    if type(size) is SymbolicDim:
        return convert(dim_as_value_p.bind(dim=size), dtype)
    return dtype.type(size)


def empty(shape: Any, dtype: Any, *, out_sharding: Any = None) -> Any:
    """An array of the given shape and dtype whose elements do not matter.

    Example:
        >>> from morphax import lax
        >>> lax.empty((2, 3), float).shape
        (2, 3)
    """
    if out_sharding is not None:
        return laid_out("lax.empty", empty(shape, dtype), out_sharding)
    sizes = canonical_shape("lax.empty, argument shape", shape)
    if isinstance(dtypes.canonicalize(dtype), dtypes.ExtendedDType):
        return full(sizes, 0, dtype)
    return empty_p.bind(shape=sizes, dtype=dtypes.canonicalize(dtype), out_sharding=None)


def iota(dtype: Any, size: int) -> Any:
    """The numbers 0, 1, …, ``size - 1``.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.lax.iota(jnp.int32, 3)
        Array([0, 1, 2], dtype=int32)
    """
    if dtype is None:
        raise ValueError(
            message(
                "lax.iota, argument dtype",
                given="None",
                expected="a dtype of numbers",
                fix="Pass jnp.int32, or use jnp.arange, which chooses one.",
            )
        )
    return broadcasted_iota(dtype, (size,), 0)


def broadcasted_iota(dtype: Any, shape: Any, dimension: int, *, out_sharding: Any = None) -> Any:
    """The numbers 0, 1, … along one axis, the same for all places of the others.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.lax.broadcasted_iota(jnp.int32, (2, 3), 1)
        Array([[0, 1, 2],
               [0, 1, 2]], dtype=int32)
    """
    if out_sharding is not None:
        numbers = broadcasted_iota(dtype, shape, dimension)
        return laid_out("lax.broadcasted_iota", numbers, out_sharding)
    return iota_p.bind(
        dtype=dtypes.requested(dtype, "lax.broadcasted_iota"),
        shape=canonical_shape("lax.broadcasted_iota, argument shape", shape),
        dimension=integer("lax.broadcasted_iota, argument dimension", dimension),
        sharding=None,
    )
