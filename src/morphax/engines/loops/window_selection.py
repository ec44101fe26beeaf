"""The element of each window that wins: taken from another array, or added to."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from .builder import Builder
from .joining import padded_into
from .program import INDEX, ORIGIN, Buffer, Index, Operand
from .values import Indices, Place, Value, row_major
from .windows import Sliding, windows_of


def _each_winner(
    b: Builder,
    x: Value,
    worst: Operand,
    better: str,
    axes: Sequence[Sliding],
    use: Callable[[Indices, Index], None],
) -> None:
    """For each window, the place of the first best element in the padded array, row-major."""
    shape = tuple([axis.padding[2] for axis in axes])
    windows = windows_of(b, x, worst, axes)
    w, last = b.writer, math.prod(shape) - 1
    best, where = w.buffer("best", (), x.dtype), w.buffer("where", (), INDEX)

    def place_of(window: Indices, inside: Indices) -> Operand:
        place = ORIGIN
        for p, k, axis, step in zip(window, inside, axes, row_major(shape), strict=True):
            place = place.plus(p.times(axis.stride * step)).plus(k.times(axis.dilation * step))
        return w.index_value(place)

    def find(*window: Index) -> None:
        first = (ORIGIN,) * len(axes)
        w.store(best, ORIGIN, b.fusion.read(windows, (*window, *first)))
        w.store(where, ORIGIN, place_of(window, first))

        def compare(*inside: Index) -> None:
            candidate, known = b.fusion.read(windows, (*window, *inside)), w.load(best)
            wins = w.op(better, candidate, known)
            if x.dtype.kind == "f":
                is_nan = w.op("ne", candidate, candidate)
                wins = w.op("or", wins, w.all_of([is_nan, w.op("eq", known, known)]))
            w.store(best, ORIGIN, w.select(wins, candidate, known))
            w.store(where, ORIGIN, w.select(wins, place_of(window, inside), w.load(where)))

        b.fusion.nest([axis.size for axis in axes], compare)
        use(window, w.limit(w.load(where), 0, last))

    b.fusion.nest([axis.windows for axis in axes], find)


def gathered_winners(
    b: Builder,
    out: Any,
    source: Value,
    x: Value,
    axes: Sequence[Sliding],
    worst: Operand,
    better: str,
) -> Value:
    """What `source`, of the shape of `x`, has where `x` wins; zero where padding does."""
    zero = b.writer.number(0, source.dtype)
    if not math.prod(out.shape):
        return b.uniform(out.shape, zero)
    place, memory = b.new(out), _with_padding(b, source, zero, axes)

    def use(window: Indices, winner: Index) -> None:
        b.writer.store(place.buffer, place.at(window), b.writer.load(memory, winner))

    _each_winner(b, x, worst, better, axes, use)
    return b.placed(out.shape, place)


def _with_padding(b: Builder, x: Value, filler: Operand, axes: Sequence[Sliding]) -> Buffer:
    shape = tuple([axis.padding[2] for axis in axes])
    memory = b.writer.buffer("padded", shape, x.dtype)
    padded_into(b, Place.whole(memory), x, filler, [axis.padding for axis in axes])
    return memory


def scattered_winners(
    b: Builder,
    out: Any,
    source: Value,
    x: Value,
    axes: Sequence[Sliding],
    worst: Operand,
    better: str,
) -> Value:
    """Zeros like `x`, with each number of `source` added where `x` wins in its window."""
    zero = b.writer.number(0, source.dtype)
    if not source.size or not x.size:
        return b.uniform(out.shape, zero)
    shape = tuple([axis.padding[2] for axis in axes])
    memory = b.writer.buffer("total", shape, source.dtype)
    b.fusion.fill(Place.whole(memory), b.uniform(shape, zero))
    source = b.settled(source)

    def use(window: Indices, winner: Index) -> None:
        number = b.fusion.read(source, window)
        total = b.writer.op("add", b.writer.load(memory, winner), number)
        b.writer.store(memory, winner, total)

    _each_winner(b, x, worst, better, axes, use)
    place = b.new(out)
    b.fusion.fill(place, b.uniform(out.shape, zero))
    kept = [axis.padding[0] for axis in axes]
    sizes = tuple([each.stop - each.start for each in kept])
    if 0 not in sizes:
        steps = [(a.padding[1].start, [(i, a.padding[1].step or 1)]) for i, a in enumerate(axes)]
        part = b.view(b.placed(shape, Place.whole(memory)), sizes, steps)
        starts = tuple([Index.of(each.start) for each in kept])
        b.fusion.fill(Place(place.buffer, place.strides, place.at(starts)), part)
    return b.placed(out.shape, place)
