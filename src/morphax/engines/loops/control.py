"""Loops and branches of programs: what is carried has memory of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, final

from ...core import Jaxpr
from .builder import Builder
from .program import Buffer, Const, Index, Operand
from .values import Place, Value

# Carried arrays up to this size are local, for compilers to keep in registers.
_LOCAL = 64
# Fewer steps are not written several at once, nor those of more equations.
_LEAST_STEPS = 8
_MOST_AT_ONCE = 32


@final
class Carry:
    """The memory of what a loop carries.

    What was made before the loop and is not read after it is changed where it lies: a loop within a
    loop that changes an element of an array copies nothing.

    Args:
        b: the builder.
        initial: values before the first step, the first results of the current equation after it.
        others: what the loop reads besides.
    """

    def __init__(self, b: Builder, initial: Sequence[Value], others: Sequence[Value]) -> None:
        self.b = b
        self.shapes = [value.shape for value in initial]
        # Whose memory holds which of them; what is pending now may be stored meanwhile.
        everything = [*initial, *others]
        self._holders = Counter([x.place.buffer for x in everything if x.place is not None])
        self._pending = [(i, x) for i, x in enumerate(everything) if x.is_pending]
        self.places = [self._place(i, value) for i, value in enumerate(initial)]

    def _place(self, number: int, value: Value) -> Place:
        b = self.b
        if value.size > _LOCAL:
            place = value.place
            if place is None or not self._is_read_by_others(place.buffer, number):
                return b.changeable(value, number)
            chosen = b.places[number] if number < len(b.places) else None
            place = chosen or Place.whole(b.writer.buffer("carry", value.shape, value.dtype))
        else:
            place = Place.whole(b.writer.buffer("carry", value.shape, value.dtype))
        b.fusion.fill(place, value, settles=False)
        return place

    def _is_read_by_others(self, buffer: Buffer, number: int) -> bool:
        """Whether others than this value are made of what a buffer holds."""
        if self._holders[buffer] > 1:
            return True
        return any([buffer in x.sources for i, x in self._pending if i != number])

    @property
    def buffers(self) -> list[Buffer]:
        return [place.buffer for place in self.places]

    def values(self) -> list[Value]:
        """What is carried now."""
        each = zip(self.shapes, self.places, strict=True)
        return [self.b.placed(shape, place) for shape, place in each]

    def update(self, values: Sequence[Value]) -> None:
        """Carry these values on, which may be made of those before."""
        b, carried = self.b, set(self.buffers)
        rest = dict(enumerate(values))
        for number, may_be_in_place in _Updates(self.places, values).in_order():
            value = rest[number]
            if may_be_in_place and b.changes_in_place:
                b.fusion.fill(self.places[number], rest.pop(number))
                continue
            b.fusion.stored(value, "next")
            if carried.intersection(value.sources):
                there = b.fusion.copied(value, "next")
                rest[number] = Value(value.shape, value.dtype, place=there)
        for number, value in rest.items():
            b.fusion.fill(self.places[number], value, settles=False)


@final
class _Updates:
    """In which order arrays that are carried on are computed, and whether where they are carried.

    A value is computed in the place of the one before if each element is made of what is carried in
    its place, and if no value that is still to come reads that place, but for what lies there then.

    Args:
        places: of what is carried.
        values: what is carried on.
    """

    def __init__(self, places: Sequence[Place], values: Sequence[Value]) -> None:
        each = enumerate(zip(places, values, strict=True))
        arrays = {i: x for i, (place, x) in each if x.scalar is None and x.place != place}
        self.places = places
        self.owner = {place.buffer: i for i, place in enumerate(places)}
        own = {*arrays.values()}
        self.read = {i: x.places_read(own) for i, x in arrays.items()}
        self.readers: dict[Buffer, set[int]] = {buffer: set() for buffer in self.owner}
        for i, found in self.read.items():
            for place in found:
                if place.buffer in self.readers:
                    self.readers[place.buffer].add(i)
        times = Counter(arrays.values())
        self.candidates = {i for i, x in arrays.items() if self._may_be(i, x) and times[x] == 1}

    def _may_be(self, number: int, value: Value) -> bool:
        """Whether elements are made of those in their place, and nobody else has the value."""
        place = self.places[number]
        own = [x for x in self.read[number] if x.buffer is place.buffer]
        return value.is_alike and not value.holders and own in ([], [place])

    def in_order(self) -> Iterator[tuple[int, bool]]:
        """The numbers of arrays, and whether each is computed in place."""
        waiting = dict.fromkeys(self.read)
        free = [number for number in waiting if self._is_free(number)]
        while waiting:
            number = free.pop() if free else next(iter(waiting))
            is_in_place = number in waiting and self._is_free(number)
            if waiting.pop(number, self) is self:
                continue
            yield number, is_in_place
            for place in self.read[number]:
                if (owner := self.owner.get(place.buffer)) is not None:
                    self.readers[place.buffer].discard(number)
                    if owner in waiting and self._is_free(owner):
                        free.append(owner)

    def _is_free(self, number: int) -> bool:
        return number in self.candidates and self.readers[self.places[number].buffer] <= {number}


def steps_at_once(b: Builder, jaxpr: Jaxpr, initial: Sequence[Value], length: int) -> int:
    """How many steps of a loop are worth being written one after the other.

    What is carried is made of what was carried before, so each step writes it elsewhere and copies
    it.  Two steps hand it on from there to here; more, of operations element by element, keep it in
    registers in between.
    """
    is_large = max([x.size for x in initial], default=0) > _LOCAL
    if not (is_large and b.changes_in_place and length >= _LEAST_STEPS):
        return 1
    kinds = _kinds_of(jaxpr)
    if len(kinds) > _MOST_AT_ONCE or not all(kinds):
        return 1
    return 4 if set(kinds) == {"quick"} else 2


def _kinds_of(jaxpr: Jaxpr) -> list[str]:
    """Of each equation whether it is "quick", or moves elements "elsewhere"; empty of others."""
    kinds: list[str] = []
    for eqn in jaxpr.eqns:
        called = eqn.primitive.plain_program
        if called is not None:
            kinds += _kinds_of(eqn.params[called])
        elif eqn.primitive.quick:
            kinds.append("quick")
        else:
            kinds.append("elsewhere" if eqn.primitive.reads == "elsewhere" else "")
    return kinds


def repeated(
    b: Builder,
    params: Mapping[str, Any],
    consts: Sequence[Value],
    initial: Sequence[Value],
    xs: Sequence[Value],
    ys: Sequence[Any],
    at_once: int = 1,
) -> list[Value]:
    """The results of a scan: the carry after all steps, and what the steps gave, stacked.

    Args:
        b: the builder.
        params: of the scan: `jaxpr` maps consts, carry, slices of xs to carry, slices of ys.
        consts, initial, xs: the operands.
        ys: avals of the stacked results.
        at_once: how many steps are written one after the other.
    """
    jaxpr, length, reverse = params["jaxpr"], params["length"], params["reverse"]
    if not length:
        return [*initial, *[b.uniform(a.shape, b.writer.number(0, b.dtype_of(a))) for a in ys]]
    consts, xs = [list(map(b.settled, values)) for values in (consts, xs)]
    count = len(initial)
    outs = [b.new(aval, count + i, "ys") for i, aval in enumerate(ys)]
    carry = Carry(b, initial, [*consts, *xs])

    def steps(first: Index, number: int) -> None:
        values: Sequence[Value] = carry.values()
        for j in range(number):
            i = first.plus(j)
            position = i.times(-1).plus(length - 1) if reverse else i
            slices = [_slice(b, x, position) for x in xs]
            there = [_slice_place(place, position) for place in outs]
            values = b.inline(jaxpr, *consts, *values, *slices, places=[*[None] * count, *there])
            for place, value in zip(there, values[count:], strict=True):
                b.fusion.fill(place, value)
            values = values[:count]
        carry.update(values)

    def loop() -> None:
        whole = length // at_once
        if whole > 1:
            b.writer.loop(whole, lambda i: steps(i.times(at_once), at_once))
        else:
            steps(Index(), at_once)
        if rest := length % at_once:
            steps(Index().plus(length - rest), rest)

    b.within(carry.buffers, loop)
    stacked = [b.placed(aval.shape, place) for aval, place in zip(ys, outs, strict=True)]
    return [*carry.values(), *stacked]


def _slice(b: Builder, x: Value, position: Index) -> Value:
    rest = [(0, [(axis, 1)]) for axis in range(x.ndim - 1)]
    return b.view(x, x.shape[1:], [(position, []), *rest])


def _slice_place(place: Place, position: Index) -> Place:
    stride, *rest = place.strides
    return Place(place.buffer, tuple(rest), place.offset.plus(position.times(stride)))


def repeated_while(
    b: Builder,
    condition: Callable[[Sequence[Value]], Sequence[Value]],
    body: Callable[[Sequence[Value]], Sequence[Value]],
    consts: Sequence[Value],
    initial: Sequence[Value],
    most: int | None = None,
) -> list[Value]:
    """The carry after as many steps as a condition on it holds before; both read `consts`.

    That it takes `most` steps at most, if that is said, is but a hint.
    """
    carry = Carry(b, initial, consts)

    def goes_on() -> Operand:
        (value,) = condition(carry.values())
        return b.fusion.scalar(value)

    def loop() -> None:
        b.writer.repeat(goes_on, lambda: carry.update(body(carry.values())), most)

    b.within(carry.buffers, loop)
    return carry.values()


def for_each_member(
    b: Builder,
    size: int,
    avals: Sequence[Any],
    program: Callable[[Sequence[Sequence[Value]]], Sequence[Value]],
    operands: Sequence[Sequence[Value]],
    differ: Sequence[Sequence[bool]],
) -> list[Value]:
    """The results of a program for each member of a batch, stacked.

    Args:
        b: the builder.
        size: how many members there are.
        avals: of the results, whose first axis is that of members.
        program: of the operands of one member.
        operands: in groups, as the program takes them.
        differ: which of them have members along their first axis.
    """
    outs = [b.new(aval, number, "members") for number, aval in enumerate(avals)]

    def member(i: Index) -> None:
        own = [
            [_slice(b, x, i) if is_own else x for x, is_own in zip(group, flags, strict=True)]
            for group, flags in zip(operands, differ, strict=True)
        ]
        for place, value in zip(outs, program(own), strict=True):
            b.fusion.fill(_slice_place(place, i), value, settles=False)

    # These places are of all members' results, not of one's.
    chosen, b.places = b.places, ()
    b.within((), lambda: b.writer.loop(size, member, is_independent=True))
    b.places = chosen
    return [b.placed(aval.shape, place) for aval, place in zip(avals, outs, strict=True)]


def chosen(
    b: Builder,
    avals: Sequence[Any],
    index: Value,
    branches: Sequence[Callable[..., Sequence[Value]]],
) -> list[Value]:
    """The results of one of several programs, chosen by an integer.

    Args:
        b: the builder.
        avals: of the results.
        index: the number of the branch.
        branches: each writes its program, and its results to `places` where it can.
    """
    places = [b.new(aval, number, "chosen") for number, aval in enumerate(avals)]
    number = b.fusion.scalar(index)

    def write(branch: Callable[..., Sequence[Value]]) -> None:
        for place, value in zip(places, branch(places=places), strict=True):
            b.fusion.fill(place, value, settles=False)

    def among(first: int, last: int) -> Callable[[], None]:
        """The choice among the branches between these numbers, by halves: blocks are not deep."""
        if first == last:
            return partial(b.within, (), partial(write, branches[first]))
        return partial(choose, first, last)

    def choose(first: int, last: int) -> None:
        middle = (first + last) // 2
        is_below = b.writer.op("le", number, b.writer.number(middle, number.dtype))
        b.writer.branch(is_below, among(first, middle), among(middle + 1, last))

    known = int(number.value) if type(number) is Const else None
    among(known or 0, len(branches) - 1 if known is None else known)()
    return [b.placed(aval.shape, place) for aval, place in zip(avals, places, strict=True)]
