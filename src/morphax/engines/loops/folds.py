"""Folds of many terms: sums of sums, in vectors.

Terms that are added one after the other cost the sum as many roundings, and wait for each other.
So a long fold is made in passes: n terms are taken for some rows, which are added to one another,
element by element, by vectors; what is left is one row, a fold of fewer terms.  No term is rounded
more than `_MOST` times in a pass, so the bound of the error grows with the logarithm of n.

Reference: Higham, "The accuracy of floating point summation", SIAM Journal on Scientific Computing
14 (1993), section 3.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import islice, product
from typing import final

from .builder import Builder
from .program import Buffer, Index, Operand
from .values import Indices, Place

# So many terms are folded one after the other.
_MOST = 32
# So many elements are worth a vector.
_VECTOR = 8
# So many terms are folded in registers: caches may have room for no more rows that are far apart.
_FEW = 8
# So many lanes are worth that for more terms, which takes a line of text for each.
_MANY_LANES = 256
# So many elements are worth it for rows of all that are summed in passes.
_LARGE = 1 << 17


@final
class Fold:
    """An associative operation over some axes, for each index of others, the lanes.

    Args:
        extents: of all axes, from outside.
        lanes: which of them are no terms.
        operation: of two scalars.
        identity: of the operation.
        is_cheap: whether a term is hardly more than its load, and may be read at many places.
    """

    def __init__(
        self,
        extents: Sequence[int],
        lanes: Sequence[bool],
        operation: str,
        identity: Operand,
        *,
        is_cheap: bool = False,
    ) -> None:
        self.extents, self.lanes = list(extents), list(lanes)
        self.operation, self.identity = operation, identity
        self.is_cheap = is_cheap
        # So many rows are added at once.
        self.together = _FEW if is_cheap and math.prod(self.extents) >= _LARGE else 1
        self.axis, self.rows = self._split()
        self.widths = [n for n, is_lane in zip(self.extents, self.lanes, strict=True) if is_lane]
        self.is_in_registers = is_cheap and self._has_few_terms()

    @property
    def reads_twice(self) -> bool:
        """Whether terms that are not cheap are read at two places of the text."""
        return not self.is_cheap and self.rows > 1 and self.extents[self.axis] % self.rows > 0

    def _has_few_terms(self) -> bool:
        """Whether they are no more than are worth a line each, if there are vectors of lanes."""
        lanes = math.prod(self.widths)
        few = _MOST if lanes >= _MANY_LANES else _FEW
        return lanes >= _VECTOR and math.prod(self.extents) <= few * lanes

    def _split(self) -> tuple[int, int]:
        """Which axis is taken for how many rows; one row, if the fold is short."""
        terms = [(n, i) for i, n in enumerate(self.extents) if not self.lanes[i]]
        if math.prod([n for n, _ in terms]) <= _MOST:
            return 0, 1
        longest, axis = max(terms)
        if longest <= _MOST:
            return axis, longest
        others = math.prod(self.extents) // longest
        most = min(_MOST, longest // max(_VECTOR // others, 1))

        def flaws(rows: int) -> tuple[bool, int, int]:
            """Rows that fill no vectors, how much they leave to be folded, and terms beside."""
            length, rest = divmod(longest, rows)
            return length * others % _VECTOR > 0, length + rest, rest

        return axis, min(range(most, most // 2, -1), key=flaws)

    def write(
        self,
        b: Builder,
        term: Callable[[Indices], Operand],
        target: Buffer,
        at: Callable[[Indices], Index],
    ) -> None:
        """Write it, in a nest.

        Args:
            b: what writes.
            term: the scalar at an index of all axes.
            target: where results are stored.
            at: where in it, for an index of lanes.
        """
        if self.rows > 1:
            self._write_rows(b, term, target, at)
            return
        w, nest = b.writer, b.fusion.nest
        if self.is_in_registers:
            self._write_in_registers(b, term, target, at)
            return

        def clear(*lane: Index) -> None:
            w.store(target, at(lane), self.identity)

        def add(*indices: Index) -> None:
            lane = [i for i, is_lane in zip(indices, self.lanes, strict=True) if is_lane]
            there = at(tuple(lane))
            w.store(target, there, w.op(self.operation, w.load(target, there), term(indices)))

        nest(self.widths, clear, is_independent=True)
        nest(self.extents, add, is_independent=self.lanes)

    def _write_in_registers(
        self,
        b: Builder,
        term: Callable[[Indices], Operand],
        target: Buffer,
        at: Callable[[Indices], Index],
    ) -> None:
        """Fold few terms of each lane at once, in their order."""
        w, begins = b.writer, True
        numbers = product(
            *[
                range(1 if is_lane else n)
                for n, is_lane in zip(self.extents, self.lanes, strict=True)
            ]
        )

        def fold(*lane: Index) -> None:
            total = self.identity if begins else w.load(target, at(lane))
            for number in group:
                others = iter(lane)
                each = zip(number, self.lanes, strict=True)
                here = tuple([next(others) if is_lane else Index((), n) for n, is_lane in each])
                total = w.op(self.operation, total, term(here))
            w.store(target, at(lane), total)

        while group := tuple(islice(numbers, _FEW)):
            b.fusion.nest(self.widths, fold, is_independent=True)
            begins = False

    def _write_rows(
        self,
        b: Builder,
        term: Callable[[Indices], Operand],
        target: Buffer,
        at: Callable[[Indices], Index],
    ) -> None:
        """Add rows to the first one, put what fills no row beside it, and fold that."""
        w, nest = b.writer, b.fusion.nest
        length, rest = divmod(self.extents[self.axis], self.rows)
        groups, more = divmod(self.rows, self.together)
        sums = w.buffer("sums", self._with(length + rest), self.identity.dtype)
        place = Place.whole(sums)

        def moved(indices: Indices, by: Index) -> Indices:
            here = indices[self.axis].plus(by)
            return (*indices[: self.axis], here, *indices[self.axis + 1 :])

        def clear(*indices: Index) -> None:
            w.store(sums, place.at(indices), self.identity)

        def add(first: Index, count: int, *indices: Index) -> None:
            there = place.at(indices)
            total: Operand = w.load(sums, there)
            for row in range(count):
                here = moved(indices, first.plus(row).times(length))
                total = w.op(self.operation, total, term(here))
            w.store(sums, there, total)

        def add_group(group: Index, *indices: Index) -> None:
            add(group.times(self.together), self.together, *indices)

        def add_more(*indices: Index) -> None:
            add(Index((), groups * self.together), more, *indices)

        def put(*indices: Index) -> None:
            value = term(moved(indices, Index((), self.rows * length)))
            w.store(sums, place.at(moved(indices, Index((), length))), value)

        inner = self._with(length)
        nest(inner, clear, is_independent=True)
        nest([groups, *inner], add_group, is_independent=[False] + [True] * len(inner))
        if more:
            nest(inner, add_more, is_independent=True)
        nest(self._with(rest), put, is_independent=True)
        is_large = self.together > 1
        left = Fold(sums.shape, self.lanes, self.operation, self.identity, is_cheap=is_large)
        left.write(b, lambda indices: w.load(sums, place.at(indices)), target, at)

    def _with(self, extent: int) -> list[int]:
        """The extents, with another one of the axis that is split."""
        return [*self.extents[: self.axis], extent, *self.extents[self.axis + 1 :]]
