"""Arrays put together: each part is written to its place."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .builder import Builder
from .program import Index, Operand
from .scalars import converted
from .values import Indices, Place, Value
from .views import split_axes

# Elements: what is larger is written in one pass through memory, whose lines come and go.
_BEYOND_CACHES = 1 << 18
# So many stores of neighbours vectors have (`native/vector_loops.py`).
_MOST_IN_TURNS = 4


def concatenated(b: Builder, out: Any, operands: Sequence[Value], axis: int) -> Value:
    """Arrays one after the other along an axis."""
    are_single = axis == len(out.shape) - 1 and all([x.shape[axis] == 1 for x in operands])
    if are_single and _are_neighbours(out, operands):
        return _in_turns(b, out, operands, lambda outer: (*outer, Index()))
    place, start = b.new(out), 0
    is_large = math.prod(out.shape) >= _BEYOND_CACHES and math.prod(out.shape[:axis]) > 1
    if is_large and not any([x.is_pending and x.holders for x in operands]):
        _joined_by_rows(b, place, operands, axis)
        return b.placed(out.shape, place)
    for x in operands:
        offset = place.offset.plus(start * place.strides[axis])
        b.fusion.fill(Place(place.buffer, place.strides, offset), x)
        start += x.shape[axis]
    return b.placed(out.shape, place)


def _joined_by_rows(b: Builder, place: Place, operands: Sequence[Value], axis: int) -> None:
    """The same of many elements, which are written in the order in which they lie."""
    shape = operands[0].shape

    def write_row(*outer: Index) -> None:
        start = 0
        for x in operands:
            _copy_into_row(b, place, x, axis, start, outer)
            start += x.shape[axis]

    b.fusion.nest(shape[:axis], write_row, is_independent=True)


def _copy_into_row(
    b: Builder, place: Place, x: Value, axis: int, start: int, outer: Indices
) -> None:
    def copy(*inner: Index) -> None:
        moved = (inner[0].plus(start), *inner[1:])
        scalar = b.fusion.read(x, (*outer, *inner))
        b.writer.store(place.buffer, place.at((*outer, *moved)), scalar)

    b.fusion.nest(x.shape[axis:], copy, is_independent=True)


def stacked(b: Builder, out: Any, operands: Sequence[Value], axis: int) -> Value:
    """Arrays of one shape, one after the other along a new axis."""
    if axis == len(out.shape) - 1 and _are_neighbours(out, operands):
        return _in_turns(b, out, operands, lambda outer: outer)
    if axis < len(out.shape) - 1 and math.prod(out.shape) >= _BEYOND_CACHES:
        rows = [b.reshape(x, (*x.shape[:axis], 1, *x.shape[axis:])) for x in operands]
        return concatenated(b, out, rows, axis)
    place = b.new(out)
    strides = (*place.strides[:axis], *place.strides[axis + 1 :])
    for i, x in enumerate(operands):
        offset = place.offset.plus(i * place.strides[axis])
        b.fusion.fill(Place(place.buffer, strides, offset), x)
    return b.placed(out.shape, place)


def _are_neighbours(out: Any, operands: Sequence[Value]) -> bool:
    """Whether few arrays give one number each to what lies side by side, and are of no other use.

    A loop that stores the numbers of all of them is one of vectors, which one that leaves gaps for
    the others is not.
    """
    count = len(operands) * (2 if out.dtype.kind == "c" else 1)
    is_whole = len(operands) == out.shape[-1] and 1 < count <= _MOST_IN_TURNS
    return is_whole and not any([x.is_pending and x.holders for x in operands])


def _in_turns(
    b: Builder, out: Any, operands: Sequence[Value], of_operand: Callable[[Indices], Indices]
) -> Value:
    """Arrays whose numbers lie side by side, along the last axis."""
    place = b.new(out)

    def write(*outer: Index) -> None:
        for i, x in enumerate(operands):
            scalar = b.fusion.read(x, of_operand(outer))
            b.writer.store(place.buffer, place.at((*outer, Index((), i))), scalar)

    b.fusion.nest(out.shape[:-1], write, is_independent=True)
    return b.placed(out.shape, place)


Placement = tuple[slice, slice, int]
"""Of one axis: which elements are kept, where they go, and the size with padding."""


def padded(
    b: Builder, out: Any, x: Value, padding: Value, placements: Sequence[Placement]
) -> Value:
    """Elements of `x` among a padding scalar."""
    filler = b.fusion.scalar(padding)
    if not math.prod(out.shape) or not x.size:
        return b.uniform(out.shape, filler)
    if b.fusion.has_vectors and x.size == 1:
        return _one_among(b, out, x, filler, placements)
    place = b.new(out)
    padded_into(b, place, x, filler, placements)
    return b.placed(out.shape, place)


def _one_among(
    b: Builder, out: Any, x: Value, filler: Operand, placements: Sequence[Placement]
) -> Value:
    """The same of one element, which needs no memory: derivatives of `x[i]` are sums of these."""
    if any(taken.start == taken.stop for taken, _, _ in placements):
        return b.uniform(out.shape, filler)
    w, only = b.writer, b.fusion.scalar(b.reshape(x, ()))

    def element(indices: Indices) -> Operand:
        places = zip(indices, placements, strict=True)
        is_there = [is_at(b, i, there.start) for i, (_, there, size) in places if size > 1]
        return w.select(w.all_of(is_there), only, filler)

    return b.fusion.pending(out.shape, x.dtype, element, (), cost=3)


def is_at(b: Builder, index: Index, place: int | Operand) -> Operand:
    """Whether an index is at a place."""
    w, value = b.writer, b.writer.index_value(index)
    # Vectors of 32-bit integers compare fast.
    if index.bounds[1] < 1 << 31:
        value = w.convert(value, np.dtype(np.int32))
    if isinstance(place, int):
        return w.op("eq", value, w.number(place, value.dtype))
    return w.op("eq", value, w.convert(place, value.dtype))


def padded_into(
    b: Builder, place: Place, x: Value, filler: Operand, placements: Sequence[Placement]
) -> None:
    """The same, stored at a place."""
    b.fusion.fill(place, b.uniform(tuple([size for _, _, size in placements]), filler))
    kept = [taken.stop - taken.start for taken, _, _ in placements]
    if 0 in kept:
        return
    offset, strides = place.offset, []
    for (_, there, _), stride in zip(placements, place.strides, strict=True):
        offset = offset.plus(there.start * stride)
        strides.append(stride * (there.step or 1))
    axes = [(taken.start, [(i, 1)]) for i, (taken, _, _) in enumerate(placements)]
    part = b.view(x, tuple(kept), axes)
    b.fusion.fill(Place(place.buffer, tuple(strides), offset), part)


def counted(b: Builder, out: Any, axis: int) -> Value:
    """0, 1, 2, … along an axis."""
    dtype, w = b.dtype_of(out), b.writer
    # Vectors of 32-bit integers convert fast.
    fits = dtype.kind == "f" and out.shape[axis] < 1 << 31

    def element(indices: Indices) -> Operand:
        value = w.index_value(indices[axis])
        return converted(w, w.convert(value, np.dtype(np.int32)) if fits else value, dtype)

    value = b.fusion.pending(out.shape, dtype, element, ())
    value.is_counted = True
    return value


def tiled(b: Builder, out: Any, x: Value, reps: Sequence[int]) -> Value:
    """An array repeated whole."""
    shape = tuple([n for pair in zip(reps, x.shape, strict=True) for n in pair])
    repeated = b.view(b.settled(x), shape, [(0, [(2 * i + 1, 1)]) for i in range(x.ndim)])
    return reshaped(b, out, repeated)


def reshaped(b: Builder, out: Any, x: Value) -> Value:
    """The elements in another shape; what has to be stored for it lies where the result is to."""
    is_whole = x.place is not None and x.place.lies_whole(x.shape)
    is_read_later = x.is_pending and x.holders
    is_stored = x.scalar is None and x.size and split_axes(x.shape, out.shape) is None
    if is_whole or is_read_later or not is_stored:
        return b.reshape(x, out.shape)
    place = b.new(out)
    if not place.lies_whole(out.shape):
        return b.reshape(x, out.shape)
    b.fusion.fill(place.reshaped(x.shape), x)
    return b.placed(out.shape, place)


def block_of(b: Builder, x: Value, starts: Sequence[Index], shape: Sequence[int]) -> Value:
    """The elements from a place on."""
    axes = [(start, [(axis, 1)]) for axis, start in enumerate(starts)]
    return b.view(x, tuple(shape), axes)


def limited_starts(
    b: Builder, starts: Sequence[Value], shape: Sequence[int], sizes: Sequence[int]
) -> list[Index]:
    """Where a block starts, moved so that it lies inside."""
    return [
        b.writer.limit(b.fusion.scalar(start), 0, n - size)
        for start, n, size in zip(starts, shape, sizes, strict=True)
    ]


def with_block(b: Builder, x: Value, update: Value, starts: Sequence[Index]) -> Value:
    """An array with the elements from a place on replaced."""
    place = b.changeable(x)
    update = b.apart(update, place.buffer)
    offset = place.at(tuple(starts))
    b.fusion.fill(Place(place.buffer, place.strides, offset), update, settles=False)
    return Value(x.shape, x.dtype, place=place) if x.ndim else b.placed((), place)
