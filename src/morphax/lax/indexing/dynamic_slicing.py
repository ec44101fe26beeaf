"""Slices that start at places known only when the program runs, or as near as the array allows.

Reading and writing are each other's transpose; with many starts, they are a gather and a scatter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from ...core import (
    AxisFlow,
    BatchAxes,
    Primitive,
    ShapedArray,
    Zero,
    aval_of,
    is_undefined_primal,
    is_zero,
    like,
    same_axes,
)
from ...engines import loops
from ...engines.reference.replay import replayed
from ...engines.reference.windows import Windows
from ...engines.xla.moved_bits import moved
from ...engines.xla.stablehlo import Builder, Value
from ...errors import ShapeError
from ...util.messages import message
from ..elementwise.convert import convert
from ..ground.axes import canonical_axis, canonical_shape
from ..ground.dimension_numbers import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
)
from ..ground.linear_structure import batched_first, broadcast_to, instantiate, moved_axis, zeros
from ..shape.joining import stack
from ..shape.shape_operations import expand_dims, squeeze
from .element_places import block_windows
from .gather import gather_p
from .scatter import scatter_p
from .start_indices import check_starts, read_as_signed, starts_from_front


@final
class DynamicSlice(Primitive):
    """The block of an array, of a fixed size, that starts at a given place."""

    name = "dynamic_slice"
    window_in_loops = "read"
    linear_sets = ((0,),)
    reads = "elsewhere"

    def abstract_eval(self, x: Any, *starts: Any, slice_sizes: Any) -> ShapedArray:
        check_starts("lax.dynamic_slice", x, starts)
        _check_block("lax.dynamic_slice, argument slice_sizes", x, slice_sizes)
        return like(x, shape=slice_sizes)

    def axis_flow(self, *avals: Any, **params: Any) -> AxisFlow:
        return same_axes(*avals)

    def evaluate(self, x: Any, *starts: Any, slice_sizes: Any) -> Any:
        return x[_block(x.shape, starts, slice_sizes)].copy()

    def windows(self, x: Any, *starts: Any, slice_sizes: Any) -> Windows | None:
        return block_windows(x, starts, tuple(slice_sizes))

    def lower(self, b: Builder, out: Any, x: Value, *starts: Value, slice_sizes: Any) -> Value:
        starts = read_as_signed(b, starts, x.aval.shape, slice_sizes)
        return moved(b, out, lambda out, x: b.dynamic_slice(x, out, starts, slice_sizes), x)

    def to_loops(
        self, b: loops.Builder, out: Any, x: loops.Value, *starts: loops.Value, slice_sizes: Any
    ) -> loops.Value:
        places = loops.joining.limited_starts(b, starts, x.shape, slice_sizes)
        return loops.joining.block_of(b, b.settled(x), places, slice_sizes)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], *, slice_sizes: Any) -> Any:
        out = self.bind(*primals, slice_sizes=slice_sizes)
        if is_zero(tangents[0]):
            return out, Zero(out.aval.to_tangent_aval())
        return out, self.bind(tangents[0], *primals[1:], slice_sizes=slice_sizes)

    def transpose(self, ct: Any, x: Any, *starts: Any, slice_sizes: Any) -> list[Any]:
        ct_x = dynamic_update_slice_p.bind(zeros(x.aval.to_ct_aval()), ct, *starts)
        return [ct_x, *[None] * len(starts)]

    def batch(
        self, axes: BatchAxes, operands: Sequence[Any], dims: Sequence[Any], *, slice_sizes: Any
    ) -> tuple[Any, int]:
        x, *starts = operands
        if all([d is None for d in dims[1:]]):
            x = moved_axis(x, dims[0], 0)
            return self.bind(x, *_with_zero(starts), slice_sizes=(axes.size, *slice_sizes)), 0
        ndim = len(slice_sizes)
        numbers = GatherDimensionNumbers(tuple(range(ndim)), (), tuple(range(ndim)))
        return gather_p.batch(
            axes,
            (x, _stacked(axes, starts, dims[1:])),
            (dims[0], 0),
            dimension_numbers=numbers,
            slice_sizes=slice_sizes,
            indices_are_sorted=True,
            unique_indices=True,
            mode=GatherScatterMode.CLIP,
            fill_value=None,
        )


@final
class DynamicUpdateSlice(Primitive):
    """An array with the block that starts at a given place replaced."""

    name = "dynamic_update_slice"
    of_one_dtype = True
    window_in_loops = "changed"
    linear_sets = ((0, 1),)
    reads = "elsewhere"

    def abstract_eval(self, x: Any, update: Any, *starts: Any) -> ShapedArray:
        where = "lax.dynamic_update_slice"
        check_starts(where, x, starts)
        if update.dtype != x.dtype:
            raise TypeError(
                message(
                    f"{where}, argument update",
                    given=f"{update.str_short()} for {x.str_short()}",
                    expected=f"an update of dtype {x.dtype}",
                    fix="Convert the update with astype.",
                )
            )
        _check_block(f"{where}, argument update", x, update.shape)
        return like(x, weak_type=False)

    def axis_flow(self, *avals: Any) -> AxisFlow:
        return same_axes(*avals, alike=True)

    def evaluate(self, x: Any, update: Any, *starts: Any) -> Any:
        out = x.copy()
        out[_block(x.shape, starts, update.shape)] = update
        return out

    def windows(self, x: Any, update: Any, *starts: Any) -> Windows | None:
        return block_windows(x, starts, update.shape, updates=1)

    def lower(self, b: Builder, out: Any, x: Value, update: Value, *starts: Value) -> Value:
        starts = read_as_signed(b, starts, out.shape, update.aval.shape)
        name = "stablehlo.dynamic_update_slice"
        return moved(b, out, lambda out, *v: b.op(name, out, *v, *starts), x, update)

    def to_loops(
        self,
        b: loops.Builder,
        out: Any,
        x: loops.Value,
        update: loops.Value,
        *starts: loops.Value,
    ) -> loops.Value:
        places = loops.joining.limited_starts(b, starts, x.shape, update.shape)
        return loops.joining.with_block(b, x, update, places)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        out = self.bind(*primals)
        if is_zero(tangents[0]) and is_zero(tangents[1]):
            return out, Zero(out.aval.to_tangent_aval())
        t_x, t_update = map(instantiate, tangents[:2])
        return out, self.bind(t_x, t_update, *primals[2:])

    def transpose(self, ct: Any, x: Any, update: Any, *starts: Any) -> list[Any]:
        ct_x = ct_update = None
        block = aval_of(update)
        if is_undefined_primal(x):
            ct_x = self.bind(ct, zeros(block.to_tangent_aval()), *starts)
        if is_undefined_primal(update):
            ct_update = dynamic_slice_p.bind(ct, *starts, slice_sizes=block.shape)
        return [ct_x, ct_update, *[None] * len(starts)]

    def batch(
        self, axes: BatchAxes, operands: Sequence[Any], dims: Sequence[Any]
    ) -> tuple[Any, int]:
        x, update, *starts = operands
        if all([d is None for d in dims[2:]]):
            x, update = batched_first(axes, x, dims[0]), batched_first(axes, update, dims[1])
            return self.bind(x, update, *_with_zero(starts)), 0
        ndim = len(starts)
        numbers = ScatterDimensionNumbers(tuple(range(ndim)), (), tuple(range(ndim)))
        result, dim = scatter_p.batch(
            axes,
            (x, _stacked(axes, starts, dims[2:]), update),
            (dims[0], 0, dims[1]),
            dimension_numbers=numbers,
            indices_are_sorted=True,
            unique_indices=True,
            mode=GatherScatterMode.CLIP,
            update_jaxpr=None,
            update_consts=(),
        )
        return convert(result, result.aval.dtype), dim


def _block(shape: Sequence[int], starts: Sequence[Any], sizes: Sequence[int]) -> tuple[slice, ...]:
    """Where the block lies, with starts moved inside."""
    inside = [
        max(0, min(int(start), n - size))
        for start, n, size in zip(starts, shape, sizes, strict=True)
    ]
    return tuple([slice(start, start + size) for start, size in zip(inside, sizes, strict=True)])


def _with_zero(starts: Sequence[Any]) -> list[Any]:
    """Starts of a block that spans all of a new leading axis."""
    dtype = aval_of(starts[0]).dtype if starts else np.dtype(np.int32)
    return [dtype.type(0), *starts]


def _stacked(axes: BatchAxes, starts: Sequence[Any], dims: Sequence[Any]) -> Any:
    """All starts as one array (batch, rank)."""
    columns = [
        broadcast_to(x, (axes.size,)) if d is None else x for x, d in zip(starts, dims, strict=True)
    ]
    return stack(columns, axis=1)


def _check_block(where: str, x: Any, sizes: Sequence[int]) -> None:
    if len(sizes) == x.ndim and all([0 <= s <= n for s, n in zip(sizes, x.shape, strict=True)]):
        return
    raise ShapeError(
        message(
            where,
            given=f"a block of shape {tuple(sizes)}",
            expected=f"a block of rank {x.ndim} that fits into {x.str_short()}",
            fix="Give one size per axis, none larger than the operand's.",
        )
    )


dynamic_slice_p = DynamicSlice()
dynamic_update_slice_p = DynamicUpdateSlice()


def dynamic_slice(
    operand: Any,
    start_indices: Any,
    slice_sizes: Sequence[int],
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Any:
    """The block of `operand`, of a fixed size, that starts at a given place.

    Args:
        operand: array of rank n.
        start_indices: n integers of one dtype, or an array (n,) of them.  A block that would leave
            the operand is moved inside.
        slice_sizes: n sizes, known while tracing.
        allow_negative_indices: whether starts below 0 count from the end of an axis; for all axes
            or for each.

    Raises:
        TypeError: if the starts are not integers of one dtype.
        ValueError: if the block is larger than the operand, or there are not n starts.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.lax.dynamic_slice(jnp.arange(12).reshape(3, 4), (1, -3), (2, 2))
        Array([[ 5,  6],
               [ 9, 10]], dtype=int32)
    """
    where, shape = "lax.dynamic_slice", aval_of(operand).shape
    starts = starts_from_front(where, shape, start_indices, allow_negative_indices)
    sizes = canonical_shape(f"{where}, argument slice_sizes", slice_sizes)
    return dynamic_slice_p.bind(operand, *starts, slice_sizes=sizes)


def dynamic_update_slice(
    operand: Any,
    update: Any,
    start_indices: Any,
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Any:
    """`operand` with the block that starts at a given place replaced by `update`.

    Args:
        operand: array of rank n.
        update: array of rank n and the operand's dtype, no larger than the operand.
        start_indices: n integers of one dtype, or an array (n,) of them.  A block that would leave
            the operand is moved inside.
        allow_negative_indices: whether starts below 0 count from the end of an axis; for all axes
            or for each.

    Raises:
        TypeError: if dtypes differ, or the starts are not integers of one dtype.
        ValueError: if the update is larger than the operand, or there are not n starts.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.lax.dynamic_update_slice(jnp.zeros(4), jnp.ones(2), (1,))
        Array([0., 1., 1., 0.], dtype=float32)
    """
    shape = aval_of(operand).shape
    starts = starts_from_front(
        "lax.dynamic_update_slice", shape, start_indices, allow_negative_indices
    )
    return dynamic_update_slice_p.bind(operand, update, *starts)


@replayed(2)
def dynamic_slice_in_dim(
    operand: Any,
    start_index: Any,
    slice_size: int,
    axis: int = 0,
    *,
    allow_negative_indices: bool = True,
) -> Any:
    """A block of `slice_size` elements along one axis; see `dynamic_slice`."""
    shape = list(aval_of(operand).shape)
    axis = canonical_axis("lax.dynamic_slice_in_dim, argument axis", axis, len(shape))
    starts = _starts_along(operand, start_index, axis)
    shape[axis] = slice_size
    return dynamic_slice(operand, starts, shape, allow_negative_indices=allow_negative_indices)


@replayed(2)
def dynamic_index_in_dim(
    operand: Any,
    index: Any,
    axis: int = 0,
    keepdims: bool = True,
    *,
    allow_negative_indices: bool = True,
) -> Any:
    """The elements at one place of an axis, which is kept with size 1 or left out.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.lax.dynamic_index_in_dim(jnp.arange(6).reshape(2, 3), 1, axis=1, keepdims=False)
        Array([1, 4], dtype=int32)
    """
    out = dynamic_slice_in_dim(
        operand, index, 1, axis, allow_negative_indices=allow_negative_indices
    )
    return out if keepdims else squeeze(out, (axis,))


@replayed(3)
def dynamic_update_slice_in_dim(
    operand: Any,
    update: Any,
    start_index: Any,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> Any:
    """`operand` with a block along one axis replaced; see `dynamic_update_slice`."""
    ndim = aval_of(operand).ndim
    axis = canonical_axis("lax.dynamic_update_slice_in_dim, argument axis", axis, ndim)
    starts = _starts_along(operand, start_index, axis)
    return dynamic_update_slice(
        operand, update, starts, allow_negative_indices=allow_negative_indices
    )


@replayed(3)
def dynamic_update_index_in_dim(
    operand: Any,
    update: Any,
    index: Any,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> Any:
    """`operand` with the elements at one place of an axis replaced.

    The update has size 1 along the axis, or lacks it.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.lax.dynamic_update_index_in_dim(jnp.zeros(3), 1.0, 2, axis=0)
        Array([0., 0., 1.], dtype=float32)
    """
    ndim = aval_of(operand).ndim
    axis = canonical_axis("lax.dynamic_update_index_in_dim, argument axis", axis, ndim)
    if aval_of(update).ndim != ndim:
        update = expand_dims(update, (axis,))
    return dynamic_update_slice_in_dim(
        operand, update, index, axis, allow_negative_indices=allow_negative_indices
    )


def _starts_along(operand: Any, start: Any, axis: int) -> list[Any]:
    """The start along one axis, with zeros of its dtype along the others."""
    zero = aval_of(start).dtype.type(0)
    return [start if i == axis else zero for i in range(aval_of(operand).ndim)]
