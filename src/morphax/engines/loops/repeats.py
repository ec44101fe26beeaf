"""Steps that Python has repeated, found again and written as a loop.

A loop of Python's leaves as many copies of its body in the program as it has steps.  They are found
by the *forms* of equations: primitive, parameters, avals of operands and results.  A run of
equations whose forms come again after `period` places is cut into steps, and each operand of each
equation must be, in all steps alike,

- a result of the same step, or of the step before (which is *carried*),
- the same atom, made before the run (a *constant*),
- a *moving part*: numbers that are known, elements of what an earlier run has stacked, or windows
  of an array, at places that move on evenly.

Whatever is none of these ends the run.  What others read of its results is stacked.  See
docs/design/repeated-steps.md.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import accumulate
from typing import Any, Final, final

from ...core import Equation, Jaxpr, Literal
from ...core.atoms import Atom, DropVar, Var
from ...util.memo import memoize
from .equation_forms import forms_of, next_places, weight_of
from .repeated import repeated_steps_p, strided_view_p
from .steps import Around, Element, Moving, NotSteps, Steps, are_even, known_numbers

# Fewer steps, or fewer equations that are saved, gain nothing.
_LEAST_STEPS: Final = 4
_LEAST_SAVED: Final = 48
# So many equations are written at once, so that chains of operations stay in registers.
_LEAST_AT_ONCE: Final = 64
# So many equations must be saved for each result that is taken out of a stack by itself.
_FOR_AN_ELEMENT: Final = 8
# So many places are tried at which forms come again, and so many starts of each run.
_MOST_PERIODS: Final = 2
_MOST_STARTS: Final = 3
# So many times runs are refused for that.
_MOST_SEARCHES: Final = 3


@memoize
def with_steps_found(jaxpr: Jaxpr) -> Jaxpr:
    """The same program, in which steps that Python has repeated are loops."""
    if sum(map(weight_of, jaxpr.eqns)) <= _LEAST_SAVED:
        return jaxpr
    found = _with_loops(jaxpr)
    # Steps of steps: these are loops now, which may be alike.
    return found if found is jaxpr else with_steps_found(found)


def _with_loops(jaxpr: Jaxpr) -> Jaxpr:
    program, refused = _Program(jaxpr), frozenset[int]()
    for _ in range(_MOST_SEARCHES):
        search = _Search(program, refused)
        search.run()
        if not search.saved:
            return jaxpr
        poor = search.poor_runs()
        if not poor:
            return search.program()
        refused |= poor
    return jaxpr


@final
class _Program:
    """What is asked of a program.

    Attributes:
        made: for each variable its equation, and which of the results it is.
        numbers: the values of constants that may become rows of one.
        last: the last equation that reads a variable.
        forms: a number for the form of each equation.
        weights: the weight of the equations before each, and of all.
        next_places: where the forms from an equation on come again; negative if nowhere.
    """

    def __init__(self, jaxpr: Jaxpr) -> None:
        self.jaxpr, self.eqns = jaxpr, jaxpr.eqns
        self.made: dict[Atom, tuple[int, int]] = {}
        self.last: dict[Atom, int] = {}
        for i, eqn in enumerate(jaxpr.eqns):
            for atom in eqn.invars:
                if type(atom) is not Literal:
                    self.last[atom] = i
            for o, var in enumerate(eqn.outvars):
                self.made[var] = i, o
        self.last |= dict.fromkeys(jaxpr.outvars, len(jaxpr.eqns))
        self.numbers = known_numbers(jaxpr)
        self.forms = forms_of(jaxpr.eqns)
        self.next_places = next_places(self.forms)
        self.weights = [0, *accumulate(map(weight_of, jaxpr.eqns))]


@final
class _Search:
    """One pass through a program, which writes another one.

    Attributes:
        saved: for each run that is a loop how many equations that saves, those of programs in
            equations among them.
    """

    def __init__(self, given: _Program, refused: frozenset[int]) -> None:
        self.given, self.eqns, self.refused = given, given.eqns, refused
        self.saved: dict[range, int] = {}
        # For each period equations that follow those a period before, one that does not, and where
        # to try a run again that ends at one.
        self.followers: dict[int, range] = {}
        self.ends: dict[int, int] = {}
        self.tries: dict[tuple[int, int], tuple[int, int]] = {}
        # What is written.
        self.written: list[Equation] = []
        self.elements: dict[Atom, Element] = {}
        self.around = Around(given.eqns, given.made, given.numbers, self.elements)
        self.taken: dict[Var, int] = {}
        self.run_of: dict[Var, range] = {}
        self.constants: dict[Hashable, tuple[Var, Any]] = {}

    def run(self) -> None:
        """Write the program."""
        i, following = 0, self.given.next_places
        while i < len(self.eqns):
            comes_again = following[i] >= 0 and i not in self.refused
            steps = self._steps_at(i) if comes_again else None
            if steps is not None:
                self._write(steps)
                i = steps.end
                continue
            if self.elements:
                self._read(self.eqns[i].invars)
            self.written.append(self.eqns[i])
            i += 1
        self._read(self.given.jaxpr.outvars)

    def program(self) -> Jaxpr:
        """What was written."""
        jaxpr = self.given.jaxpr
        read = {atom for eqn in self.written for atom in eqn.invars} | {*jaxpr.outvars}
        given = zip(jaxpr.constvars, jaxpr.consts, strict=True)
        constants = [x for x in (*given, *self.constants.values()) if x[0] in read]
        return jaxpr.replace(
            eqns=tuple(self.written),
            constvars=tuple([var for var, _ in constants]),
            consts=tuple([value for _, value in constants]),
        )

    def poor_runs(self) -> frozenset[int]:
        """Equations of runs that gain little: much of what they save is taken out of stacks."""
        taken = dict.fromkeys(self.saved, 0)
        for stack, number in self.taken.items():
            taken[self.run_of[stack]] += number
        poor = [run for run, saved in self.saved.items() if saved < _FOR_AN_ELEMENT * taken[run]]
        return frozenset([i for run in poor for i in run])

    # Finding steps

    def _steps_at(self, i: int) -> Steps | None:
        """The steps that begin with an equation, if there are any."""
        there = i
        for _ in range(_MOST_PERIODS):
            if (there := self.given.next_places[there]) < 0:
                break
            period = there - i
            length = self._end_of_run(i, period) - i
            if not self._gains(i, period, length // period):
                continue
            key = period, i + length
            tried, later = self.tries.get(key, (0, i))
            if tried == _MOST_STARTS or i < later:
                continue
            steps = self._steps(i, period, length // period)
            if steps is not None:
                return steps
            self.tries[key] = tried + 1, i + period
        return None

    def _gains(self, start: int, period: int, count: int) -> bool:
        """Whether it is worth a loop."""
        if count < _LEAST_STEPS:
            return False
        return (count - 1) * self._weight_of_step(start, period) >= _LEAST_SAVED

    def _weight_of_step(self, start: int, period: int) -> int:
        return self.given.weights[start + period] - self.given.weights[start]

    def _end_of_run(self, i: int, period: int) -> int:
        """The first equation, two periods on or later, that does not follow the one before.

        If there would be too few steps it is the start.  That is seen at the last equation of these
        steps that does not follow, which ends all runs that begin up to two periods before it.
        """
        first, enough = i + 2 * period, i + _LEAST_STEPS * period
        if first <= self.ends.get(period, -1) or enough > len(self.eqns):
            return i
        known = self.followers.get(period, range(0))
        end = enough
        while end > first:
            end = known.start if end - 1 in known else end - 1
            if end not in known and not self._follows(end, period):
                self.ends[period] = end
                self.followers[period] = range(end + 1, max(enough, known.stop))
                return i
        end = known.stop if enough in known else enough
        while end < len(self.eqns) and self._follows(end, period):
            end += 1
        self.followers[period] = range(first, end)
        return end

    def _follows(self, i: int, period: int) -> bool:
        """Whether an equation may be of the step after that of the one a period before it.

        What ends a run of `Steps` early is seen here: its length is that of what becomes a loop,
        and no equation is looked at for one loop after the other.
        """
        forms, last = self.given.forms, i - period
        if not forms[i] == forms[last] == forms[last - period]:
            return False
        made, elements, numbers = self.given.made, self.elements, self.given.numbers
        steps = [self.eqns[j].invars for j in (last - period, last, i)]
        for w, x, y in zip(*steps, strict=True):
            if type(x) is Literal:
                continue
            if x in elements and y in elements:
                if not are_even(elements.get(w), elements[x], elements[y]):
                    return False
                continue
            if x is y or (x in numbers and y in numbers):
                continue
            before, now = made.get(x), made.get(y)
            if before is None or now is None or now != (before[0] + period, before[1]):
                return False
        return True

    def _steps(self, start: int, period: int, count: int) -> Steps | None:
        """So many steps, or fewer."""
        forms, second = self.given.forms, start + period
        if forms[start:second] != forms[second : second + period]:
            return None
        while self._gains(start, period, count):
            try:
                steps = Steps(self.around, start, period, count)
            except NotSteps:
                return None
            # Results of the last step alone that are not carried are left to that step.
            count = steps.count - self._ends_alone(steps)
            if count == steps.count:
                return steps if self._gains(start, period, count) else None
        return None

    def _ends_alone(self, steps: Steps) -> bool:
        carried, last = set(steps.carried), steps.count - 1
        for own in self._results(steps):
            if own not in carried and self._is_read_after(steps, last, own):
                before = range(last)
                if not any([self._is_read_after(steps, j, own) for j in before]):
                    return True
        return False

    def _results(self, steps: Steps) -> list[tuple[int, int]]:
        outs = [eqn.outvars for eqn in self.eqns[steps.start : steps.start + steps.period]]
        return [(q, o) for q, variables in enumerate(outs) for o in range(len(variables))]

    def _is_read_after(self, steps: Steps, step: int, own: tuple[int, int]) -> bool:
        return self.given.last.get(steps.result(step, own), -1) >= steps.end

    # Writing them

    def _write(self, steps: Steps) -> None:
        """Write a run as a loop."""
        last, count = steps.count - 1, steps.count
        weight = self._weight_of_step(steps.start, steps.period)
        ends = {own: steps.result(last, own) for own in steps.carried}
        read = {own: var for own, var in ends.items() if self._is_read_after(steps, last, own)}
        stacks = self._stacks(steps, {*read.values()})
        # What starts with different values is carried twice, and ends as one.
        finals = [read.pop(own, DropVar(ends[own].aval)) for own in steps.carried]
        self._read([*steps.consts, *steps.initial, *[x.source for x in steps.moving]])
        operands = [*steps.consts, *steps.initial, *[self._moving(x, count) for x in steps.moving]]
        params = {
            "jaxpr": steps.body([*stacks]),
            "length": count,
            "num_consts": len(steps.consts),
            "num_carry": len(steps.carried),
            "at_once": max(1, min(-(-_LEAST_AT_ONCE // weight), count // 2)),
        }
        outvars = (*finals, *stacks.values())
        source = self.eqns[steps.start].source
        self.written.append(
            Equation(repeated_steps_p, tuple(operands), outvars, params, source=source)
        )
        self.saved[range(steps.start, steps.end)] = last * weight
        # What has been stacked makes others steps.
        self.followers, self.ends = {}, {}

    def _stacks(self, steps: Steps, finals: set[Var]) -> dict[tuple[int, int], Var]:
        """Variables for results that others read, of all steps, but for those that are final."""
        stacks: dict[tuple[int, int], Var] = {}
        for own in self._results(steps):
            variables = [steps.result(j, own) for j in range(steps.count)]
            if all([v in finals or self.given.last.get(v, -1) < steps.end for v in variables]):
                continue
            aval: Any = variables[0].aval
            stack = stacks[own] = Var(aval.with_axis(0, steps.count))
            self.run_of[stack], self.taken[stack] = range(steps.start, steps.end), 0
            for j, var in enumerate(variables):
                if var not in finals:
                    self.elements[var] = Element(stack, j)
        return stacks

    def _moving(self, x: Moving, count: int) -> Var:
        """Parts of an array for all steps, stacked."""
        shape, source = (count, *x.shape), x.source
        aval: Any = source.aval
        if x.numbers is not None:
            # Loops in loops read the same numbers again.
            key = aval, x.numbers.tobytes()
            source, _ = self.constants.setdefault(key, (source, x.numbers))
        return self._view(source, shape, x.axes, Var(aval.update(shape=shape)))

    def _view(self, x: Var, shape: tuple[int, ...], axes: Any, out: Var) -> Var:
        self.written.append(Equation(strided_view_p, (x,), (out,), {"shape": shape, "axes": axes}))
        return out

    def _read(self, atoms: Sequence[Atom]) -> None:
        """Take what is read out of the stacks."""
        for var in atoms:
            if type(var) is Literal or (element := self.elements.pop(var, None)) is None:
                continue
            aval: Any = var.aval
            rest = tuple([(0, ((axis, 1),)) for axis in range(aval.ndim)])
            self._view(element.stack, aval.shape, ((element.index, ()), *rest), var)
            self.taken[element.stack] += 1
