"""How far it is down from peaks before it goes up higher, and how wide the rise is there.

Peaks are taken from left to right, and from each one the signal is walked along to the left.  What
an earlier peak has walked along that is not higher need not be walked along again: how far it came
and the least sample on its way are known, as on the stack of an algorithm for the nearest larger
value.  So all walks together are O(n).  To the right the signal is mirrored.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...control.jit.jit import jit
from ...control.loops.while_loops import fori_loop, while_loop


def prominences_of(
    x: Any, peaks: Any, number: Any, window: int | None
) -> tuple[Any, tuple[Any, Any]]:
    """The prominences of peaks, and their bases on the left and on the right.

    Args:
        x: signal (n,).
        peaks: where the peaks are, in ascending order, int32 (m,).
        number: how many of them there are; the bases of the others are 0.
        window: how many samples are looked at around each peak; `None` for all.
    """
    last = x.aval.shape[0] - 1
    numbers = lax.stop_gradient(x)
    left = _bases(numbers, peaks, number, window)
    mirrored = _mirrored(last - peaks, number)
    right = last - _mirrored(_bases(numbers[::-1], mirrored, number, window), number)
    return x[peaks] - lax.max(x[left], x[right]), (left, right)


def _mirrored(v: Any, number: Any) -> Any:
    """The first `number` elements in reverse order."""
    place = lax.broadcasted_iota(np.int32, v.aval.shape, 0)
    return v[jnp.maximum(number - 1 - place, 0)]


# Loops, which eager calls would compile each time; so below.
@partial(jit, static_argnames="window", inline=True)
def _bases(x: Any, peaks: Any, number: Any, window: int | None) -> Any:
    """Where the least sample before each peak is, not going past a higher one, or the window."""
    count = x.aval.shape[0]

    def walk(k: Any, state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        bases, following, lowest = state
        peak = peaks[k]
        height = x[peak]
        limit = np.int32(0) if window is None else jnp.maximum(peak - np.int32(window // 2), 0)

        def goes_on(at: tuple[Any, Any, Any]) -> Any:
            place, _, _ = at
            # A NaN is passed by nothing.
            return (place >= limit) & (x[jnp.maximum(place, 0)] <= height)

        def step(at: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
            place, base, least = at
            lower = lowest[place]
            value = x[lower]
            is_lower = value < least
            base, least = jnp.where(is_lower, lower, base), jnp.where(is_lower, value, least)
            return following[place], base, least

        place, base, _ = while_loop(goes_on, step, (peak, peak, height))
        bases = bases.at[k].set(base)
        if window is None:
            following, lowest = following.at[peak].set(place), lowest.at[peak].set(base)
        return bases, following, lowest

    places = lax.broadcasted_iota(np.int32, (count,), 0)
    start = jnp.zeros_like(peaks), places - 1, places
    return fori_loop(0, number, walk, start)[0]


def widths_of(
    x: Any, peaks: Any, number: Any, prominences: Any, bases: tuple[Any, Any], share: float
) -> dict[str, Any]:
    """The widths of peaks, the heights where they are taken, and where these are crossed."""
    last = x.aval.shape[0] - 1
    height = x[peaks] - prominences * share
    left = _crossing(x, peaks, number, height, bases[0])
    right = last - _crossing(x[::-1], last - peaks, number, height, last - bases[1])
    names = ("widths", "width_heights", "left_ips", "right_ips")
    return dict(zip(names, (right - left, height, left, right), strict=True))


def _crossing(x: Any, peaks: Any, number: Any, height: Any, bases: Any) -> Any:
    """Where before each peak the signal, straight between samples, has a height."""
    place = _first_not_above(*lax.stop_gradient((x, peaks, number, height, bases)))
    low, high = x[place], x[jnp.minimum(place + 1, x.aval.shape[0] - 1)]
    is_below = low < height
    rise = jnp.where(is_below, high - low, 1)
    return place + jnp.where(is_below, (height - low) / rise, 0)


@partial(jit, inline=True)
def _first_not_above(x: Any, peaks: Any, number: Any, height: Any, bases: Any) -> Any:
    """For each peak, going backwards from it, the first sample not above a height, or the base."""

    def walk(k: Any, found: Any) -> Any:
        level, base = height[k], bases[k]
        place = while_loop(lambda i: (i > base) & (x[i] > level), lambda i: i - 1, peaks[k])
        return found.at[k].set(place)

    return fori_loop(0, number, walk, jnp.zeros_like(peaks))
