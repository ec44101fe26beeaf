"""Tridiagonal systems as loops: elimination with exchanges of neighbouring rows.

Reference: Golub & Van Loan, "Matrix Computations", 4th edition, section 4.3; LAPACK, gtsv.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .builder import Builder
from .linalg import Matrix, each_matrix
from .program import Index, Operand
from .values import Indices, Place, Value


def tridiagonal_solved(
    b: Builder, out: Any, lower: Value, diagonal: Value, upper: Value, right: Value
) -> Value:
    """X of A X = B; NaN where A is singular."""
    *batch, n, columns = out.shape
    if not math.prod(out.shape):
        return b.placed(out.shape, b.new(out))
    below, on, above = [b.fusion.stored(x) for x in (lower, diagonal, upper)]
    place = b.changeable(right)
    # Rows of the triangle that elimination leaves: pivots, and two diagonals above them.
    memory = [Place.whole(b.writer.buffer("row", (n,), right.dtype)) for _ in range(3)]

    def solve(group: Indices) -> None:
        given = [Matrix(b, p, group) for p in (below, on, above)]
        kept = [Matrix(b, p, ()) for p in memory]
        x = Matrix(b, place, group)
        for matrix, copy in zip(given[1:], kept[:2], strict=True):
            _copy(b, matrix, copy, n)
        zero = b.writer.number(0, right.dtype)
        b.fusion.nest([n], lambda i: kept[2].put(zero, i))
        b.fusion.nest([n - 1], lambda k: _eliminate(b, given[0], kept, x, (k, columns)))
        _substitute(b, kept, x, (n, columns))

    each_matrix(b, tuple(batch), solve)
    return b.placed(out.shape, place)


def _copy(b: Builder, source: Matrix, target: Matrix, n: int) -> None:
    b.fusion.nest([n], lambda i: target.put(source.at(i), i))


def _eliminate(
    b: Builder, below: Matrix, kept: list[Matrix], x: Matrix, sizes: tuple[Index, int]
) -> None:
    """Take row k, or the one below if its element is larger, from the other."""
    w, (k, columns) = b.writer, sizes
    pivots, above, far = kept
    following = k.plus(1)
    other = below.at(following)
    pivot, next_pivot, of_pivot, of_next = (
        pivots.at(k),
        pivots.at(following),
        above.at(k),
        above.at(following),
    )
    is_exchanged = w.op("gt", w.op("fabs", other), w.op("fabs", pivot))

    def ordered(first: Operand, second: Operand) -> tuple[Operand, Operand]:
        return w.select(is_exchanged, second, first), w.select(is_exchanged, first, second)

    pivot, other = ordered(pivot, other)
    ratio = w.op("div", other, pivot)
    upper, rest = ordered(of_pivot, next_pivot)
    zero = w.number(0, pivot.dtype)
    pivots.put(pivot, k)
    above.put(upper, k)
    pivots.put(w.op("sub", rest, w.op("mul", ratio, upper)), following)
    far.put(w.select(is_exchanged, of_next, zero), k)
    moved = w.op("neg", w.op("mul", ratio, of_next))
    above.put(w.select(is_exchanged, moved, of_next), following)

    def column(c: Index) -> None:
        here, there = ordered(x.at(k, c), x.at(following, c))
        x.put(here, k, c)
        x.put(w.op("sub", there, w.op("mul", ratio, here)), following, c)

    b.fusion.nest([columns], column)


def _substitute(b: Builder, kept: list[Matrix], x: Matrix, sizes: tuple[int, int]) -> None:
    """Solve with the triangle, from the last row up."""
    w, (n, columns) = b.writer, sizes
    pivots, above, far = kept
    last = Index.of(n - 1)
    pivot = pivots.at(last)
    # A pivot before that is 0 has made all numbers after it NaN.
    is_singular = w.op("eq", pivot, w.number(0, pivot.dtype))
    nan = w.number(np.nan, pivot.dtype)

    def bottom(c: Index) -> None:
        quotient = w.op("div", x.at(last, c), pivot)
        x.put(w.select(is_singular, nan, quotient), last, c)

    b.fusion.nest([columns], bottom)

    def row(step: Index) -> None:
        i = step.times(-1).plus(n - 2)
        _row(b, i, [above.at(i)], pivots.at(i), x, columns)

    def row_of_three(step: Index) -> None:
        i = step.times(-1).plus(n - 3)
        _row(b, i, [above.at(i), far.at(i)], pivots.at(i), x, columns)

    b.fusion.nest([min(n - 1, 1)], row)
    b.fusion.nest([max(n - 2, 0)], row_of_three)


def _row(
    b: Builder, i: Index, factors: list[Operand], pivot: Operand, x: Matrix, columns: int
) -> None:
    """One row, from those below it."""
    w = b.writer

    def column(c: Index) -> None:
        value = x.at(i, c)
        for distance, factor in enumerate(factors, start=1):
            value = w.op("sub", value, w.op("mul", factor, x.at(i.plus(distance), c)))
        x.put(w.op("div", value, pivot), i, c)

    b.fusion.nest([columns], column)
