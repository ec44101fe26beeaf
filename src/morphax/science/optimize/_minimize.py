"""`minimize`: minima of functions within bounds, by L-BFGS-B.

Reference: R. Byrd, P. Lu, J. Nocedal, C. Zhu, "A limited memory algorithm for bound constrained
optimization", SIAM Journal on Scientific Computing 16 (1995).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ... import dtypes, lax
from ... import numpy as jnp
from ...scipy.optimize._line_search import Search, line_search
from ...transforms.flattening import check_callable
from ...transforms.gradients import grad, value_and_grad
from ..implicit_functions import implicit_minimum
from ..solver_arguments import arguments, check_tolerances, choice, options, result_like, vector
from ._bounds import box, pairs, projected_gradient
from ._curvature import Memory, cauchy_point, model_of, no_memory, remember, subspace_minimum
from ._result import MAX_TURNS, NO_BOX, NO_PROGRESS, OptimizeResult, all_finite, ended

_WHERE = "minimize"
_OPTIONS = {"maxcor": 10, "ftol": 2.2e-9, "gtol": 1e-5, "maxiter": 15000, "maxls": 20}
_RUNNING = 10


class _State(NamedTuple):
    turn: Any
    x: Any
    value: Any
    slopes: Any
    memory: Memory
    evaluations: Any
    status: Any


def minimize(
    fun: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    method: str = "L-BFGS-B",
    jac: Callable[..., Any] | None = None,
    bounds: Any = None,
    tol: Any = None,
    options: Mapping[str, Any] | None = None,
) -> OptimizeResult:
    """A local minimum of a function of a vector, within bounds.

    Args:
        fun: differentiable function of a real vector (n,) and of `args`; its value is a real
            number.
        x0: where to begin (n,); moved into the bounds.
        args: further arguments of `fun`, arrays or trees.
        method: ``"L-BFGS-B"``.
        jac: the gradient (n,) as a function of the same arguments; by reverse mode if left out.
        bounds: pairs (low, high), one for each number, with None for no bound.
        tol: the same as the options ``ftol`` and ``gtol``.
        options: ``maxcor`` (10), how many steps are remembered, known while tracing; ``ftol``
            (2.2e-9), the relative change of the function, and ``gtol`` (1e-5), the largest element
            of the projected gradient, that end the iteration; ``maxiter`` (15000); ``maxls`` (20),
            the most evaluations along a line.

    Returns:
        `OptimizeResult` with ``x``, ``fun``, ``jac``, ``nfev``, ``njev``, ``nit`` and ``status``:
        1 or 2 for `gtol` and `ftol`; −1 after too many iterations, −2 without progress, −3 if a
        number is NaN or infinite, −4 without a box.  ``x`` has derivatives by `args`, captured
        values and bounds, as an implicit function.

    Raises:
        TypeError: an argument has another type or dtype, or an option is unknown.
        ValueError: shapes do not fit, or there is no such method.

    Reference:
        R. Byrd, P. Lu, J. Nocedal, C. Zhu, "A limited memory algorithm for bound constrained
        optimization", 1995.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science.optimize import minimize
        >>> f = lambda x, a: jnp.sum((x - a) ** 2)
        >>> found = minimize(f, [0.0, 0.0], (3.0,), bounds=[(None, None), (None, 1.0)])
        >>> found.x.round(4), bool(found.success)
        (Array([3., 1.], dtype=float32), True)
    """
    check_callable(_WHERE, fun)
    choice(_WHERE, "method", method, {"L-BFGS-B": None})
    further = arguments(_WHERE, args)
    x = vector(_WHERE, "x0", x0, is_real=True)
    low, high = box(_WHERE, *pairs(_WHERE, bounds), x)
    others = {} if tol is None else {"ftol": tol, "gtol": tol}
    chosen = _options(options, others)
    check_tolerances(_WHERE, ftol=chosen["ftol"], gtol=chosen["gtol"])

    def function(x: Any) -> Any:
        return result_like(f"{_WHERE}, result of fun", fun(x, *further), x[0])

    def both(x: Any) -> tuple[Any, Any]:
        if jac is None:
            return value_and_grad(function)(x)
        return function(x), slopes(x)

    def slopes(x: Any) -> Any:
        if jac is None:
            return grad(function)(x)
        return result_like(f"{_WHERE}, result of jac", jac(x, *further), x)

    fixed_low, fixed_high = lax.stop_gradient((low, high))

    def solve(x: Any) -> tuple[Any, _State]:
        end = _lbfgsb(both, x, fixed_low, fixed_high, **chosen)
        return end.x, end

    solution, end = implicit_minimum(slopes, low, high, jnp.clip(x, low, high), solve)
    return OptimizeResult(
        x=solution,
        fun=end.value,
        jac=end.slopes,
        nfev=end.evaluations,
        njev=end.evaluations,
        nit=end.turn,
        status=end.status,
        where=_WHERE,
    ).checked()


def _options(given: Mapping[str, Any] | None, others: Mapping[str, Any]) -> dict[str, Any]:
    return options(_WHERE, _OPTIONS, given, others)


def _lbfgsb(
    both: Callable[[Any], tuple[Any, Any]],
    x: Any,
    low: Any,
    high: Any,
    maxcor: int,
    ftol: Any,
    gtol: Any,
    maxiter: Any,
    maxls: Any,
) -> _State:
    eps = dtypes.finfo(x.dtype).eps
    value, slopes = both(x)
    zero = jnp.zeros((), np.int32)

    def residual(x: Any, slopes: Any) -> Any:
        return jnp.max(jnp.abs(projected_gradient(x, slopes, low, high)))

    status = jnp.where(residual(x, slopes) <= gtol, 1, _RUNNING)
    status = ended(status, all_finite(value, slopes))
    status = jnp.where(jnp.all(low <= high), status, NO_BOX).astype(np.int32)
    start = _State(zero, x, value, slopes, no_memory(maxcor, x), zero + 1, status)

    def go_on(now: _State) -> Any:
        return (now.status == _RUNNING) & (now.turn < maxiter)

    def advance(now: _State) -> _State:
        direction = _direction(now, low, high)
        search = _searched(both, now, direction, low, high, maxls)
        found = search.found
        x = jnp.clip(now.x + found.step * direction, low, high)
        has_moved = search.is_done
        memory = remember(now.memory, x - now.x, found.gradient - now.slopes, eps)
        # Without a step the direction was bad: the memory is given up, but once only.
        is_stuck = ~has_moved & (now.memory.count == 0)
        memory = _either(has_moved, memory, no_memory(maxcor, x))
        size = jnp.maximum(jnp.maximum(jnp.abs(now.value), jnp.abs(found.value)), 1)
        has_settled = has_moved & (now.value - found.value <= jnp.maximum(ftol, eps) * size)
        x = jnp.where(has_moved, x, now.x)
        value = jnp.where(has_moved, found.value, now.value)
        slopes = jnp.where(has_moved, found.gradient, now.slopes)
        status = jnp.where(is_stuck, NO_PROGRESS, jnp.where(has_settled, 2, _RUNNING))
        status = jnp.where(residual(x, slopes) <= gtol, 1, status)
        status = ended(status, all_finite(value, slopes))
        evaluations = now.evaluations + search.turn
        return _State(now.turn + 1, x, value, slopes, memory, evaluations.astype(np.int32), status)

    end = lax.while_loop(go_on, advance, start)
    return end._replace(status=jnp.where(end.status == _RUNNING, MAX_TURNS, end.status))


def _direction(now: _State, low: Any, high: Any) -> Any:
    model = model_of(now.memory)
    cauchy, is_free = cauchy_point(model, now.x, now.slopes, low, high)
    goal = subspace_minimum(model, now.x, now.slopes, cauchy, is_free, low, high)
    direction = goal - now.x
    # Rounding may turn it upwards; the path to the Cauchy point goes down.
    goes_down = jnp.sum(direction * now.slopes) < 0
    return jnp.where(goes_down, direction, cauchy - now.x)


def _searched(
    both: Callable[[Any], tuple[Any, Any]],
    now: _State,
    direction: Any,
    low: Any,
    high: Any,
    most: Any,
) -> Search:
    """A step along the direction that stays within the bounds."""
    moves = direction != 0
    limit = jnp.where(direction > 0, high, low)
    room = jnp.where(moves, (limit - now.x) / jnp.where(moves, direction, 1), np.inf)
    # The goal itself is within the bounds.
    longest = jnp.maximum(jnp.min(room), 1)
    length = jnp.sqrt(jnp.sum(direction**2))
    is_first = now.memory.count == 0
    first = jnp.where(is_first, jnp.minimum(1, 1 / jnp.where(length > 0, length, 1)), 1)

    def clipped(x: Any) -> tuple[Any, Any]:
        return both(jnp.clip(x, low, high))

    first = first.astype(now.x.dtype)
    return line_search(clipped, now.x, direction, now.value, now.slopes, first, most, longest)


def _either(which: Any, first: Memory, second: Memory) -> Memory:
    return Memory(*[jnp.where(which, a, b) for a, b in zip(first, second, strict=True)])
