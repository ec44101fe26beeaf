"""Integration step by step: adaptive, or again with the sizes of steps that were taken before.

Time is counted in the direction of integration, so all steps are positive.  An adaptive integration
has no derivative of its own: the sizes of its steps are no differentiable function of the data, and
steps that were rejected would only bring their overflows into it.  Derivatives are those of the
same steps taken again with fixed sizes.

Reference: E. Hairer, S. Nørsett, G. Wanner, "Solving Ordinary Differential Equations I", section
II.4; E. Hairer, G. Wanner, "... II", section IV.8 (predictive step sizes, due to K. Gustafsson).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...control.checkpoint.checkpoint import checkpoint
from ...control.loops.while_bounds import reverse_while
from ...scipy._runge_kutta import ExplicitMethod, Slope, Tolerance, first_step
from ._dop853 import DormandPrince8
from ._radau import Radau

Method = ExplicitMethod | DormandPrince8 | Radau

GOES_ON, TOO_SMALL, TOO_MANY, NOT_FINITE = 0, -1, -2, -3
_LARGEST_GROWTH, _LARGEST_SHRINKAGE, _SHRINKAGE_WITHOUT_VALUE = 10.0, 0.2, 0.5


class Controls(NamedTuple):
    """What a user says about steps; `first` is NaN if it is to be chosen."""

    tolerance: Tolerance
    first: Any
    longest: Any


class Piece(NamedTuple):
    """The solution on a step: a continuous extension in θ = (t − start) / width."""

    start: Any
    width: Any
    dense: Any


class State(NamedTuple):
    """An integration between two steps; `piece` is the last one that was accepted."""

    t: Any
    y: Any
    slope: Any
    piece: Piece
    ratio: Any
    size: Any
    was_rejected: Any
    steps: Any
    evaluations: Any
    jacobians: Any
    status: Any


class Record(NamedTuple):
    """The steps of an integration, a fixed number: those behind the last one repeat it."""

    ends: Any
    piece: Piece


def start_state(
    field: Slope, method: Method, t: Any, y: Any, end: Any, controls: Controls
) -> State:
    """Before the first step; the piece is the tangent, so that times there have derivatives."""
    slope = field(t, y)
    chosen = first_step(field, t, y, slope, method.order, controls.tolerance)
    size = jnp.where(jnp.isnan(controls.first), chosen, controls.first)
    size = lax.stop_gradient(jnp.minimum(size, jnp.maximum(end - t, 0)).astype(t.dtype))
    sound = jnp.all(jnp.isfinite(slope)) & jnp.all(jnp.isfinite(y)) & jnp.isfinite(end - t)
    piece = Piece(
        t, jnp.ones_like(t), jnp.stack([y, slope, *[jnp.zeros_like(y)] * (method.rows - 2)])
    )
    zero = jnp.zeros((), np.int32)
    status = jnp.where(sound, GOES_ON, NOT_FINITE).astype(np.int32)
    no = jnp.zeros((), bool)
    return State(t, y, slope, piece, zero.astype(t.dtype), size, no, zero, zero + 2, zero, status)


def adaptive_step(
    field: Slope, method: Method, controls: Controls, end: Any, most: int, now: State
) -> State:
    """One attempt: a step further, or only another size, or a status that ends it all."""
    least = 10 * (jnp.nextafter(now.t, jnp.full_like(now.t, np.inf)) - now.t)
    failure = jnp.where(jnp.isfinite(now.ratio), TOO_SMALL, NOT_FINITE)
    failure = jnp.where(now.was_rejected & ~(now.size >= least), failure, GOES_ON)
    failure = jnp.where(now.steps >= most, TOO_MANY, failure)
    # NaN must not be accepted as a size.
    size = jnp.where(now.size >= least, jnp.minimum(now.size, controls.longest), least)
    left = end - now.t
    is_last = size >= left
    size = jnp.where(is_last, left, size).astype(now.t.dtype)
    tried = method.attempt(field, now.t, now.y, now.slope, size, _guess(now), controls.tolerance)
    is_sound = jnp.all(jnp.isfinite(tried.y)) & jnp.all(jnp.isfinite(tried.slope))
    has_value = (tried.safety > 0) & is_sound
    accepts = has_value & (tried.ratio <= 1) & (failure == GOES_ON)
    # Newton's method may fail where everything is finite, which calls for smaller steps too.
    ratio = jnp.where(is_sound, tried.ratio, np.nan)
    growth = jnp.where(accepts, _growth(method, now, tried, size), _shrinkage(method, tried))
    growth = jnp.where(has_value, growth, _SHRINKAGE_WITHOUT_VALUE)
    end_of_step = jnp.where(is_last, end, now.t + size)
    taken = (end_of_step, tried.y, tried.slope, Piece(now.t, size, tried.dense))
    kept = (now.t, now.y, now.slope, now.piece)
    t, y, slope, piece = _chosen(accepts, taken, kept)
    return State(
        t=t,
        y=y,
        slope=slope,
        piece=piece,
        ratio=ratio.astype(now.ratio.dtype),
        size=(size * growth).astype(size.dtype),
        was_rejected=~accepts,
        steps=now.steps + accepts,
        evaluations=now.evaluations + tried.evaluations,
        jacobians=now.jacobians + int(method.is_implicit),
        status=failure.astype(np.int32),
    )


def _guess(now: State) -> tuple[Any, Any, Any]:
    return now.piece.dense, 1 / now.piece.width, now.steps == 0


def _chosen(which: Any, first: tuple[Any, ...], second: tuple[Any, ...]) -> tuple[Any, ...]:
    *values, (start, width, dense) = first
    *others, piece = second
    pick = [jnp.where(which, a, b) for a, b in zip(values, others, strict=True)]
    new = zip((start, width, dense), piece, strict=True)
    return (*pick, Piece(*[jnp.where(which, a, b) for a, b in new]))


def _power(method: Method, ratio: Any) -> Any:
    return jnp.where(ratio > 0, ratio, 1) ** (-1 / method.order)


def _growth(method: Method, now: State, tried: Any, size: Any) -> Any:
    """How much larger the next step may be; never larger after a rejection."""
    factor = _power(method, tried.ratio)
    if method.is_implicit:
        # As if the error went on to change as it did.
        trend = _power(method, tried.ratio) / _power(method, now.ratio)
        predicted = factor * trend * size / now.piece.width
        use = (now.steps > 0) & (now.ratio > 0) & ~now.was_rejected
        factor = jnp.where(use, jnp.minimum(factor, predicted), factor)
    factor = jnp.where(tried.ratio == 0, _LARGEST_GROWTH, tried.safety * factor)
    factor = jnp.clip(factor, _LARGEST_SHRINKAGE, _LARGEST_GROWTH)
    return jnp.where(now.was_rejected, jnp.minimum(factor, 1), factor)


def _shrinkage(method: Method, tried: Any) -> Any:
    factor = jnp.where(tried.ratio < np.inf, tried.safety * _power(method, tried.ratio), 0)
    return jnp.clip(factor, _LARGEST_SHRINKAGE, 1)


def repeated_step(
    field: Slope, method: Method, tolerance: Tolerance, sizes: Any, now: State
) -> State:
    """The next of the steps with known sizes."""
    size = sizes[now.steps]
    tried = method.attempt(field, now.t, now.y, now.slope, size, _guess(now), tolerance)
    piece = Piece(now.t, size, tried.dense)
    return now._replace(
        t=now.t + size, y=tried.y, slope=tried.slope, piece=piece, steps=now.steps + 1
    )


def pieces_at(
    advance: Callable[[State], State], stops: Callable[[State, Any], Any], state: State, goals: Any
) -> tuple[State, Piece]:
    """Integrate up to one goal after the other; the pieces that the goals lie in."""

    def to_goal(now: State, goal: Any) -> tuple[State, Piece]:
        now = lax.while_loop(lambda now: ~stops(now, goal), advance, now)
        return now, now.piece

    return lax.scan(to_goal, state, goals)


def adaptive_pieces(
    field: Slope, method: Method, controls: Controls, most: int, state: State, end: Any, goals: Any
) -> tuple[State, Piece]:
    """The pieces of an adaptive integration that `goals` lie in."""

    def advance(now: State) -> State:
        return adaptive_step(field, method, controls, end, most, now)

    def stops(now: State, goal: Any) -> Any:
        return (now.status != GOES_ON) | ~(now.t < jnp.minimum(goal, end))

    return pieces_at(advance, stops, state, goals)


def repeated_pieces(
    field: Slope,
    method: Method,
    tolerance: Tolerance,
    sizes: Any,
    state: State,
    counts: Any,
    between: int,
) -> Piece:
    """The pieces at which an integration with steps of known sizes is after so many of them.

    From one count to the next there are `between` steps at most.
    """

    def advance(now: State) -> State:
        return repeated_step(field, method, tolerance, sizes, now)

    def to_count(now: State, count: Any) -> tuple[State, Piece]:
        now = lax.while_loop(lambda now: now.steps < count, advance, now)
        return now, now.piece

    with reverse_while(max_steps=between):
        _, pieces = lax.scan(checkpoint(to_count), state, counts)
    return pieces


def recorded(
    field: Slope, method: Method, controls: Controls, most: int, state: State, end: Any
) -> tuple[State, Record]:
    """An adaptive integration and all of its steps, at most `most`."""

    def filled(x: Any) -> Any:
        return jnp.broadcast_to(x, (most, *x.shape))

    def put(buffer: Any, x: Any, index: Any) -> Any:
        return lax.dynamic_update_index_in_dim(buffer, x, index, 0)

    def advance(state: tuple[State, Record]) -> tuple[State, Record]:
        now, record = state
        now = adaptive_step(field, method, controls, end, most, now)
        # After a rejection the step before is written once more.
        index = jnp.maximum(now.steps - 1, 0)
        piece = [put(b, x, index) for b, x in zip(record.piece, now.piece, strict=True)]
        return now, Record(put(record.ends, now.t, index), Piece(*piece))

    def go_on(state: tuple[State, Record]) -> Any:
        return (state[0].status == GOES_ON) & (state[0].t < end)

    empty = Record(filled(state.t), Piece(*map(filled, state.piece)))
    now, record = lax.while_loop(go_on, advance, (state, empty))
    rows = jnp.minimum(jnp.arange(most), jnp.maximum(now.steps - 1, 0))
    ends, (start, width, dense) = record
    return now, Record(ends[rows], Piece(start[rows], width[rows], dense[rows]))
