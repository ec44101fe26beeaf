"""The peaks that are left when each, from the highest on, removes those that are too near.

They need not be sorted for it.  A peak than which nothing near is higher stays, and what is near it
goes; that is done wherever such a peak is.  It is found by climbing: from a peak to the highest one
near it, and on from there.  A climb comes to no stretch of `reach` samples a third time, for what
it has left behind there is lower; and the way is remembered, to be gone on with from where the
last peak was that stays.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ... import numpy as jnp
from ...control.jit.jit import jit
from ...control.loops.while_loops import fori_loop, while_loop

_OPEN, _STAYS, _GONE = np.int8(0), np.int8(1), np.int8(2)


# Loops, which eager calls would compile each time.
@partial(jit, static_argnames="reach", inline=True)
def far_apart(tops: Any, peaks: Any, kept: Any, reach: int) -> Any:
    """Which peaks stay; of equally high ones the later.

    Args:
        tops: how high peaks are (m,).
        peaks: where they are, in ascending order, int32 (m,).
        kept: which of them there are.
        reach: how many samples lie at least between peaks that stay.
    """
    room = peaks.aval.shape[0]

    def near(j: Any, peak: Any) -> Any:
        distance = abs(peaks[jnp.clip(j, 0, room - 1)] - peaks[peak])
        return (j >= 0) & (j < room) & (distance < reach)

    def climb(state: tuple[Any, Any, Any, Any]) -> tuple[Any, Any, Any, Any]:
        way, length, start, fate = state
        peak = way[length - 1]
        is_open = fate[peak] == _OPEN
        first = while_loop(lambda j: is_open & near(j - 1, peak), lambda j: j - 1, peak)

        def compare(found: tuple[Any, Any]) -> tuple[Any, Any]:
            j, highest = found
            higher = (tops[j] > tops[highest]) | ((tops[j] == tops[highest]) & (j > highest))
            return j + 1, jnp.where((fate[j] == _OPEN) & higher, j, highest)

        end, highest = while_loop(
            lambda found: is_open & near(found[0], peak), compare, (first, peak)
        )
        stays = is_open & (highest == peak)
        decide = lambda j, fate: fate.at[j].set(jnp.where(j == peak, _STAYS, _GONE))  # noqa: E731
        fate = fori_loop(first, jnp.where(stays, end, first), decide, fate)
        goes_on = is_open & ~stays
        # At the end of a way the next one begins.
        is_next = ~goes_on & (length == 1)
        start = start + is_next
        way = way.at[jnp.where(is_next, 0, length)].set(jnp.where(is_next, start, highest))
        return way, jnp.where(goes_on, length + 1, jnp.maximum(length - 1, 1)), start, fate

    way, fate = jnp.zeros((room + 1,), np.int32), jnp.where(kept, _OPEN, _GONE)
    start = way, np.int32(1), np.int32(0), fate
    return while_loop(lambda state: state[2] < room, climb, start)[3] == _STAYS
