"""Reductions and running sums as loops.

Where the last axis is summed, one scalar is the sum of a row.  Otherwise rows are added to a row:
memory is passed through in its order, and the inner loop is a sum of vectors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .builder import Builder
from .program import Index, Operand
from .values import Place, Value


def reduced(
    b: Builder, out: Any, x: Value, axes: Sequence[int], operation: str, identity: Operand
) -> Value:
    """The elements along `axes` combined by an operation with an identity."""
    if not x.size:
        return b.uniform(out.shape, identity)
    kept = [i for i in range(x.ndim) if i not in axes]
    place = b.new(out, name="sum")
    long = [i for i in range(x.ndim) if x.shape[i] > 1]
    if kept and long and long[-1] in kept:
        _sum_of_rows(b, place, x, kept, operation, identity)
    else:
        _rows_summed(b, place, x, kept, operation, identity)
    return b.placed(out.shape, place)


def _sum_of_rows(
    b: Builder, place: Place, x: Value, kept: Sequence[int], operation: str, identity: Operand
) -> None:
    shape = tuple([x.shape[i] for i in kept])
    b.fusion.fill(place, b.uniform(shape, identity))

    def add(*indices: Index) -> None:
        there = place.at(tuple([indices[i] for i in kept]))
        total = b.writer.load(place.buffer, there)
        term = b.fusion.read(x, indices)
        b.writer.store(place.buffer, there, b.writer.op(operation, total, term))

    b.fusion.nest(x.shape, add, is_independent=[i in kept for i in range(x.ndim)])


def _rows_summed(
    b: Builder, place: Place, x: Value, kept: Sequence[int], operation: str, identity: Operand
) -> None:
    summed = [i for i in range(x.ndim) if i not in kept]
    # The only sum is its own result.
    total = b.writer.buffer("sum", (), x.dtype) if kept else place.buffer

    def row(*outer: Index) -> None:
        b.writer.store(total, Index(), identity)
        indices = dict(zip(kept, outer, strict=True))

        def add(*inner: Index) -> None:
            places = indices | dict(zip(summed, inner, strict=True))
            term = b.fusion.read(x, tuple([places[i] for i in range(x.ndim)]))
            so_far = b.writer.load(total)
            b.writer.store(total, Index(), b.writer.op(operation, so_far, term))

        b.fusion.nest([x.shape[i] for i in summed], add)
        if kept:
            b.writer.store(place.buffer, place.at(outer), b.writer.load(total))

    b.fusion.nest([x.shape[i] for i in kept], row, is_independent=True)


def accumulated(
    b: Builder,
    out: Any,
    x: Value,
    axis: int,
    combine: Any,
    *,
    reverse: bool,
) -> Value:
    """All partial results along an axis: ``y[i] = combine(y[i - 1], x[i])``, from either end."""
    place, n = b.new(out), x.shape[axis]
    if not x.size:
        return b.placed(out.shape, place)
    total = b.writer.buffer("sum", (), x.dtype)
    outer = [n for i, n in enumerate(x.shape) if i != axis]

    def row(*others: Index) -> None:
        def at(i: Index) -> tuple[Index, ...]:
            position = i.times(-1).plus(n - 1) if reverse else i
            return (*others[:axis], position, *others[axis:])

        def put(i: Index, value: Operand) -> None:
            b.writer.store(total, Index(), value)
            b.writer.store(place.buffer, place.at(at(i)), value)

        def step(i: Index) -> None:
            # The first step is the one before these.
            here = i.plus(1)
            put(here, combine(b.writer.load(total), b.fusion.read(x, at(here))))

        put(Index(), b.fusion.read(x, at(Index())))
        b.fusion.nest([n - 1], step)

    # Both the first element and the others are read.
    x = b.settled(x)
    b.fusion.nest(outer, row, is_independent=True)
    return b.placed(out.shape, place)


def place_of_extreme(b: Builder, out: Any, x: Value, axis: int, better: str) -> Value:
    """Where along an axis the element lies that is `better`, ``gt`` or ``lt``, than all others.

    Of equal ones the first is taken, of all the first NaN.
    """
    place, n, w = b.new(out), x.shape[axis], b.writer
    if not math.prod(out.shape):
        return b.placed(out.shape, place)
    dtype = b.dtype_of(out)
    best, where = w.buffer("best", (), x.dtype), w.buffer("where", (), dtype)
    x = b.settled(x)

    def row(*others: Index) -> None:
        def read(i: Index) -> Operand:
            return b.fusion.read(x, (*others[:axis], i, *others[axis:]))

        def step(i: Index) -> None:
            here = i.plus(1)
            value, known = read(here), w.load(best)
            wins = w.op(better, value, known)
            if x.dtype.kind == "f":
                is_first_nan = w.all_of([w.op("ne", value, value), w.op("eq", known, known)])
                wins = w.op("or", wins, is_first_nan)
            w.store(best, Index(), w.select(wins, value, known))
            position = w.convert(w.index_value(here), dtype)
            w.store(where, Index(), w.select(wins, position, w.load(where)))

        w.store(best, Index(), read(Index()))
        w.store(where, Index(), w.number(0, dtype))
        b.fusion.nest([n - 1], step)
        w.store(place.buffer, place.at(others), w.load(where))

    outer = [size for i, size in enumerate(x.shape) if i != axis]
    b.fusion.nest(outer, row, is_independent=True)
    return b.placed(out.shape, place)
