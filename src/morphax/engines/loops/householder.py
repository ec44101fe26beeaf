"""QR factorisations by reflections I − τ v vᵀ, with signs as LAPACK chooses them.

Vectors v have a first element 1, which is not stored; the rest lies below the diagonal.

Reference: Golub & Van Loan, "Matrix Computations", 4th edition, sections 5.1 and 5.2.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, final

from .builder import Builder
from .linalg import Matrix, each_matrix
from .program import ORIGIN, Buffer, Index, Operand
from .values import Indices, Place, Value


@final
class _Reflections(NamedTuple):
    """Reflections of vectors of length `rows`, below the diagonal of a matrix.

    Args:
        vectors, scalars: the vectors v and the numbers τ.
        rows: length of the vectors.
        total: a variable for sums.
    """

    vectors: Matrix
    scalars: Matrix
    rows: int
    total: Buffer

    def apply(self, k: Index, target: Matrix, j: Index) -> None:
        """Reflect column j of a matrix by reflection k."""
        b = target.b
        w = b.writer
        w.store(self.total, ORIGIN, target.at(k, j))
        below = k.times(-1).plus(self.rows - 1)

        def add(step: Index) -> None:
            i = k.plus(1).plus(step)
            product = w.op("mul", self.vectors.at(i, k), target.at(i, j))
            w.store(self.total, ORIGIN, w.op("add", w.load(self.total), product))

        b.fusion.triangle(below, add)
        scaled = w.op("mul", self.scalars.at(k), w.load(self.total))
        target.subtract(scaled, k, j)

        def move(step: Index) -> None:
            i = k.plus(1).plus(step)
            target.subtract(w.op("mul", scaled, self.vectors.at(i, k)), i, j)

        b.fusion.triangle(below, move)

    def make(self, k: Index) -> None:
        """The reflection that makes column k zero below the diagonal; R takes its place there.

        It is made of the column divided by its largest element, so that it is one for columns of
        subnormal numbers too, which rounding leaves of a matrix of low rank.
        """
        matrix = self.vectors
        b, w = matrix.b, matrix.b.writer
        head = matrix.at(k, k)
        zero, one = w.number(0, head.dtype), w.number(1, head.dtype)
        below = k.times(-1).plus(self.rows - 1)
        largest_below, length_below = self._norm_below(k)
        is_done = w.op("eq", largest_below, zero)
        largest = w.select(is_done, one, w.op("max", w.op("fabs", head), largest_below))
        first = w.op("div", head, largest)
        rest = w.op("mul", w.op("div", largest_below, largest), length_below)
        squares = w.op("add", *[w.op("mul", x, x) for x in (first, rest)])
        image = w.op("neg", w.op("copysign", w.op("sqrt", squares), head))
        divisor = w.select(is_done, one, w.op("sub", first, image))
        scalar = w.op("div", w.op("sub", image, first), w.select(is_done, one, image))
        self.scalars.put(w.select(is_done, zero, scalar), k)
        matrix.put(w.select(is_done, head, w.op("mul", image, largest)), k, k)

        def divide(step: Index) -> None:
            i = k.plus(1).plus(step)
            matrix.put(w.op("div", w.op("div", matrix.at(i, k), largest), divisor), i, k)

        b.fusion.triangle(below, divide)

    def _norm_below(self, k: Index) -> tuple[Operand, Operand]:
        """The largest size below the diagonal, and the length of what is there divided by it."""
        matrix = self.vectors
        b, w = matrix.b, matrix.b.writer
        dtype = self.total.dtype
        zero, one = w.number(0, dtype), w.number(1, dtype)
        below = k.times(-1).plus(self.rows - 1)

        def size(step: Index) -> Operand:
            return w.op("fabs", matrix.at(k.plus(1).plus(step), k))

        def compare(step: Index) -> None:
            w.store(self.total, ORIGIN, w.op("max", w.load(self.total), size(step)))

        w.store(self.total, ORIGIN, zero)
        b.fusion.triangle(below, compare)
        largest = w.load(self.total)
        divisor = w.select(w.op("eq", largest, zero), one, largest)

        def add(step: Index) -> None:
            part = w.op("div", size(step), divisor)
            square = w.op("mul", part, part)
            w.store(self.total, ORIGIN, w.op("add", w.load(self.total), square))

        w.store(self.total, ORIGIN, zero)
        b.fusion.triangle(below, add)
        return largest, w.op("sqrt", w.load(self.total))


def reflections(b: Builder, a: Value, place: Place, scalars: Place) -> None:
    """Replace matrices, which lie at a place, by R and the vectors below it, and give the τ."""
    rows, columns = a.shape[-2:]
    total = b.writer.buffer("sum", (), a.dtype)

    def factorise(group: Indices) -> None:
        matrix = Matrix(b, place, group)
        found = _Reflections(matrix, Matrix(b, scalars, group), rows, total)

        def column(k: Index) -> None:
            found.make(k)
            b.fusion.triangle(
                k.times(-1).plus(columns - 1),
                lambda step: found.apply(k, matrix, k.plus(1).plus(step)),
            )

        b.fusion.nest([min(rows, columns)], column)

    each_matrix(b, a.shape[:-2], factorise)


def geqrf(b: Builder, outs: Any, a: Value) -> list[Value]:
    """The reflections of a QR factorisation, and their numbers τ."""
    places = [b.changeable(a), b.new(outs[1], 1)]
    if a.size:
        reflections(b, a, *places)
    return [b.placed(out.shape, place) for out, place in zip(outs, places, strict=True)]


def product(b: Builder, out: Any, vectors: Value, scalars: Value) -> Value:
    """The first columns of the product of reflections."""
    place = b.new(out)
    if not math.prod(out.shape):
        return b.placed(out.shape, place)
    of_vectors, of_scalars = b.fusion.stored(vectors), b.fusion.stored(scalars)
    _multiplied(b, place, out.shape, of_vectors, of_scalars, scalars.shape[-1])
    return b.placed(out.shape, place)


def _multiplied(
    b: Builder, place: Place, shape: tuple[int, ...], vectors: Place, scalars: Place, count: int
) -> None:
    rows, columns = shape[-2:]
    dtype = place.buffer.dtype
    w, total = b.writer, b.writer.buffer("sum", (), dtype)

    def multiply(group: Indices) -> None:
        target = Matrix(b, place, group)
        found = _Reflections(Matrix(b, vectors, group), Matrix(b, scalars, group), rows, total)

        def start(i: Index, j: Index) -> None:
            is_one = w.op("eq", w.index_value(i), w.index_value(j))
            target.put(w.select(is_one, w.number(1, dtype), w.number(0, dtype)), i, j)

        def reflect(step: Index) -> None:
            k = step.times(-1).plus(count - 1)
            b.fusion.nest([columns], lambda j: found.apply(k, target, j))

        b.fusion.nest([rows, columns], start)
        if count:
            b.fusion.nest([count], reflect)

    each_matrix(b, shape[:-2], multiply)


def qr(b: Builder, outs: Any, a: Value) -> list[Value]:
    """Q and R."""
    of_q, of_r = outs
    places = [b.new(out, number) for number, out in enumerate(outs)]
    w, zero = b.writer, b.writer.number(0, a.dtype)
    rows, columns = a.shape[-2:]
    count = min(rows, columns)
    scalars = Place.whole(w.buffer("scalars", (*a.shape[:-2], count), a.dtype))
    if not a.size:
        b.fusion.fill(places[1], b.uniform(of_r.shape, zero))
        _multiplied(b, places[0], of_q.shape, places[0], scalars, 0)
        return [b.placed(out.shape, place) for out, place in zip(outs, places, strict=True)]
    found = b.fusion.copied(a, "reflections")
    reflections(b, a, found, scalars)

    def upper(*indices: Index) -> None:
        *_, i, j = indices
        inside = w.op("le", w.index_value(i), w.index_value(j))
        value = w.load(found.buffer, found.at(indices))
        w.store(places[1].buffer, places[1].at(indices), w.select(inside, value, zero))

    b.fusion.nest(of_r.shape, upper, is_independent=True)
    _multiplied(b, places[0], of_q.shape, found, scalars, count)
    return [b.placed(out.shape, place) for out, place in zip(outs, places, strict=True)]
