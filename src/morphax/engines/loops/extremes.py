"""Places of extreme elements, many beside each other.

What is known of a row is the best element so far, and where that lies; each element is compared
with it, and so waits for the one before.  Vectors need several that wait for nobody: where other
axes lie behind, these are their elements; else a long row is gone through by groups of `_LANES`,
each place of a group has a best of its own, and these meet at the end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from .builder import Builder
from .program import Index, Operand
from .values import Indices, Place, Value

# So many are vectors enough that one does not wait for another.
_LANES = 64
FEWEST_IN_GROUPS = 4 * _LANES
"""Elements of a row; a shorter one is gone through one by one, by vectors of rows."""

_MOST_PLACES = 2**31 - 1


def place_of_extreme(b: Builder, out: Any, x: Value, axis: int, better: str) -> Value:
    """Where along an axis the element lies that is `better`, ``gt`` or ``lt``, than all others.

    Of equal ones the first is taken, of all the first NaN.
    """
    place = b.new(out)
    if not math.prod(out.shape):
        return b.placed(out.shape, place)
    # It is read at several places of the text.
    x = b.settled(x)
    row = _Row(b, x, axis, better)
    n, behind = x.shape[axis], x.shape[axis + 1 :]

    def extreme(*before: Index) -> None:
        found = _behind(place, before)
        if math.prod(behind) > 1:
            row.write_beside(before, found)
        elif FEWEST_IN_GROUPS <= n <= _MOST_PLACES:
            row.write_groups(before, found)
        else:
            row.write_singly(before, found)

    b.fusion.nest(x.shape[:axis], extreme, is_independent=True)
    return b.placed(out.shape, place)


def _behind(place: Place, before: Indices) -> Place:
    """Where elements lie whose first indices are known."""
    strides = place.strides[len(before) :]
    return Place(place.buffer, strides, place.at((*before, *[Index()] * len(strides))))


@final
@dataclass(frozen=True)
class _Best:
    """The best elements so far, one for each lane, and where along the axis they lie."""

    b: Builder
    better: str
    values: Place
    places: Place

    def begin(self, lane: Indices, value: Operand, at: Index) -> None:
        """The first element of a lane."""
        self._put(lane, value, self._position(at))

    def meet(self, lane: Indices, value: Operand, at: Index) -> None:
        """An element behind those that the lane has seen."""
        known = self._value(lane)
        self._choose(lane, self._is_better(value, known), value, known, self._position(at))

    def meet_lane(self, lane: Indices, other: Indices) -> None:
        """What another lane has found, which may lie before or behind."""
        w, value, known = self.b.writer, self._value(other), self._value(lane)
        place = w.load(self.places.buffer, self.places.at(other))
        is_same = w.op("eq", value, known)
        if value.dtype.kind == "f":
            are_nan = [w.op("ne", x, x) for x in (value, known)]
            is_same = w.op("or", is_same, w.all_of(are_nan))
        known_place = w.load(self.places.buffer, self.places.at(lane))
        is_first = w.all_of([is_same, w.op("lt", place, known_place)])
        self._choose(lane, w.op("or", self._is_better(value, known), is_first), value, known, place)

    def _is_better(self, value: Operand, known: Operand) -> Operand:
        w = self.b.writer
        wins = w.op(self.better, value, known)
        if value.dtype.kind != "f":
            return wins
        return w.op("or", wins, w.all_of([w.op("ne", value, value), w.op("eq", known, known)]))

    def _choose(
        self, lane: Indices, wins: Operand, value: Operand, known: Operand, place: Operand
    ) -> None:
        w = self.b.writer
        known_place = w.load(self.places.buffer, self.places.at(lane))
        self._put(lane, w.select(wins, value, known), w.select(wins, place, known_place))

    def _value(self, lane: Indices) -> Operand:
        return self.b.writer.load(self.values.buffer, self.values.at(lane))

    def _position(self, at: Index) -> Operand:
        w = self.b.writer
        return w.convert(w.index_value(at), self.places.buffer.dtype)

    def _put(self, lane: Indices, value: Operand, place: Operand) -> None:
        w = self.b.writer
        w.store(self.values.buffer, self.values.at(lane), value)
        w.store(self.places.buffer, self.places.at(lane), place)


@final
@dataclass(frozen=True)
class _Row:
    """An axis of an array, along which extreme elements are looked for."""

    b: Builder
    x: Value
    axis: int
    better: str

    def write_beside(self, before: Indices, found: Place) -> None:
        """For all elements of the axes behind, beside each other."""
        behind = self.x.shape[self.axis + 1 :]
        best = self._best(behind, found)
        self._write_steps(before, best, behind)

    def write_singly(self, before: Indices, found: Place) -> None:
        """One after the other."""
        ones = (1,) * (self.x.ndim - self.axis - 1)
        self._write_steps(before, self._best(ones, found), ones)

    def write_groups(self, before: Indices, found: Place) -> None:
        """By groups, then what these have found, then what fills no group."""
        b, nest = self.b, self.b.fusion.nest
        n, zero = self.x.shape[self.axis], (Index(),)
        groups, rest = divmod(n, _LANES)
        places = b.writer.buffer("where", (_LANES,), np.dtype(np.int32))
        best = self._best((_LANES,), Place.whole(places))

        def begin(lane: Index) -> None:
            best.begin((lane,), self._read(before, lane), lane)

        def step(group: Index, lane: Index) -> None:
            at = group.plus(1).times(_LANES).plus(lane)
            best.meet((lane,), self._read(before, at), at)

        def add(lane: Index) -> None:
            best.meet_lane(zero, (lane.plus(1),))

        def add_last(i: Index) -> None:
            at = i.plus(groups * _LANES)
            best.meet(zero, self._read(before, at), at)

        nest([_LANES], begin, is_independent=True)
        nest([groups - 1, _LANES], step, is_independent=[False, True])
        nest([_LANES - 1], add)
        nest([rest], add_last)
        w = b.writer
        place = w.convert(w.load(places), found.buffer.dtype)
        w.store(found.buffer, found.offset, place)

    def _write_steps(self, before: Indices, best: _Best, lanes: tuple[int, ...]) -> None:
        nest, n = self.b.fusion.nest, self.x.shape[self.axis]

        def begin(*lane: Index) -> None:
            best.begin(lane, self._read(before, Index(), lane), Index())

        def step(i: Index, *lane: Index) -> None:
            at = i.plus(1)
            best.meet(lane, self._read(before, at, lane), at)

        nest(lanes, begin, is_independent=True)
        nest([n - 1, *lanes], step, is_independent=[False] + [True] * len(lanes))

    def _best(self, lanes: tuple[int, ...], places: Place) -> _Best:
        values = self.b.writer.buffer("best", lanes, self.x.dtype)
        return _Best(self.b, self.better, Place.whole(values), places)

    def _read(self, before: Indices, at: Index, behind: Indices = ()) -> Operand:
        behind = behind or (Index(),) * (self.x.ndim - self.axis - 1)
        return self.b.fusion.read(self.x, (*before, at, *behind))
