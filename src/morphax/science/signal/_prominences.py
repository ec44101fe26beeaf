"""How far it is down from samples before it goes up higher, and how wide the rise is there."""

from __future__ import annotations

from typing import Any, NamedTuple

from ... import lax
from ... import numpy as jnp


class _Blocks(NamedTuple):
    """For blocks of 2ˡ samples, by l and by first sample: the largest, the least and its place."""

    largest: list[Any]
    least: list[Any]
    place: list[Any]


def _blocks(x: Any) -> _Blocks:
    """All blocks; NaN is higher than every number, so that nothing goes past it."""
    count = x.aval.shape[0]
    x = jnp.where(jnp.isnan(x), jnp.inf, x)
    blocks = _Blocks([x], [x], [jnp.arange(count)])
    width = 1
    while 2 * width <= count:
        largest, least, place = [v[-1] for v in blocks]
        blocks.largest.append(lax.max(largest[:-width], largest[width:]))
        # Of equal samples the later one, which is nearer to a peak behind them.
        later = least[width:] <= least[:-width]
        blocks.least.append(jnp.where(later, least[width:], least[:-width]))
        blocks.place.append(jnp.where(later, place[width:], place[:-width]))
        width *= 2
    return blocks


def _lowest_before(x: Any, blocks: _Blocks, limit: Any) -> Any:
    """For each sample, where the least one before it is, not going past a higher one or `limit`."""
    unknown = jnp.cumsum(jnp.concatenate([jnp.zeros((1,), int), jnp.isnan(x).astype(int)]))
    position = base = jnp.arange(x.aval.shape[0])
    for level in reversed(range(len(blocks.largest))):
        start = position - 2**level
        inside = jnp.maximum(start, 0)
        passes = (start >= limit) & (blocks.largest[level][inside] <= x)
        passes = passes & (unknown[position] == unknown[inside])
        place = blocks.place[level][inside]
        base = jnp.where(passes & (x[place] < x[base]), place, base)
        position = jnp.where(passes, start, position)
    return base


def _first_not_above(blocks: _Blocks, height: Any, base: Any) -> Any:
    """For each sample, going backwards from it, the first one not above a height, or the base."""
    position = jnp.arange(height.aval.shape[0]) + 1
    for level in reversed(range(len(blocks.least))):
        start = position - 2**level
        passes = (start > base) & (blocks.least[level][jnp.maximum(start, 0)] > height)
        position = jnp.where(passes, start, position)
    return position - 1


def prominences_of(x: Any, window: int | None) -> tuple[Any, tuple[Any, Any]]:
    """The prominence of each sample as a peak, and its bases on the left and on the right."""
    count = x.aval.shape[0]
    place = jnp.arange(count)
    if not count:
        return x, (place, place)
    limit = jnp.zeros_like(place) if window is None else jnp.maximum(place - window // 2, 0)
    numbers = lax.stop_gradient(x)
    left = _lowest_before(numbers, _blocks(numbers), limit)
    mirrored = numbers[::-1]
    right = count - 1 - _lowest_before(mirrored, _blocks(mirrored), limit)[::-1]
    return x - lax.max(x[left], x[right]), (left, right)


def widths_of(x: Any, prominences: Any, bases: tuple[Any, Any], share: float) -> dict[str, Any]:
    """The width of each sample as a peak, the height where it is taken, and where it crosses it."""
    count = x.aval.shape[0]
    height = x - prominences * share
    names = ("widths", "width_heights", "left_ips", "right_ips")
    if not count:
        return dict.fromkeys(names, x)
    left = _crossing(x, height, bases[0])
    right = count - 1 - _crossing(x[::-1], height[::-1], count - 1 - bases[1][::-1])[::-1]
    return dict(zip(names, (right - left, height, left, right), strict=True))


def _crossing(x: Any, height: Any, base: Any) -> Any:
    """Where before each sample the signal, straight between samples, has a height."""
    numbers = lax.stop_gradient(x)
    place = _first_not_above(_blocks(numbers), lax.stop_gradient(height), base)
    low, high = x[place], x[jnp.minimum(place + 1, x.aval.shape[0] - 1)]
    is_below = low < height
    rise = jnp.where(is_below, high - low, 1)
    return place + jnp.where(is_below, (height - low) / rise, 0)
