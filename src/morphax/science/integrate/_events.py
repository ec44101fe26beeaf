"""Events: times at which functions of a solution cross zero.

The steps of the whole integration are searched afterwards, all at once: a function whose sign
differs at the two ends of a step, in the direction that is asked for, has a zero between them.
Bisection finds it on the continuous extension.  Two steps of Newton's method then begin from a
point that is held fixed; their derivatives are those of the implicit function t(a) with
g(t, y(t; a); a) = 0, to second order.

Reference: E. Hairer, S. Nørsett, G. Wanner, "Solving Ordinary Differential Equations I", section
II.6 (event location).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, final

import numpy as np

from ... import dtypes, lax
from ... import numpy as jnp
from ...errors import ShapeError
from ...transforms.derivatives import jvp
from ...transforms.flattening import check_callable
from ...transforms.vmap import vmap
from ...util.messages import described, message
from ...util.records import dataclass
from ..solver_arguments import is_known
from ._solution import value_of
from ._steps import Piece, Record

_WHERE = "solve_ivp, argument events"
# Newton's method only polishes: it may not leave this part of a step.
_NEAR = 1e-2


@final
@dataclass(frozen=True, slots=True)
class Event:
    """A function (t, y) → g, whose zeros are looked for.

    Args:
        function: g.
        terminal: the occurrence that ends the integration, 0 if none does.
        direction: positive for zeros where g rises, negative for those where it falls, 0 for both.
    """

    function: Callable[[Any, Any], Any]
    terminal: int
    direction: float

    def value(self, direction: Any, s: Any, y: Any) -> Any:
        """g at s = ± t, a real number."""
        value = jnp.asarray(self.function(direction * s, y))
        if value.size != 1 or dtypes.issubdtype(value.dtype, np.complexfloating):
            raise ShapeError(
                message(
                    f"{_WHERE}, result of a function",
                    given=f"{value.aval}",
                    expected="one real number",
                    fix="Pass a list of functions, one for each event.",
                )
            )
        return value.reshape(()).astype(s.dtype)


class Occurrences(NamedTuple):
    """The zeros of one event in all steps; `is_there` says in which steps there is one."""

    is_there: Any
    times: Any
    values: Any


def events_of(events: Any, args: Any) -> tuple[Event, ...]:
    """The events of a user: one function or several, which say by attributes what they are."""
    given = (events,) if callable(events) else tuple(events)
    return tuple([_event(function, () if args is None else args) for function in given])


def _event(function: Any, args: tuple[Any, ...]) -> Event:
    check_callable(_WHERE, function)
    terminal = getattr(function, "terminal", 0) or 0
    if int(terminal) != terminal or terminal < 0:
        raise ValueError(
            message(
                f"{_WHERE}, attribute terminal",
                given=described(terminal),
                expected="a truth value, or the number of the occurrence that ends the integration",
                fix="Set event.terminal = True.",
            )
        )
    direction = float(getattr(function, "direction", 0) or 0)
    return Event(lambda t, y: function(t, y, *args), int(terminal), direction)


def occurrences(event: Event, direction: Any, record: Record, steps: Any) -> Occurrences:
    """The zeros of an event on the first `steps` pieces of a record."""
    fixed = lax.stop_gradient(record)
    starts, ends = fixed.piece.start, fixed.ends

    def value(s: Any, piece: Piece) -> Any:
        return event.value(direction, s, value_of(piece, s))

    first, last = [vmap(value)(s, fixed.piece) for s in (starts, ends)]
    rises, falls = (first <= 0) & (last >= 0), (first >= 0) & (last <= 0)
    asked = rises | falls
    if event.direction:
        asked = rises if event.direction > 0 else falls
    is_there = asked & (jnp.arange(ends.shape[0]) < steps)
    near = vmap(lambda *x: _bisected(value, *x))(first, starts, ends, fixed.piece)
    near = lax.stop_gradient(jnp.where(first == 0, starts, near))
    times = vmap(lambda *x: _polished(value, *x))(near, record.piece)
    return Occurrences(is_there, times, vmap(value_of)(record.piece, times))


def _bisected(value: Callable[..., Any], first: Any, low: Any, high: Any, piece: Piece) -> Any:
    """A time at which the sign is no more that of `first`, to the spacing of numbers."""

    def halved(_: Any, ends: Any) -> Any:
        low, high = ends
        middle = low + (high - low) / 2
        is_before = value(middle, piece) * jnp.sign(first) > 0
        return jnp.where(is_before, middle, low), jnp.where(is_before, high, middle)

    halvings = dtypes.finfo(low.dtype).nmant + 2
    return lax.fori_loop(0, halvings, halved, (low, high))[1]


def _polished(value: Callable[..., Any], s: Any, piece: Piece) -> Any:
    for _ in range(2):
        g, slope = jvp(lambda s: value(s, piece), (s,), (jnp.ones_like(s),))
        change = g / jnp.where(slope == 0, 1, slope)
        is_near = (slope != 0) & (jnp.abs(change) <= _NEAR * piece.width)
        s = s - jnp.where(is_near, change, 0)
    return s


def time_of_stop(events: Sequence[Event], found: Sequence[Occurrences]) -> Any:
    """When the first of the terminal events ends the integration; ∞ if none does."""
    stops = [
        jnp.min(jnp.where(o.is_there & (jnp.cumsum(o.is_there) == e.terminal), o.times, np.inf))
        for e, o in zip(events, found, strict=True)
        if e.terminal and o.times.size
    ]
    return jnp.min(jnp.stack(stops)) if stops else jnp.asarray(np.inf)


def reported(found: Occurrences, direction: Any, stop: Any) -> tuple[Any, Any]:
    """Times (m,) and values (m, n) of the occurrences up to a time.

    Where they are not known, m is the most that there may be, and NaN follows the last one.
    """
    is_there = found.is_there & (found.times <= stop)
    times, values = direction * found.times, found.values
    if is_known(is_there):
        kept = np.flatnonzero(is_there)
        return times[kept], values[kept]
    order = jnp.argsort(~is_there, stable=True)
    is_there = is_there[order]
    times = jnp.where(is_there, times[order], np.nan)
    return times, jnp.where(is_there[:, None], values[order], np.nan)
