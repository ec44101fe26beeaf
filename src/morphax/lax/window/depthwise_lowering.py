"""Depthwise convolution for the CPU: a sum over the places in the kernel.

Each feature is convolved by itself, so for each place in the kernel a slice of the whole array is
multiplied by one number per feature.  XLA fuses these into one pass; its own grouped convolution
takes fifty times as long there.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from ...core.dims import is_static
from ...engines.xla.stablehlo import Builder, Value
from ..ground.narrow import COMPUTED_IN
from .convolution_axes import ConvDimensionNumbers
from .window_geometry import AxisWindow
from .window_slices import padded_value

_MOST_PLACES = 64


def is_depthwise(
    b: Builder, y: Value, windows: Sequence[AxisWindow], rhs_spec: Sequence[int], groups: int
) -> bool:
    """Whether a convolution with so many feature groups is lowered by `lower_depthwise`."""
    outputs, inputs = (y.aval.shape[axis] for axis in rhs_spec[:2])
    sizes = [w.size for w in windows]
    is_small = is_static(sizes) and math.prod(sizes) <= _MOST_PLACES
    on_cpu = b.module.platform == "cpu"
    return on_cpu and inputs == 1 and outputs == groups > 1 and is_small


def lower_depthwise(
    b: Builder,
    out: Any,
    x: Value,
    y: Value,
    windows: Sequence[AxisWindow],
    numbers: ConvDimensionNumbers,
) -> Value:
    """The sum over places of slices times weights.

    Args:
        b: the builder.
        out: aval of the result, which is not empty.
        x: left operand.
        y: right operand, of one input feature.
        windows: along the spatial axes of `x`, in the order of `numbers`.
        numbers: which axis is what.
    """
    wide = COMPUTED_IN.get(out.dtype, out.dtype)
    x, y = b.convert(x, wide), b.convert(y, wide)
    for w in windows:
        x = padded_value(b, x, 0, w)
    total = None
    for place in itertools.product(*[range(w.size) for w in windows]):
        taken = {w.axis: w.places(p) for w, p in zip(windows, place, strict=True)}
        part = _sliced(b, x, taken)
        taken = {axis: (p, p + 1, 1) for axis, p in zip(numbers.rhs_spec[2:], place, strict=True)}
        weight = _sliced(b, y, taken)
        row = weight.aval.update(shape=(weight.aval.size,))
        repeated = b.broadcast(b.reshape(weight, row), part.aval, (numbers.lhs_spec[1],))
        term = b.elementwise("stablehlo.multiply", part.aval, part, repeated)
        total = term if total is None else b.elementwise("stablehlo.add", term.aval, total, term)
    assert total is not None, "a kernel has at least one place"
    lhs_spec, _, out_spec = numbers
    order = [lhs_spec[out_spec.index(axis)] for axis in range(len(out_spec))]
    if order != sorted(order):
        moved = total.aval.update(shape=out.shape)
        total = b.transpose(total, moved, order)
    return b.convert(total, out.dtype)


def _sliced(b: Builder, x: Value, taken: dict[int, tuple[int, int, int]]) -> Value:
    """A slice with start, stop and step along some axes."""
    ranges = [taken.get(axis, (0, n, 1)) for axis, n in enumerate(x.aval.shape)]
    starts, stops, steps = zip(*ranges, strict=True)
    sizes = [-(-(stop - start) // step) for start, stop, step in ranges]
    return b.slice(x, x.aval.update(shape=sizes), starts, stops, steps)
