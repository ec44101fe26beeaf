"""Sorting as loops: merging from below, which is stable and takes n log n steps.

Reference: Knuth, "The Art of Computer Programming", volume 3, section 5.2.4, algorithm S.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, final

from .builder import Builder
from .program import INDEX, Index, Operand
from .values import Place, Value

Precedes = Callable[[Sequence[Operand], Sequence[Operand]], Operand]


def sorted_along(
    b: Builder, operands: Sequence[Value], axis: int, precedes: Precedes
) -> list[Value]:
    """Arrays sorted together along an axis.

    Args:
        b: the builder.
        operands: arrays of one shape.
        axis: along which they are sorted.
        precedes: of the elements at two places, whether the first must come before the second.
    """
    shape = operands[0].shape
    n = shape[axis] if shape else 1
    if n < 2 or not operands[0].size:
        return list(operands)
    source = [b.fusion.copied(x, "sorted") for x in operands]
    target = [Place.whole(b.writer.buffer("merged", x.shape, x.dtype)) for x in operands]
    width = 1
    while width < n:
        whole, rest = divmod(n, 2 * width)
        _merge(b, source, target, axis, _Runs(width, 0, whole, 2 * width), precedes)
        _merge(b, source, target, axis, _Runs(width, n - rest, 1, rest), precedes)
        source, target, width = target, source, 2 * width
    return [b.placed(shape, place) for place in source]


@final
class _Runs(NamedTuple):
    """Neighbouring sorted runs, to be merged in pairs.

    Args:
        width: of the first run of a pair.
        start: where the first pair starts.
        pairs: how many there are.
        size: of a pair.
    """

    width: int
    start: int
    pairs: int
    size: int


def _merge(
    b: Builder,
    source: Sequence[Place],
    target: Sequence[Place],
    axis: int,
    runs: _Runs,
    precedes: Precedes,
) -> None:
    w, shape = b.writer, source[0].buffer.shape
    left, right = w.buffer("left", (), INDEX), w.buffer("right", (), INDEX)
    one, last = w.number(1, INDEX), shape[axis] - 1
    outer = [size for i, size in enumerate(shape) if i != axis]

    def merge_pair(*indices: Index) -> None:
        *others, pair = indices
        first = pair.times(runs.size).plus(runs.start)
        middle = w.index_value(first.plus(min(runs.width, runs.size)))
        end = w.index_value(first.plus(runs.size))
        w.store(left, Index(), w.index_value(first))
        w.store(right, Index(), middle)

        def at(place: Place, i: Index) -> Index:
            return place.at((*others[:axis], i, *others[axis:]))

        def take(step: Index) -> None:
            i, j = w.load(left), w.load(right)
            of_left, of_right = [
                [w.load(place.buffer, at(place, w.limit(k, 0, last))) for place in source]
                for k in (i, j)
            ]
            # From the right run only what must come before the rest of the left one.
            must = w.all_of([w.op("lt", j, end), precedes(of_right, of_left)])
            from_right = w.op("or", w.op("ge", i, middle), must)
            for place, x, y in zip(target, of_left, of_right, strict=True):
                here = at(place, first.plus(step))
                w.store(place.buffer, here, w.select(from_right, y, x))
            w.store(left, Index(), w.select(from_right, i, w.op("add", i, one)))
            w.store(right, Index(), w.select(from_right, w.op("add", j, one), j))

        b.fusion.nest([runs.size], take)

    b.fusion.nest([*outer, runs.pairs], merge_pair)


def precedes_by_keys(b: Builder, count: int) -> Precedes:
    """The lexicographic order of the first `count` elements; NaN comes last, −0 equals 0."""
    w = b.writer

    def is_less(x: Operand, y: Operand) -> Operand:
        less = w.op("lt", x, y)
        if x.dtype.kind != "f":
            return less
        return w.op("or", less, w.all_of([w.op("ne", y, y), w.op("eq", x, x)]))

    def precedes(xs: Sequence[Operand], ys: Sequence[Operand]) -> Operand:
        *before, last = list(zip(xs, ys, strict=True))[:count]
        result = is_less(*last)
        for x, y in reversed(before):
            ties = w.op("not", is_less(y, x))
            result = w.op("or", is_less(x, y), w.all_of([ties, result]))
        return result

    return precedes
