"""Where a program is cut so that the compiler for the CPU does not compute values too often.

XLA fuses operations into loops over the elements of a result.  What such an element is made of is
computed where it is read, anew for each order in which values are read: of ``x + x[::-1]``, where x
is not in memory, every x is computed twice, what x is made of four times if that was read in two
orders too, and so on: the time of a chain doubles with each step.  XLA has no bound on this.

So a value is brought to memory where it is going to be read in several orders, and one element of
it is made of too many repeated computations.  How many these are is estimated on the jaxpr: for
each value, in which *orders* operations are computed for it, each a sequence of movements of
elements, and how many operations in each.  All but the most in one order are taken for repeated.

A branch that is never taken brings a value to memory: XLA removes what it can see to change
nothing, and this it cannot see, for the number of a replica is known at run time only.

See docs/design/fusion-cuts.md.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import islice
from typing import Any, Final, final

import numpy as np

from ...core import Equation, Jaxpr, Literal, ShapedArray
from .fusion_depth import called_by, is_worth_a_cut, too_deep
from .module import Module, Value
from .recomputed import recomputed

_MOST_ORDERS: Final = 64
"""More of them are not told apart."""

_MOST_OPERANDS: Final = 8
"""Of more operands of a program it is not known in which orders a result reads them."""

_OWN: Final = -1
_NO_REPLICA: Final = (1 << 32) - 1
_IN_PLACE: Final = 0

Orders = Mapping[int, Mapping[int, int]]
"""For a value: what it computes (`_OWN`), in which orders, and of how many operations; and in which
orders it reads operands of the program, by position."""

_IN_MEMORY: Final[Orders] = {}
_ONCE: Final = frozenset([_IN_PLACE])


def cuts_of(module: Module, jaxpr: Jaxpr) -> frozenset[Any]:
    """The variables of a program whose values are brought to memory, on the CPU."""
    if not (module.is_for_one_cpu and module.cuts_fusions):
        return frozenset()
    cuts = _analysed(jaxpr, module.cuts).cuts()
    return cuts | recomputed(jaxpr, cuts) | too_deep(jaxpr)


def in_memory(b: Any, x: Value) -> Value:
    """The value, which the compiler computes here, once, and reads from memory later."""
    changed = b.region((), lambda inner: [inner.op("stablehlo.negate", x.aval, x)])
    as_it_is = b.region((), lambda _: [x])
    return b.op("stablehlo.if", x.aval, _never(b), regions=[changed, as_it_is])


def not_looked_through(b: Any, *values: Value) -> list[Value]:
    """Unsigned integers as they are, where a vectoriser that follows their readers stops.

    To see which values are needed as one number per vector, LLVM (of jaxlib 0.12) asks for each
    narrowed number whether all that it goes into is, along every path anew.  Where each word goes
    into both words of the next round, the number of paths doubles with every second round.  Sums
    and shifts are followed, functions are not; so this is the maximum with 0, which the compiler
    cannot know to be 0.
    """
    aval = values[0].aval

    def nothing() -> Value:
        one = b.op("stablehlo.convert", aval.update(shape=()), _never(b))
        return b.broadcast(one, aval, ()) if aval.shape else one

    none = b.remembered((nothing.__qualname__, aval), nothing)
    return [b.elementwise("stablehlo.maximum", aval, x, none) for x in values]


def _never(b: Any) -> Value:
    """False, which the compiler cannot know."""

    def never() -> Value:
        one = ShapedArray((), np.dtype(np.uint32))
        flag = one.update(dtype=np.dtype(bool))
        number = b.op("stablehlo.replica_id", one)
        is_equal = "#stablehlo<comparison_direction EQ>"
        none = b.constant(_NO_REPLICA, one)
        return b.op("stablehlo.compare", flag, number, none, comparison_direction=is_equal)

    return b.remembered(_never, never)


def _analysed(jaxpr: Jaxpr, known: dict[Jaxpr, Analysis]) -> Analysis:
    found = known.get(jaxpr)
    if found is None:
        found = known[jaxpr] = Analysis(jaxpr, known)
    return found


@final
class Analysis:
    """Two walks over the equations of a program: who reads, and what is computed.

    Args:
        jaxpr: the program.
        known: what is known of programs that it calls.
    """

    def __init__(self, jaxpr: Jaxpr, known: dict[Jaxpr, Analysis]) -> None:
        self._jaxpr = jaxpr
        self._known = known
        self._orders: dict[Any, Orders] = {}
        self._cuts: set[Any] | None = None
        # In which orders values are read, two at most, and computed ones whose readers differ.
        self._read_in: dict[Any, frozenset[int]] = {}
        self._divided: set[Any] = set()
        self._find_readers()

    def cuts(self) -> frozenset[Any]:
        """The variables whose values are brought to memory."""
        if not self._divided:
            return frozenset()
        self._compute()
        return frozenset(self._cuts or ())

    def results(self) -> Sequence[Orders]:
        """The orders of each result."""
        self._compute()
        return [self._of(atom) for atom in self._jaxpr.outvars]

    def reads_in_several_orders(self, position: int) -> bool:
        """Whether it does so with an operand."""
        return len(self._read_in.get(self._jaxpr.invars[position], ())) > 1

    def _find_readers(self) -> None:
        jaxpr, divided = self._jaxpr, self._divided
        self._read_in.update([(a, _ONCE) for a in jaxpr.outvars if type(a) is not Literal])
        for eqn in reversed(jaxpr.eqns):
            reads, called = eqn.primitive.reads, called_by(eqn)
            if reads is None and called is None:
                divided.difference_update(eqn.outvars)
                outer = _ONCE
            else:
                outer = self._of_readers(eqn.outvars)
            for position, atom in enumerate(eqn.invars):
                if type(atom) is Literal:
                    continue
                found = outer
                if called is not None:
                    found = self._read_by_call(called, position, outer)
                elif reads == "elsewhere":
                    movement = hash(_movement(eqn, position))
                    found = frozenset([hash((order, movement)) for order in outer])
                self._note_reader(atom, found, is_called=called is not None)
        divided.difference_update(jaxpr.invars, jaxpr.constvars)

    def _of_readers(self, variables: Sequence[Any]) -> frozenset[int]:
        first = self._read_in.get(variables[0], _ONCE) if variables else _ONCE
        if len(variables) < 2:
            return first
        every = first.union(*[self._read_in.get(v, _ONCE) for v in variables])
        return frozenset(islice(every, 2))

    def _note_reader(self, atom: Any, found: frozenset[int], *, is_called: bool) -> None:
        before = self._read_in.get(atom)
        if before is not None and before is not found:
            found = frozenset(islice(before | found, 2))
        self._read_in[atom] = found
        if len(found) > 1 and (before is not None or is_called):
            self._divided.add(atom)

    def _read_by_call(self, called: Jaxpr, position: int, outer: frozenset[int]) -> frozenset[int]:
        if _analysed(called, self._known).reads_in_several_orders(position):
            return frozenset([_IN_PLACE, hash(called)])
        return outer

    def _compute(self) -> None:
        if self._cuts is not None:
            return
        self._cuts = set()
        for i, var in enumerate(self._jaxpr.invars[:_MOST_OPERANDS]):
            self._orders[var] = {i: {_IN_PLACE: 0}}
        for eqn in self._jaxpr.eqns:
            for var, orders in zip(eqn.outvars, self._of_results(eqn), strict=True):
                if var in self._divided and _is_worth_a_cut(var.aval, orders.get(_OWN)):
                    self._cuts.add(var)
                elif orders:
                    self._orders[var] = orders

    def _of(self, atom: Any) -> Orders:
        return _IN_MEMORY if type(atom) is Literal else self._orders.get(atom, _IN_MEMORY)

    def _of_results(self, eqn: Equation) -> Sequence[Orders]:
        called = called_by(eqn)
        if called is not None:
            given = [self._of(a) for a in eqn.invars]
            return [_composed(r, given) for r in _analysed(called, self._known).results()]
        reads = eqn.primitive.reads
        if reads is None:
            return [_IN_MEMORY] * len(eqn.outvars)
        if reads == "alike":
            merged = _merged([self._of(a) for a in eqn.invars])
            own = dict(merged.get(_OWN, {}))
            own[_IN_PLACE] = own.get(_IN_PLACE, 0) + 1
            return [{**merged, _OWN: own}] * len(eqn.outvars)
        # Of several operands, each element of the result is an element of one.
        most = max(range(len(eqn.invars)), key=lambda i: _weight(self._of(eqn.invars[i])))
        orders = self._of(eqn.invars[most])
        if not orders:
            return [_IN_MEMORY] * len(eqn.outvars)
        return [_moved(orders, hash(_movement(eqn, most)))] * len(eqn.outvars)


def _is_worth_a_cut(aval: Any, own: Mapping[int, int] | None) -> bool:
    if own is None or len(own) == 1 or type(aval) is not ShapedArray or not aval.is_static:
        return False
    if not isinstance(aval.dtype, np.dtype) or aval.dtype.kind not in "fciV" or not aval.ndim:
        return False
    repeated = sum(own.values()) - max(own.values())
    return is_worth_a_cut(repeated, aval.size) or len(own) >= _MOST_ORDERS


def _movement(eqn: Equation, position: int) -> Hashable:
    """What tells apart the ways in which operations place elements of an operand elsewhere."""
    places = [a for i, a in enumerate(eqn.invars) if i != position and _is_index(a)]
    atoms = tuple([a.val if type(a) is Literal else id(a) for a in places])
    try:
        key = hash((eqn.primitive, position, atoms, tuple(sorted(eqn.params.items()))))
    except TypeError:
        key = id(eqn)
    aval: Any = eqn.invars[position].aval
    return key, aval.shape


def _is_index(atom: Any) -> bool:
    dtype = getattr(atom.aval, "dtype", None)
    return isinstance(dtype, np.dtype) and dtype.kind in "iu"


def _weight(orders: Orders) -> int:
    return sum(orders.get(_OWN, {}).values()) * _MOST_OPERANDS + len(orders)


def _merged(given: Sequence[Orders]) -> Orders:
    """Of operations in the same order, those of several operands are taken for the same."""
    filled = [orders for orders in given if orders]
    if not filled:
        return _IN_MEMORY
    if all([orders is filled[0] for orders in filled]):
        return filled[0]
    merged: dict[int, dict[int, int]] = {}
    for orders in filled:
        for source, found in orders.items():
            known = merged.setdefault(source, {})
            for order, count in found.items():
                if order in known or len(known) < _MOST_ORDERS:
                    known[order] = max(known.get(order, 0), count)
    return merged


def _moved(orders: Orders, movement: int) -> Orders:
    return {
        source: {hash((movement, order)): count for order, count in found.items()}
        for source, found in orders.items()
    }


def _composed(result: Orders, operands: Sequence[Orders]) -> Orders:
    """The orders of a result of a call, given those of what it is called with."""
    parts: list[Orders] = [{_OWN: result[_OWN]}] if _OWN in result else []
    for source, found in result.items():
        if source != _OWN:
            for order in found:
                outer = operands[source]
                parts.append(outer if order == _IN_PLACE else _moved(outer, order))
    if not any(parts):
        return _IN_MEMORY
    merged = {source: dict(found) for source, found in _merged(parts).items()}
    # What a call computes in place comes after what its operands do.
    if _OWN in result and len(parts) > 1:
        before = max([p.get(_OWN, {}).get(_IN_PLACE, 0) for p in parts[1:]])
        own = merged[_OWN]
        own[_IN_PLACE] = before + result[_OWN].get(_IN_PLACE, 0)
    return merged
