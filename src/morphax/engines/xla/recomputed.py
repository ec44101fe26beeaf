"""Where a value is brought to memory that the compiler for the CPU would compute for each reader.

XLA fuses a cheap operation into the loop of each of its readers, so that what several loops read is
computed in each of them, and all that it is made of too, down to what is in memory.  In the
gradient of a network with residual connections each layer reads what the layers behind it have
added up: the sum is computed anew in each layer, and work grows with the square of the depth.

So a value whose readers are in different loops is brought to memory where its chain of cheap
operations is long.  What is not cheap (a quotient, an exponential) XLA keeps itself.

See docs/design/fusion-cuts.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from itertools import islice
from typing import Any, Final, NamedTuple, final

import numpy as np

from ...core import Equation, Jaxpr, Literal, ShapedArray
from ...util.memo import memoize
from .fusion_depth import called_by, is_worth_a_cut

_CHEAP: Final = frozenset(
    "abs add add_any and ceil clamp convert_element_type copy cos eq floor ge gt integer_pow le lt "
    "max min mul ne neg not or round select_n sign sin square sub".split()
)
"""What XLA computes again for each reader, as it does with all movements."""

_MOST: Final = 8
"""More loops, or operands of a called program, are not told apart."""

_NONE: Final[frozenset[int]] = frozenset()


class _Flow(NamedTuple):
    """What a called program does in the loops of who calls it.

    Args:
        readers: for each operand, the results that are computed from it in the same loop, and, as
            negative numbers, loops of the program itself.
        results: for each result, of how many operations a loop that reads it consists, and of
            which operands.
    """

    readers: tuple[frozenset[int], ...]
    results: tuple[tuple[int, frozenset[int]], ...]


def recomputed(jaxpr: Jaxpr, in_memory: Set[Any]) -> frozenset[Any]:
    """The variables of a program whose values are brought to memory for that.

    Args:
        jaxpr: the program.
        in_memory: variables whose values are brought there anyway.
    """
    loops = _Loops(jaxpr)
    if not loops.shared:
        return _NONE
    cuts: set[Any] = set()
    depths: dict[Any, int] = {}
    for eqn in jaxpr.eqns:
        for var, depth in zip(eqn.outvars, loops.depths_of(eqn, depths), strict=True):
            if not depth or var in in_memory:
                continue
            if var in loops.shared and _is_worth_a_cut(var.aval, (len(loops.of(var)) - 1) * depth):
                cuts.add(var)
            else:
                depths[var] = depth
    return frozenset(cuts)


@final
class _Loops:
    """Which loops compute the values of a program.

    The loop of a result of the program is its position, others are negative numbers, in the order
    in which they are met: of the same program the same values are cut in each process, so that what
    is compiled is found in the cache.
    """

    def __init__(self, jaxpr: Jaxpr) -> None:
        self.shared: set[Any] = set()
        """The values whose readers are in different loops."""
        self._found: dict[Any, frozenset[int]] = {}
        self._kept: set[Equation] = set()
        self._own: dict[Any, frozenset[int]] = {}
        for i, atom in enumerate(jaxpr.outvars):
            self._note(atom, frozenset([i]))
        for i, eqn in enumerate(reversed(jaxpr.eqns)):
            self._read_by(eqn, i)

    def of(self, atom: Any) -> frozenset[int]:
        """The loops that compute a value."""
        return _NONE if type(atom) is Literal else self._found.get(atom, _NONE)

    def depths_of(self, eqn: Equation, depths: dict[Any, int]) -> list[int]:
        """Of how many operations loops consist that read the results; 0 of what is in memory."""
        if eqn in self._kept:
            return [0] * len(eqn.outvars)
        given = [0 if type(a) is Literal else depths.get(a, 0) for a in eqn.invars]
        called = called_by(eqn)
        if called is None:
            return [1 + max(given, default=0)] * len(eqn.outvars)
        results = _flow_of(called).results
        return [own + max([given[i] for i in sources], default=0) for own, sources in results]

    def _read_by(self, eqn: Equation, number: int) -> None:
        called, outer = called_by(eqn), [self.of(var) for var in eqn.outvars]
        if called is not None:
            for readers, atom in zip(_flow_of(called).readers, eqn.invars, strict=True):
                loops = _seen_outside(readers, outer, number)
                self._note(atom, loops, is_shared=len(readers) > 1)
        elif eqn.primitive.reads is None:
            self._kept.add(eqn)
            for atom in eqn.invars:
                self._note(atom, self._own_loop(atom))
        else:
            loops = _joined(outer)
            if len(loops) > 1 and not _is_cheap(eqn):
                self._kept.add(eqn)
                loops = self._own_loop(eqn)
            for atom in eqn.invars:
                self._note(atom, loops)

    def _own_loop(self, of: Any) -> frozenset[int]:
        """The loop that brings a value, or the result of an equation, to memory."""
        if type(of) is Literal:
            return _NONE
        return self._own.setdefault(of, frozenset([-1 - len(self._own)]))

    def _note(self, atom: Any, loops: frozenset[int], *, is_shared: bool = False) -> None:
        """Note loops of a reader of a value, which may share it out among several."""
        if not loops or type(atom) is Literal:
            return
        if is_shared:
            self.shared.add(atom)
        before = self._found.get(atom)
        if before is None:
            self._found[atom] = loops
        elif before != loops:
            self._found[atom] = _joined((before, loops))
            self.shared.add(atom)


@memoize
def _flow_of(jaxpr: Jaxpr) -> _Flow:
    loops = _Loops(jaxpr)
    depths: dict[Any, int] = {}
    sources: dict[Any, frozenset[int]] = {v: frozenset([i]) for i, v in enumerate(jaxpr.invars)}

    def sources_of(atom: Any) -> frozenset[int]:
        return _NONE if type(atom) is Literal else sources.get(atom, _NONE)

    for eqn in jaxpr.eqns:
        called = called_by(eqn)
        given = [sources_of(a) for a in eqn.invars]
        for i, (var, depth) in enumerate(
            zip(eqn.outvars, loops.depths_of(eqn, depths), strict=True)
        ):
            depths[var] = depth
            if called is not None:
                sources[var] = _joined([given[k] for k in _flow_of(called).results[i][1]])
            elif depth:
                sources[var] = _joined(given)
    ends = [0 if type(a) is Literal else depths.get(a, 0) for a in jaxpr.outvars]
    return _Flow(
        tuple(map(loops.of, jaxpr.invars)),
        tuple(zip(ends, map(sources_of, jaxpr.outvars), strict=True)),
    )


def _seen_outside(
    readers: Iterable[int], outer: Sequence[frozenset[int]], caller: int
) -> frozenset[int]:
    """The loops that a call makes of an operand, by the names of the program around."""
    inner = [-1 - abs(hash((caller, reader))) for reader in readers if reader < 0]
    return _joined((frozenset(inner), *[outer[reader] for reader in readers if reader >= 0]))


def _joined(sets: Iterable[frozenset[int]]) -> frozenset[int]:
    filled = [some for some in sets if some]
    if not filled:
        return _NONE
    if all([some is filled[0] for some in filled]):
        return filled[0]
    joined = filled[0].union(*filled[1:])
    return joined if len(joined) <= _MOST else frozenset(islice(joined, _MOST))


def _is_cheap(eqn: Equation) -> bool:
    """Whether XLA puts the operation into the loop of each reader."""
    return eqn.primitive.reads == "elsewhere" or eqn.primitive.name in _CHEAP


def _is_worth_a_cut(aval: Any, operations: int) -> bool:
    if type(aval) is not ShapedArray or not aval.is_static or not aval.ndim:
        return False
    is_number = isinstance(aval.dtype, np.dtype) and aval.dtype.kind in "fc"
    return is_number and is_worth_a_cut(operations, aval.size)
