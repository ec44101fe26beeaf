"""`least_squares`: minima of ½ ‖r(x)‖² within bounds, by Levenberg and Marquardt.

The step minimises ‖J p + r‖² + μ ‖D p‖², where D are the norms of the columns of J, over the
numbers that no bound holds, and is projected onto the box.  The damping μ follows the ratio of what
was gained to what the linear model had predicted.

References:
    J. Moré, "The Levenberg-Marquardt algorithm: implementation and theory", Lecture Notes in
    Mathematics 630, Springer 1978 (scaling, least squares by QR).
    H. Nielsen, "Damping parameter in Marquardt's method", report IMM-REP-1999-05, DTU 1999.
    D. Bertsekas, "Projected Newton methods for optimization problems with simple constraints", SIAM
    Journal on Control and Optimization 20 (1982).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ... import dtypes, lax
from ... import numpy as jnp
from ...errors import ShapeError
from ...scipy.linalg import solve_triangular
from ...transforms.derivatives import vjp
from ...transforms.flattening import check_callable
from ...transforms.jacobians import jacfwd, jacrev
from ...transforms.make_jaxpr import eval_shape
from ...util.messages import message
from ..implicit_functions import implicit_minimum
from ..solver_arguments import (
    arguments,
    check_known,
    check_tolerances,
    choice,
    inexact,
    result_like,
    vector,
)
from ._bounds import active_mask, box, held, projected_gradient
from ._result import MAX_TURNS, NO_BOX, NO_PROGRESS, OptimizeResult, all_finite, ended

_WHERE = "least_squares"
_RUNNING = 10


class Tolerances(NamedTuple):
    """When an iteration ends: by the change of the objective, that of x, the gradient, or turns."""

    objective: Any
    x: Any
    gradient: Any
    turns: Any


class _State(NamedTuple):
    turn: Any
    x: Any
    value: Any
    jacobian: Any
    scale: Any
    damping: Any
    growth: Any
    derivatives: Any
    status: Any


def least_squares(
    fun: Callable[..., Any],
    x0: Any,
    jac: Callable[..., Any] | str = "jvp",
    bounds: Any = (-np.inf, np.inf),
    method: str = "lm",
    ftol: Any = 1e-8,
    xtol: Any = 1e-8,
    gtol: Any = 1e-8,
    *,
    max_nfev: Any = None,
    args: tuple[Any, ...] = (),
) -> OptimizeResult:
    """A local minimum of ½ Σ rᵢ(x)² with low ≤ x ≤ high.

    Args:
        fun: residuals (m,), a function of a real vector (n,) and of `args`; m may be less than n.
        x0: where to begin (n,), within the bounds.
        jac: the Jacobian (m, n): a function, or ``"jvp"`` and ``"vjp"`` for forward and reverse
            mode.
        bounds: (low, high), each a number or a vector (n,).
        method: ``"lm"``, Levenberg and Marquardt with projection onto the bounds.
        ftol, xtol, gtol: the iteration ends when the relative change of the objective is less than
            `ftol`, that of x less than `xtol`, or the gradient that no bound holds less than `gtol`
            in all elements; each is at least the spacing of numbers at 1.
        max_nfev: the most evaluations; 100 n if left out.
        args: further arguments of `fun`, arrays or trees.

    Returns:
        `OptimizeResult` with ``x``, ``cost``, ``fun``, ``jac``, ``optimality``, ``active_mask``,
        ``nfev``, ``njev``, ``nit`` and ``status``: 1, 2 or 3 for `gtol`, `ftol` and `xtol`; −1
        after too many evaluations, −2 without progress, −3 if a number is NaN or infinite, −4
        without a box.  ``x`` has derivatives by `args`, captured values and bounds, as an implicit
        function.

    Raises:
        TypeError: an argument has another type or dtype.
        ValueError: shapes do not fit, a word is unknown, or x0 is known to be outside the bounds;
            where that is not known, it is moved to them.

    References:
        J. Moré, "The Levenberg-Marquardt algorithm: implementation and theory", 1978.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science.optimize import least_squares
        >>> t = jnp.arange(4.0)
        >>> found = least_squares(lambda x: x[0] * jnp.exp(-x[1] * t) - 3 * 0.5**t, [1.0, 1.0])
        >>> found.x.round(3)
        Array([3.   , 0.693], dtype=float32)
    """
    check_callable(_WHERE, fun)
    choice(_WHERE, "method", method, {"lm": None})
    further = arguments(_WHERE, args)
    x = vector(_WHERE, "x0", x0, is_real=True)
    low, high = box(_WHERE, *_two(bounds), x)
    inside = jnp.all((x >= low) & (x <= high))
    check_known(
        inside | ~jnp.all(low <= high),
        f"{_WHERE}, argument x0",
        given=f"{x!r:.80}",
        expected="numbers within the bounds",
        fix="Clip x0 to the bounds.",
    )

    def function(x: Any) -> Any:
        value = inexact(_WHERE, "result of fun", fun(x, *further), is_real=True)
        if value.ndim > 1 or not value.size:
            raise ShapeError(
                message(
                    f"{_WHERE}, result of fun",
                    given=f"{value.aval}",
                    expected="a vector (m,) with m > 0",
                    fix="Return the residuals as one vector.",
                )
            )
        return jnp.atleast_1d(value).astype(x.dtype)

    jacobian = _jacobian(function, jac, further, x)
    check_tolerances(_WHERE, ftol=ftol, xtol=xtol, gtol=gtol)
    most = 100 * x.size if max_nfev is None else max_nfev
    given = [jnp.asarray(t, x.dtype) for t in (ftol, xtol, gtol)]
    limit_f, limit_x, limit_g = [jnp.maximum(t, dtypes.finfo(x.dtype).eps) for t in given]
    tolerances = Tolerances(limit_f, limit_x, limit_g, most)

    def gradient(x: Any) -> Any:
        value, pull = vjp(function, x)
        return pull(value)[0]

    fixed_low, fixed_high = lax.stop_gradient((low, high))

    def solve(x: Any) -> tuple[Any, _State]:
        end = _levenberg_marquardt(function, jacobian, x, fixed_low, fixed_high, tolerances)
        return end.x, end

    solution, end = implicit_minimum(gradient, low, high, jnp.clip(x, low, high), solve)
    slopes = end.value @ end.jacobian
    return OptimizeResult(
        x=solution,
        cost=0.5 * jnp.sum(end.value**2),
        fun=end.value,
        jac=end.jacobian,
        optimality=jnp.max(jnp.abs(projected_gradient(end.x, slopes, low, high))),
        active_mask=active_mask(end.x, low, high),
        nfev=end.turn + 1,
        njev=end.derivatives,
        nit=end.turn,
        status=end.status,
        where=_WHERE,
    ).checked()


def _two(bounds: Any) -> tuple[Any, Any]:
    if hasattr(bounds, "lb"):
        return bounds.lb, bounds.ub
    ends = tuple(bounds)
    if len(ends) != 2:
        raise ShapeError(
            message(
                f"{_WHERE}, argument bounds",
                given=f"{len(ends)} values",
                expected="(low, high)",
                fix="Pass all lower bounds, then all upper bounds.",
            )
        )
    return ends[0], ends[1]


def _jacobian(
    function: Callable[[Any], Any], jac: Any, further: tuple[Any, ...], x: Any
) -> Callable[[Any], Any]:
    if not callable(jac):
        return choice(_WHERE, "jac", jac, {"jvp": jacfwd, "vjp": jacrev})(function)
    out = eval_shape(function, x)
    example = jnp.zeros((out.size, x.size), x.dtype)
    return lambda x: result_like(f"{_WHERE}, result of jac", jac(x, *further), example)


def _levenberg_marquardt(
    function: Callable[[Any], Any],
    jacobian: Callable[[Any], Any],
    x: Any,
    low: Any,
    high: Any,
    tolerances: Tolerances,
) -> _State:
    value, slopes = function(x), jacobian(x)
    scale = jnp.sqrt(jnp.sum(slopes**2, 0))
    scale = jnp.where(scale > 0, scale, 1)
    zero = jnp.zeros((), np.int32)
    gradient = projected_gradient(x, value @ slopes, low, high)
    status = jnp.where(jnp.max(jnp.abs(gradient)) <= tolerances.gradient, 1, _RUNNING)
    status = ended(status, all_finite(value, slopes))
    status = jnp.where(jnp.all(low <= high), status, NO_BOX).astype(np.int32)
    damping, growth = jnp.full((), 1e-3, x.dtype), jnp.full((), 2, x.dtype)
    start = _State(zero, x, value, slopes, scale, damping, growth, zero + 1, status)

    def go_on(now: _State) -> Any:
        return (now.status == _RUNNING) & (now.turn + 1 < tolerances.turns)

    def advance(now: _State) -> _State:
        return _advanced(function, jacobian, now, low, high, tolerances)

    end = lax.while_loop(go_on, advance, start)
    return end._replace(status=jnp.where(end.status == _RUNNING, MAX_TURNS, end.status))


def _advanced(
    function: Callable[[Any], Any],
    jacobian: Callable[[Any], Any],
    now: _State,
    low: Any,
    high: Any,
    tolerances: Tolerances,
) -> _State:
    is_free = ~held(now.x, now.value @ now.jacobian, low, high)
    trial = jnp.clip(now.x + _damped_step(now, is_free), low, high)
    step, value = trial - now.x, function(trial)
    before, after = 0.5 * jnp.sum(now.value**2), 0.5 * jnp.sum(value**2)
    expected = before - 0.5 * jnp.sum((now.value + now.jacobian @ step) ** 2)
    gain = before - after
    ratio = gain / jnp.where(expected > 0, expected, 1)
    improves = all_finite(value) & (gain > 0) & (expected > 0)
    x, value = jnp.where(improves, trial, now.x), jnp.where(improves, value, now.value)
    slopes = lax.cond(improves, jacobian, lambda _: now.jacobian, x)
    scale = jnp.maximum(now.scale, jnp.sqrt(jnp.sum(slopes**2, 0)))
    gentle = now.damping * jnp.maximum(1 / 3, 1 - (2 * ratio - 1) ** 3)
    damping = jnp.where(improves, gentle, now.damping * now.growth)
    growth = jnp.where(improves, 2, 2 * now.growth)
    gradient = jnp.max(jnp.abs(projected_gradient(x, value @ slopes, low, high)))
    length, size = _norm(step), _norm(now.x)
    is_short = length <= tolerances.x * (tolerances.x + size)
    has_settled = improves & (gain <= tolerances.objective * before) & (ratio > 0.25)
    # Where rounding hides what is left to gain, no step improves however short it is.
    is_stuck = ~improves & (damping > 1e15)
    status = jnp.where(is_stuck, NO_PROGRESS, _RUNNING)
    status = jnp.where(is_short, 3, status)
    status = jnp.where(has_settled, 2, status)
    status = jnp.where(gradient <= tolerances.gradient, 1, status)
    return _State(
        now.turn + 1,
        x,
        value,
        slopes,
        scale,
        damping.astype(x.dtype),
        growth.astype(x.dtype),
        now.derivatives + improves,
        ended(status, all_finite(slopes)),
    )


def _damped_step(now: _State, is_free: Any) -> Any:
    """The minimum of the damped model over the free numbers."""
    rows = jnp.where(is_free, now.jacobian, 0)
    weights = jnp.where(is_free, jnp.sqrt(now.damping) * now.scale, 1)
    matrix = jnp.concatenate([rows, jnp.diag(weights)])
    q, r = jnp.linalg.qr(matrix)
    right = -(q[: now.value.size].T @ now.value)
    return jnp.where(is_free, solve_triangular(r, right), 0)


def _norm(x: Any) -> Any:
    return jnp.sqrt(jnp.sum(x * x))
