"""Peaks of signals: samples, or the middles of plateaus, that are higher than both neighbours.

Properties are computed for all samples at once and then read at the peaks, so that shapes do not
depend on numbers.  How far it is downhill from a sample is found by blocks of 2ˡ samples whose
largest and smallest one are known: O(n log n) for all samples together.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...control.jit.jit import jit
from ...control.loops.loops import fori_loop
from ..arguments import array, inexact, refuse, refuse_shape
from ._prominences import prominences_of, widths_of

_WHERE = "science.signal.find_peaks"


def find_peaks(
    x: Any,
    height: Any = None,
    threshold: Any = None,
    distance: float | None = None,
    prominence: Any = None,
    width: Any = None,
    wlen: float | None = None,
    rel_height: float = 0.5,
    plateau_size: Any = None,
    *,
    size: int | None = None,
) -> tuple[Any, dict[str, Any]]:
    """The peaks of a signal that fulfil conditions, and their properties.

    A condition is the least value, or a pair of the least and the largest one, each a number, an
    array with one for each sample, or `None`.

    Args:
        x: signal (n,), real.
        height: condition on the sample.
        threshold: condition on the vertical distances to the two neighbours.
        distance: how many samples lie at least between peaks; smaller ones are left out first, of
            equal ones the earlier.
        prominence: condition on how far it is down from the peak before it goes up higher.
        width: condition on the width, in samples.
        wlen: the window for prominences, in samples, with the peak in its middle.
        rel_height: where the width is taken: the share of the prominence below the peak.
        plateau_size: condition on the number of equal samples at the top.
        size: how many peaks to return, which must be given under `jit`; where there are fewer, the
            indices are −1 and the properties of floating dtype NaN.

    Returns:
        Indices of the peaks in ascending order, and a dict of arrays: ``"peak_heights"``,
        ``"left_thresholds"``, ``"right_thresholds"``, ``"prominences"``, ``"left_bases"``,
        ``"right_bases"``, ``"widths"``, ``"width_heights"``, ``"left_ips"``, ``"right_ips"``,
        ``"plateau_sizes"``, ``"left_edges"``, ``"right_edges"``, those whose condition is given.
        Heights, prominences and widths are differentiable with respect to `x`.

    Raises:
        ValueError: if `x` is no real vector, or distance or wlen are too small.
        ConcretizationTypeError: if `x` is traced and there is no `size`.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science.signal import find_peaks
        >>> peaks, properties = find_peaks(jnp.array([0.0, 2.0, 1.0, 3.0, 0.0]), prominence=0.5)
        >>> peaks, properties["prominences"]
        (Array([1, 3], dtype=int32), Array([1., 3.], dtype=float32))
    """
    x = _signal(x)
    decided = lax.stop_gradient(x)
    count = x.aval.shape[0]
    kept, left, right = _maxima(decided)
    found: dict[str, Any] = {}
    if plateau_size is not None:
        sizes = right - left + 1
        kept = kept & _holds("plateau_size", plateau_size, sizes, sizes)
        found |= {"plateau_sizes": sizes, "left_edges": left, "right_edges": right}
    if height is not None:
        kept = kept & _holds("height", height, decided, decided)
        found["peak_heights"] = x
    if threshold is not None:
        before = x - jnp.concatenate([x[:1], x[:-1]])
        behind = x - jnp.concatenate([x[1:], x[-1:]])
        kept = kept & _holds(
            "threshold", threshold, lax.min(before, behind), lax.max(before, behind)
        )
        found |= {"left_thresholds": before, "right_thresholds": behind}
    if distance is not None:
        kept = _far_apart(decided, kept, _at_least("distance", distance, 1), count)
    if prominence is not None or width is not None:
        window = None if wlen is None else _at_least("wlen", wlen, 2)
        heights, bases = prominences_of(x, window)
        found |= {"prominences": heights, "left_bases": bases[0], "right_bases": bases[1]}
        if prominence is not None:
            kept = kept & _holds("prominence", prominence, heights, heights)
        if width is not None:
            if not rel_height >= 0:
                refuse(_WHERE, "rel_height", f"{rel_height}", "a number ≥ 0", "0.5 is usual.")
            measured = widths_of(x, heights, bases, rel_height)
            kept = kept & _holds("width", width, measured["widths"], measured["widths"])
            found |= measured
    return _gathered(kept, found, size)


def _signal(x: Any) -> Any:
    given = array(_WHERE, x)
    if given.aval.ndim != 1:
        refuse_shape(_WHERE, "x", f"{given.aval}", "a vector", "Use jax.vmap, with size=.")
    if given.aval.dtype.kind == "c":
        refuse(_WHERE, "x", f"{given.aval}", "a real signal", "Take the absolute value.")
    return inexact(_WHERE, given)[0]


def _at_least(argument: str, value: float, least: int) -> int:
    whole = math.ceil(value)
    if not whole >= least:
        refuse(_WHERE, argument, f"{value}", f"a number ≥ {least}", "Leave it out.")
    return whole


def _maxima(x: Any) -> tuple[Any, Any, Any]:
    """The middles of plateaus higher than what is beside them, and every plateau's two ends."""
    count = x.aval.shape[0]
    place = jnp.arange(count)
    if count < 3:
        return jnp.zeros((count,), bool), place, place
    differs = x[1:] != x[:-1]
    edge = jnp.ones((1,), bool)
    starts, ends = jnp.concatenate([edge, differs]), jnp.concatenate([differs, edge])
    left = lax.cummax(jnp.where(starts, place, 0))
    right = lax.cummin(jnp.where(ends, place, count - 1), reverse=True)
    before, behind = x[jnp.maximum(left - 1, 0)], x[jnp.minimum(right + 1, count - 1)]
    is_higher = (left > 0) & (right < count - 1) & (before < x) & (behind < x)
    return is_higher & (place == (left + right) // 2), left, right


def _holds(argument: str, condition: Any, low: Any, high: Any) -> Any:
    """Where the smaller value is not below the least, and the larger one not above the largest."""
    is_pair = isinstance(condition, (tuple, list)) or np.shape(condition) == (2,)
    least, most = condition if is_pair and len(condition) == 2 else (condition, None)
    holds: Any = True
    if least is not None:
        holds = low >= _limit(argument, least, low)
    if most is not None:
        holds = holds & (high <= _limit(argument, most, high))
    return holds


def _limit(argument: str, limit: Any, values: Any) -> Any:
    limit = array(_WHERE, limit)
    if limit.aval.shape not in ((), values.aval.shape):
        refuse_shape(
            _WHERE,
            argument,
            f"a condition {limit.aval} for a signal of {values.aval.shape[0]} samples",
            "a number, or one for each sample",
            "Pass a pair for the least and the largest value.",
        )
    return limit


# A loop, which eager calls would compile each time.
@partial(jit, static_argnames=("distance", "count"), inline=True)
def _far_apart(x: Any, kept: Any, distance: int, count: int) -> Any:
    """The peaks that are left when each, from the highest on, removes those that are too near."""
    reach = min(distance, count) - 1
    if reach <= 0:
        return kept
    candidates = jnp.sum(kept)
    # In ascending order: what is no peak comes first, and of equal peaks the earlier one.
    order = jnp.lexsort((jnp.where(kept, x, -jnp.inf), kept))
    alone = jnp.asarray(np.arange(2 * reach + 1) == reach)

    def remove(i: Any, left: Any) -> Any:
        peak = order[count - 1 - i]
        window = lax.dynamic_slice_in_dim(left, peak, 2 * reach + 1)
        thinned = jnp.where(window[reach], alone, window)
        return lax.dynamic_update_slice_in_dim(left, thinned, peak, 0)

    return fori_loop(0, candidates, remove, jnp.pad(kept, reach))[reach : reach + count]


def _gathered(kept: Any, found: dict[str, Any], size: int | None) -> tuple[Any, dict[str, Any]]:
    """The places that are kept, and the properties there."""
    (peaks,) = jnp.nonzero(kept, size=size, fill_value=-1)
    is_peak = peaks >= 0
    at_peaks = {}
    for name, values in found.items():
        none = -1 if values.aval.dtype.kind == "i" else jnp.nan
        read = values[jnp.maximum(peaks, 0)] if values.aval.size else values[:0]
        at_peaks[name] = jnp.where(is_peak, read, none) if read.aval.size else read
    return peaks, at_peaks
