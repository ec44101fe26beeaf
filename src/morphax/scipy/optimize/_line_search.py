"""A step along a direction of descent that satisfies the strong Wolfe conditions.

With φ(a) = f(x + a p), they are φ(a) ≤ φ(0) + c₁ a φ′(0) and |φ′(a)| ≤ c₂ |φ′(0)|.  The search
grows the step until an interval holds such a point, and then shrinks the interval.  Both are one
loop here, and each turn of it evaluates φ once.

Reference: J. Nocedal, S. Wright, "Numerical Optimization", 2nd edition, Springer 2006, algorithms
3.5 and 3.6, with the minimum of the cubic through two points (3.59) as the next step.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ... import lax
from ... import numpy as jnp

_DECREASE = 1e-4
_CURVATURE = 0.9
# Points of an interval nearer to its ends than this part of it gain too little.
_MARGIN = 0.1


class Point(NamedTuple):
    """A step a, φ(a), φ′(a), and the gradient there."""

    step: Any
    value: Any
    slope: Any
    gradient: Any


class Search(NamedTuple):
    """The state of a search: the interval from `low`, the best point so far, to `high`."""

    turn: Any
    low: Point
    high: Point
    found: Point
    is_bracketed: Any
    is_done: Any
    trial: Any


def line_search(
    value_and_gradient: Callable[[Any], tuple[Any, Any]],
    x: Any,
    direction: Any,
    value: Any,
    gradient: Any,
    first: Any,
    most: int,
    longest: Any = math.inf,
) -> Search:
    """Look for a step from x; `is_done` of the result says whether one was found.

    No step is longer than `longest`, which will do if the function still falls there.
    """
    start = Point(jnp.zeros_like(value), value, jnp.sum(gradient * direction), gradient)

    def go_on(state: Search) -> Any:
        return (state.turn < most) & ~state.is_done

    def advance(state: Search) -> Search:
        here, slopes = value_and_gradient(x + state.trial * direction)
        point = Point(state.trial, here, jnp.sum(slopes * direction), slopes)
        return _next(state, start, point, longest)

    nowhere = jnp.zeros((), bool)
    state = Search(jnp.zeros((), int), start, start, start, nowhere, nowhere, first)
    return lax.while_loop(go_on, advance, state)


def _next(state: Search, start: Point, point: Point, longest: Any) -> Search:
    low, high, is_bracketed = state.low, state.high, state.is_bracketed
    line = start.value + _DECREASE * point.step * start.slope
    # Written so that NaN and infinity count as too high.
    is_low_enough = (point.value <= line) & ((point.value < low.value) | (state.turn == 0))
    is_low_enough = is_low_enough & jnp.isfinite(point.slope)
    is_flat = jnp.abs(point.slope) <= -_CURVATURE * start.slope
    is_flat = is_flat | ((point.step >= longest) & (point.slope < 0))
    is_done = is_low_enough & is_flat
    # The function rises away from the low end: the minimum lies between the two.
    rises = point.slope * jnp.where(is_bracketed, high.step - low.step, 1) >= 0
    new_high = _chosen(is_low_enough, _chosen(rises, low, high), point)
    new_low = _chosen(is_low_enough, point, low)
    bracketed = is_bracketed | ~is_low_enough | rises
    trial = jnp.where(bracketed, _between(new_low, new_high), jnp.minimum(2 * point.step, longest))
    return Search(
        state.turn + 1,
        new_low,
        new_high,
        _chosen(is_done, point, state.found),
        bracketed,
        is_done,
        trial,
    )


def _chosen(which: Any, first: Point, second: Point) -> Point:
    return Point(*[jnp.where(which, a, b) for a, b in zip(first, second, strict=True)])


def _between(low: Point, high: Point) -> Any:
    """The minimum of the cubic through two points, or the middle where there is none inside."""
    width = high.step - low.step
    safe = jnp.where(width == 0, 1, width)
    first = low.slope + high.slope - 3 * (high.value - low.value) / safe
    square = first * first - low.slope * high.slope
    root = jnp.sign(width) * lax.sqrt(jnp.maximum(square, 0))
    bottom = high.slope - low.slope + 2 * root
    part = 1 - (high.slope + root - first) / jnp.where(bottom == 0, 1, bottom)
    is_inside = (square >= 0) & (bottom != 0) & (part > _MARGIN) & (part < 1 - _MARGIN)
    return low.step + jnp.where(is_inside, part, 0.5) * width
