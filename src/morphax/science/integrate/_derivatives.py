"""Solutions of initial value problems as functions with derivatives.

`solution_pieces` has the derivative of the steps that were taken: they are taken again with the
same sizes, which forward and reverse mode go through.  `solution_values` has the derivative of the
differential equation: its tangent is that of the steps, and its transpose integrates the adjoint
equation λ′ = −(∂f/∂y)ᵀ λ backwards, with y(t) interpolated from the steps of a forward integration
that is done anew, so nothing is kept in between.  Along with λ it integrates −(∂f/∂a)ᵀ λ for the
arguments a; times move the solution by its slope.

References: L. Pontryagin et al., "The Mathematical Theory of Optimal Processes", 1962; R. Serban,
A. Hindmarsh, "CVODES, the sensitivity-enabled ODE solver in SUNDIALS", 2005 (interpolated y).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, final

import numpy as np

from ... import dtypes, lax, tree
from ... import numpy as jnp
from ...control.custom.custom_jvp import custom_jvp
from ...control.custom.custom_linear_call import linear_call
from ...control.jit.jit import jit
from ...core import aval_of
from ...scipy._runge_kutta import Slope, Tolerance
from ...transforms.derivatives import jvp, linearize, vjp
from ...transforms.vmap import vmap
from ...util.records import dataclass
from ..solver_arguments import FlatFunction, parts_like, result_like, zero_tangents
from ._solution import value_of
from ._steps import (
    GOES_ON,
    Controls,
    Method,
    Piece,
    Record,
    State,
    adaptive_pieces,
    recorded,
    repeated_pieces,
    start_state,
)


class Problem(NamedTuple):
    """All numbers of a problem; without `goals` the pieces are all steps."""

    begin: Any
    end: Any
    y0: Any
    goals: Any
    controls: Controls
    leaves: Sequence[Any]


class Ending(NamedTuple):
    """What became of an integration, at the time `t` in its direction; has no derivative."""

    t: Any
    steps: Any
    evaluations: Any
    jacobians: Any
    status: Any


@final
@dataclass(frozen=True, slots=True)
class Solver:
    """What is known while tracing; `function` is (t, y, *leaves) → dy/dt."""

    function: FlatFunction
    method: Method
    most: int

    def field(self, problem: Problem) -> Slope:
        """dy/ds at s and y, where s = ± t grows during the integration."""
        direction = direction_of(problem)

        def field(s: Any, y: Any) -> Any:
            slope = self.function(direction * s, y, *problem.leaves)
            return direction * result_like("solve_ivp, result of fun", slope, y)

        return field

    def start(self, problem: Problem) -> tuple[Slope, State, Any, Any]:
        """The field, the state before the first step, and the end and goals in its direction."""
        field, direction = self.field(problem), direction_of(problem)
        begin, end = direction * problem.begin, direction * problem.end
        state = start_state(field, self.method, begin, problem.y0, end, problem.controls)
        goals = None if problem.goals is None else direction * problem.goals
        return field, state, end, goals


def direction_of(problem: Problem) -> Any:
    backwards = problem.end < problem.begin
    return lax.stop_gradient(jnp.where(backwards, -1, 1).astype(problem.begin.dtype))


def is_ordered(goals: Any, begin: Any, end: Any) -> Any:
    """Whether times lie between two others, in the order of integration."""
    row = jnp.concatenate([begin[None], goals, end[None]])
    steps = row[1:] - row[:-1]
    return jnp.all(jnp.where(end < begin, -steps, steps) >= 0)


def _ending(state: State) -> Ending:
    return Ending(state.t, state.steps, state.evaluations, state.jacobians, state.status)


def _adaptive(solver: Solver, problem: Problem) -> tuple[Record, Ending]:
    field, state, end, goals = solver.start(problem)
    if goals is None:
        state, record = recorded(field, solver.method, problem.controls, solver.most, state, end)
        return record, _ending(state)
    state, pieces = adaptive_pieces(
        field, solver.method, problem.controls, solver.most, state, end, goals
    )
    return Record(goals, pieces), _ending(state)


solution_pieces = custom_jvp(jit(_adaptive, static_argnums=0), nondiff_argnums=(0,))


@solution_pieces.defjvp
def _pieces_jvp(solver: Solver, primals: Any, tangents: Any) -> tuple[Any, Any]:
    (problem,), (moved,) = primals, tangents
    record, ending = solution_pieces(solver, lax.stop_gradient(problem._replace(goals=None)))
    stops, most = record.ends, record.ends.shape[0]
    if problem.goals is None:
        counts, between = jnp.minimum(jnp.arange(1, most + 1, dtype=np.int32), ending.steps), 1
    else:
        stops, between = direction_of(problem) * problem.goals, most
        counts = jnp.minimum(jnp.searchsorted(record.ends, stops) + 1, ending.steps)
        counts = jnp.where(stops > direction_of(problem) * problem.begin, counts, 0)
    counts = lax.stop_gradient(counts)

    def again(problem: Problem) -> Piece:
        field, state, _, _ = solver.start(problem)
        tolerance = problem.controls.tolerance
        method, sizes = solver.method, record.piece.width
        return repeated_pieces(field, method, tolerance, sizes, state, counts, between)

    # Linearized, the loop over steps is one linear operation, which can be transposed.
    pieces, push = linearize(jit(again), problem)
    change = push(moved)
    change = change._replace(width=jnp.zeros_like(pieces.width))
    out = Record(lax.stop_gradient(stops), pieces), ending
    return out, (Record(jnp.zeros_like(stops), change), zero_tangents(ending))


def _values(solver: Solver, problem: Problem) -> tuple[Any, Ending]:
    record, ending = solution_pieces(solver, problem)
    goals = direction_of(problem) * problem.goals
    return values_at(record.piece, goals, ending.t), ending


def values_at(pieces: Piece, goals: Any, reached: Any) -> Any:
    """The solution (m, n) at goals in their pieces; NaN where it was not reached."""
    is_inside = (goals >= pieces.start) & (goals <= reached)
    return jnp.where(is_inside[:, None], vmap(value_of)(pieces, goals), np.nan)


solution_values = custom_jvp(_values, nondiff_argnums=(0,))


@solution_values.defjvp
def _values_jvp(solver: Solver, primals: Any, tangents: Any) -> tuple[Any, Any]:
    (problem,), (moved,) = primals, tangents
    out = solution_values(solver, problem)
    leaves, structure = tree.flatten(problem)
    is_moving = [dtypes.issubdtype(aval_of(x).dtype, np.inexact) for x in leaves]

    def rebuilt(leaves: Sequence[Any], moving: Sequence[Any]) -> Problem:
        given = iter(moving)
        return structure.unflatten(
            [next(given) if on else x for x, on in zip(leaves, is_moving, strict=True)]
        )

    def push(leaves: Sequence[Any], change: Sequence[Any]) -> Any:
        given = [x for x, on in zip(leaves, is_moving, strict=True) if on]
        values = lambda moving: _values(solver, rebuilt(leaves, moving))[0]  # noqa: E731
        return jvp(values, (given,), (list(change),))[1]

    def pull(leaves: Sequence[Any], ct: Any) -> list[Any]:
        pulled = tree.leaves(_adjoint(solver, structure.unflatten(leaves), ct))
        return [x for x, on in zip(pulled, is_moving, strict=True) if on]

    change = [t for t, on in zip(tree.leaves(moved), is_moving, strict=True) if on]
    return out, (linear_call(push, pull, leaves, change), zero_tangents(out[1]))


@final
@dataclass(frozen=True, slots=True)
class _AdjointFunction:
    """(s, [λ, ā], problem, moving arguments, record) → their slopes; s = −t in direction."""

    solver: Solver
    moving: tuple[int, ...]

    def __call__(self, s: Any, state: Any, problem: Problem, record: Record) -> Any:
        t = -s
        index = jnp.searchsorted(record.ends, t)
        y = value_of(Piece(*[x[index] for x in record.piece]), t)

        def field(y: Any, arguments: Sequence[Any]) -> Any:
            leaves = list(problem.leaves)
            for place, x in zip(self.moving, arguments, strict=True):
                leaves[place] = x
            return self.solver.field(problem._replace(leaves=leaves))(t, y)

        _, pull = vjp(field, y, [problem.leaves[i] for i in self.moving])
        size = y.shape[0]
        y_bar, changes = pull(state[:size].astype(y.dtype))
        parts = [y_bar, *[c.ravel() for c in changes]]
        return jnp.concatenate([p.astype(state.dtype) for p in parts])


def _adjoint(solver: Solver, problem: Problem, ct: Any) -> Problem:
    """The cotangent of a problem, of those (m, n) of its values at the goals."""
    record, ending = solution_pieces(solver, problem._replace(goals=None))
    field, direction, y0 = solver.field(problem), direction_of(problem), problem.y0
    leaves = list(problem.leaves)
    moving = [i for i, x in enumerate(leaves) if dtypes.issubdtype(aval_of(x).dtype, np.inexact)]
    dtype = dtypes.result_type(y0.dtype, *[leaves[i].dtype for i in moving])
    size, extra = y0.shape[0], sum([leaves[i].size for i in moving])
    argument = _AdjointFunction(solver, tuple(moving))
    function, numbers = _as_flat(argument, problem._replace(goals=None), record)
    backwards = replace(solver, function=function)
    begin, goals = direction * problem.begin, direction * problem.goals
    controls = _widened(problem.controls, size, extra)

    def back(state: Any, here: Any) -> tuple[Any, Any]:
        goal, earlier, value, ct = here
        moves = jnp.sum(field(goal, value) * ct).real.astype(begin.dtype)
        state = state + jnp.concatenate([ct.astype(dtype), jnp.zeros(extra, dtype)])
        part = Problem(-goal, -earlier, state, -earlier[None], controls, numbers)
        values, _ = _values(backwards, part)
        return values[0], moves

    values, _ = _values(solver, problem)
    earlier = jnp.concatenate([begin[None], goals[:-1]])
    zero = jnp.zeros(size + extra, dtype)
    state, moves = lax.scan(back, zero, (goals, earlier, values, ct), reverse=True)
    state = jnp.where(ending.status == GOES_ON, state, np.nan)
    y_bar = state[:size].astype(y0.dtype)
    changes = zero_tangents(leaves)
    parts = parts_like(state[size:], [leaves[i] for i in moving])
    for i, part in zip(moving, parts, strict=True):
        changes[i] = part
    start = -jnp.sum(field(begin, y0) * y_bar).real.astype(begin.dtype)
    none = zero_tangents(problem)
    return none._replace(begin=direction * start, y0=y_bar, goals=direction * moves, leaves=changes)


def _as_flat(function: Any, *args: Any) -> tuple[FlatFunction, list[Any]]:
    leaves, structure = tree.flatten(args)
    return FlatFunction(function, 2, structure), leaves


def _widened(controls: Controls, size: int, extra: int) -> Controls:
    """Controls for the adjoint; arguments have the smallest tolerance."""
    relative, absolute = map(jnp.asarray, controls.tolerance)

    def wide(x: Any) -> Any:
        full = jnp.broadcast_to(x, (size,))
        return jnp.concatenate([full, jnp.broadcast_to(jnp.min(x), (extra,))])

    first = jnp.full_like(controls.first, np.nan)
    return Controls(Tolerance(wide(relative), wide(absolute)), first, controls.longest)
