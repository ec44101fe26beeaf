"""Sums of products as loops, in the order in which memory lies."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, final

import numpy as np

from .builder import Builder
from .folds import Fold
from .program import BOOL, ORIGIN, Index, Matrix, Operand, Product
from .scalars import converted
from .values import Indices, Place, Value

Axes = Sequence[int]
_Within = tuple[Axes, Axes]
# Of so many products of numbers, with no side shorter than this, a library is faster.
_WORTH_A_CALL, _FEWEST = 1 << 13, 8
# Sums of so many terms are one expression, of rows that would not be in registers while they are
# added up one after the other (`accumulators`).
_MOST_TERMS, _LONG_ROW = 32, 8


def contracted(
    b: Builder,
    out: Any,
    x: Value,
    y: Value,
    contracting: tuple[Axes, Axes],
    batch: tuple[Axes, Axes],
) -> Value:
    """Sums of products over pairs of contracting axes, for each index of pairs of batch axes.

    The result has the batch axes, then the free axes of `x`, then those of `y`.
    """
    if not x.size or not y.size:
        return b.uniform(out.shape, b.writer.number(0, b.dtype_of(out)))
    place = place_of_sums(b, out, x, y)
    contracted_into(b, place, x, y, contracting, batch)
    return as_wanted(b, out, b.placed(out.shape, place))


def place_of_sums(b: Builder, out: Any, x: Value, y: Value) -> Place:
    """Where to store sums of products that become a result: it has their dtype.

    Sums of floats stay as wide as these until they are complete, also where integers are wanted.
    """
    wide, dtype = np.promote_types(x.dtype, y.dtype), b.dtype_of(out)
    if wide.kind not in "fc" or np.promote_types(wide, dtype) == dtype:
        return b.new(out)
    return Place.whole(b.writer.buffer("sums", out.shape, wide))


def as_wanted(b: Builder, out: Any, sums: Value) -> Value:
    """Complete sums in the dtype of the result."""
    dtype = b.dtype_of(out)
    if sums.dtype == dtype:
        return sums
    return b.elementwise(out, lambda x: converted(b.writer, x, dtype), sums)


def contracted_into(
    b: Builder,
    place: Place,
    x: Value,
    y: Value,
    contracting: tuple[Axes, Axes],
    batch: tuple[Axes, Axes],
) -> None:
    """The same of arrays that are not empty, stored at a place with these axes."""
    product = _Product(b, place, b.settled(x), b.settled(y), contracting, batch)
    within = product.for_library()
    if within is not None:
        product.by_library(within)
    elif _is_vector(product.y, product.free_y):
        product.by_terms() if product.has_few_terms() else product.by_vectors(of_rows=False)
    elif _is_vector(product.x, product.free_x) and not any(n > 1 for n in product.columns):
        product.by_vectors(of_rows=True)
    else:
        product.by_scalars()


def _is_vector(x: Value, free: Axes) -> bool:
    """Whether neighbours along the last of the free axes are neighbours in memory."""
    long = [i for i in free if x.shape[i] > 1]
    return bool(long) and x.place is not None and x.place.strides[long[-1]] == 1


def _step(strides: Sequence[int], extents: Sequence[int]) -> int:
    """How far elements are apart along axes that are one; 0 if they are not."""
    long = [(stride, n) for stride, n in zip(strides, extents, strict=True) if n > 1]
    for (outer, _), (inner, n) in itertools.pairwise(long):
        if outer != inner * n:
            return 0
    return long[-1][0] if long else 0


def _choices(extents: Sequence[int]) -> list[Axes]:
    """Numbers of the axes that may be rows, or columns, of matrices: all, or a single one."""
    count = len(extents)
    return [range(count), *[(i,) for i in range(count) if count > 1]]


@final
class _Product:
    """A contraction of stored values; its result has the axes group, row, column."""

    def __init__(
        self,
        b: Builder,
        place: Place,
        x: Value,
        y: Value,
        contracting: tuple[Axes, Axes],
        batch: tuple[Axes, Axes],
    ) -> None:
        self.b, self.place, self.x, self.y = b, place, x, y
        self.free_x = [i for i in range(x.ndim) if i not in (*contracting[0], *batch[0])]
        self.free_y = [i for i in range(y.ndim) if i not in (*contracting[1], *batch[1])]
        (self.terms_x, self.terms_y), self.batch = contracting, batch
        self.axes_x = (*batch[0], *self.free_x, *contracting[0])
        self.axes_y = (*batch[1], *self.free_y, *contracting[1])
        self.groups = [x.shape[i] for i in batch[0]]
        self.rows = [x.shape[i] for i in self.free_x]
        self.columns = [y.shape[i] for i in self.free_y]
        self.terms = [x.shape[i] for i in contracting[0]]
        self.dtype = place.buffer.dtype
        self.zero = b.writer.number(0, self.dtype)
        self.multiply, self.add = ("and", "or") if self.dtype == BOOL else ("mul", "add")

    def term(self, group: Indices, row: Indices, column: Indices, term: Indices) -> Operand:
        """One product of elements."""
        of_x = dict(zip(self.axes_x, (*group, *row, *term), strict=True))
        of_y = dict(zip(self.axes_y, (*group, *column, *term), strict=True))
        factors = []
        for v, at in ((self.x, of_x), (self.y, of_y)):
            factor = self.b.fusion.read(v, tuple([at[i] for i in range(v.ndim)]))
            factors.append(converted(self.b.writer, factor, self.dtype))
        return self.b.writer.op(self.multiply, *factors)

    def matrices(self, within: _Within, at: Indices) -> list[Matrix] | None:
        """The result and the operands as matrices; `None` if they do not lie as such.

        Args:
            within: which axes of rows and columns they have.
            at: where along the groups and the other ones, as `outer` has them.
        """
        rows, columns = within
        count, beyond = len(self.groups), len(self.groups) + len(self.rows)
        of_rows, of_columns = range(count, beyond), range(beyond, beyond + len(self.columns))
        outer_rows, outer_columns = self.outer(within)
        sizes_x, sizes_y = [self.rows[i] for i in rows], [self.columns[i] for i in columns]
        found = []
        for place, of_group, of_row, of_column, sizes in (
            (self.place, range(count), of_rows, of_columns, (sizes_x, sizes_y)),
            (self.x.place, self.batch[0], self.free_x, None, (sizes_x, self.terms)),
            (self.y.place, self.batch[1], None, self.free_y, (self.terms, sizes_y)),
        ):
            if place is None:
                return None
            # Groups move all of them, rows the result and `x`, columns the result and `y`.
            moved: list[int | None] = [
                *of_group,
                *[None if of_row is None else of_row[i] for i in outer_rows],
                *[None if of_column is None else of_column[i] for i in outer_columns],
            ]
            start = place.offset
            for index, axis in zip(at, moved, strict=True):
                if axis is not None:
                    start = start.plus(index.times(place.strides[axis]))
            first = self.terms_y if of_row is None else [of_row[i] for i in rows]
            second = self.terms_x if of_column is None else [of_column[i] for i in columns]
            steps = [
                _step([place.strides[i] for i in chosen], extents)
                for chosen, extents in zip((first, second), sizes, strict=True)
            ]
            matrix = Matrix(place.buffer, start, *steps)
            if not matrix.is_for_library(*[math.prod(x) for x in sizes]):
                return None
            found.append(matrix)
        return found if found[0].columns == 1 else None

    def outer(self, within: _Within) -> tuple[list[int], list[int]]:
        """The numbers of the axes of rows and columns that matrices have not."""
        rows, columns = within
        return (
            [i for i in range(len(self.rows)) if i not in rows],
            [i for i in range(len(self.columns)) if i not in columns],
        )

    def sizes(self, within: _Within) -> tuple[int, int, int]:
        """Rows, columns and terms of the matrices."""
        rows, columns = within
        chosen = [self.rows[i] for i in rows], [self.columns[i] for i in columns], self.terms
        m, n, k = [math.prod(sizes) for sizes in chosen]
        return m, n, k

    def for_library(self) -> _Within | None:
        """The axes of matrices that are worth a call and lie as libraries take them.

        They are all, or one for rows or columns that do not lie as one axis, such as those of
        several heads; then there are as many products as the others have places.
        """
        if not self.b.fusion.has_vectors or self.dtype.kind != "f":
            return None
        if not self.x.dtype == self.y.dtype == self.dtype:
            return None
        choices = itertools.product(_choices(self.rows), _choices(self.columns))
        for within in sorted(choices, key=lambda within: -math.prod(self.sizes(within))):
            m, n, k = self.sizes(within)
            if m * n * k < _WORTH_A_CALL or min(m, n, k) < _FEWEST:
                continue
            nowhere = (Index(),) * (len(self.groups) + sum(map(len, self.outer(within))))
            if self.matrices(within, nowhere) is not None:
                return within
        return None

    def by_library(self, within: _Within) -> None:
        """A product of matrices for each group."""
        outer_rows, outer_columns = self.outer(within)

        def product(*at: Index) -> None:
            matrices = self.matrices(within, at)
            assert matrices is not None, "matrices for a library"
            target, left, right = matrices
            self.b.writer.write(Product(target, left, right, self.sizes(within)))

        outer = [self.rows[i] for i in outer_rows], [self.columns[i] for i in outer_columns]
        self.b.fusion.nest([*self.groups, *outer[0], *outer[1]], product)

    def by_scalars(self) -> None:
        """Each element of the result as a sum of its own."""
        w = self.b.writer
        total = w.buffer("sum", (), self.dtype)
        fold = Fold(self.terms, [False] * len(self.terms), self.add, self.zero)

        def entry(*indices: Index) -> None:
            group, rest = indices[: len(self.groups)], indices[len(self.groups) :]
            row, column = rest[: len(self.rows)], rest[len(self.rows) :]
            fold.write(
                self.b, lambda term: self.term(group, row, column, term), total, lambda _: ORIGIN
            )
            w.store(self.place.buffer, self.place.at(indices), w.load(total))

        extents = [*self.groups, *self.rows, *self.columns]
        self.b.fusion.nest(extents, entry, is_independent=True)

    def has_few_terms(self) -> bool:
        """Whether the sums are better written as one expression, for vectors of columns."""
        terms, columns = math.prod(self.terms), math.prod(self.columns)
        return self.b.fusion.has_vectors and terms <= _MOST_TERMS and columns > _LONG_ROW

    def by_terms(self) -> None:
        """Each element of the result as one expression: its sum is in registers."""
        w, places = self.b.writer, list(itertools.product(*map(range, self.terms)))
        terms = [tuple([Index((), i) for i in place]) for place in places]

        def entry(*indices: Index) -> None:
            group, rest = indices[: len(self.groups)], indices[len(self.groups) :]
            row, column = rest[: len(self.rows)], rest[len(self.rows) :]
            total: Operand = self.zero
            for term in terms:
                total = w.op(self.add, total, self.term(group, row, column, term))
            w.store(self.place.buffer, self.place.at(indices), total)

        extents = [*self.groups, *self.rows, *self.columns]
        self.b.fusion.nest(extents, entry, is_independent=True)

    def by_vectors(self, *, of_rows: bool) -> None:
        """Rows, or columns, of the result as sums of vectors: the inner loop is not the sum."""
        before, after = (self.columns, self.rows) if of_rows else (self.rows, self.columns)
        count = len(self.terms)
        lanes = [False] * count + [True] * len(after)
        fold = Fold([*self.terms, *after], lanes, self.add, self.zero)

        def entries(*indices: Index) -> None:
            group, first = indices[: len(self.groups)], indices[len(self.groups) :]

            def ordered(last: Indices) -> tuple[Indices, Indices]:
                return (last, first) if of_rows else (first, last)

            def term(there: Indices) -> Operand:
                return self.term(group, *ordered(there[count:]), there[:count])

            def at(last: Indices) -> Index:
                row, column = ordered(last)
                return self.place.at((*group, *row, *column))

            fold.write(self.b, term, self.place.buffer, at)

        self.b.fusion.nest([*self.groups, *before], entries, is_independent=True)
