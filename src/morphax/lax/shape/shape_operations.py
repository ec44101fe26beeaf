"""Operations on the shape alone: the numbers stay, only their places change.

`reshape`, `squeeze` and `rev` are primitives; the others are written with them and with
`broadcast_in_dim` and `transpose`.  All are linear, and act on elements of any dtype,
random keys included.  An operation that would change nothing returns its operand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from operator import methodcaller
from typing import Any, final

import numpy as np

from ...core import (
    AxisFlow,
    BatchAxes,
    Primitive,
    ShapedArray,
    aval_of,
    carries_aval,
    like,
    same_axes,
    without_axes,
)
from ...engines import loops
from ...engines.xla.stablehlo import Builder, Value, i64_array
from ...errors import ShapeError
from ...util.host_memory import reversed_copy
from ...util.messages import message
from ..ground.axes import canonical_axes, canonical_shape, integer, integer_tuple
from ..ground.axis_flows import merged_splits, reshaped_axes
from ..ground.linear_structure import behind_batch, broadcast_in_dim_p, moved_axis, transpose_p
from .resharding import split_as


@final
class Reshape(Primitive):
    """The same elements in another shape, read with the axes in the order `dimensions`."""

    name = "reshape"
    moves = True
    linear = True
    reads = "elsewhere"

    def abstract_eval(
        self, x: Any, *, new_sizes: Any, dimensions: Any, sharding: Any
    ) -> ShapedArray:
        if math.prod(new_sizes) != x.size:
            raise ShapeError(
                message(
                    "lax.reshape, argument new_sizes",
                    given=f"{new_sizes} for {x.str_short(short_dtypes=False)}",
                    expected=f"a shape of {x.size} elements",
                    fix="Give sizes with the operand's product; only jnp.reshape knows -1.",
                )
            )
        if dimensions is not None:
            _check_permutation("lax.reshape, argument dimensions", dimensions, x)
        split = merged_splits(x, new_sizes, dimensions) if sharding is None else sharding
        return like(x, shape=new_sizes, sharding=split)

    def axis_flow(self, x: Any, *, new_sizes: Any, dimensions: Any, **_: Any) -> AxisFlow:
        return reshaped_axes(x, new_sizes, dimensions)

    def evaluate(self, x: Any, *, new_sizes: Any, dimensions: Any, sharding: Any) -> Any:
        return (x if dimensions is None else x.transpose(dimensions)).reshape(new_sizes)

    def kernel(
        self, x: Any, *, new_sizes: Any, dimensions: Any, sharding: Any
    ) -> Callable[..., Any] | None:
        return methodcaller("reshape", new_sizes) if dimensions is None else None

    def lower(self, b: Builder, out: Any, x: Value, *, dimensions: Any, **_: Any) -> Value:
        if dimensions is not None:
            permuted = x.aval.update(shape=tuple([x.aval.shape[d] for d in dimensions]))
            x = b.transpose(x, permuted, dimensions)
        return b.reshape(x, out)

    def to_loops(
        self, b: loops.Builder, out: Any, x: loops.Value, *, dimensions: Any, **_: Any
    ) -> loops.Value:
        if dimensions is not None:
            places = np.argsort(dimensions).tolist()
            permuted = tuple([x.shape[d] for d in dimensions])
            x = b.view(x, permuted, [(0, [(place, 1)]) for place in places])
        return loops.joining.reshaped(b, out, x)

    def transpose(
        self, ct: Any, x: Any, *, new_sizes: Any, dimensions: Any, sharding: Any
    ) -> list[Any]:
        if dimensions is None:
            split = x.aval.split
            return [self.bind(ct, new_sizes=x.aval.shape, dimensions=None, sharding=split)]
        unpermuted = reshape(ct, tuple([x.aval.shape[d] for d in dimensions]))
        return [transpose(unpermuted, np.argsort(dimensions).tolist())]

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Any],
        dims: Sequence[Any],
        *,
        new_sizes: Any,
        dimensions: Any,
        sharding: Any,
    ) -> tuple[Any, int]:
        order = None if dimensions is None else (0, *behind_batch(dimensions))
        x = moved_axis(operands[0], dims[0], 0)
        sizes = (axes.size, *new_sizes)
        split = sharding and sharding.with_axis(0, axes.sharding)
        return self.bind(x, new_sizes=sizes, dimensions=order, sharding=split), 0


@final
class Squeeze(Primitive):
    """Leave out axes of size 1."""

    name = "squeeze"
    moves = True
    linear = True
    reads = "elsewhere"

    def abstract_eval(self, x: Any, *, dimensions: Any) -> ShapedArray:
        if any([x.shape[d] != 1 for d in dimensions]):
            raise ValueError(
                message(
                    "lax.squeeze, argument dimensions",
                    given=f"{dimensions} for {x.str_short(short_dtypes=False)}",
                    expected="axes of size 1",
                    fix="Leave out only axes of size 1; sum or index over the others.",
                )
            )
        return like(x, shape=tuple([n for i, n in enumerate(x.shape) if i not in dimensions]))

    def axis_flow(self, x: Any, *, dimensions: Any) -> AxisFlow:
        return without_axes(x, axes=dimensions)

    def evaluate(self, x: Any, *, dimensions: Any) -> Any:
        return x.squeeze(dimensions)

    def kernel(self, x: Any, *, dimensions: Any) -> Callable[..., Any]:
        return methodcaller("squeeze", dimensions)

    def lower(self, b: Builder, out: Any, x: Value, *, dimensions: Any) -> Value:
        return b.reshape(x, out)

    def to_loops(
        self, b: loops.Builder, out: Any, x: loops.Value, *, dimensions: Any
    ) -> loops.Value:
        return b.reshape(x, out.shape)

    def transpose(self, ct: Any, x: Any, *, dimensions: Any) -> list[Any]:
        return [expand_dims(ct, dimensions)]

    def batch(
        self, axes: BatchAxes, operands: Sequence[Any], dims: Sequence[Any], *, dimensions: Any
    ) -> tuple[Any, int]:
        dim = dims[0]
        shifted = tuple([d + (d >= dim) for d in dimensions])
        out = self.bind(operands[0], dimensions=shifted)
        return out, dim - sum([d < dim for d in shifted])


@final
class Rev(Primitive):
    """Reverse the order of elements along axes."""

    name = "rev"
    moves = True
    linear = True
    reads = "elsewhere"

    def abstract_eval(self, x: Any, *, dimensions: Any) -> ShapedArray:
        if len(set(dimensions)) < len(dimensions) or not all([0 <= d < x.ndim for d in dimensions]):
            raise ShapeError(
                message(
                    "lax.rev, argument dimensions",
                    given=f"{dimensions} for {x.str_short(short_dtypes=False)}",
                    expected=f"different axes in [0, {x.ndim})",
                    fix="Count axes from 0 at the front; use jnp.flip for negative ones.",
                )
            )
        return like(x)

    def axis_flow(self, x: Any, *, dimensions: Any) -> AxisFlow:
        return same_axes(x)

    def evaluate(self, x: Any, *, dimensions: Any) -> Any:
        return np.flip(x, dimensions).copy()

    def kernel(self, x: Any, *, dimensions: Any) -> Callable[..., Any]:
        turned = tuple([slice(None, None, -1 if i in dimensions else 1) for i in range(x.ndim)])
        return lambda v: reversed_copy(v[turned])

    def lower(self, b: Builder, out: Any, x: Value, *, dimensions: Any) -> Value:
        return b.op("stablehlo.reverse", out, x, dimensions=i64_array(dimensions))

    def to_loops(
        self, b: loops.Builder, out: Any, x: loops.Value, *, dimensions: Any
    ) -> loops.Value:
        ends = [(n - 1, -1) if i in dimensions else (0, 1) for i, n in enumerate(x.shape)]
        return b.view(x, x.shape, [(start, [(i, step)]) for i, (start, step) in enumerate(ends)])

    def transpose(self, ct: Any, x: Any, *, dimensions: Any) -> list[Any]:
        return [self.bind(ct, dimensions=dimensions)]

    def batch(
        self, axes: BatchAxes, operands: Sequence[Any], dims: Sequence[Any], *, dimensions: Any
    ) -> tuple[Any, int]:
        dim = dims[0]
        shifted = tuple([d + (d >= dim) for d in dimensions])
        return self.bind(operands[0], dimensions=shifted), dim


reshape_p = Reshape()
squeeze_p = Squeeze()
rev_p = Rev()


def reshape(
    operand: Any, new_sizes: Any, dimensions: Any = None, *, out_sharding: Any = None
) -> Any:
    """The elements of `operand`, in row-major order, as an array of another shape.

    Args:
        operand: array of any shape.
        new_sizes: shape of the result, with as many elements.
        dimensions: order of the operand's axes in which elements are read, all axes in order
            if `None`.
        out_sharding: sharding of the result.

    Raises:
        ValueError: if the numbers of elements differ.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.lax.reshape(jnp.arange(6), (2, 3))
        Array([[0, 1, 2],
               [3, 4, 5]], dtype=int32)
    """
    if out_sharding is not None:
        shaped = partial(reshape, new_sizes=new_sizes, dimensions=dimensions)
        return split_as("lax.reshape", out_sharding, shaped, operand)
    sizes = canonical_shape("lax.reshape, argument new_sizes", new_sizes)
    aval = aval_of(operand)
    order = None
    if dimensions is not None:
        order = integer_tuple("lax.reshape, argument dimensions", dimensions)
    if order == tuple(range(aval.ndim)):
        order = None
    if order is None and out_sharding is None and sizes == aval.shape and carries_aval(operand):
        return operand
    return reshape_p.bind(operand, new_sizes=sizes, dimensions=order, sharding=out_sharding)


def squeeze(array: Any, dimensions: Sequence[int]) -> Any:
    """`array` without the axes `dimensions`, which must have size 1."""
    where = "lax.squeeze, argument dimensions"
    axes = canonical_axes(where, dimensions, aval_of(array).ndim)
    if not axes and carries_aval(array):
        return array
    return squeeze_p.bind(array, dimensions=axes)


def expand_dims(array: Any, dimensions: Sequence[int]) -> Any:
    """`array` with axes of size 1 at the places `dimensions` of the result.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.lax.expand_dims(jnp.ones((2, 3)), (0, -1)).shape
        (1, 2, 3, 1)
    """
    aval = aval_of(array)
    where = "lax.expand_dims, argument dimensions"
    places = integer_tuple(where, dimensions)
    ndim = aval.ndim + len(places)
    new = canonical_axes(where, places, ndim)
    kept = tuple([i for i in range(ndim) if i not in new])
    sizes = dict(zip(kept, aval.shape, strict=True))
    return broadcast_in_dim(array, [sizes.get(i, 1) for i in range(ndim)], kept)


def rev(operand: Any, dimensions: Sequence[int]) -> Any:
    """`operand` with the order of elements reversed along the axes `dimensions`."""
    return rev_p.bind(operand, dimensions=integer_tuple("lax.rev, argument dimensions", dimensions))


def transpose(operand: Any, permutation: Any) -> Any:
    """`operand` with its axes permuted: axis i of the result is axis ``permutation[i]``.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.lax.transpose(jnp.ones((2, 3, 4)), (2, 0, 1)).shape
        (4, 2, 3)
    """
    order = integer_tuple("lax.transpose, argument permutation", permutation)
    if order == tuple(range(aval_of(operand).ndim)) and carries_aval(operand):
        return operand
    return transpose_p.bind(operand, permutation=order)


def collapse(operand: Any, start_dimension: int, stop_dimension: int | None = None) -> Any:
    """`operand` with the axes `start_dimension` to `stop_dimension` (exclusive) made one.

    Raises:
        ValueError: if the range of axes ends before it starts.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.lax.collapse(jnp.ones((2, 3, 4)), 1).shape
        (2, 12)
    """
    shape = aval_of(operand).shape
    bounds = [
        None if axis is None else integer("lax.collapse", axis)
        for axis in (start_dimension, stop_dimension)
    ]
    start, stop, _ = slice(*bounds).indices(len(shape))
    if stop < start:
        raise ValueError(
            message(
                "lax.collapse",
                given=f"axes {start_dimension} to {stop_dimension} of shape {shape}",
                expected="a range of axes that does not end before it starts",
                fix="Pass the first axis to join, then the one after the last.",
            )
        )
    return reshape(operand, (*shape[:start], math.prod(shape[start:stop]), *shape[stop:]))


def broadcast(operand: Any, sizes: Sequence[int], *, out_sharding: Any = None) -> Any:
    """`operand` repeated along new leading axes of the given sizes."""
    if out_sharding is not None:
        return split_as("lax.broadcast", out_sharding, partial(broadcast, sizes=sizes), operand)
    aval = aval_of(operand)
    new = canonical_shape("lax.broadcast, argument sizes", sizes)
    axes = tuple(range(len(new), len(new) + aval.ndim))
    return broadcast_in_dim(operand, (*new, *aval.shape), axes, out_sharding=out_sharding)


def broadcast_in_dim(
    operand: Any, shape: Any, broadcast_dimensions: Sequence[int], *, out_sharding: Any = None
) -> Any:
    """`operand` repeated along new axes and along axes of size 1.

    Args:
        operand: array of any shape.
        shape: shape of the result.
        broadcast_dimensions: for each axis of the operand, the axis of the result it becomes;
            there the sizes agree, or that of the operand is 1.
        out_sharding: sharding of the result.

    Raises:
        ValueError: if the shapes do not fit.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.lax.broadcast_in_dim(jnp.array([1, 2]), (2, 3), (0,))
        Array([[1, 1, 1],
               [2, 2, 2]], dtype=int32)
    """
    if out_sharding is not None:
        wide = partial(broadcast_in_dim, shape=shape, broadcast_dimensions=broadcast_dimensions)
        return split_as("lax.broadcast_in_dim", out_sharding, wide, operand)
    sizes = canonical_shape("lax.broadcast_in_dim, argument shape", shape)
    axes = integer_tuple(
        "lax.broadcast_in_dim, argument broadcast_dimensions", broadcast_dimensions
    )
    if out_sharding is None and carries_aval(operand):
        aval = operand.aval
        if aval.shape == sizes and axes == tuple(range(aval.ndim)):
            return operand
    if list(axes) != sorted(axes) and len(axes) == aval_of(operand).ndim:
        order = sorted(range(len(axes)), key=axes.__getitem__)
        operand, axes = transpose(operand, order), tuple(sorted(axes))
    return broadcast_in_dim_p.bind(
        operand, shape=sizes, broadcast_dimensions=axes, sharding=out_sharding
    )


def broadcast_to_rank(x: Any, rank: int) -> Any:
    """`x` with leading axes of size 1 up to the given rank."""
    missing = integer("lax.broadcast_to_rank, argument rank", rank) - aval_of(x).ndim
    return expand_dims(x, range(max(missing, 0)))  # of no axes: takes NumPy's array over


def _check_permutation(where: str, permutation: Sequence[int], x: Any) -> None:
    if sorted(permutation) != list(range(x.ndim)):
        raise ShapeError(
            message(
                where,
                given=f"{permutation} for {x.str_short(short_dtypes=False)}",
                expected=f"a permutation of the {x.ndim} axes",
                fix="List every axis of the operand exactly once.",
            )
        )
