"""Discharge of operations with bodies: references become part of what the body passes on.

A reference that a loop changes is carried, one of which each step has a row is stacked, one that a
branch changes is a result of all branches, and one that is only looked up is a constant.  What the
programs become is remembered, for programs are compiled once per identity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...core import Cell, Jaxpr, Operand, Param, apply_jaxpr, discharge, stage_closed
from ...util.memo import memoize
from .wiring import Wiring


class OnValues(NamedTuple):
    """An operation with bodies on the values of references.

    Args:
        params: of the operation.
        operands: their numbers among the operands of the operation on references.
        results: for each result the number of the reference whose value it is, `None` for results
            proper.
    """

    params: dict[str, Param]
    operands: tuple[int, ...]
    results: tuple[int | None, ...]

    def write_back(self, outs: Sequence[Any], operands: Sequence[Operand]) -> list[Any]:
        """The results proper, after the others have become the values of references."""
        for x, i in zip(outs, self.results, strict=True):
            if i is not None:
                operands[i].value = x
        return [x for x, i in zip(outs, self.results, strict=True) if i is None]


def write_back(
    results: Sequence[Any], operands: Sequence[Operand], changed: Sequence[int]
) -> list[Any]:
    """The results proper, after the last ones have become the values of changed references."""
    count = len(results) - len(changed)
    for i, value in zip(changed, results[count:], strict=True):
        operands[i].value = value
    return list(results[:count])


def first_places(operands: Sequence[Operand]) -> tuple[int, ...]:
    """For each operand the number of the first that is the same reference, or its own number."""
    first: dict[int, int] = {}
    return tuple(
        [first.setdefault(id(x), i) if type(x) is Cell else i for i, x in enumerate(operands)]
    )


@memoize
def on_values(
    wiring: Wiring, params: tuple[tuple[str, Any], ...], same: tuple[int, ...]
) -> OnValues:
    """The operation on values.

    Args:
        wiring: of an operation of which no program that decides changes a reference.
        params: of the operation.
        same: what `first_places` says of its operands.
    """
    named = dict(params)
    numbers = wiring.parts(range(len(same)), named)
    avals: dict[int, Any] = {}
    changed: set[int] = set()
    for body in wiring.bodies:
        taken = body.taken(numbers)
        for pure in map(discharge, body.programs(named)):
            avals.update(zip(taken, pure.jaxpr.in_avals, strict=True))
            changed.update([same[taken[i]] for i in pure.changed])
    sliced = {i for name in wiring.stacked for i in numbers.get(name, ())}
    kept = sorted(changed - sliced)
    operands, num_carry = numbers, 0
    if wiring.carried is not None:
        num_carry = len(numbers[wiring.carried])
        operands = numbers.map(lambda i: i)
        for name, role in operands.items():
            operands[name] = [i for i in role if same[i] not in kept]
        operands[wiring.carried] += kept
    outvars = wiring.giving.programs(named)[0].outvars
    results = wiring.result_parts([None] * len(outvars), num_carry)
    first, last = wiring.giving.gives[0], wiring.giving.gives[-1]
    results[first] += kept
    results[last] += sorted(changed & sliced)
    for body in wiring.bodies:
        given, taken = body.taken(operands), body.taken(numbers)
        outs = results.flat if body.gives else [None]
        avals_given = [avals[i] for i in given]
        programs = [
            _on_own_operands(jaxpr, given, taken, outs)
            or stage_closed(
                _program_on_values(jaxpr, given, taken, same, outs),
                avals_given,
                jaxpr.debug_info.of_derived(),
            )
            for jaxpr in body.programs(named)
        ]
        named |= body.holding(programs, named)
    return OnValues(named | wiring.counts(operands), tuple(operands.flat), tuple(results.flat))


def _on_own_operands(
    jaxpr: Jaxpr, given: Sequence[int], taken: Sequence[int], outs: Sequence[int | None]
) -> Jaxpr | None:
    """The program on values, if it takes and gives what a program takes and gives by itself."""
    if given != taken:
        return None
    pure, changed = discharge(jaxpr)
    own = [*[None] * len(jaxpr.outvars), *[taken[i] for i in changed]]
    return pure if own == outs else None


def _program_on_values(
    jaxpr: Jaxpr,
    given: Sequence[int],
    taken: Sequence[int],
    same: Sequence[int],
    outs: Sequence[int | None],
) -> Callable[..., list[Any]]:
    """A program on values, as a function.

    Args:
        jaxpr: the program on references.
        given: numbers of its operands.
        taken: numbers of the operands of `jaxpr`.
        same: number of an operand → number of the first that is the same reference.
        outs: numbers of the references whose values it gives, `None` for results proper.
    """

    def function(*values: Operand) -> list[Any]:
        pure, changed = discharge(jaxpr)
        known = dict(zip(given, values, strict=True))
        found = apply_jaxpr(pure, *[known[i] if i in known else known[same[i]] for i in taken])
        own = iter(found[: len(jaxpr.outvars)])
        known |= zip([same[taken[i]] for i in changed], found[len(jaxpr.outvars) :], strict=True)
        return [next(own) if i is None else known[i] for i in outs]

    return function
