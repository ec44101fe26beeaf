"""The solution of an initial value problem with events, some of which may end it.

All steps to the end of the interval are taken first; what lies behind a terminal event is dropped.
A failure behind it, such as a pole that the event was to keep out, does not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...control.jit.jit import jit
from ..solver_arguments import is_known
from ._derivatives import Ending, Problem, Solver, direction_of, is_ordered, solution_pieces
from ._events import Event, Occurrences, occurrences, reported, time_of_stop
from ._solution import NOT_ORDERED, STOPPED, OdeResult, OdeSolution
from ._steps import GOES_ON, Record


def solved_with_events(
    solver: Solver, problem: Problem, events: Sequence[Event], is_dense: bool
) -> OdeResult:
    """The result of `solve_ivp`, with the times and values of `events`."""
    goals = problem.goals
    problem = problem._replace(goals=None)
    record, ending = solution_pieces(solver, problem)
    direction = direction_of(problem)

    def find(record: Record, steps: Any) -> tuple[list[Occurrences], Any]:
        found = [occurrences(event, direction, record, steps) for event in events]
        return found, time_of_stop(events, found)

    found, stop = jit(find)(record, ending.steps)
    ending = _ended(problem, record, ending, stop)
    sol = OdeSolution(direction, direction * problem.begin, ending.t, record)
    if goals is None:
        values, times = _at_steps(problem, sol, ending)
        status = ending.status
    else:
        ordered = is_ordered(goals, problem.begin, problem.end)
        status = jnp.where(ordered | (ending.status < 0), ending.status, NOT_ORDERED)
        values, times = _at_goals(sol, goals, stop, status)
    points = [reported(x, direction, stop) for x in found]
    return OdeResult(
        t=times,
        y=values,
        sol=sol if is_dense else None,
        t_events=[times for times, _ in points],
        y_events=[values for _, values in points],
        nfev=ending.evaluations,
        njev=ending.jacobians,
        nlu=2 * ending.jacobians,
        nsteps=ending.steps,
        status=status,
    )


def _ended(problem: Problem, record: Record, ending: Ending, stop: Any) -> Ending:
    """What became of the integration if it stops at a time, ∞ if it does not."""
    is_stopped = stop < np.inf
    end = direction_of(problem) * problem.end
    end = jnp.where(ending.status == GOES_ON, end, ending.t)
    steps = jnp.sum((record.ends < stop) & (jnp.arange(record.ends.size) < ending.steps)) + 1
    return ending._replace(
        t=jnp.where(is_stopped, stop, end),
        steps=jnp.where(is_stopped, steps, ending.steps).astype(ending.steps.dtype),
        status=jnp.where(is_stopped, STOPPED, ending.status).astype(ending.status.dtype),
    )


def _at_steps(problem: Problem, sol: OdeSolution, ending: Ending) -> tuple[Any, Any]:
    ends = sol.record.ends
    numbers = jnp.arange(ends.size) + 1
    stops = jnp.where(numbers >= ending.steps, ending.t, lax.stop_gradient(ends))
    times = sol.direction * stops
    values = jnp.concatenate([problem.y0[:, None], sol(times)], 1)
    times = jnp.concatenate([problem.begin[None], times])
    if is_known(ending.steps):
        kept = int(ending.steps) + 1
        return values[:, :kept], times[:kept]
    is_there = (ending.status >= 0) | (jnp.arange(ends.size + 1) <= ending.steps)
    return jnp.where(is_there, values, np.nan), times


def _at_goals(sol: OdeSolution, goals: Any, stop: Any, status: Any) -> tuple[Any, Any]:
    """The solution at times that were asked for; those behind the stop are dropped, or NaN."""
    values = jnp.where(status != NOT_ORDERED, sol(goals), np.nan)
    is_before = sol.direction * goals <= stop
    if is_known(is_before):
        kept = np.flatnonzero(is_before)
        return values[:, kept], goals[kept]
    return values, goals
