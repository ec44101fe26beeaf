"""`brentq`: a root between two numbers where a function has different signs.

Reference: R. Brent, "Algorithms for Minimization without Derivatives", Prentice-Hall 1973, chapter
4: inverse quadratic interpolation, the secant, or bisection where these gain too little.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ... import dtypes, lax
from ... import numpy as jnp
from ...control.checks.checks import debug_check
from ...errors import ShapeError
from ...transforms.flattening import check_callable
from ...util.messages import message
from ..first_calls import is_by_operations, repeated
from ..implicit_functions import implicit_root
from ..solver_arguments import (
    arguments,
    check_known,
    check_tolerances,
    inexact,
    result_like,
    said,
)

_WHERE = "brentq"
DONE, TOO_MANY, NO_SIGN_CHANGE, NOT_FINITE, POLE = 0, -1, -2, -3, -4
_MESSAGES = {
    DONE: "The root has been found to the tolerance.",
    TOO_MANY: "More than maxiter iterations are needed.",
    NO_SIGN_CHANGE: "The function has the same sign at both ends.",
    NOT_FINITE: "The function is NaN or infinite.",
    POLE: "The function changes its sign at a pole.",
}


class RootResults(NamedTuple):
    """How a root was found, a pytree.

    Attributes:
        root: the root, or NaN.
        iterations: the number of iterations.
        function_calls: how often the function was evaluated.
        status: 0 if it was found; −1 if not within `maxiter` iterations, −2 if the signs at the
            ends are the same, −3 if the function is NaN or infinite,
            −4 if it changes its sign at a pole.
    """

    root: Any
    iterations: Any
    function_calls: Any
    status: Any

    @property
    def converged(self) -> Any:
        """Whether the root was found."""
        return self.status >= 0

    @property
    def success(self) -> Any:
        """The same as `converged`."""
        return self.converged

    @property
    def message(self) -> Any:
        """The status in words; a list of them for a batch."""
        return said(self.status, _MESSAGES)


class _Bracket(NamedTuple):
    """The best point b, the one before it a, and c on the other side of the root."""

    turn: Any
    a: Any
    b: Any
    c: Any
    at_a: Any
    at_b: Any
    at_c: Any
    step: Any
    last_step: Any


def brentq(
    f: Callable[..., Any],
    a: Any,
    b: Any,
    args: tuple[Any, ...] = (),
    xtol: Any = 2e-12,
    rtol: Any = 8.881784197001252e-16,
    maxiter: Any = 100,
    full_output: bool = False,
) -> Any:
    """A root of a function between a and b, where it has different signs.

    Args:
        f: continuous function of a real number, with real values.
        a, b: the ends, in any order.
        args: further arguments of `f`, arrays or trees; the root has derivatives by them.
        xtol, rtol: the root is found up to ``xtol + rtol |root|``; `rtol` is at least 4 times the
            spacing of numbers at 1.
        maxiter: the most iterations.
        full_output: whether to return `RootResults` too.

    Returns:
        The root, NaN if none was found; with `full_output` a pair of it and `RootResults`.

    Raises:
        TypeError: an argument has another type or dtype.
        ValueError: the function is known to have the same sign at both ends.  Where values are not
            known, under `jit` and `vmap`, the root is NaN instead.

    Reference:
        R. Brent, "Algorithms for Minimization without Derivatives", Prentice-Hall 1973, chapter 4.

    Example:
        >>> import morphax as jax
        >>> from morphax.science.optimize import brentq
        >>> square_root = lambda a: brentq(lambda x, a: x * x - a, 0.0, 9.0, args=(a,))
        >>> print(square_root(4.0), jax.grad(square_root)(4.0))
        2.0 0.25
    """
    check_callable(_WHERE, f)
    check_tolerances(_WHERE, 0, xtol=xtol, rtol=rtol)
    further = arguments(_WHERE, args)
    low, high = [inexact(_WHERE, name, x, is_real=True) for name, x in (("a", a), ("b", b))]
    dtype = dtypes.result_type(low.dtype, high.dtype)
    low, high = lax.stop_gradient((low.astype(dtype), high.astype(dtype)))
    if low.ndim or high.ndim:
        raise ShapeError(
            message(
                f"{_WHERE}, arguments a and b",
                given=f"{low.aval} and {high.aval}",
                expected="numbers",
                fix="Use vmap for many roots.",
            )
        )

    def function(x: Any) -> Any:
        return result_like(f"{_WHERE}, result of f", f(x, *further), x)

    at_low, at_high = function(low), function(high)
    check_known(
        ~(jnp.sign(at_low) * jnp.sign(at_high) > 0),
        f"{_WHERE}, arguments a and b",
        given=f"f(a) = {at_low}, f(b) = {at_high}",
        expected="different signs at both ends",
        fix="Choose ends between which the function changes its sign.",
    )
    least = 4 * dtypes.finfo(dtype).eps
    tolerances = jnp.asarray(xtol, dtype), jnp.maximum(jnp.asarray(rtol, dtype), least)

    def solve(_: Any) -> tuple[Any, RootResults]:
        found = _brent(function, low, high, *tolerances, maxiter)
        return found.root, found

    # Where nothing is traced there is no derivative, and a program of the loop would run once.
    root, found = solve(None) if is_by_operations() else implicit_root(function, low, solve)
    debug_check(found.converged, "brentq failed with status {status}", status=found.status)
    root = jnp.where(found.converged, root, np.nan)
    return (root, found._replace(root=root)) if full_output else root


def _brent(
    function: Callable[[Any], Any], a: Any, b: Any, xtol: Any, rtol: Any, most: Any
) -> RootResults:
    at_a, at_b = function(a), function(b)
    brackets = (jnp.sign(at_a) * jnp.sign(at_b) <= 0) & jnp.isfinite(a) & jnp.isfinite(b)
    start = _Bracket(jnp.zeros((), np.int32), a, b, a, at_a, at_b, at_a, b - a, b - a)

    def tolerance(now: _Bracket) -> Any:
        return 0.5 * (xtol + rtol * jnp.abs(now.b))

    def is_done(now: _Bracket) -> Any:
        return (now.at_b == 0) | (jnp.abs(now.c - now.b) <= 2 * tolerance(now))

    def go_on(now: _Bracket) -> Any:
        sound = ~jnp.isnan(now.at_b) & ~jnp.isnan(now.at_c)
        return brackets & sound & (now.turn < most) & ~is_done(now)

    def advance(now: _Bracket) -> _Bracket:
        step, last_step = _next_step(now, tolerance(now))
        x = now.b + jnp.where(
            jnp.abs(step) > tolerance(now), step, jnp.sign(now.c - now.b) * tolerance(now)
        )
        at_x = function(x)
        moved = now._replace(
            turn=now.turn + 1,
            a=now.b,
            at_a=now.at_b,
            b=x,
            at_b=at_x,
            step=step,
            last_step=last_step,
        )
        return _ordered(moved)

    end = repeated(go_on, advance, _ordered(start))
    is_finite = jnp.isfinite(end.at_b) & ~jnp.isnan(end.at_c)
    failure = jnp.where(is_finite, TOO_MANY, NOT_FINITE)
    failure = jnp.where(brackets | ~is_finite, failure, NO_SIGN_CHANGE)
    status = jnp.where(brackets & is_done(end) & is_finite, DONE, failure)
    # A pole changes the sign too, but there the function grows.
    grows = jnp.abs(end.at_b) > jnp.maximum(jnp.abs(at_a), jnp.abs(at_b))
    status = jnp.where((status == DONE) & grows, POLE, status).astype(np.int32)
    return RootResults(end.b, end.turn, end.turn + 2, status)


def _ordered(now: _Bracket) -> _Bracket:
    """b and c on different sides of the root, and b the better one."""
    same = jnp.sign(now.at_b) * jnp.sign(now.at_c) > 0
    width = now.b - now.a
    turned = _where(same, now._replace(c=now.a, at_c=now.at_a, step=width, last_step=width), now)
    swapped = turned._replace(
        a=turned.b, b=turned.c, c=turned.b, at_a=turned.at_b, at_b=turned.at_c, at_c=turned.at_b
    )
    return _where(jnp.abs(turned.at_c) < jnp.abs(turned.at_b), swapped, turned)


def _where(which: Any, first: _Bracket, second: _Bracket) -> _Bracket:
    return _Bracket(*[jnp.where(which, x, y) for x, y in zip(first, second, strict=True)])


def _next_step(now: _Bracket, tolerance: Any) -> tuple[Any, Any]:
    """How far to go from b, and that of the step before."""
    half = 0.5 * (now.c - now.b)
    s = now.at_b / jnp.where(now.at_a == 0, 1, now.at_a)
    q, r = [x / jnp.where(now.at_c == 0, 1, now.at_c) for x in (now.at_a, now.at_b)]
    by_secant = now.a == now.c
    p = jnp.where(by_secant, 2 * half * s, s * (2 * half * q * (q - r) - (now.b - now.a) * (r - 1)))
    d = jnp.where(by_secant, 1 - s, (q - 1) * (r - 1) * (s - 1))
    d, p = jnp.where(p > 0, -d, d), jnp.abs(p)
    bound = jnp.minimum(3 * half * d - jnp.abs(tolerance * d), jnp.abs(now.last_step * d))
    gains = (2 * p < bound) & (jnp.abs(now.last_step) >= tolerance)
    gains = gains & (jnp.abs(now.at_a) > jnp.abs(now.at_b)) & (d != 0)
    step = jnp.where(gains, p / jnp.where(d == 0, 1, d), half)
    return step, jnp.where(gains, now.step, half)
