"""Fusion: where pending values are computed, so that each is computed once.

A *nest* is a set of loops in one another whose body reads values.  Reading a pending value writes
its operations into the nest, so chains of operations on elements share one loop.  Two rules keep
the program, and its work, linear in the equations:

- A value with several readers is computed in one nest only, and stored there, unless the nest reads
  it at two different indices, or not at each exactly once.  Then it is stored by a nest of its own,
  before.  (A store that nobody loads from is dropped later.)
- A value with one reader that a nest would read again and again at the same index is stored before
  too, if that costs more than to load it.

Whether a nest breaks a rule shows when it is written.  So a nest is written on trial; the values
that it demands are stored, and it is written again.  The second time it demands nothing: what it
reads is a part of what it read before.

Reference: docs/design/loop-programs.md.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, final

from .program import Copy, DType, Index, Name, Operand
from .values import Indices, Place, Shape, Value
from .writer import Writer

# An element that takes no more operations than this is rather computed again than stored.
_CHEAP = 1
# The same of one that follows from its place: where a loop is written out, that is a constant.
_CHEAP_OF_PLACES = 4
# An element that takes more than this, and others beside it, are rather computed as a vector.
_EXPENSIVE, _VECTOR = 8, 8


@final
class _Trial:
    """A nest that is being written.

    Attributes:
        base: number of the block around its loops.
        known: scalars by value and index, for each block from the base on.
        index_of: at which index each shared value is read.
        stored: shared values that it stores, and where.
        demands: values to be stored before.
        loops: counters that are open, and the number of the block that each belongs to.
        ways: how indices stand to these loops; see `Fusion._way`.
        dependent: how many of these loops have steps that depend on each other.
        guards: how many blocks are open that may not run.
    """

    def __init__(self, base: int) -> None:
        self.base = base
        self.known: list[dict[Hashable, Operand]] = [{}]
        self.index_of: dict[Value, Indices] = {}
        self.stored: dict[Value, Place] = {}
        self.demands: dict[Value, Place] = {}
        self.loops: list[tuple[Name, int]] = []
        self.ways: dict[Indices, tuple[bool, bool]] = {}
        self.dependent = 0
        self.guards = 0


@final
class Fusion:
    """Reads and stores values.

    Args:
        writer: what writes.
        has_vectors: whether expensive operations are better done in a loop of independent steps,
            which becomes one of vectors, than where the value is read.
    """

    def __init__(self, writer: Writer, *, has_vectors: bool) -> None:
        self.writer = writer
        self.has_vectors = has_vectors
        self._trial: _Trial | None = None
        # Where a value is to be stored, once it is.
        self.destinations: dict[Value, Place] = {}

    # Making values

    def pending(
        self,
        shape: Shape,
        dtype: DType,
        element: Callable[[Indices], Operand],
        of: Sequence[Value],
        cost: int = 1,
    ) -> Value:
        """A value that is computed where it is read; a scalar is computed at once."""
        value = Value(shape, dtype, element=element, cost=cost, of=of)
        if not shape:
            return Value(shape, dtype, scalar=self.scalar(value))
        return value

    def scalar(self, value: Value) -> Operand:
        """The only element of a value of rank 0, in this block."""
        if value.scalar is not None:
            return value.scalar
        found: list[Operand] = []
        self.nest((), lambda: found.append(self.read(value, ())))
        return found[-1]

    # Storing them

    def stored(self, value: Value, name: str = "v") -> Place:
        """Where the elements lie, from here on."""
        self._follow(value)
        view = value.view_of
        if view and view.is_whole and view.of.is_shared and value not in self.destinations:
            # That is going to be stored anyway.
            self.stored(view.of, name)
            self._follow(value)
        if value.place is None:
            place = self._place_for(value, name)
            self.fill(place, value)
            return place
        return value.place

    def _follow(self, value: Value) -> None:
        """Let a view of what has been stored since lie where that does."""
        if value.view_of is not None:
            x = value.view_of.of
            self._follow(x)
            if x.place is not None:
                value.settle(value.view_of.place(x.place))

    def is_better_stored(self, value: Value, reads: int) -> bool:
        """Whether a pending value that is repeated is better stored before.

        Most nests would store it anyway; and what is made of it is known to be cheap.  Without
        vectors memory counts.  A nest stores by itself what it wants stored, before it.
        """
        is_outside = self.has_vectors and self._trial is None
        return is_outside and not self._is_cheap(value) and value.size < reads

    def _is_cheap(self, value: Value) -> bool:
        """Whether an element is rather computed again than stored."""
        of_places = self.has_vectors and value.is_counted
        return value.cost <= (_CHEAP_OF_PLACES if of_places else _CHEAP)

    def whole(self, value: Value, name: str = "v") -> Place:
        """A place in which the elements lie without gaps, row-major."""
        place = self.stored(value, name)
        return place if place.lies_whole(value.shape) else self.copied(value, name)

    def copied(self, value: Value, name: str = "v") -> Place:
        """The elements in memory of their own, which may be changed."""
        place = Place.whole(self.writer.buffer(name, value.shape, value.dtype))
        self.fill(place, value, settles=False)
        return place

    def fill(self, place: Place, value: Value, *, settles: bool = True) -> None:
        """Put the elements of a value into a place; a pending one lies there from now on."""
        if value.is_pending and value.holders and not settles:
            self.stored(value)
        if value.place == place:
            return
        source = value.place if self._trial is None else None
        if source is not None and self._copy(place, source, value):
            return

        def store(*indices: Index) -> None:
            # It is no reader of itself.
            element = self.read if value.element is None else _element
            scalar = element(value, indices)
            self.writer.store(place.buffer, place.at(indices), scalar)

        self.nest(value.shape, store, is_independent=True)
        if value.is_pending and settles:
            assert self._trial is None, "what a nest writes may be written anew, or never run"
            value.settle(place)

    def _copy(self, target: Place, source: Place, value: Value) -> bool:
        """Copy as one piece, if both lie so."""
        together = target.lies_whole(value.shape) and source.lies_whole(value.shape)
        if not together or value.size < 2 or target.buffer is source.buffer:
            return False
        ends = target.offset, source.offset
        self.writer.write(Copy(target.buffer, source.buffer, value.size, *ends))
        return True

    def _place_for(self, value: Value, name: str) -> Place:
        chosen = self.destinations.pop(value, None)
        if chosen is not None:
            return chosen
        return Place.whole(self.writer.buffer(name, value.shape, value.dtype))

    # Nests

    def nest(
        self,
        extents: Sequence[int],
        body: Callable[..., Any],
        *,
        is_independent: bool | Sequence[bool] = False,
    ) -> None:
        """Loops whose body may read values; it is written as often as it takes.

        Inside of another nest, these are further loops of that.

        Args:
            extents: of the loops, from outside.
            body: of as many indices.
            is_independent: of all loops, or of each; see `For`.
        """
        independent = (
            [is_independent] * len(extents) if isinstance(is_independent, bool) else is_independent
        )
        if 0 in extents:
            return
        if self._trial is not None:
            self._loops(extents, body, independent)
            return
        while True:
            trial = self._trial = _Trial(len(self.writer.blocks))
            try:
                with self.writer.block() as block:
                    self._loops(extents, body, independent)
            finally:
                self._trial = None
            if not trial.demands:
                break
            for value, place in trial.demands.items():
                self.fill(place, value)
        self.writer.adopt(block)
        for value, place in trial.stored.items():
            self.destinations.pop(value, None)
            value.settle(place)

    def _loops(
        self, extents: Sequence[int], body: Callable[..., Any], independent: Sequence[bool]
    ) -> None:
        writer, trial = self.writer, self._trial
        assert trial is not None, "loops of a nest"
        depth, opened = len(writer.blocks), len(trial.loops)
        loops: list[tuple[Name, int, bool]] = []
        indices = []
        for n, is_independent in zip(extents, independent, strict=True):
            if n == 1:
                indices.append(Index())
                continue
            counter = writer.open_loop(n)
            loops.append((counter, n, is_independent))
            trial.loops.append((counter, len(writer.blocks) - 1))
            trial.dependent += not is_independent
            trial.known.append({})
            indices.append(Index.of(counter))
        trial.ways.clear()
        body(*indices)
        for counter, n, is_independent in reversed(loops):
            writer.close_loop(counter, n, is_independent=is_independent)
            trial.dependent -= not is_independent
            trial.known.pop()
        del trial.loops[opened:]
        trial.ways.clear()
        assert len(writer.blocks) == depth, "all loops are closed"

    def triangle(self, extent: Index, body: Callable[[Index], None]) -> None:
        """In a nest: a loop of as many steps as an index says, which may be none.

        What is read in it must be placed.
        """
        trial = self._trial
        assert trial is not None, "a loop in a triangle is a part of a nest"
        if extent.bounds[1] < 1:
            return
        counter = self.writer.open_loop(extent)
        trial.guards += 1
        trial.known.append({})
        body(Index.of(counter))
        self.writer.close_loop(counter, extent, is_independent=False)
        trial.known.pop()
        trial.guards -= 1

    def guarded(self, condition: Operand, body: Callable[[], None]) -> None:
        """In a nest: the body, where a condition holds."""
        trial = self._trial
        assert trial is not None, "a guard is a part of a nest"

        def write() -> None:
            trial.guards += 1
            trial.known.append({})
            body()
            trial.known.pop()
            trial.guards -= 1

        self.writer.branch(condition, write)

    # Reading

    def read(self, value: Value, indices: Indices) -> Operand:
        """The scalar at an index of a value, in a nest."""
        trial = self._trial
        assert trial is not None, "values are read in nests"
        if value.scalar is not None:
            return value.scalar
        if value.view_of is not None:
            self._follow(value)
        place = value.place or trial.demands.get(value)
        if place is not None:
            return self.writer.load_unchanged(place.buffer, place.at(indices), trial.base)
        key = value, indices
        for known in trial.known:
            if key in known:
                return known[key]
        if not self._is_cheap(value) and self._is_demanded(value, indices):
            # The rest of the trial is read from where it will lie.
            trial.index_of.pop(value, None)
            trial.stored.pop(value, None)
            place = trial.demands[value] = self._place_for(value, "v")
            return self.writer.load_unchanged(place.buffer, place.at(indices), trial.base)
        assert value.element is not None, f"{value} is pending"
        result = value.element(indices)
        writer, level = self.writer, trial.base
        level = max(level, writer.blocks[-1].barrier, writer.level_of(result))
        trial.known[level - trial.base][key] = result
        if value.is_shared and not self._is_cheap(value):
            self._store_here(value, indices, result)
        return result

    def _store_here(self, value: Value, indices: Indices, result: Operand) -> None:
        trial = self._trial
        assert trial is not None, "in a nest"
        trial.index_of[value] = indices
        place = self.destinations.get(value)
        if place is None:
            place = Place.whole(self.writer.buffer("v", value.shape, value.dtype))
        trial.stored[value] = place
        level = max([self.writer.level_of(x) for x in (*indices, result)] + [trial.base])
        self.writer.store_at(level, place.buffer, place.at(indices), result)

    def _is_demanded(self, value: Value, indices: Indices) -> bool:
        """Whether reading it here, where it is not cheap, breaks a rule of fusion."""
        trial = self._trial
        assert trial is not None, "in a nest"
        is_repeated, is_same_in_steps = trial.ways.get(indices) or self._way(indices)
        if self.has_vectors and value.cost >= _EXPENSIVE:
            # It is expensive, and here would be computed element by element.
            is_single = trial.dependent or not trial.loops or is_same_in_steps
            if is_single and value.size >= _VECTOR:
                return True
        if not value.is_shared:
            return is_repeated
        if value in trial.index_of or trial.guards > 0:
            return True
        return is_repeated or not self._reads_each_once(value, indices)

    def _way(self, indices: Indices) -> tuple[bool, bool]:
        """Whether an open loop runs through them again and again, and whether the innermost does.

        Most values of a nest are read at the same few indices.
        """
        trial = self._trial
        assert trial is not None, "in a nest"
        way = trial.ways.get(indices)
        if way is None:
            used = {name for index in indices for name, _ in index.terms}
            level = max([self.writer.level_of(name) for name in used], default=0)
            is_repeated = any(at <= level and counter not in used for counter, at in trial.loops)
            is_same_in_steps = bool(trial.loops) and trial.loops[-1][0] not in used
            way = trial.ways[indices] = is_repeated, is_same_in_steps
        return way

    def _reads_each_once(self, value: Value, indices: Indices) -> bool:
        """Whether the open loops, none of which repeats, run through all elements, each once."""
        trial = self._trial
        assert trial is not None, "in a nest"
        counters = {name for name, _ in trial.loops}
        seen = set()
        for index, n in zip(indices, value.shape, strict=True):
            if not index.terms:
                if n != 1 or index.offset:
                    return False
                continue
            (name, factor), *rest = index.terms
            forward = factor == 1 and index.offset == 0
            backward = factor == -1 and index.offset == n - 1
            if rest or name in seen or name not in counters or name.high != n - 1:
                return False
            if not forward and not backward:
                return False
            seen.add(name)
        return True


def _element(value: Value, indices: Indices) -> Operand:
    assert value.element is not None, f"{value} is pending"
    return value.element(indices)
