"""Minima of functions of vectors, by the method of Broyden, Fletcher, Goldfarb and Shanno."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ... import dtypes, lax
from ... import numpy as jnp
from ...errors import ShapeError
from ...lax.elementwise.convert import convert
from ...numpy.operands import as_array, inexact_type
from ...transforms.gradients import value_and_grad
from ...util.messages import described, message
from ._line_search import line_search

_WHERE = "scipy.optimize.minimize"
_OPTIONS = {"gtol": 1e-5, "norm": np.inf, "maxiter": None, "line_search_maxiter": 20}


class OptimizeResults(NamedTuple):
    """What a minimisation found, a pytree.

    Attributes:
        x: the place (n,).
        success: whether the gradient there is small enough.
        status: 0 for success, 1 if there were not enough iterations, 3 if no step was found that
            leads down, −1 if a number is NaN or infinite.
        fun: the value there.
        jac: the gradient there (n,).
        hess_inv: what is known about the inverse of the Hessian there (n, n).
        nfev: how often the function was evaluated.
        njev: how often its gradient was.
        nit: the number of iterations.
    """

    x: Any
    success: Any
    status: Any
    fun: Any
    jac: Any
    hess_inv: Any
    nfev: Any
    njev: Any
    nit: Any


def minimize(
    fun: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    *,
    method: str,
    tol: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> OptimizeResults:
    """A local minimum of a function of a vector, by BFGS.

    Each iteration goes along −H g, where g is the gradient and H an estimate of the inverse of the
    Hessian, as far as the strong Wolfe conditions ask for, and corrects H by what g became.

    Args:
        fun: differentiable function of a vector (n,), and of `args`, with a scalar value.
        x0: where to begin (n,); integers become floating.
        args: further arguments of `fun`.
        method: ``"BFGS"``.
        tol: the same as the option ``gtol``.
        options: ``gtol`` (1e-5), which the norm of the gradient is to fall below; ``norm`` (∞), the
            order of that norm; ``maxiter`` (200 n), the most iterations; ``line_search_maxiter``
            (20), the most evaluations along a line.

    Returns:
        `OptimizeResults`.  The result has no derivative in reverse mode, as it comes from a loop.

    Raises:
        TypeError: if `args` is no tuple, an option is unknown, or x0 is complex.
        ValueError: if there is no such method, or x0 is no vector.

    Reference:
        J. Nocedal, S. Wright, "Numerical Optimization", 2nd edition, Springer 2006, algorithm 6.1.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> f = lambda x, a: ((x - a) ** 2).sum()
        >>> found = jax.scipy.optimize.minimize(f, jnp.zeros(2), (3.0,), method="BFGS")
        >>> found.x, bool(found.success)
        (Array([3., 3.], dtype=float32), True)
    """
    if not callable(fun):
        raise TypeError(
            message(
                f"{_WHERE}, argument fun",
                given=described(fun),
                expected="a function of a vector",
                fix="Pass the function to be minimised, and where to begin after it.",
            )
        )
    if not isinstance(args, tuple):
        raise TypeError(
            message(
                f"{_WHERE}, argument args",
                given=f"{type(args).__name__}",
                expected="a tuple",
                fix="Write (a,) for one argument.",
            )
        )
    if not (isinstance(method, str) and method.lower() == "bfgs"):
        raise ValueError(
            message(
                f"{_WHERE}, argument method",
                given=f"{method!r}",
                expected="'BFGS'",
                fix="Pass method='BFGS'.",
            )
        )
    chosen = _chosen_options(tol, options)
    x = as_array(_WHERE, x0)
    x = convert(x, inexact_type(_WHERE, x)[0])
    if dtypes.issubdtype(x.aval.dtype, np.complexfloating):
        raise TypeError(
            message(
                f"{_WHERE}, argument x0",
                given=f"{x.aval}",
                expected="real numbers",
                fix="Minimise over real and imaginary parts.",
            )
        )
    if x.aval.ndim != 1:
        raise ShapeError(
            message(
                f"{_WHERE}, argument x0",
                given=f"{x.aval}",
                expected="a vector (n,)",
                fix="Use jax.flatten_util.ravel_pytree for other structures.",
            )
        )
    return _bfgs(_with_arguments(fun, args), x, **chosen)


def _with_arguments(fun: Callable[..., Any], args: tuple[Any, ...]) -> Callable[[Any], Any]:
    """`fun` as a function of the place alone, under its own name in error text."""

    @functools.wraps(fun)
    def value(x: Any) -> Any:
        return fun(x, *args)

    return value


def _chosen_options(tol: Any, options: Mapping[str, Any] | None) -> dict[str, Any]:
    given = dict(options or {})
    unknown = sorted(given.keys() - _OPTIONS.keys())
    if unknown:
        raise TypeError(
            message(
                f"{_WHERE}, argument options",
                given=", ".join(map(repr, unknown)),
                expected=f"options among {', '.join(_OPTIONS)}",
                fix="Leave out what BFGS does not have.",
            )
        )
    return {**_OPTIONS, **({} if tol is None else {"gtol": tol}), **given}


class _State(NamedTuple):
    step: Any
    evaluations: Any
    x: Any
    value: Any
    gradient: Any
    inverse: Any
    previous: Any
    is_stuck: Any


def _bfgs(
    fun: Callable[[Any], Any],
    x: Any,
    gtol: Any,
    norm: Any,
    maxiter: Any,
    line_search_maxiter: int,
) -> OptimizeResults:
    both = value_and_grad(fun)
    size = x.aval.shape[0]
    most = 200 * size if maxiter is None else maxiter
    length = functools.partial(_norm, order=norm)
    value, gradient = both(x)
    zero = jnp.zeros((), int)

    def go_on(state: _State) -> Any:
        return (length(state.gradient) > gtol) & (state.step < most) & ~state.is_stuck

    def advance(state: _State) -> _State:
        direction = -(state.inverse @ state.gradient)
        slope = jnp.sum(direction * state.gradient)
        # As if the function fell as much as it did in the last step, but never more than Newton.
        first = jnp.minimum(1, 2.02 * (state.value - state.previous) / slope)
        first = jnp.where(first > 0, first, 1)
        search = line_search(
            both, state.x, direction, state.value, state.gradient, first, line_search_maxiter
        )
        point = search.found
        moved = point.step * direction
        inverse = _corrected(state.inverse, moved, point.gradient - state.gradient)
        return _State(
            state.step + 1,
            state.evaluations + search.turn,
            state.x + moved,
            point.value,
            point.gradient,
            jnp.where(search.is_done, inverse, state.inverse),
            jnp.where(search.is_done, state.value, state.previous),
            ~search.is_done,
        )

    # Before the first step the function is taken to have fallen by half of the gradient's length.
    previous = value + _norm(gradient, 2) / 2
    identity = jnp.eye(size, dtype=x.aval.dtype)
    start = _State(zero, zero + 1, x, value, gradient, identity, previous, ~jnp.isfinite(value))
    end = lax.while_loop(go_on, advance, start)
    is_sound = jnp.isfinite(end.value) & jnp.isfinite(length(end.gradient))
    success = is_sound & (length(end.gradient) <= gtol)
    failure = jnp.where(is_sound, jnp.where(end.is_stuck, 3, 1), -1)
    return OptimizeResults(
        x=end.x,
        success=success,
        status=jnp.where(success, 0, failure),
        fun=end.value,
        jac=end.gradient,
        hess_inv=end.inverse,
        nfev=end.evaluations,
        njev=end.evaluations,
        nit=end.step,
    )


def _norm(x: Any, order: Any) -> Any:
    return jnp.linalg.norm(x, order) if x.aval.size else jnp.zeros((), x.aval.dtype)


def _corrected(inverse: Any, moved: Any, change: Any) -> Any:
    """The estimate of the inverse of the Hessian that maps `change` of the gradient to `moved`.

    It stays as it is where the two point away from one another, for it would no longer be positive
    definite.
    """
    product = jnp.sum(moved * change)
    is_convex = product > 0
    rho = 1 / jnp.where(is_convex, product, 1)
    half = inverse @ change
    spread = rho * (1 + rho * jnp.sum(change * half))
    found = (
        inverse
        - rho * (jnp.outer(moved, half) + jnp.outer(half, moved))
        + spread * jnp.outer(moved, moved)
    )
    return jnp.where(is_convex, found, inverse)
