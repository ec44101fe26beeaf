"""What the equations of repeated steps read: how a run of them is wired as the body of a loop."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias, final

import numpy as np

from ...core import Equation, Jaxpr, Literal, ShapedArray
from ...core.atoms import Atom, Var
from ...util.records import dataclass
from ..xla.literals import host_constant
from .equation_forms import LARGEST, WINDOW, axes_of_padding
from .repeated import moving_row_p, moving_window_p

Axes: TypeAlias = tuple[tuple[int, tuple[tuple[int, int], ...]], ...]


class NotSteps(Exception):
    """Equations are no steps of a loop, though they have the same forms."""


@final
@dataclass(frozen=True, slots=True)
class Moving:
    """A part of an array that moves on from step to step.

    Args:
        source: the array; that of literals and constants is made of `numbers`.
        shape: of the part.
        axes: for each axis of the array, where index i of the parts, stacked, reads it, as
            `StridedView` has it.
    """

    source: Var
    shape: tuple[int, ...]
    axes: Axes
    numbers: Any = None


@final
@dataclass(frozen=True, slots=True)
class Element:
    """An element of what an earlier run has stacked."""

    stack: Var
    index: int


def are_even(first: Element | None, second: Element | None, third: Element | None) -> bool:
    """Whether they are elements of one stack, as far from one another."""
    if first is None or second is None or third is None:
        return False
    if not first.stack is second.stack is third.stack:
        return False
    return second.index - first.index == third.index - second.index


_PLACE = ShapedArray((), np.dtype(np.int32))
# A result of a step, by the number of its equation in the step.
_Own: TypeAlias = tuple[int, int]


@final
@dataclass(frozen=True, slots=True)
class Around:
    """What steps may read, and where it comes from.

    Args:
        eqns: of the program.
        made: for each variable its equation, and which of the results it is.
        numbers: the values of variables that are `known_numbers` of the program.
        elements: variables that are elements of stacks.
    """

    eqns: Sequence[Equation]
    made: dict[Atom, tuple[int, int]]
    numbers: dict[Atom, np.ndarray[Any, Any]]
    elements: dict[Atom, Element]


def known_numbers(jaxpr: Jaxpr) -> dict[Atom, np.ndarray[Any, Any]]:
    """The constants of a program that may become rows of one: numbers, not many in each.

    Of many, a copy takes longer than what steps save.
    """
    found: dict[Atom, np.ndarray[Any, Any]] = {}
    for var, constant in zip(jaxpr.constvars, jaxpr.consts, strict=True):
        aval: Any = var.aval
        if type(aval) is ShapedArray and math.prod(aval.shape) <= LARGEST:
            value = host_constant(constant)
            if type(value) is np.ndarray and (value.dtype, value.shape) == (aval.dtype, aval.shape):
                found[var] = value
    return found


@final
class Steps:
    """A run of equations as steps of a loop.

    Args:
        around: what they may read.
        start: number of the first equation.
        period: equations of a step.
        count: how many steps are wished for; there may be fewer.

    Attributes:
        consts: atoms that all steps read.
        initial: atoms that the first step reads where others read what is `carried`.
        carried: results of a step that the next one reads.
        moving: parts of arrays, of which each step reads another one.

    Raises:
        NotSteps: they read what no loop has.
    """

    def __init__(self, around: Around, start: int, period: int, count: int) -> None:
        self.around, self.eqns, self.made = around, around.eqns, around.made
        self.start, self.period, self.count = start, period, count
        self.consts: dict[Var, Var] = {}
        self.initial: list[Atom] = []
        self.carried: list[_Own] = []
        self.moving: list[Moving] = []
        # The variables of the body: of results, what is carried, moving parts.
        self._own: dict[_Own, Var] = {}
        self._carry: dict[tuple[_Own, Any], Var] = {}
        self._parts: list[Var] = []
        self._rows: dict[Any, Var] = {}
        self.body_eqns = [self._equation(q) for q in range(period)]

    @property
    def end(self) -> int:
        return self.start + self.period * self.count

    def result(self, step: int, own: _Own) -> Var:
        """The variable of the program that has a result of a step."""
        number, place = own
        return self.eqns[self.start + step * self.period + number].outvars[place]

    def body(self, stacked: Sequence[_Own]) -> Jaxpr:
        """The program of a step: constants, carry, parts → carry, results to be stacked."""
        carry = [*self._carry.values()]
        outvars = [self._own[own] for own in (*self.carried, *stacked)]
        return Jaxpr(
            (*self.consts.values(), *carry, *self._parts),
            tuple(outvars),
            tuple([eqn for eqn in self.body_eqns if eqn is not None]),
        )

    # Equations

    def _equation(self, q: int) -> Equation | None:
        """Equation `q` of the body, `None` if a moving part is its result."""
        # The second step, for the first may read what comes before.
        eqn = self.eqns[self.start + self.period + q]
        if eqn.primitive.name == WINDOW:
            starts = [other.params["start_indices"] for other in self._of_all_steps(q)]
            if starts.count(starts[0]) < len(starts):
                return self._window(q, eqn, starts)
        if axes := axes_of_padding(eqn):
            configs = [other.params["padding_config"] for other in self._of_all_steps(q)]
            if configs.count(configs[0]) < len(configs):
                return self._padding(q, eqn, axes, configs)
        invars = tuple([self._operand(q, a) for a in range(len(eqn.invars))])
        # What this step drops another one may not.
        outvars = tuple([Var(v.aval) for v in eqn.outvars])
        self._own |= {(q, o): v for o, v in enumerate(outvars)}
        return Equation(
            eqn.primitive, invars, outvars, eqn.params, eqn.effects, eqn.source, eqn.name_stack
        )

    def _of_all_steps(self, q: int) -> Sequence[Equation]:
        first = self.start + q
        return self.eqns[first : first + self.period * self.count : self.period]

    def _keep(self, count: int) -> None:
        """Make do with as many steps: the next one reads something else."""
        if count < 2:
            raise NotSteps
        self.count = min(self.count, count)

    def _window(self, q: int, eqn: Equation, starts: Sequence[tuple[int, ...]]) -> Equation | None:
        """Windows that move: a moving part if they do so evenly, in an array that is there."""
        source, out = eqn.invars[0], eqn.outvars[0]
        strides = eqn.params["strides"] or (1,) * len(starts[0])
        steps = [b - a for a, b in zip(*starts[:2], strict=True)]
        is_even = all(
            start == tuple([a + j * step for a, step in zip(starts[0], steps, strict=True)])
            for j, start in enumerate(starts)
        )
        is_there = all([other.invars[0] is source for other in self._of_all_steps(q)])
        aval: Any = out.aval
        if is_even and is_there and type(source) is Var and self._is_outside(source):
            each = enumerate(zip(starts[0], steps, strides, strict=True))
            axes = [(a, ((0, step), (axis + 1, stride))) for axis, (a, step, stride) in each]
            self._own[q, 0] = self._part(Moving(source, aval.shape, tuple(axes)), aval)
            return None
        if {*strides} != {1}:
            raise NotSteps
        x = self._operand(q, 0)
        numbers = np.ascontiguousarray(np.asarray(starts, np.int32).T)
        places = [self._numbers(row, _PLACE) for row in numbers]
        made = self._own[q, 0] = Var(aval)
        params = {"slice_sizes": aval.shape}
        return Equation(moving_window_p, (x, *places), (made,), params, source=eqn.source)

    def _padding(
        self, q: int, eqn: Equation, axes: Sequence[int], configs: Sequence[Any]
    ) -> Equation:
        """A row or an element among others, whose place moves."""
        x, filler = self._operand(q, 0), self._operand(q, 1)
        lows = [np.asarray([config[axis][0] for config in configs], np.int32) for axis in axes]
        places = [self._numbers(low, _PLACE) for low in lows]
        aval: Any = eqn.outvars[0].aval
        made = self._own[q, 0] = Var(aval)
        params = {"shape": aval.shape, "axes": axes}
        return Equation(moving_row_p, (x, filler, *places), (made,), params, source=eqn.source)

    def _part(self, moving: Moving, aval: Any) -> Var:
        self.moving.append(moving)
        self._parts.append(Var(aval))
        return self._parts[-1]

    # Operands

    def _operand(self, q: int, a: int) -> Atom:
        """What the body reads where the steps have their operand `a` of equation `q`."""
        atoms = [eqn.invars[a] for eqn in self._of_all_steps(q)]
        second = atoms[1]
        if type(second) is Literal:
            return self._literal(atoms)
        number, place = self.made.get(second, (-1, 0))
        own = number - self.start - self.period
        if own >= 0:
            self._keep(self._following(atoms, own, place))
            return self._own[own, place]
        if own >= -self.period:
            own += self.period
            self._keep(1 + self._following(atoms[1:], own, place))
            return self._carried(atoms[0], (own, place), second.aval)
        if atoms[0] is not second:
            if second in self.around.elements:
                return self._elements(atoms)
            if second in self.around.numbers:
                return self._constants(atoms)
        self._keep(_agreeing([atom is second for atom in atoms]))
        return self.consts.setdefault(second, Var(second.aval))

    def _following(self, atoms: Sequence[Atom], number: int, place: int) -> int:
        """How many atoms are a result of step after step."""
        made, at, period = self.made, self.start + number, self.period
        return _agreeing([made.get(x) == (at + j * period, place) for j, x in enumerate(atoms)])

    def _is_outside(self, atom: Atom) -> bool:
        return type(atom) is Literal or self.made.get(atom, (-1, 0))[0] < self.start

    def _carried(self, initial: Atom, own: _Own, aval: Any) -> Var:
        if initial.aval != aval or not self._is_outside(initial):
            raise NotSteps
        key = own, id(initial)
        if key not in self._carry:
            self._carry[key] = Var(aval)
            self.carried.append(own)
            self.initial.append(initial)
        return self._carry[key]

    def _literal(self, atoms: Sequence[Any]) -> Atom:
        """A literal, or those of all steps."""
        aval = atoms[0].aval
        return self._numbers(np.stack([np.asarray(x.val, aval.dtype) for x in atoms]), aval)

    def _numbers(self, numbers: np.ndarray[Any, Any], aval: Any) -> Atom:
        """A number that is known for each step."""
        if len({x.tobytes() for x in numbers}) == 1:
            return Literal(numbers[0], aval)
        return self._row(numbers, aval)

    def _constants(self, atoms: Sequence[Any]) -> Var:
        """Constants of the program, which become one."""
        numbers = self.around.numbers
        self._keep(_agreeing([x in numbers for x in atoms]))
        return self._row(np.stack([numbers[x] for x in atoms[: self.count]]), atoms[0].aval)

    def _row(self, numbers: np.ndarray[Any, Any], aval: Any) -> Var:
        """One of as many arrays as there are steps."""
        key = aval, numbers.tobytes()
        if key not in self._rows:
            stack = Var(aval.with_axis(0, len(numbers)))
            moving = Moving(stack, aval.shape, _rows(0, 1, aval.ndim), numbers)
            self._rows[key] = self._part(moving, aval)
        return self._rows[key]

    def _elements(self, atoms: Sequence[Atom]) -> Var:
        """Elements of a stack, at places that move on evenly."""
        places = [self.around.elements.get(x) for x in atoms]
        first, second = places[:2]
        if first is None or second is None or first.stack is not second.stack:
            raise NotSteps
        self._keep(2 + _agreeing(list(map(are_even, places, places[1:], places[2:]))))
        aval: Any = atoms[0].aval
        axes = _rows(first.index, second.index - first.index, aval.ndim)
        return self._part(Moving(first.stack, aval.shape, axes), aval)


def _rows(first: int, step: int, ndim: int) -> Axes:
    """Rows of an array, from one on, as `StridedView` has them."""
    rest = [(0, ((axis + 1, 1),)) for axis in range(ndim)]
    return ((first, ((0, step),)), *rest)


def _agreeing(flags: Sequence[bool]) -> int:
    """How many there are before the first that does not hold."""
    return flags.index(False) if False in flags else len(flags)
