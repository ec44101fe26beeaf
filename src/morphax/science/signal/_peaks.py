"""Peaks of signals: samples, or the middles of plateaus, that are higher than both neighbours.

Between two peaks there is a lower sample, so that of n samples at most (n − 1) / 2 are peaks: there
is room for as many, whatever the numbers are, and properties are those of the first `number`.
What is behind them is never read.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple, final

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...control.jit.jit import jit
from ...control.loops.scans import scan
from ...lax.ground.axes import integer
from ..arguments import array, inexact, known_number, refuse, refuse_shape
from ._distances import far_apart
from ._prominences import prominences_of, widths_of

_WHERE = "science.signal.find_peaks"
_PROPERTIES = (
    *("plateau_sizes", "left_edges", "right_edges", "peak_heights", "left_thresholds"),
    *("right_thresholds", "prominences", "left_bases", "right_bases", "widths", "width_heights"),
    *("left_ips", "right_ips"),
)


@final
class _Conditions(NamedTuple):
    """What peaks have to be; see `find_peaks`."""

    height: Any
    threshold: Any
    prominence: Any
    width: Any
    plateau_size: Any


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
    conditions = _Conditions(height, threshold, prominence, width, plateau_size)
    size = None if size is None else _number(size)
    measures = prominence is not None or width is not None
    reach, window = None, None
    if distance is not None:
        reach = _at_least("distance", distance, 1)
    if measures and wlen is not None:
        window = _at_least("wlen", wlen, 2)
    share = None if width is None else _share(rel_height)
    peaks, kept, number, found = _candidates(x, conditions, reach, window, share)
    every = number if not found and reach is None else None
    properties = {name: found[name] for name in _PROPERTIES if name in found}
    return _gathered(peaks, kept, every, properties, size)


# One program, whose loops eager calls would compile one by one.
@partial(jit, static_argnames=("reach", "window", "share"), inline=True)
def _candidates(
    x: Any, conditions: _Conditions, reach: int | None, window: int | None, share: float | None
) -> tuple[Any, Any, Any, dict[str, Any]]:
    """All peaks, which of them fulfil the conditions, how many there are, and their properties."""
    # Two samples have no peak, and neither have those beside NaN.
    length = x.aval.shape[0]
    x = jnp.pad(x, (0, max(3 - length, 0)), constant_values=np.nan)
    left, right, number = _maxima(lax.stop_gradient(x))
    peaks = (left + right) >> 1
    tops = x[peaks]
    kept = lax.broadcasted_iota(np.int32, peaks.aval.shape, 0) < number
    found: dict[str, Any] = {}
    holds = partial(_holds, peaks, length)
    if conditions.plateau_size is not None:
        sizes = right - left + 1
        kept = kept & holds("plateau_size", conditions.plateau_size, sizes, sizes)
        found |= {"plateau_sizes": sizes, "left_edges": left, "right_edges": right}
    if conditions.height is not None:
        kept = kept & holds("height", conditions.height, tops, tops)
        found["peak_heights"] = tops
    if conditions.threshold is not None:
        steps = tops - x[peaks - 1], tops - x[peaks + 1]
        kept = kept & holds("threshold", conditions.threshold, lax.min(*steps), lax.max(*steps))
        found |= dict(zip(("left_thresholds", "right_thresholds"), steps, strict=True))
    if reach is not None:
        kept = far_apart(lax.stop_gradient(tops), peaks, kept, reach)
    if conditions.prominence is not None or conditions.width is not None:
        measured = _measured(x, peaks, number, window, share)
        heights, widths = measured["prominences"], measured.get("widths")
        kept = kept & holds("prominence", conditions.prominence, heights, heights)
        kept = kept & holds("width", conditions.width, widths, widths)
        found |= measured
    return peaks, kept, number, found


def _signal(x: Any) -> Any:
    given = array(_WHERE, x)
    if given.aval.ndim != 1:
        refuse_shape(_WHERE, "x", f"{given.aval}", "a vector", "Use jax.vmap, with size=.")
    if given.aval.dtype.kind == "c":
        refuse(_WHERE, "x", f"{given.aval}", "a real signal", "Take the absolute value.")
    return inexact(_WHERE, given)[0]


def _number(size: Any) -> int:
    number = integer(f"{_WHERE}, argument size", size)
    if number < 0:
        refuse(_WHERE, "size", f"{number}", "a number ≥ 0", "Pass the most peaks there may be.")
    return number


def _at_least(argument: str, value: float, least: int) -> int:
    number = known_number(_WHERE, argument, value)
    if not number > least - 1:
        refuse(_WHERE, argument, f"{value}", f"a number ≥ {least}", "Leave it out.")
    return math.ceil(min(number, 2**30))


def _share(rel_height: float) -> float:
    share = known_number(_WHERE, "rel_height", rel_height)
    if not share >= 0:
        refuse(_WHERE, "rel_height", f"{rel_height}", "a number ≥ 0", "0.5 is usual.")
    return share


def _measured(
    x: Any, peaks: Any, number: Any, window: int | None, share: float | None
) -> dict[str, Any]:
    """Prominences and, at a share of them, widths."""
    heights, (left, right) = prominences_of(x, peaks, number, window)
    measured = {"prominences": heights, "left_bases": left, "right_bases": right}
    if share is None:
        return measured
    return measured | widths_of(x, peaks, number, heights, (left, right), share)


def _maxima(x: Any) -> tuple[Any, Any, Any]:
    """The two ends of each plateau that is higher than what is beside it, and how many there are.

    There is room for as many as there may be; what is behind is 1, a sample with two neighbours.
    """
    count = x.aval.shape[0]
    room = (count - 1) // 2

    def step(state: Any, samples: Any) -> tuple[Any, None]:
        number, start, rises, left, right = state
        i, before, here, behind = samples
        begins = here != before
        start, rises = jnp.where(begins, i, start), jnp.where(begins, before < here, rises)
        # Written over by the next one if this is none.
        left, right = left.at[number].set(start), right.at[number].set(i)
        return (number + (rises & (behind < here)), start, rises, left, right), None

    places = lax.broadcasted_iota(np.int32, (count - 2,), 0) + 1
    ends = jnp.ones((room + 1,), np.int32)
    state = np.int32(0), np.int32(0), np.bool_(False), ends, ends
    number, _, _, left, right = scan(step, state, (places, x[:-2], x[1:-1], x[2:]))[0]
    is_one = lax.broadcasted_iota(np.int32, (room,), 0) < number
    return jnp.where(is_one, left[:-1], 1), jnp.where(is_one, right[:-1], 1), number


def _holds(peaks: Any, length: int, argument: str, condition: Any, low: Any, high: Any) -> Any:
    """Where the smaller value is not below the least, and the larger not above the largest."""
    is_pair = isinstance(condition, (tuple, list)) or np.shape(condition) == (2,)
    least, most = condition if is_pair and len(condition) == 2 else (condition, None)
    holds: Any = True
    if least is not None:
        holds = low >= _limit(peaks, length, argument, least)
    if most is not None:
        holds = holds & (high <= _limit(peaks, length, argument, most))
    return holds


def _limit(peaks: Any, length: int, argument: str, limit: Any) -> Any:
    """A number, or one for each peak."""
    limit = array(_WHERE, limit)
    if limit.aval.shape not in ((), (length,)):
        refuse_shape(
            _WHERE,
            argument,
            f"a condition {limit.aval} for a signal of {length} samples",
            "a number, or one for each sample",
            "Pass a pair for the least and the largest value.",
        )
    if not limit.aval.ndim:
        return limit
    return limit[peaks] if length > 1 else np.nan


def _gathered(
    peaks: Any, kept: Any, number: Any, found: dict[str, Any], size: int | None
) -> tuple[Any, dict[str, Any]]:
    """The peaks that are kept, or the first `number`, which have none, and their properties."""
    if number is not None and size is None:
        return peaks[: int(number)].astype(int), {}
    if number is None:
        (places,) = jnp.nonzero(kept, size=size, fill_value=-1)
    else:
        places = lax.broadcasted_iota(np.int32, (size,), 0)
        places = jnp.where(places < number, places, -1)
    is_peak = places >= 0

    def read(values: Any) -> Any:
        is_count = values.aval.dtype.kind == "i"
        values = values.astype(int) if is_count else values
        return jnp.where(is_peak, values[jnp.maximum(places, 0)], -1 if is_count else np.nan)

    return read(peaks), {name: read(values) for name, values in found.items()}
