"""Static slices and padding, which are each other's transpose.

A slice takes the elements ``start, start + stride, …`` below `limit` of every axis.  Padding puts
them back: `low` elements before, `high` after and `interior` between each two; negative `low` or
`high` cut elements off.  Both are linear and act on elements of any dtype.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np

from ...core import (
    AxisFlow,
    BatchAxes,
    Primitive,
    ShapedArray,
    aval_of,
    is_undefined_primal,
    like,
    same_axes,
)
from ...engines import loops
from ...engines.xla.annotations import whole_along
from ...engines.xla.stablehlo import Builder, Value
from ...errors import ShapeError
from ...util.messages import message
from ..elementwise.selection import select_n, zero_beside
from ..ground.axes import (
    canonical_axis,
    dilated,
    integer,
    integer_or_size,
    integers,
    members,
    padded_places,
    size_tuple,
)
from ..ground.linear_structure import moved_axis, reduce_sum, zeros
from .shape_operations import broadcast, broadcast_in_dim, squeeze


@final
class Slice(Primitive):
    """The elements ``start, start + stride, …`` below `limit`, along each axis."""

    name = "slice"
    moves = True
    linear = True
    reads = "elsewhere"

    def abstract_eval(
        self, x: Any, *, start_indices: Any, limit_indices: Any, strides: Any
    ) -> ShapedArray:
        steps = strides or (1,) * x.ndim
        bounds = list(zip(start_indices, limit_indices, steps, x.shape, strict=True))
        if not all([0 <= start <= limit <= n and step > 0 for start, limit, step, n in bounds]):
            raise ShapeError(
                message(
                    "lax.slice",
                    given=f"start_indices={start_indices}, limit_indices={limit_indices}, "
                    f"strides={strides} for {x.str_short(short_dtypes=False)}",
                    expected="0 <= start <= limit <= size and stride > 0 for each axis",
                    fix="Count from the front; use jnp indexing for negative or clipped bounds.",
                )
            )
        shape = tuple([-((start - limit) // step) for start, limit, step, _ in bounds])
        return like(x, shape=shape)

    def axis_flow(self, x: Any, **_: Any) -> AxisFlow:
        return same_axes(x)

    def evaluate(self, x: Any, **params: Any) -> Any:
        return self.kernel(x, **params)(x)

    def kernel(
        self, x: Any, *, start_indices: Any, limit_indices: Any, strides: Any
    ) -> Callable[..., Any]:
        chosen = tuple(map(builtins.slice, start_indices, limit_indices, strides or (1,) * x.ndim))
        # A copy: a view of a small part would keep the whole operand in memory.
        return lambda v: v[chosen].copy()

    def view(
        self, x: Any, *, start_indices: Any, limit_indices: Any, strides: Any
    ) -> Callable[..., Any] | None:
        # What is whole along all axes but the first lies in a row.
        if any(start_indices[1:]) or limit_indices[1:] != x.shape[1:] or set(strides or ()) - {1}:
            return None
        chosen = builtins.slice(*start_indices[:1], *limit_indices[:1]) if x.ndim else ...
        return lambda v: v[chosen]

    def lower(
        self,
        b: Builder,
        out: Any,
        x: Value,
        *,
        start_indices: Any,
        limit_indices: Any,
        strides: Any,
    ) -> Value:
        return b.slice(x, out, start_indices, limit_indices, strides)

    def to_loops(
        self,
        b: loops.Builder,
        out: Any,
        x: loops.Value,
        *,
        start_indices: Any,
        strides: Any,
        **_: Any,
    ) -> loops.Value:
        steps = enumerate(zip(start_indices, strides or (1,) * x.ndim, strict=True))
        return b.view(x, out.shape, [(start, [(i, step)]) for i, (start, step) in steps])

    def transpose(
        self, ct: Any, x: Any, *, start_indices: Any, limit_indices: Any, strides: Any
    ) -> list[Any]:
        steps = strides or (1,) * x.aval.ndim
        config = [
            (start, size - start - dilated(n, step), step - 1)
            for start, step, n, size in zip(
                start_indices, steps, ct.aval.shape, x.aval.shape, strict=True
            )
        ]
        return [pad(ct, zero_beside(ct), config)]

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Any],
        dims: Sequence[Any],
        *,
        start_indices: Any,
        limit_indices: Any,
        strides: Any,
    ) -> tuple[Any, int]:
        dim = dims[0]
        out = self.bind(
            operands[0],
            start_indices=_inserted(start_indices, dim, 0),
            limit_indices=_inserted(limit_indices, dim, axes.size),
            strides=strides and _inserted(strides, dim, 1),
        )
        return out, dim


@final
class Pad(Primitive):
    """Surround and interleave the elements of an array with a padding value, or cut some off."""

    name = "pad"
    moves = True
    linear = True
    of_one_dtype = True
    reads = "elsewhere"

    def abstract_eval(self, x: Any, padding_value: Any, *, padding_config: Any) -> ShapedArray:
        _check_padding(x, padding_value, padding_config)
        shape = [
            low + high + dilated(n, interior + 1)
            for n, (low, high, interior) in zip(x.shape, padding_config, strict=True)
        ]
        if any([n < 0 for n in shape]):
            _refuse_padding(x, padding_config, "sizes that are not negative after padding")
        return like(x, padding_value, shape=shape)

    def axis_flow(self, *avals: Any, **params: Any) -> AxisFlow:
        return same_axes(*avals)

    def evaluate(self, x: Any, padding_value: Any, *, padding_config: Any) -> Any:
        return self.kernel(x, padding_value, padding_config=padding_config)(x, padding_value)

    def kernel(self, x: Any, padding_value: Any, *, padding_config: Any) -> Callable[..., Any]:
        placed: list[Any] = list(map(padded_places, x.shape, padding_config))
        source, target, sizes = [tuple([places[i] for places in placed]) for i in range(3)]

        def padded(v: Any, filling: Any) -> Any:
            out = np.full(sizes, filling, v.dtype)
            out[target] = v[source]
            return out

        return padded

    def lower(
        self, b: Builder, out: Any, x: Value, padding_value: Value, *, padding_config: Any
    ) -> Value:
        # XLA's partitioner ends the process where such an axis is split over devices.
        cut = [i for i, (lo, hi, n) in enumerate(padding_config) if n != 0 and (lo < 0 or hi < 0)]
        x = whole_along(b, x, cut) if cut else x
        return b.pad(x, out, padding_value, padding_config)

    def to_loops(
        self,
        b: loops.Builder,
        out: Any,
        x: loops.Value,
        padding: loops.Value,
        *,
        padding_config: Any,
    ) -> loops.Value:
        placements = list(map(padded_places, x.shape, padding_config))
        return loops.joining.padded(b, out, x, padding, placements)

    def transpose(self, ct: Any, x: Any, padding_value: Any, *, padding_config: Any) -> list[Any]:
        cts = [None, None]
        if is_undefined_primal(x):
            trimmed = pad(ct, zero_beside(ct), [(-lo, -hi, 0) for lo, hi, _ in padding_config])
            steps = [interior + 1 for _, _, interior in padding_config]
            shape = trimmed.aval.shape
            cts[0] = slice(trimmed, (0,) * len(shape), shape, steps)
        if is_undefined_primal(padding_value):
            is_padding = pad(broadcast(False, aval_of(x).shape), True, padding_config)
            padded = select_n(is_padding, zeros(ct.aval), ct)
            cts[1] = reduce_sum(padded, tuple(range(ct.aval.ndim)))
        return cts

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Any],
        dims: Sequence[Any],
        *,
        padding_config: Any,
    ) -> tuple[Any, int]:
        x, padding_value = operands
        if dims[1] is None:
            return pad(x, padding_value, _inserted(padding_config, dims[0], (0, 0, 0))), dims[0]
        shape = [n for i, n in enumerate(aval_of(x).shape) if i != dims[0]]
        is_padding = pad(broadcast(False, shape), True, padding_config)
        filler = broadcast_in_dim(padding_value, (axes.size, *is_padding.aval.shape), (0,))
        x = broadcast(x, (axes.size,)) if dims[0] is None else moved_axis(x, dims[0], 0)
        padded = pad(x, zero_beside(x), [(0, 0, 0), *padding_config])
        return select_n(broadcast(is_padding, (axes.size,)), padded, filler), 0


def _check_padding(x: Any, padding_value: Any, padding_config: Any) -> None:
    if x.dtype != padding_value.dtype or padding_value.shape:
        raise (ValueError if padding_value.shape else TypeError)(
            message(
                "lax.pad, argument padding_value",
                given=padding_value.str_short(short_dtypes=False),
                expected=f"a scalar of the operand's dtype, {x.dtype}",
                fix="Convert the padding value, or use jnp.pad.",
            )
        )
    if len(padding_config) != x.ndim:
        _refuse_padding(x, padding_config, f"{x.ndim} triples, one per axis of the operand")
    if any([interior < 0 for _, _, interior in padding_config]):
        _refuse_padding(x, padding_config, "interior padding that is not negative")


def _refuse_padding(x: Any, padding_config: Any, expected: str) -> None:
    raise ValueError(
        message(
            "lax.pad, argument padding_config",
            given=f"{padding_config} for {x.str_short(short_dtypes=False)}",
            expected=expected,
            fix="Give (low, high, interior) for each axis; low and high may be negative.",
        )
    )


def _inserted(values: Sequence[Any], place: int, value: Any) -> tuple[Any, ...]:
    return (*values[:place], value, *values[place:])


slice_p = Slice()
pad_p = Pad()


def slice(
    operand: Any,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> Any:
    """The elements ``start, start + stride, …`` below `limit`, along each axis.

    Args:
        operand: array of any shape.
        start_indices: first element of each axis.
        limit_indices: one after the last element of each axis.
        strides: distance of elements taken, 1 if `None`.

    Raises:
        ValueError: unless ``0 <= start <= limit <= size`` and ``stride > 0`` for each axis.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.lax.slice(jnp.arange(12).reshape(3, 4), (1, 0), (3, 4), (1, 2))
        Array([[ 4,  6],
               [ 8, 10]], dtype=int32)
    """
    ndim = aval_of(operand).ndim
    return slice_p.bind(
        operand,
        start_indices=integers("lax.slice, argument start_indices", start_indices, ndim),
        limit_indices=integers("lax.slice, argument limit_indices", limit_indices, ndim),
        strides=None if strides is None else integers("lax.slice, argument strides", strides, ndim),
    )


def slice_in_dim(
    operand: Any,
    start_index: int | None,
    limit_index: int | None,
    stride: int = 1,
    axis: int = 0,
) -> Any:
    """A slice along one axis; negative bounds count from its end, `None` means the end itself.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.lax.slice_in_dim(jnp.arange(6), 1, -1, 2)
        Array([1, 3], dtype=int32)
    """
    shape = aval_of(operand).shape
    where = "lax.slice_in_dim, argument"
    axis = canonical_axis(f"{where} axis", axis, len(shape))
    size = shape[axis]
    start = 0 if start_index is None else integer_or_size(f"{where} start_index", start_index)
    limit = size if limit_index is None else integer_or_size(f"{where} limit_index", limit_index)
    starts, limits, strides = [0] * len(shape), list(shape), [1] * len(shape)
    starts[axis] = start + size if start < 0 else start
    limits[axis] = limit + size if limit < 0 else limit
    strides[axis] = integer(f"{where} stride", stride)
    return slice(operand, starts, limits, strides)


def index_in_dim(operand: Any, index: int, axis: int = 0, keepdims: bool = True) -> Any:
    """The elements at one place of an axis, which is kept with size 1 or left out.

    Args:
        operand: array of any shape.
        index: the place, known while tracing; from the end if negative.
        axis: the axis.
        keepdims: whether the axis is kept.

    Raises:
        IndexError: if the axis has no such place.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.lax.index_in_dim(jnp.arange(6).reshape(2, 3), -1, axis=1, keepdims=False)
        Array([2, 5], dtype=int32)
    """
    shape = aval_of(operand).shape
    axis = canonical_axis("lax.index_in_dim, argument axis", axis, len(shape))
    size, place = shape[axis], integer_or_size("lax.index_in_dim, argument index", index)
    if not -size <= place < size:
        raise IndexError(
            message(
                "lax.index_in_dim, argument index",
                given=f"index {place} along axis {axis} of shape {shape}",
                expected=f"an index in [{-size}, {size})",
                fix="Use an index within the axis, or jnp.take with a mode.",
            )
        )
    start = place + size if place < 0 else place
    out = slice_in_dim(operand, start, start + 1, 1, axis)
    return out if keepdims else squeeze(out, (axis,))


def pad(operand: Any, padding_value: Any, padding_config: Sequence[tuple[int, int, int]]) -> Any:
    """`operand` with padding before, after and between its elements.

    Args:
        operand: array of rank n.
        padding_value: scalar of the operand's dtype.
        padding_config: n triples ``(low, high, interior)``: how many paddings come before the
            first element, after the last, and between each two.  Negative `low` or `high` cut
            elements off (after interior padding).

    Raises:
        TypeError: if the dtypes differ.
        ValueError: if `padding_config` does not fit.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.lax.pad(jnp.array([1, 2, 3]), 0, [(2, -1, 1)])
        Array([0, 0, 1, 0, 2, 0], dtype=int32)
    """
    where = "lax.pad, argument padding_config"
    triples = members(where, padding_config, "a triple (low, high, interior) for each axis")
    config = tuple([size_tuple(where, triple) for triple in triples])
    if not all([len(triple) == 3 for triple in config]):
        raise ValueError(
            message(
                where,
                given=f"{config}",
                expected="a triple (low, high, interior) for each axis",
                fix="Write ((1, 1, 0),) to put one element before and after a vector.",
            )
        )
    return pad_p.bind(operand, padding_value, padding_config=config)
