"""Gather and scatter as loops over windows.

Where a window starts is limited to where it fits, so no access leaves its buffer whatever the
indices are; whether it was moved decides about filling in and dropping.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, final

from .builder import Builder
from .program import INDEX, Index, Operand
from .values import Indices, Value

Axes = tuple[int, ...]


@final
class Windows(NamedTuple):
    """Which axis is what, as in the dimension numbers of gather and scatter.

    Args:
        axes: of the windows among those of the result or the updates.
        missing: axes of the operand that windows lack.
        index_map: the axis of the operand that each component of an index addresses.
        batching, indices_batching: batch axes of the operand, and those of the indices.
        sizes: of a window, along each axis of the operand.
    """

    axes: Axes
    missing: Axes
    index_map: Axes
    batching: Axes
    indices_batching: Axes
    sizes: Axes

    @classmethod
    def of(cls, numbers: tuple[Axes, Axes, Axes, Axes, Axes], sizes: Axes) -> Windows:
        """The axes that dimension numbers tell."""
        axes, missing, index_map, batching, indices_batching = numbers
        return cls(axes, missing, index_map, batching, indices_batching, sizes)


def _place_in_operand(
    b: Builder, windows: Windows, shape: Axes, indices: Value, batch: Indices, offsets: Indices
) -> tuple[Indices, Operand]:
    """Where an element of a window lies in the operand, and whether its window fits there."""
    w = b.writer
    place = [Index()] * len(shape)
    kept = [i for i in range(len(shape)) if i not in (*windows.missing, *windows.batching)]
    for axis, offset in zip(kept, offsets, strict=True):
        place[axis] = offset
    for axis, number in zip(windows.batching, windows.indices_batching, strict=True):
        place[axis] = batch[number]
    fits = []
    for component, axis in enumerate(windows.index_map):
        asked = b.fusion.read(indices, (*batch, Index.of(component)))
        last = shape[axis] - windows.sizes[axis]
        start = w.limit(asked, 0, last)
        if asked.dtype.kind == "u" and asked.dtype.itemsize == 8:
            fits.append(w.op("le", asked, w.number(last, asked.dtype)))
        else:
            fits.append(w.op("eq", w.convert(asked, INDEX), w.index_value(start)))
        place[axis] = place[axis].plus(start)
    return tuple(place), w.all_of(fits)


def gathered(
    b: Builder, out: Any, x: Value, indices: Value, windows: Windows, fill: Operand | None
) -> Value:
    """Windows of an array; those that do not fit are moved, or filled with a number."""
    x = b.settled(x)
    batch_axes = [i for i in range(len(out.shape)) if i not in windows.axes]

    def element(at: Indices) -> Operand:
        batch = tuple([at[i] for i in batch_axes])
        offsets = tuple([at[i] for i in windows.axes])
        place, fits = _place_in_operand(b, windows, x.shape, indices, batch, offsets)
        value = b.fusion.read(x, place)
        return value if fill is None else b.writer.select(fits, value, fill)

    if 0 in out.shape or not x.size:
        return b.uniform(out.shape, b.writer.number(0, x.dtype))
    return b.fusion.pending(out.shape, x.dtype, element, [x, indices], cost=4)


def scattered(
    b: Builder,
    x: Value,
    indices: Value,
    updates: Value,
    windows: Windows,
    combine: Callable[[Operand, Operand], Operand],
    *,
    drops: bool,
) -> Value:
    """Windows of updates combined with an array, one after the other, in the order of indices."""
    if not x.size or not updates.size:
        return x
    place = b.changeable(x)
    indices, updates = b.apart(indices, place.buffer), b.apart(updates, place.buffer)
    batch_axes = [i for i in range(updates.ndim) if i not in windows.axes]
    kept = [i for i in range(x.ndim) if i not in (*windows.missing, *windows.batching)]
    corner = (Index(),) * len(kept)

    def step(*batch: Index) -> None:
        first, fits = _place_in_operand(b, windows, x.shape, indices, batch, corner)

        def put(*offsets: Index) -> None:
            moved = dict(zip(kept, offsets, strict=True))
            there = tuple([i.plus(moved.get(axis, 0)) for axis, i in enumerate(first)])
            at = dict(zip((*batch_axes, *windows.axes), (*batch, *offsets), strict=True))
            update = b.fusion.read(updates, tuple([at[i] for i in range(updates.ndim)]))
            old = b.writer.load(place.buffer, place.at(there))
            b.writer.store(place.buffer, place.at(there), combine(old, update))

        def put_window() -> None:
            # Its elements are apart, so that vectors of them may be changed.
            b.fusion.nest([updates.shape[i] for i in windows.axes], put, is_independent=True)

        b.fusion.guarded(fits, put_window) if drops else put_window()

    b.fusion.nest([updates.shape[i] for i in batch_axes], step)
    return b.placed(x.shape, place)


def combination(b: Builder, program: Any) -> Callable[[Operand, Operand], Operand]:
    """A program of two scalars as a function; the second of them if there is none."""

    def combine(old: Operand, new: Operand) -> Operand:
        if program is None:
            return new
        (result,) = b.inline(program, *[b.uniform((), x) for x in (old, new)])
        return b.fusion.scalar(result)

    return combine
