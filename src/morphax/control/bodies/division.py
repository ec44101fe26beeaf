"""Division of operations with bodies between two passes, as rematerialisation asks for it.

Each program is divided.  The operation of the first pass computes the results that are live and
hands out what is saved: a loop stacks it, a branch puts it into a place.  The operation of the
second pass takes that, carries the components that its live results depend on, from their first
values, and recomputes the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...core import Atom, Equation, Jaxpr, Param, Var, infer
from ...core.partition import Demand, Partition, needed, partition, program, selected, split
from ...util.memo import memoize
from .fixpoint import Mask, any_of, fixpoint
from .places import Places, shared_places, taking_places, with_places
from .wiring import Parts, stacked_aval

if TYPE_CHECKING:
    from .body_primitive import HasBodies

Saves = Callable[[Equation], bool] | None


@memoize
def divide(jaxpr: Jaxpr, live: Mask, live_second: Mask, saves: Saves) -> Partition:
    """Divide a program.

    Args:
        jaxpr: the program.
        live: results that the first pass needs.
        live_second: results that the second pass needs.
        saves: see `Demand`.
    """

    def divide_equation(
        eqn: Equation, live: Sequence[bool], live_second: Sequence[bool]
    ) -> Partition:
        return split(eqn, Demand(live, live_second, saves))

    results = jaxpr.outvars
    return partition(
        jaxpr, selected(results, live), selected(results, live_second), divide=divide_equation
    )


def divided(primitive: HasBodies, eqn: Equation, demand: Demand) -> Partition:
    """Divide an operation none of whose programs decides."""
    return _Division(primitive, eqn, demand).partition()


class _Division:
    """The division of one equation.

    Args:
        primitive: its operation.
        eqn: the equation.
        demand: see `core.partition`.
    """

    def __init__(self, primitive: HasBodies, eqn: Equation, demand: Demand) -> None:
        self.primitive, self.eqn, self.saves = primitive, eqn, demand.saves
        wiring = primitive.wiring
        self.programs = wiring.giving.programs(eqn.params)
        self.operands = wiring.parts(eqn.invars, eqn.params)
        self.taken = Parts({name: self.operands[name] for name in wiring.giving.takes})
        self.num_carry = 0 if wiring.carried is None else len(self.operands[wiring.carried])
        self.live, self.live_second = tuple(demand.live), tuple(demand.live_second)
        self.direct: Mask = (False,) * len(self.live)
        if len(self.programs) == 1:
            self._save_directly()
        n = self.num_carry
        # The first pass carries everything; the second what it needs, and stacks no carry.
        self.live_in_body = (True,) * n + self.live[n:]
        self.live_second_in_body = self._live_second_in_body()
        self.parts = [self._divide(jaxpr, self.live_second_in_body) for jaxpr in self.programs]

    def _divide(self, jaxpr: Jaxpr, live_second: Mask) -> Partition:
        return divide(jaxpr, self.live_in_body, live_second, self.saves)

    def _save_directly(self) -> None:
        """Results that are saved are live, and no longer live in the second pass."""
        (jaxpr,) = self.programs
        saved = divide(jaxpr, self.direct, self.live_second, self.saves).saved
        pairs = zip(jaxpr.outvars, self.live_second, strict=True)
        self.direct = tuple([on and v in saved for v, on in pairs])
        self.live = tuple(map(any, zip(self.live, self.direct, strict=True)))
        self.live_second = tuple(
            [a and not b for a, b in zip(self.live_second, self.direct, strict=True)]
        )

    def _live_second_in_body(self) -> Mask:
        """What a step of the second pass computes: what is live after it or read by later steps."""
        carried, stacked = self.primitive.wiring.carried, self.live_second[self.num_carry :]
        if carried is None:
            return self.live_second
        (jaxpr,) = self.programs
        before = self.taken.cut(jaxpr.invars)[carried]

        def step(carry: list[bool]) -> list[bool]:
            live_second = (*carry, *stacked)
            second = self._divide(jaxpr, live_second).second
            return needed(before, second, selected(jaxpr.outvars, live_second))

        return (*fixpoint(self.live_second[: self.num_carry], step), *stacked)

    def partition(self) -> Partition:
        """The operations of the two passes."""
        eqn, wiring = self.eqn, self.primitive.wiring
        # What is saved is a result already, or becomes one.
        named: dict[Any, Var] = {}
        if len(self.programs) == 1:
            n, outvars = self.num_carry, self.programs[0].outvars
            pairs = zip(outvars[n:], eqn.outvars[n:], strict=True)
            named = dict(selected(list(pairs), self.live[n:]))
        unnamed = [[v for v in part.saved if v not in named] for part in self.parts]
        places = shared_places([[v.aval for v in row] for row in unnamed])
        further = list(map(Var, places.avals))
        if wiring.stacked:
            length = eqn.params[wiring.length]
            further = [Var(stacked_aval(aval, length)) for aval in places.avals]
        saved = further
        if len(self.programs) == 1:
            named |= zip(unnamed[0], further, strict=True)
            saved = [named[v] for v in self.parts[0].saved]
        first = self._first(unnamed, places, further)
        runs = any(self.live) or bool(further) or bool(first.effects)
        return Partition(
            (first,) if runs else (),
            (self._second(places, saved),) if any(self.live_second) else (),
            tuple(dict.fromkeys([*selected(eqn.outvars, self.direct), *saved])),
        )

    def _first(
        self, unnamed: Sequence[Sequence[Var]], places: Places, further: Sequence[Var]
    ) -> Equation:
        eqn, live = self.eqn, self.live_in_body
        programs = []
        for i, (jaxpr, part) in enumerate(zip(self.programs, self.parts, strict=True)):
            outs = (*selected(jaxpr.outvars, live), *unnamed[i])
            forward = program(jaxpr, part.first, jaxpr.invars, outs)
            programs.append(forward if len(self.programs) == 1 else with_places(forward, i, places))
        results = (*selected(eqn.outvars, live), *further)
        return self._applied(self.operands, range(len(eqn.invars)), results, programs)

    def _second(self, places: Places, saved: Sequence[Var]) -> Equation:
        eqn, live_second, wiring = self.eqn, self.live_second_in_body, self.primitive.wiring
        outs = [selected(jaxpr.outvars, live_second) for jaxpr in self.programs]
        rows = [
            needed(jaxpr.invars, part.second, out)
            for jaxpr, part, out in zip(self.programs, self.parts, outs, strict=True)
        ]
        # An operand that one program needs is given to all.
        taken = self.taken.cut(any_of(rows))
        if wiring.carried is not None:
            taken[wiring.carried] = list(live_second[: self.num_carry])
        passed = Parts(self.operands.map(lambda _: True) | taken)
        operands = self.operands.where(passed)
        numbers = wiring.parts(range(len(eqn.invars)), eqn.params).where(passed)
        last = wiring.giving.takes[-1]
        programs = []
        if len(self.programs) == 1:
            (jaxpr,), (part,) = self.programs, self.parts
            invars = (*selected(jaxpr.invars, taken.flat), *part.saved)
            programs = [program(jaxpr, part.second, invars, outs[0])]
            operands[last] += saved
            numbers[last] += [None] * len(saved)
        else:
            for i, (jaxpr, part) in enumerate(zip(self.programs, self.parts, strict=True)):
                invars = (*part.saved, *selected(jaxpr.invars, taken.flat))
                recomputed = program(jaxpr, part.second, invars, outs[i])
                programs.append(taking_places(recomputed, i, places))
            operands[last] = [*saved, *operands[last]]
            numbers[last] = [*[None] * len(saved), *numbers[last]]
        results = [
            v if on else Var(v.aval) for v, on in zip(eqn.outvars, self.live_second, strict=True)
        ]
        return self._applied(operands, numbers.flat, selected(results, live_second), programs)

    def _applied(
        self,
        operands: Parts,
        numbers: Sequence[int | None],
        results: Sequence[Var],
        programs: Sequence[Jaxpr],
    ) -> Equation:
        """The operation on other operands; `numbers` as in `HasBodies.operand_params`."""
        primitive, params = self.primitive, self.eqn.params
        changed = primitive.wiring.giving.holding(programs, params)
        changed |= primitive.wiring.counts(operands)
        changed |= primitive.operand_params(params, numbers, shared=True)
        return applied(self.eqn, operands.flat, results, params | changed)


def applied(
    eqn: Equation, invars: Sequence[Atom], outvars: Sequence[Var], params: dict[str, Param]
) -> Equation:
    """The operation of an equation on other operands, with other parameters."""
    _, effects = infer(eqn.primitive, params, tuple([a.aval for a in invars]))
    return eqn.replace(invars=tuple(invars), outvars=tuple(outvars), params=params, effects=effects)
