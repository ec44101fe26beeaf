"""Windows that slide over an array: a view with two axes for each, so nothing is copied for them.

Element (p, k) along an axis is element ``p · stride + k · dilation`` of the padded array.  Over
such views a convolution is a contraction, and the reduction of windows a reduction.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, final

from .builder import Builder
from .contraction import as_wanted, contracted_into, place_of_sums
from .joining import Placement, padded_into
from .program import ORIGIN, Index, Operand
from .values import Place, Value

Combine = Callable[[Sequence[Operand], Sequence[Operand]], Sequence[Operand]]


@final
class Sliding(NamedTuple):
    """The windows along one axis.

    Args:
        windows: how many.
        size: places of a window.
        stride, dilation: the distance of windows, and of places in a window.
        padding: which elements are kept, where they go, and the size with padding.
    """

    windows: int
    size: int
    stride: int
    dilation: int
    padding: Placement

    @property
    def is_padded(self) -> bool:
        """Whether the padded array is not the array."""
        taken, there, size = self.padding
        return (taken.start, there.start, taken.stop) != (0, 0, size)


def windows_of(b: Builder, x: Value, filler: Operand, axes: Sequence[Sliding]) -> Value:
    """The elements of all windows: (windows along each axis, places along each axis)."""
    whole = x
    if any([axis.is_padded for axis in axes]):
        shape = tuple([axis.padding[2] for axis in axes])
        place = Place.whole(b.writer.buffer("padded", shape, x.dtype))
        padded_into(b, place, x, filler, [axis.padding for axis in axes])
        whole = b.placed(shape, place)
    rank = len(axes)
    steps = [(0, [(i, a.stride), (rank + i, a.dilation)]) for i, a in enumerate(axes)]
    sizes = (*[a.windows for a in axes], *[a.size for a in axes])
    return b.view(b.settled(whole), sizes, steps)


def computed_reduction(
    b: Builder,
    outs: Sequence[Any],
    operands: Sequence[Value],
    starts: Sequence[Value],
    axes: Sequence[int],
    combine: Combine,
    present: Value | None = None,
) -> list[Value]:
    """Elements along axes of several arrays combined by any program, from the first to the last.

    Those that are not `present`, a boolean array of their shape, are left out.
    """
    shape = operands[0].shape
    kept = [i for i in range(len(shape)) if i not in axes]
    first = [b.fusion.scalar(x) for x in starts]
    if 0 in shape:
        return [b.uniform(out.shape, x) for out, x in zip(outs, first, strict=True)]
    w = b.writer
    cells = [w.buffer("state", (), x.dtype) for x in operands]
    places = [b.new(out, number) for number, out in enumerate(outs)]

    def put(values: Sequence[Operand]) -> None:
        for cell, value in zip(cells, values, strict=True):
            w.store(cell, ORIGIN, value)

    def row(*outer: Index) -> None:
        known = dict(zip(kept, outer, strict=True))

        def step(*inner: Index) -> None:
            at = known | dict(zip(axes, inner, strict=True))
            indices = tuple([at[i] for i in range(len(shape))])
            terms = [b.fusion.read(x, indices) for x in operands]
            before = [w.load(cell) for cell in cells]
            after = combine(before, terms)
            if present is not None:
                is_there = b.fusion.read(present, indices)
                pairs = zip(after, before, strict=True)
                after = [w.select(is_there, new, old) for new, old in pairs]
            put(after)

        put(first)
        b.fusion.nest([shape[i] for i in axes], step)
        for place, cell in zip(places, cells, strict=True):
            w.store(place.buffer, place.at(outer), w.load(cell))

    b.fusion.nest([shape[i] for i in kept], row, is_independent=True)
    return [b.placed(out.shape, place) for out, place in zip(outs, places, strict=True)]


def by_program(b: Builder, jaxpr: Any) -> Combine:
    """A program of scalars as a function of two lists of them."""

    def combine(left: Sequence[Operand], right: Sequence[Operand]) -> Sequence[Operand]:
        values = [b.uniform((), x) for x in (*left, *right)]
        return [b.fusion.scalar(x) for x in b.inline(jaxpr, *values)]

    return combine


def convolved(
    b: Builder,
    out: Any,
    x: Value,
    y: Value,
    axes: Sequence[Sliding],
    specs: Sequence[Sequence[int]],
    groups: tuple[int, int],
) -> Value:
    """Sums of products over windows and input features.

    Args:
        b: the builder.
        out: aval of the result.
        x, y: the array and the kernel.
        axes: the windows along the spatial axes.
        specs: for `x`, `y` and the result, where batch and features (features of the result and of
            the array), and then the spatial axes are.
        groups: of the batch, and of features.
    """
    place, count = place_of_sums(b, out, x, y), len(axes)
    zero = b.writer.number(0, x.dtype)
    if not math.prod(out.shape) or not x.size or not y.size:
        return b.uniform(out.shape, b.writer.number(0, b.dtype_of(out)))
    (of_x, of_y, of_out), (batch_groups, feature_groups) = specs, groups
    # What is computed here lies in memory as its axes do, features last mostly: so are vectors.
    y = b.settled(y)
    if not any([axis.is_padded for axis in axes]):
        x = b.settled(x)
    x, y = _arranged(b, x, of_x), _arranged(b, y, of_y)
    batch, features = x.shape[0] // batch_groups, x.shape[1] // feature_groups
    outputs = y.shape[0] // (batch_groups * feature_groups)
    still = [Sliding(n, 1, 1, 1, (slice(0, n), slice(0, n), n)) for n in x.shape[:2]]
    windows = windows_of(b, x, zero, [*still, *axes])
    # (batch groups, feature groups, batch, windows, features, places)
    counts, sizes = [a.windows for a in axes], [a.size for a in axes]
    shape = (batch_groups, feature_groups, batch, *counts, features, *sizes)
    spatial = [(0, [(3 + i, 1)]) for i in range(count)]
    inside = [(0, [(4 + count + i, 1)]) for i in range(count)]
    n, c = (0, [(0, batch), (2, 1)]), (0, [(1, features), (3 + count, 1)])
    patches = b.view(windows, shape, [n, c, *spatial, (0, []), (0, []), *inside])
    o = (0, [(0, feature_groups * outputs), (1, outputs), (2, 1)])
    kernel_shape = (batch_groups, feature_groups, outputs, *y.shape[1:])
    rest = [(0, [(3 + i, 1)]) for i in range(count + 1)]
    kernel = b.view(b.settled(y), kernel_shape, [o, *rest])
    by_batch, by_output, *by_place = [place.strides[i] for i in of_out]
    strides = (feature_groups * outputs * by_output, outputs * by_output, by_batch)
    target = Place(place.buffer, (*strides, *by_place, by_output), place.offset)
    summed = range(3 + count, 4 + 2 * count), range(3, 4 + count)
    contracted_into(b, target, patches, kernel, summed, ((0, 1), (0, 1)))
    return as_wanted(b, out, b.placed(out.shape, place))


def _arranged(b: Builder, x: Value, spec: Sequence[int]) -> Value:
    """The array with its axes in the order of a specification."""
    order = {axis: position for position, axis in enumerate(spec)}
    shape = tuple([x.shape[axis] for axis in spec])
    return b.view(x, shape, [(0, [(order[axis], 1)]) for axis in range(x.ndim)])
