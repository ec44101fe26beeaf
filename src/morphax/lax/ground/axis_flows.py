"""Which axes go together in the families that rearrange or look up: see `core.axis_flow`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...core import AxisFlow
from ...core.axis_flow import Labels
from .dimension_numbers import DimensionNumbers, interleaved

Shape = tuple[int, ...]


def contracted_axes(x: Any, y: Any, dimension_numbers: Any) -> AxisFlow:
    """Batch axes, then what is free on the left, then on the right; the rest is summed."""
    (lhs, rhs), (lhs_batch, rhs_batch) = dimension_numbers
    left = list(range(x.ndim))
    right = list(range(x.ndim, x.ndim + y.ndim))
    for i, j in zip((*lhs, *lhs_batch), (*rhs, *rhs_batch), strict=True):
        right[j] = left[i]
    used = {*lhs, *lhs_batch}
    free = [*[left[i] for i in lhs_batch], *[i for i in left if i not in used]]
    rest = [label for label in right if label >= x.ndim]
    return AxisFlow((tuple(left), tuple(right)), ((*free, *rest),), contracts=True)


def reshaped_axes(x: Any, new_sizes: Shape, dimensions: Shape | None) -> AxisFlow:
    """Of axes that are merged or cut in pieces, the major one goes along."""
    order = tuple(range(x.ndim)) if dimensions is None else dimensions
    old_sizes = tuple([x.shape[i] for i in order])
    operand: list[int | None] = [None] * x.ndim
    result: list[int | None] = [None] * len(new_sizes)
    for before, after in _major_axes(old_sizes, new_sizes):
        operand[order[before]] = result[after] = before
    return AxisFlow((tuple(operand),), (tuple(result),))


def _major_axes(old: Shape, new: Shape) -> Iterator[tuple[int, int]]:
    """The first axes of the shortest runs of axes, old and new, that have equally many elements."""
    if 0 in old:
        return
    befores = [i for i, n in enumerate(old) if n != 1]
    afters = [i for i, n in enumerate(new) if n != 1]
    while befores:
        before, after = befores.pop(0), afters.pop(0)
        yield before, after
        run, other = old[before], new[after]
        while run != other:
            if run < other:
                run *= old[befores.pop(0)]
            else:
                other *= new[afters.pop(0)]


def gathered_axes(
    x: Any, indices: Any, numbers: DimensionNumbers, slice_sizes: Sequence[int]
) -> AxisFlow:
    """What windows contain whole goes along, and so do the batch axes of the indices."""
    operand, places, windows = _looked_up(x, indices, numbers, slice_sizes)
    return AxisFlow((operand, places), (windows,))


def scattered_axes(
    x: Any, indices: Any, numbers: DimensionNumbers, slice_sizes: Sequence[int]
) -> AxisFlow:
    """As in a gather; the batch axes of indices and updates are summed."""
    operand, places, windows = _looked_up(x, indices, numbers, slice_sizes)
    return AxisFlow((operand, places, windows), (operand,))


def _looked_up(
    x: Any, indices: Any, numbers: DimensionNumbers, slice_sizes: Sequence[int]
) -> tuple[Labels, Labels, Labels]:
    """Labels of the operand, of the indices, and of the windows that they name."""
    window_axes, collapsed, _, batching, indices_batching = numbers
    whole = [size == n for size, n in zip(slice_sizes, x.shape, strict=True)]
    operand = [i if kept and i not in collapsed else None for i, kept in enumerate(whole)]
    window = [operand[i] for i in range(x.ndim) if i not in (*collapsed, *batching)]
    places: list[int | None] = list(range(x.ndim, x.ndim + indices.ndim - 1))
    for i, j in zip(batching, indices_batching, strict=True):
        operand[i] = places[j]
    return tuple(operand), (*places, None), interleaved(window_axes, window, places)
