"""Windows as slices: what each place of all windows holds, and how they are combined.

A window is a product of intervals, so it may be combined along one axis after the other: k + l
steps instead of k·l.  The functions here do that with whole arrays, one strided slice for each
place in the window along an axis; they serve NumPy arrays and values of a program alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ...engines.xla.fusion_cuts import in_memory
from ...engines.xla.stablehlo import Builder, Value
from ..shape.slicing import pad_p
from .window_geometry import AxisWindow

_LONGEST_BY_SLICES = 16
_FEWEST_IN_MEMORY = 1 << 12
_T = TypeVar("_T")
Take = Callable[[_T, int, int, int, int], _T]


def slice_of_array(x: Any, axis: int, start: int, stop: int, step: int) -> Any:
    """A slice of a NumPy array along one axis."""
    return x[(slice(None),) * axis + (slice(start, stop, step),)]


def padded_array(x: Any, value: Any, w: AxisWindow) -> Any:
    """A NumPy array with the gaps of windows along one axis filled."""
    return pad_p.evaluate(x, value, padding_config=w.padding_config(x.ndim))


def slicer(b: Builder) -> Take[Value]:
    """What takes slices of values in the program that `b` writes."""

    def take(x: Value, axis: int, start: int, stop: int, step: int) -> Value:
        is_whole = -(-(stop - start) // step) == x.aval.shape[axis]
        return x if is_whole else b.slice_along(x, axis, start, stop, step)

    return take


def padded_value(b: Builder, x: Value, value: Any, w: AxisWindow) -> Value:
    """A value of a program with the gaps of windows along one axis filled."""
    config = w.padding_config(x.aval.ndim)
    if config[w.axis] == (0, 0, 0):
        return x
    sizes = list(x.aval.shape)
    sizes[w.axis] = w.padded_length
    gap = b.constant(value, x.aval.update(shape=()))
    return b.pad(x, x.aval.update(shape=tuple(sizes)), gap, config)


def _has_gaps_around(w: AxisWindow) -> bool:
    """Whether there are gaps at the ends, and nowhere else."""
    return w.base_dilation == 1 and w.low >= 0 and w.high >= 0 and w.low + w.high > 0


def padded_in_memory(b: Builder, x: Value, value: Any, w: AxisWindow) -> Value:
    """A value with the gaps filled, from where windows along one axis are read.

    Of a padding that it does not keep, XLA asks for each place of a window anew whether an element
    is a gap, and along the next axis computes all of these windows for each of its places.
    """
    is_one_cpu = b.module.platform == "cpu" and b.module.num_devices == 1
    is_kept = is_one_cpu and b.module.cuts_fusions and x.aval.dtype != np.bool_
    is_large = x.aval.is_static and x.aval.size >= _FEWEST_IN_MEMORY
    if not (is_kept and is_large and _has_gaps_around(w)):
        return padded_value(b, x, value, w)

    def along(length: int) -> Any:
        sizes = [length if i == w.axis else n for i, n in enumerate(x.aval.shape)]
        return x.aval.update(shape=tuple(sizes))

    low, high = [[b.full(value, along(n))] if n else [] for n in (w.low, w.high)]
    axis = f"{w.axis} : i64"
    out = along(w.padded_length)
    return in_memory(b, b.op("stablehlo.concatenate", out, *low, x, *high, dimension=axis))


def combined_windows(x: _T, w: AxisWindow, take: Take[_T], combine: Callable[[_T, _T], _T]) -> _T:
    """The elements of windows along one axis, combined.

    Args:
        x: array or value, with explicit gaps.
        w: the windows; there is at least one.
        take: ``take(x, axis, start, stop, step)``, a slice.
        combine: the operation, element by element.
    """
    if w.size > _LONGEST_BY_SLICES:
        return take(_combined_by_doubling(x, w, take, combine), w.axis, *w.places(0))
    out = take(x, w.axis, *w.places(0))
    for position in range(1, w.size):
        out = combine(out, take(x, w.axis, *w.places(position)))
    return out


def _combined_by_doubling(
    x: _T, w: AxisWindow, take: Take[_T], combine: Callable[[_T, _T], _T]
) -> _T:
    """The windows that start at every element, combined in about 2 log₂ k steps.

    Blocks of 1, 2, 4, … places are combined everywhere; those of the binary digits of the size,
    put one behind the other, make a window.
    """
    block, width, covered, joined = x, 1, 0, None
    starts = w.padded_length - (w.size - 1) * w.dilation
    while covered < w.size:
        if w.size & width:
            first = covered * w.dilation
            piece = take(block, w.axis, first, first + starts, 1)
            joined = piece if joined is None else combine(joined, piece)
            covered += width
        if covered < w.size:
            shift = width * w.dilation
            length = w.padded_length - (2 * width - 1) * w.dilation
            block = combine(
                take(block, w.axis, 0, length, 1), take(block, w.axis, shift, shift + length, 1)
            )
        width *= 2
    assert joined is not None, "a window has at least one place"
    return joined
