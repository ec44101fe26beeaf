"""The adjoint equation of an initial value problem, in pieces that lead back to the solution.

To integrate the adjoint backwards from one time to the one before, the solution y is integrated
backwards beside it.  What decays forwards grows backwards: of dy/dt = −1000 y the rounding error of
y has grown by e¹⁰⁰⁰ after a second, and with y the field, until it overflows.  But y at the time
before is known.  Where the way back does not lead to it, the interval is halved, and integrated
forwards to find y in the middle, from where the next attempt starts.  And so on, so that errors
grow for the length of a piece only.  A way back that has lost the solution may have no end: an
attempt has so many steps, and its result is NaN if they do not suffice.

A stack holds the values that have been reached forwards and not yet backwards.  Memory is that of
`_DEPTH` values; there are at most 2 to that power pieces, and as a rule there is one.  A piece of
the least length is accepted as it is: there the field is not smooth, or what it shall lead to is no
solution, because steps were too few or it has a pole.  After some of these all pieces are.

Reference: Griewank & Walther, "Evaluating derivatives", 2nd edition, chapter 12 (checkpoints).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .. import lax
from .. import numpy as jnp
from ..scipy._runge_kutta import Tolerance, mean_square

_DEPTH, _MISSES = 20, 16

# From a value (or adjoint state) at a time to that at another.
Solver = Callable[[Any, Any, Any], Any]


class _Progress(NamedTuple):
    """The adjoint state at `t`, and times and values before it, the latest of which is at `top`.

    `misses` counts pieces that were accepted although they do not lead back.
    """

    state: Any
    t: Any
    top: Any
    times: Any
    values: Any
    misses: Any


def integrate_back(
    adjoint: Solver,
    solution: Solver,
    replaced: Callable[[Any, Any], tuple[Any, Any]],
    tolerance: Tolerance,
    begin: Any,
    t: Any,
    earlier: tuple[Any, Any],
) -> Any:
    """The adjoint state at the earlier time.

    Args:
        adjoint: integrates the adjoint state, the solution in it.
        solution: integrates the solution.
        replaced: (state, value) → the value in it, and the state with the other value instead.
        tolerance: of the values that the way back leads to.
        begin: the adjoint state at t.
        t: the later time.
        earlier: a time before it, and the solution there.
    """
    first, value = earlier

    def one_piece(now: _Progress) -> _Progress:
        to, known = now.times[now.top], now.values[now.top]
        end = adjoint(now.state, now.t, to)
        found, corrected = replaced(end, known)
        middle = (now.t + to) / 2
        # No attempt is better where there is no solution, or no time in between.
        hopeless = ~jnp.isfinite(known).all() | (middle == to) | (middle == now.t)
        hopeless |= (now.top == _DEPTH) | (now.misses >= _MISSES)
        returns = _leads_to(found, known, tolerance)
        done = returns | hopeless
        between = solution(known, to, jnp.where(done, to, middle))
        return _Progress(
            jnp.where(done, corrected, now.state),
            jnp.where(done, to, now.t),
            now.top + jnp.where(done, -1, 1),
            now.times.at[now.top + 1].set(middle),
            now.values.at[now.top + 1].set(between),
            now.misses + jnp.where(done & ~returns, 1, 0),
        )

    times = jnp.zeros(_DEPTH + 1, first.dtype).at[0].set(first)
    values = jnp.zeros((_DEPTH + 1, *value.shape), value.dtype).at[0].set(value)
    start = _Progress(begin, t, 0, times, values, 0)
    return lax.while_loop(lambda now: now.top >= 0, one_piece, start).state


def _leads_to(found: Any, known: Any, tolerance: Tolerance) -> Any:
    """Whether a value is the known one, up to the tolerance.

    It is that of the whole vector: a component that is next to 0 has the errors of the others.
    """
    allowed = tolerance.scale(mean_square(known))
    return mean_square(found - known) <= allowed
