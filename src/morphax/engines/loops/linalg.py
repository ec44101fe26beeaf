"""Factorisations and triangular systems of small matrices as loops.

The algorithms are those of the textbooks, column by column; whatever is found lies where the matrix
was.

Reference: Golub & Van Loan, "Matrix Computations", 4th edition, sections 3.1, 3.4, 4.2 and 5.2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, final

import numpy as np

from .builder import Builder
from .complex_scalars import conjugate, parts
from .operations import PART_OF
from .program import INDEX, ORIGIN, Buffer, Index, Operand
from .scalars import quotient
from .values import Indices, Place, Value


@final
class Matrix(NamedTuple):
    """One matrix, or vector, of a stack in memory.

    Args:
        b: the builder.
        place: of the stack.
        group: which matrix.
    """

    b: Builder
    place: Place
    group: Indices

    def at(self, *indices: Index) -> Operand:
        """An element as it is now."""
        return self.b.writer.load(self.place.buffer, self.place.at((*self.group, *indices)))

    def put(self, value: Operand, *indices: Index) -> None:
        self.b.writer.store(self.place.buffer, self.place.at((*self.group, *indices)), value)

    def subtract(self, value: Operand, *indices: Index) -> None:
        self.put(self.b.writer.op("sub", self.at(*indices), value), *indices)


def each_matrix(b: Builder, batch: tuple[int, ...], body: Callable[[Indices], None]) -> None:
    """Loops over a stack."""
    b.fusion.nest(batch, lambda *group: body(group), is_independent=True)


def cholesky(b: Builder, out: Any, a: Value) -> Value:
    """L of A = L Lᵀ; NaN in the lower triangle where a pivot is not positive."""
    n, w = out.shape[-1], b.writer
    if not math.prod(out.shape):
        return b.placed(out.shape, b.new(out))
    place = b.changeable(a)
    failed = w.buffer("failed", (), np.dtype(bool))
    zero = w.number(0, a.dtype)

    def factorise(group: Indices) -> None:
        matrix = Matrix(b, place, group)
        w.store(failed, ORIGIN, w.number(False, bool))

        def column(j: Index) -> None:
            b.fusion.triangle(j, lambda k: matrix.subtract(_squared(b, matrix.at(j, k)), j, j))
            pivot = matrix.at(j, j)
            wrong = w.op("not", w.op("gt", pivot, zero))
            w.store(failed, ORIGIN, w.op("or", w.load(failed), wrong))
            root = w.op("sqrt", pivot)
            matrix.put(root, j, j)

            def row(step: Index) -> None:
                i = j.plus(1).plus(step)
                b.fusion.triangle(
                    j,
                    lambda k: matrix.subtract(w.op("mul", matrix.at(i, k), matrix.at(j, k)), i, j),
                )
                matrix.put(w.op("div", matrix.at(i, j), root), i, j)
                matrix.put(zero, j, i)

            b.fusion.triangle(_from(j, n), row)

        b.fusion.nest([n], column)
        nan = w.number(np.nan, a.dtype)

        def spoil() -> None:
            b.fusion.nest(
                [n], lambda i: b.fusion.triangle(i.plus(1), lambda j: matrix.put(nan, i, j))
            )

        b.fusion.guarded(w.load(failed), spoil)

    each_matrix(b, out.shape[:-2], factorise)
    return b.placed(out.shape, place)


def _squared(b: Builder, x: Operand) -> Operand:
    return b.writer.op("mul", x, x)


def _from(j: Index, n: int) -> Index:
    """How many indices below `n` are larger than `j`."""
    return j.times(-1).plus(n - 1)


@final
class Triangular(NamedTuple):
    """Which triangular system is solved: op(A) X = B, or X op(A) = B.

    Args:
        left_side: whether A is on the left.
        lower: whether the lower triangle of A is read.
        transpose: whether op transposes.
        unit_diagonal: whether the diagonal is taken for 1.
        conjugate: whether op conjugates.
    """

    left_side: bool = True
    lower: bool = True
    transpose: bool = False
    unit_diagonal: bool = False
    conjugate: bool = False


def solved_in_place(
    b: Builder, a: Matrix, x: Matrix, sizes: tuple[int, int], how: Triangular
) -> None:
    """Replace B by X; `sizes` are those of B, the order of A first where it is on the right too."""
    n, columns = sizes
    # X op(A) = B is op(A)ᵀ Xᵀ = Bᵀ.
    flipped = how.transpose == how.left_side
    forward = how.lower != flipped

    def of_a(i: Index, k: Index) -> Operand:
        element = a.at(k, i) if flipped else a.at(i, k)
        return conjugate(b.writer, element) if how.conjugate else element

    def of_x(i: Index, c: Index) -> tuple[Index, Index]:
        return (i, c) if how.left_side else (c, i)

    def row(step: Index) -> None:
        i = step if forward else step.times(-1).plus(n - 1)

        def eliminate(before: Index) -> None:
            k = before if forward else before.times(-1).plus(n - 1)
            factor = of_a(i, k)

            def entry(c: Index) -> None:
                product = b.writer.op("mul", factor, x.at(*of_x(k, c)))
                x.subtract(product, *of_x(i, c))

            b.fusion.nest([columns], entry)

        b.fusion.triangle(step, eliminate)
        if not how.unit_diagonal:
            pivot = of_a(i, i)
            b.fusion.nest(
                [columns],
                lambda c: x.put(quotient(b.writer, x.at(*of_x(i, c)), pivot), *of_x(i, c)),
            )

    b.fusion.nest([n], row)


def triangular_solved(b: Builder, out: Any, a: Value, right: Value, how: Triangular) -> Value:
    """X of a triangular system."""
    if not math.prod(out.shape):
        return b.placed(out.shape, b.new(out))
    a = b.settled(a)
    place = b.changeable(right)
    of_a = b.fusion.stored(b.apart(_as_placed(b, a), place.buffer))
    n = a.shape[-1]
    columns = out.shape[-1] if how.left_side else out.shape[-2]

    def solve(group: Indices) -> None:
        matrices = Matrix(b, of_a, group), Matrix(b, place, group)
        solved_in_place(b, *matrices, (n, columns), how)

    each_matrix(b, out.shape[:-2], solve)
    return b.placed(out.shape, place)


def _as_placed(b: Builder, x: Value) -> Value:
    """The value in memory, also if all its elements are one."""
    return Value(x.shape, x.dtype, place=b.fusion.stored(x))


def lu(b: Builder, outs: Any, a: Value) -> list[Value]:
    """The factors of P A = L U, the exchanges of rows, and the permutation that they make."""
    factors, pivots, permutation = outs
    rows, columns = factors.shape[-2:]
    places = [b.changeable(a), b.new(pivots, 1), b.new(permutation, 2)]
    number = b.dtype_of(permutation)
    best = b.writer.buffer("best", (), PART_OF.get(a.dtype, a.dtype))
    chosen = b.writer.buffer("chosen", (), INDEX)

    def factorise(group: Indices) -> None:
        matrix, exchanges, order = [Matrix(b, place, group) for place in places]
        w = b.writer

        def count(i: Index) -> None:
            order.put(w.convert(w.index_value(i), number), i)

        def column(k: Index) -> None:
            _find_pivot(b, matrix, k, rows, best, chosen)
            pivot_row = w.limit(w.load(chosen), 0, rows - 1)
            exchanges.put(w.convert(w.load(chosen), number), k)
            b.fusion.nest([columns], lambda j: _exchange(matrix, (k, j), (pivot_row, j)))
            _exchange(order, (k,), (pivot_row,))
            pivot = matrix.at(k, k)
            is_zero = w.op("eq", pivot, w.number(0, a.dtype))
            divisor = w.select(is_zero, w.number(1, a.dtype), pivot)

            def row(step: Index) -> None:
                i = k.plus(1).plus(step)
                factor = quotient(w, matrix.at(i, k), divisor)
                matrix.put(factor, i, k)

                def entry(step: Index) -> None:
                    j = k.plus(1).plus(step)
                    matrix.subtract(w.op("mul", factor, matrix.at(k, j)), i, j)

                b.fusion.triangle(_from(k, columns), entry)

            b.fusion.triangle(_from(k, rows), row)

        b.fusion.nest([rows], count)
        b.fusion.nest([min(rows, columns)], column)

    if math.prod(permutation.shape):
        each_matrix(b, factors.shape[:-2], factorise)
    return [b.placed(out.shape, place) for out, place in zip(outs, places, strict=True)]


def _find_pivot(
    b: Builder, matrix: Matrix, k: Index, rows: int, best: Buffer, chosen: Buffer
) -> None:
    """The row from `k` on whose element in column `k` is largest, the first of equal ones."""
    w = b.writer
    w.store(best, ORIGIN, _pivot_size(b, matrix.at(k, k)))
    w.store(chosen, ORIGIN, w.index_value(k))

    def compare(step: Index) -> None:
        i = k.plus(1).plus(step)
        size, known = _pivot_size(b, matrix.at(i, k)), w.load(best)
        is_larger = w.op("gt", size, known)
        w.store(best, ORIGIN, w.select(is_larger, size, known))
        w.store(chosen, ORIGIN, w.select(is_larger, w.index_value(i), w.load(chosen)))

    b.fusion.triangle(_from(k, rows), compare)


def _pivot_size(b: Builder, x: Operand) -> Operand:
    """By what pivots are compared: |x|, or |Re x| + |Im x|, as LAPACK does."""
    w = b.writer
    if x.dtype not in PART_OF:
        return w.op("fabs", x)
    return w.op("add", *[w.op("fabs", part) for part in parts(w, x)])


def _exchange(matrix: Matrix, first: Indices, second: Indices) -> None:
    x, y = matrix.at(*first), matrix.at(*second)
    matrix.put(y, *first)
    matrix.put(x, *second)


def solved_with_factors(
    b: Builder, out: Any, factors: Value, permutation: Value, right: Value, *, transpose: bool
) -> Value:
    """X of op(A) X = B, from the factors of A."""
    n, columns = out.shape[-2:]
    if not math.prod(out.shape):
        return b.placed(out.shape, b.new(out))
    of_lu = b.fusion.stored(factors)
    order, of_right = b.fusion.stored(permutation), b.fusion.stored(right)
    place = b.new(out)
    half = Place.whole(b.writer.buffer("half", out.shape, right.dtype)) if transpose else place

    def solve(group: Indices) -> None:
        lu, rows = Matrix(b, of_lu, group), Matrix(b, order, group)
        source, x, found = [Matrix(b, p, group) for p in (of_right, half, place)]

        def row_of(i: Index) -> Index:
            return b.writer.limit(rows.at(i), 0, n - 1)

        def take(i: Index) -> None:
            row = i if transpose else row_of(i)
            b.fusion.nest([columns], lambda c: x.put(source.at(row, c), i, c))

        def give(i: Index) -> None:
            row = row_of(i)
            b.fusion.nest([columns], lambda c: found.put(x.at(i, c), row, c))

        b.fusion.nest([n], take)
        for lower in (False, True) if transpose else (True, False):
            how = Triangular(lower=lower, transpose=transpose, unit_diagonal=lower)
            solved_in_place(b, lu, x, (n, columns), how)
        if transpose:
            b.fusion.nest([n], give)

    # Each row is given once; that all are, the checker cannot see.
    if transpose:
        b.fusion.fill(place, b.uniform(out.shape, b.writer.number(0, right.dtype)))
    each_matrix(b, out.shape[:-2], solve)
    return b.placed(out.shape, place)


def permutation_of(b: Builder, out: Any, pivots: Value) -> Value:
    """The permutation that exchanges of row i with row ``pivots[i]`` amount to."""
    n, count = out.shape[-1], pivots.shape[-1]
    place, of_pivots = b.new(out), b.fusion.stored(pivots)
    w, dtype = b.writer, b.dtype_of(out)

    def exchange_all(group: Indices) -> None:
        order, exchanges = Matrix(b, place, group), Matrix(b, of_pivots, group)
        b.fusion.nest([n], lambda i: order.put(w.convert(w.index_value(i), dtype), i))
        b.fusion.nest(
            [count], lambda i: _exchange(order, (i,), (w.limit(exchanges.at(i), 0, n - 1),))
        )

    if math.prod(out.shape):
        each_matrix(b, out.shape[:-1], exchange_all)
    return b.placed(out.shape, place)
