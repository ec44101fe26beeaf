"""`root`: systems of n equations for n numbers.

Within a trust region, whose shape is that of the columns of the Jacobian, the step is Powell's dog
leg: along the steepest descent of ‖f‖, then towards Newton's step.  The Jacobian is computed anew
at each point.

References:
    M. Powell, "A hybrid method for nonlinear equations", in "Numerical Methods for Nonlinear
    Algebraic Equations", Gordon & Breach 1970.
    J. Moré, B. Garbow, K. Hillstrom, "User guide for MINPACK-1", Argonne 1980 (scaling, radius).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ... import dtypes, lax
from ... import numpy as jnp
from ...transforms.flattening import check_callable
from ...transforms.jacobians import jacfwd
from ..implicit_functions import implicit_root
from ..solver_arguments import arguments, check_tolerances, choice, options, result_like, vector
from ._result import MAX_TURNS, NO_PROGRESS, OptimizeResult, all_finite, ended

_WHERE = "root"
_OPTIONS = {"xtol": None, "maxiter": None, "factor": 100.0}


class _State(NamedTuple):
    turn: Any
    x: Any
    value: Any
    jacobian: Any
    scale: Any
    radius: Any
    derivatives: Any
    status: Any


def root(
    fun: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    method: str = "hybr",
    jac: Callable[..., Any] | None = None,
    tol: Any = None,
    options: Mapping[str, Any] | None = None,
) -> OptimizeResult:
    """Solve fun(x, *args) = 0 for a vector x.

    Args:
        fun: function of a real vector (n,) whose values have the same shape.
        x0: where to begin (n,).
        args: further arguments of `fun`, arrays or trees; the solution has derivatives by them.
        method: ``"hybr"``, Powell's hybrid method.
        jac: the Jacobian (n, n) as a function of the same arguments; by forward mode if left out.
        tol: the same as the option ``xtol``.
        options: ``xtol`` (root of the spacing of numbers at 1), the relative size of Newton's step
            that ends the iteration; ``maxiter`` (100 (n + 1)); ``factor`` (100), the first radius
            of the trust region as a multiple of the size of x0.

    Returns:
        `OptimizeResult` with ``x``, ``fun``, ``jac``, ``nfev``, ``njev``, ``nit`` and ``status``:
        0, or −1 after too many iterations, −2 without progress, −3 if a number is NaN or infinite.

    Raises:
        TypeError: an argument has another type or dtype, or an option is unknown.
        ValueError: shapes do not fit, or there is no such method.

    Reference:
        M. Powell, "A hybrid method for nonlinear equations", 1970.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science.optimize import root
        >>> found = root(lambda x: jnp.stack([x[0] ** 2 - x[1], x[0] + x[1] - 2]), [0.5, 0.5])
        >>> found.x.round(4), bool(found.success)
        (Array([1., 1.], dtype=float32), True)
    """
    check_callable(_WHERE, fun)
    choice(_WHERE, "method", method, {"hybr": None})
    further = arguments(_WHERE, args)
    x = vector(_WHERE, "x0", x0, is_real=True)
    chosen = options_of(options, tol, x)
    check_tolerances(_WHERE, xtol=chosen["xtol"])

    def function(x: Any) -> Any:
        return result_like(f"{_WHERE}, result of fun", fun(x, *further), x)

    def jacobian(x: Any) -> Any:
        if jac is None:
            return jacfwd(function)(x)
        square = jnp.zeros((x.size, x.size), x.dtype)
        return result_like(f"{_WHERE}, result of jac", jac(x, *further), square)

    def solve(x: Any) -> tuple[Any, _State]:
        end = _dog_leg(function, jacobian, x, **chosen)
        return end.x, end

    solution, end = implicit_root(function, x, solve)
    return OptimizeResult(
        x=solution,
        fun=end.value,
        jac=end.jacobian,
        nfev=end.turn + 1,
        njev=end.derivatives,
        nit=end.turn,
        status=end.status,
        where=_WHERE,
    ).checked()


def options_of(given: Mapping[str, Any] | None, tol: Any, x: Any) -> dict[str, Any]:
    """The options with their defaults."""
    chosen = options(_WHERE, _OPTIONS, given, {} if tol is None else {"xtol": tol})
    eps = dtypes.finfo(x.dtype).eps
    if chosen["xtol"] is None:
        chosen["xtol"] = eps**0.5
    if chosen["maxiter"] is None:
        chosen["maxiter"] = 100 * (x.size + 1)
    return chosen


def _dog_leg(
    function: Callable[[Any], Any],
    jacobian: Callable[[Any], Any],
    x: Any,
    xtol: Any,
    maxiter: Any,
    factor: Any,
) -> _State:
    eps = dtypes.finfo(x.dtype).eps
    value, slopes = function(x), jacobian(x)
    # So small that nothing of the first value is left.
    nothing = eps**2 * _norm(value)
    scale = _column_norms(slopes)
    scale = jnp.where(scale > 0, scale, 1)
    size = _norm(scale * x)
    radius = jnp.where(size > 0, factor * size, factor).astype(x.dtype)
    running = jnp.full((), 1, np.int32)
    zero = jnp.zeros((), np.int32)
    status = jnp.where(_norm(value) <= 0, 0, running)
    start = _State(
        zero, x, value, slopes, scale, radius, zero + 1, ended(status, all_finite(value))
    )

    def go_on(now: _State) -> Any:
        return (now.status == 1) & (now.turn < maxiter)

    def advance(now: _State) -> _State:
        newton = jnp.linalg.solve(now.jacobian, -now.value)
        has_newton = all_finite(newton)
        step = _step(now, newton, has_newton)
        x = now.x + step
        value = function(x)
        predicted = now.value + now.jacobian @ step
        before, after, expected = _norm(now.value), _norm(value), _norm(predicted)
        gain = 1 - (after / before) ** 2
        ratio = gain / jnp.maximum(1 - (expected / before) ** 2, eps)
        improves = all_finite(value) & (after < before) & (ratio >= 1e-4)
        length = _norm(now.scale * step)
        wider = jnp.where(ratio > 0.5, jnp.maximum(now.radius, 2 * length), now.radius)
        radius = jnp.where(improves & (ratio >= 0.1), wider, 0.5 * jnp.minimum(now.radius, length))
        x, value = jnp.where(improves, x, now.x), jnp.where(improves, value, now.value)
        slopes = lax.cond(improves, jacobian, lambda _: now.jacobian, x)
        scale = jnp.maximum(now.scale, _column_norms(slopes))
        size = _norm(scale * x)
        is_close = has_newton & (_norm(scale * newton) <= xtol * size)
        is_small = _norm(value) <= nothing
        gone = radius <= eps * size
        status = jnp.where(is_close | is_small, 0, jnp.where(gone, NO_PROGRESS, 1))
        return _State(
            now.turn + 1,
            x,
            value,
            slopes,
            scale,
            radius.astype(x.dtype),
            now.derivatives + improves,
            ended(status, all_finite(slopes)),
        )

    end = lax.while_loop(go_on, advance, start)
    return end._replace(status=jnp.where(end.status == 1, MAX_TURNS, end.status))


def _step(now: _State, newton: Any, has_newton: Any) -> Any:
    """The dog leg within the trust region ‖scale · step‖ ≤ radius."""
    slope = -(now.jacobian.T @ now.value) / now.scale
    image = now.jacobian @ (slope / now.scale)
    square = jnp.sum(image * image)
    # The minimum along the steepest descent, in the scaled numbers.
    cauchy = slope * jnp.where(
        square > 0, jnp.sum(slope * slope) / jnp.where(square > 0, square, 1), 0
    )
    size = _norm(cauchy)
    cut = cauchy * jnp.where(size > now.radius, now.radius / jnp.where(size > 0, size, 1), 1)
    goal = jnp.where(has_newton, now.scale * newton, cauchy)
    leg = goal - cauchy
    a, b = jnp.sum(leg * leg), jnp.sum(cauchy * leg)
    room = jnp.maximum(now.radius**2 - size**2, 0)
    # The positive root of ‖cauchy + s leg‖ = radius, without cancellation.
    bottom = b + jnp.sqrt(jnp.maximum(b * b + a * room, 0))
    part = jnp.where(bottom > 0, room / jnp.where(bottom > 0, bottom, 1), 0)
    bent = cauchy + jnp.clip(part, 0, 1) * leg
    step = jnp.where(size >= now.radius, cut, bent)
    step = jnp.where(has_newton & (_norm(goal) <= now.radius), goal, step)
    return step / now.scale


def _column_norms(matrix: Any) -> Any:
    return jnp.sqrt(jnp.sum(matrix * matrix, 0))


def _norm(x: Any) -> Any:
    return jnp.sqrt(jnp.sum(x * x))
