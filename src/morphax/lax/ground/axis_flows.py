"""Which axes go together in the families that rearrange or look up: see `core.axis_flow`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...core import AbstractSharding, AxisFlow
from ...core.abstract_sharding import Split
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
    for befores, afters in _runs(old_sizes, new_sizes):
        operand[order[befores[0]]] = result[afters[0]] = befores[0]
    return AxisFlow((tuple(operand),), (tuple(result),))


def merged_splits(x: Any, new_sizes: Shape, dimensions: Shape | None) -> AbstractSharding | None:
    """How a reshaped array is split if several axes of a mesh split what is merged or cut.

    Axes that are merged to one are split over the axes of the mesh of all, if those that are split
    come first: ``[8@x,8@y,4]`` becomes ``[256@(x,y)]``.  An axis that is cut in pieces gives the
    major piece as many of its axes of the mesh as there are elements for, the next one those that
    follow.  `None` if that leads to nothing, or is no more than that the major axis goes along.
    """
    if x.split is None or not all([isinstance(n, int) for n in (*x.shape, *new_sizes)]):
        return None
    order = tuple(range(x.ndim)) if dimensions is None else dimensions
    spec = [x.split.spec[i] for i in order]
    mesh, found = x.split.mesh, dict[int, Split]()
    old_sizes = tuple([x.shape[i] for i in order])
    for befores, afters in _runs(old_sizes, new_sizes):
        names = [name for i in befores for name in spec[i]]
        last = max([k for k, i in enumerate(befores) if spec[i]], default=0)
        leading = befores[:last]
        # Where each device has one place along the axes before, nothing has to move.
        moves = any([mesh.parts(spec[i]) != old_sizes[i] for i in leading])
        if not all([spec[i] for i in leading]) or (moves and len(afters) > 1):
            return None
        for axis in afters:
            count = 0
            while count < len(names) and mesh.parts(names[:count]) < new_sizes[axis]:
                count += 1
            found[axis], names = tuple(names[:count]), names[count:]
            if new_sizes[axis] % mesh.parts(found[axis]):
                return None
        if names:
            return None
    left_out = [split for i, split in enumerate(spec) if split and old_sizes[i] == 1]
    if left_out or 0 in old_sizes:
        return None
    return AbstractSharding(mesh, tuple([found.get(i, ()) for i in range(len(new_sizes))]))


def _runs(old: Shape, new: Shape) -> Iterator[tuple[list[int], list[int]]]:
    """The shortest runs of axes, old and new, that have equally many elements."""
    if 0 in old:
        return
    befores = [i for i, n in enumerate(old) if n != 1]
    afters = [i for i, n in enumerate(new) if n != 1]
    while befores:
        before, after = [befores.pop(0)], [afters.pop(0)]
        run, other = old[before[0]], new[after[0]]
        while run != other:
            if run < other:
                before.append(befores.pop(0))
                run *= old[before[-1]]
            else:
                after.append(afters.pop(0))
                other *= new[after[-1]]
        yield before, after


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
