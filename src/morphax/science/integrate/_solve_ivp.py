"""`solve_ivp`: initial value problems y′ = f(t, y)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtypes, lax
from ... import numpy as jnp
from ...control.checks.checks import debug_check
from ...scipy._runge_kutta import BOGACKI_SHAMPINE, DORMAND_PRINCE, Tolerance
from ...util.messages import described, message
from ..solver_arguments import check_known, choice, count, flat_function, inexact, is_known, vector
from ._derivatives import (
    Problem,
    Solver,
    direction_of,
    is_ordered,
    solution_pieces,
    solution_values,
    values_at,
)
from ._dop853 import DormandPrince8
from ._events import events_of
from ._radau import Radau
from ._solution import NOT_ORDERED, OdeResult, OdeSolution
from ._steps import GOES_ON, Controls, Record
from ._until_events import solved_with_events

_WHERE = "solve_ivp"
METHODS = {
    "RK45": DORMAND_PRINCE,
    "RK23": BOGACKI_SHAMPINE,
    "DOP853": DormandPrince8(),
    "Radau": Radau(),
}
_GRADIENTS = {"direct": False, "adjoint": True}


def solve_ivp(
    fun: Callable[..., Any],
    t_span: Any,
    y0: Any,
    method: str = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: tuple[Any, ...] | None = None,
    *,
    rtol: Any = 1e-3,
    atol: Any = 1e-6,
    first_step: Any = None,
    max_step: Any = np.inf,
    max_steps: int = 4096,
    gradient: str = "direct",
) -> OdeResult:
    """Solve y′ = fun(t, y, *args) with y(t₀) = y0, with an adaptive step.

    Args:
        fun: (t, y, *args) → y′ (n,), for y (n,).
        t_span: the two times between which to integrate, in either order.
        y0: the value at the first of them: floating or complex numbers (n,).
        method: ``"RK45"`` (order 5, Dormand & Prince), ``"RK23"`` (order 3, Bogacki & Shampine),
            ``"DOP853"`` (order 8, Dormand & Prince, for small tolerances), or ``"Radau"`` (Radau
            IIA, implicit, order 5), which is for stiff problems and real y.
        t_eval: times (m,) in `t_span`, in order, at which to return the solution; if left out,
            those of the steps.
        dense_output: whether to return the solution as a function of time, too.
        events: functions (t, y, *args) → g, one or a list, whose zeros are looked for.  By its
            attributes, a function may be ``terminal``, so that its first zero ends the integration
            (or, if that is a number k, its k-th), and have a ``direction``: positive for zeros
            where it rises, negative for those where it falls.
        vectorized: has no effect: Jacobians are derivatives.
        args: further arguments of `fun` and `events`, arrays or trees.
        rtol, atol: the error of a step is at most ``atol + rtol |y|``, in the mean square; numbers
            or arrays (n,).  `rtol` is at least 100 times the spacing of numbers at 1.
        first_step: the size of the first step; chosen if left out.
        max_step: the longest step.
        max_steps: the most steps.  Known while tracing, as `method`, `dense_output`, `gradient`.
        gradient: ``"direct"``, the derivatives of the steps that were taken, with their sizes held
            fixed; or ``"adjoint"``, in reverse mode that of the differential equation: the adjoint
            equation, integrated to the same tolerances, with nothing kept in between.  Both have
            forward mode, any order, and derivatives by y0, args, captured values, t_span and
            t_eval; those of the times of events are of the direct kind.

    Returns:
        `OdeResult`.  Without `t_eval` its ``t`` and ``y`` have, where values are not known (under
        `jit` and `vmap`), max_steps + 1 columns; those behind the last step repeat it, or are NaN
        if the end was not reached.

    Raises:
        TypeError: an argument has another type or dtype.
        ValueError: shapes do not fit, a word is unknown, or a number is out of range.

    References:
        E. Hairer, S. Nørsett, G. Wanner, "Solving Ordinary Differential Equations I", and E.
        Hairer, G. Wanner, "... II", 2nd editions, Springer 1993 and 1996.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science.integrate import solve_ivp
        >>> found = solve_ivp(lambda t, y: -y, (0.0, 2.0), [1.0], t_eval=jnp.array([0.0, 1.0, 2.0]))
        >>> found.y.round(3), bool(found.success)
        (Array([[1.   , 0.368, 0.135]], dtype=float32), True)
    """
    chosen = choice(_WHERE, "method", method, METHODS)
    is_adjoint = choice(_WHERE, "gradient", gradient, _GRADIENTS)
    start = vector(_WHERE, "y0", y0, is_real=chosen.is_implicit)
    if is_adjoint:
        _check_adjoint("dense_output", bool(dense_output))
        _check_adjoint("events", events is not None)
    dtype = jnp.real(start).dtype
    begin, end = _span(t_span, dtype)
    function, leaves = flat_function(_WHERE, fun, (begin, start), args)
    controls = _controls(dtype, start, rtol, atol, first_step, max_step)
    solver = Solver(function, chosen, count(_WHERE, "max_steps", max_steps))
    goals = None if t_eval is None else _goals(t_eval, begin, end)
    leaves = [jnp.asarray(x) for x in leaves]
    problem = Problem(begin, end, start, goals, controls, leaves)
    if events is None:
        found = _solved(solver, problem, is_adjoint, dense_output)
    else:
        found = solved_with_events(solver, problem, events_of(events, args), dense_output)
    debug_check(found.success, "solve_ivp failed with status {status}", status=found.status)
    return found


def _check_adjoint(argument: str, is_given: bool) -> None:
    if is_given:
        raise ValueError(
            message(
                f"{_WHERE}, argument {argument}",
                given=f"gradient='adjoint' with {argument}",
                expected="values at given times, which the adjoint equation begins from",
                fix="Give t_eval, or use gradient='direct'.",
            )
        )


def _span(t_span: Any, dtype: Any) -> tuple[Any, Any]:
    ends = tuple(t_span) if np.iterable(t_span) else (t_span,)
    if len(ends) != 2:
        raise ValueError(
            message(
                f"{_WHERE}, argument t_span",
                given=f"{len(ends)} values: {described(t_span)}",
                expected="two times",
                fix="Pass (t0, tf); further times belong to t_eval.",
            )
        )
    begin, end = [inexact(_WHERE, "t_span", x, is_real=True).astype(dtype) for x in ends]
    for x in (begin, end):
        if x.ndim:
            raise ValueError(
                message(
                    f"{_WHERE}, argument t_span",
                    given=f"{x.aval}",
                    expected="numbers",
                    fix="Pass two numbers; use vmap for many intervals.",
                )
            )
    return begin, end


def _goals(t_eval: Any, begin: Any, end: Any) -> Any:
    goals = inexact(_WHERE, "t_eval", t_eval, is_real=True).astype(begin.dtype)
    if goals.ndim != 1:
        raise ValueError(
            message(
                f"{_WHERE}, argument t_eval",
                given=f"{goals.aval}",
                expected="a vector of times (m,)",
                fix="Pass a vector, of one time too.",
            )
        )
    check_known(
        is_ordered(goals, begin, end),
        f"{_WHERE}, argument t_eval",
        given=f"{goals!r:.80}, t_span=({begin}, {end})",
        expected="times within t_span, in the order of integration",
        fix="Sort the times, and widen t_span if needed.",
    )
    return goals


def _controls(
    dtype: Any, start: Any, rtol: Any, atol: Any, first_step: Any, max_step: Any
) -> Controls:
    def number(name: str, x: Any, low: float, fits: str, most: int = 0) -> Any:
        value = lax.stop_gradient(inexact(_WHERE, name, x, is_real=True).astype(dtype))
        if value.ndim > most or (value.ndim and value.shape != start.shape):
            raise ValueError(
                message(
                    f"{_WHERE}, argument {name}",
                    given=f"{value.aval}",
                    expected="a number" + (f", or shape {start.shape}" if most else ""),
                    fix="Pass a number.",
                )
            )
        is_good = jnp.all(value > low) if low == 0 and name != "atol" else jnp.all(value >= low)
        where = f"{_WHERE}, argument {name}"
        check_known(is_good, where, given=f"{x}", expected=fits, fix="Pass a larger number.")
        return value

    relative = number("rtol", rtol, 0, "a positive number", most=1)
    relative = jnp.maximum(relative, 100 * dtypes.finfo(dtype).eps)
    absolute = number("atol", atol, 0, "numbers that are not negative", most=1)
    longest = number("max_step", max_step, 0, "a positive number")
    first = jnp.asarray(np.nan, dtype)
    if first_step is not None:
        first = number("first_step", first_step, 0, "a positive number")
    return Controls(Tolerance(relative, absolute), first, longest)


def _solved(solver: Solver, problem: Problem, is_adjoint: bool, is_dense: bool) -> OdeResult:
    direction, goals = direction_of(problem), problem.goals
    has_goals = goals is not None
    status = GOES_ON
    if has_goals:
        ordered = is_ordered(goals, problem.begin, problem.end)
        status = jnp.where(ordered, GOES_ON, NOT_ORDERED).astype(np.int32)
    sol = None
    if has_goals and not is_dense:
        if is_adjoint:
            values, ending = solution_values(solver, problem)
        else:
            record, ending = solution_pieces(solver, problem)
            values = values_at(record.piece, direction * goals, ending.t)
        values, times = jnp.where(status == GOES_ON, values.T, np.nan), goals
    else:
        record, ending = solution_pieces(solver, problem._replace(goals=None))
        dense = OdeSolution(direction, direction * problem.begin, ending.t, record)
        sol = dense if is_dense else None
        if has_goals:
            values, times = jnp.where(status == GOES_ON, dense(goals), np.nan), goals
        else:
            values, times = _at_steps(solver, problem, record, ending, is_adjoint)
    return OdeResult(
        t=times,
        y=values,
        sol=sol,
        t_events=None,
        y_events=None,
        nfev=ending.evaluations,
        njev=ending.jacobians,
        nlu=2 * ending.jacobians,
        nsteps=ending.steps,
        status=jnp.where(ending.status == GOES_ON, status, ending.status),
    )


def _at_steps(
    solver: Solver, problem: Problem, record: Record, ending: Any, is_adjoint: bool
) -> tuple[Any, Any]:
    """The solution at the ends of steps, which are constants but for the ends of the interval."""
    direction = direction_of(problem)
    numbers = jnp.arange(solver.most) + 1
    has_ended = (ending.status == GOES_ON) & (numbers >= ending.steps) & (ending.steps > 0)
    goals = jnp.where(has_ended, direction * problem.end, lax.stop_gradient(record.ends))
    if is_adjoint:
        values, _ = solution_values(solver, problem._replace(goals=direction * goals))
    else:
        values = values_at(record.piece, goals, jnp.inf)
    times = jnp.concatenate([problem.begin[None], direction * goals])
    values = jnp.concatenate([problem.y0[:, None], values.T], 1)
    if is_known(ending.steps):
        kept = int(ending.steps) + 1
        return values[:, :kept], times[:kept]
    is_there = (ending.status == GOES_ON) | (jnp.arange(solver.most + 1) <= ending.steps)
    return jnp.where(is_there, values, np.nan), times
