"""How gather and scatter address an array: dimension numbers, modes and what they require.

Both move *windows*, blocks of an array of one fixed size.  An array of indices holds, along its
last axis, where one window starts; its other axes number the windows.  For gather the windows of
the operand become the result; for scatter the windows of `updates` go into the operand.  The two
kinds of dimension numbers are the same five facts under two sets of names:

1. which axes of the result (of the updates) are axes of a window, in order;
2. which axes of the operand have size 1 in a window and are left out of it;
3. which axis of the operand each component of an index addresses;
4. which axes of the operand are batch axes: window number b lies at place b of them;
5. which axes of the indices these correspond to.

Reference: the StableHLO specification, operations gather and scatter.
"""

from __future__ import annotations

import enum
from collections.abc import Hashable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ... import dtypes
from ...core.dims import min_dim
from ...util.memo import memoize
from ...util.messages import described, message
from .axes import integer_tuple

Axes = tuple[int, ...]


class GatherScatterMode(enum.Enum):
    """What happens to a window that does not lie in the array.

    ``CLIP`` moves it to the nearest place inside.  ``FILL_OR_DROP`` makes it a window of the fill
    value (gather) or ignores it (scatter).  ``PROMISE_IN_BOUNDS`` says that there is none; if that
    is wrong, gather clips, scatter drops, and derivatives are wrong.  ``ONE_HOT`` is a way in which
    jnp indexes without gather.

    Example:
        >>> import morphax as jax
        >>> jax.lax.GatherScatterMode.from_any("clip")
        <GatherScatterMode.CLIP: 1>
    """

    CLIP = 1
    FILL_OR_DROP = 2
    PROMISE_IN_BOUNDS = 3
    ONE_HOT = 4

    @staticmethod
    def from_any(s: object) -> GatherScatterMode:
        """The mode of a name, such as ``"clip"``; `None` is ``FILL_OR_DROP``."""
        if isinstance(s, GatherScatterMode):
            return s
        mode = _MODES.get(s) if isinstance(s, Hashable) else None
        if mode is None:
            raise ValueError(
                message(
                    "argument mode",
                    given=f"{s!r}",
                    expected=f"one of {', '.join(map(repr, _MODES))} or a GatherScatterMode",
                    fix="Choose what happens to indices outside the array.",
                )
            )
        return mode


_MODES: dict[Hashable, GatherScatterMode] = {
    "clip": GatherScatterMode.CLIP,
    "fill": GatherScatterMode.FILL_OR_DROP,
    "drop": GatherScatterMode.FILL_OR_DROP,
    "promise_in_bounds": GatherScatterMode.PROMISE_IN_BOUNDS,
    "one_hot": GatherScatterMode.ONE_HOT,
    None: GatherScatterMode.FILL_OR_DROP,
}


class GatherDimensionNumbers(NamedTuple):
    """Which axis is what in a gather.

    Args:
        offset_dims: axes of the result that are axes of a window, increasing.
        collapsed_slice_dims: axes of the operand of size 1 in a window that the result lacks.
        start_index_map: the axis of the operand that each component of an index addresses.
        operand_batching_dims: batch axes of the operand.
        start_indices_batching_dims: the axes of the indices that they correspond to.

    Example:
        >>> import morphax as jax
        >>> rows = jax.lax.GatherDimensionNumbers(
        ...     offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,)
        ... )
    """

    offset_dims: Axes
    collapsed_slice_dims: Axes
    start_index_map: Axes
    operand_batching_dims: Axes = ()
    start_indices_batching_dims: Axes = ()


class ScatterDimensionNumbers(NamedTuple):
    """Which axis is what in a scatter.

    Args:
        update_window_dims: axes of the updates that are axes of a window, increasing.
        inserted_window_dims: axes of the operand of size 1 in a window that the updates lack.
        scatter_dims_to_operand_dims: the axis of the operand that each component of an index
            addresses.
        operand_batching_dims: batch axes of the operand.
        scatter_indices_batching_dims: the axes of the indices that they correspond to.

    Example:
        >>> import morphax as jax
        >>> rows = jax.lax.ScatterDimensionNumbers(
        ...     update_window_dims=(1,),
        ...     inserted_window_dims=(0,),
        ...     scatter_dims_to_operand_dims=(0,),
        ... )
    """

    update_window_dims: Axes
    inserted_window_dims: Axes
    scatter_dims_to_operand_dims: Axes
    operand_batching_dims: Axes = ()
    scatter_indices_batching_dims: Axes = ()


DimensionNumbers = GatherDimensionNumbers | ScatterDimensionNumbers


@memoize
def elements_along(axis: int, ndim: int) -> GatherDimensionNumbers:
    """The numbers of a gather of elements along one axis, whose indices have all other axes too."""
    others = tuple([i for i in range(ndim) if i != axis])
    return GatherDimensionNumbers(
        offset_dims=(),
        collapsed_slice_dims=(axis,),
        start_index_map=(axis,),
        operand_batching_dims=others,
        start_indices_batching_dims=others,
    )


def as_tuples(numbers: Any, kind: Any) -> Any:
    """Dimension numbers with plain tuples of integers, which can be hashed."""
    if isinstance(numbers, kind):
        where = f"dimension_numbers, {kind.__name__}"
        return kind(*[integer_tuple(where, axes) for axes in numbers])
    raise TypeError(
        message(
            "lax.gather or lax.scatter, argument dimension_numbers",
            given=described(numbers),
            expected=f"a {kind.__name__}",
            fix=f"Make one with lax.{kind.__name__}(...).",
        )
    )


def interleaved(window_axes: Axes, window: Sequence[Any], batch: Sequence[Any]) -> tuple[Any, ...]:
    """A shape with the sizes `window` at the axes `window_axes` and `batch` at the others."""
    windows, batches = iter(window), iter(batch)
    ndim = len(window_axes) + len(batch)
    return tuple([next(windows) if i in window_axes else next(batches) for i in range(ndim)])


def window_shape(numbers: DimensionNumbers, slice_sizes: Sequence[int]) -> Axes:
    """The sizes of a window's axes, without those of the operand that it lacks."""
    _, collapsed, _, batching, _ = numbers
    return tuple([n for i, n in enumerate(slice_sizes) if i not in collapsed + batching])


def slice_sizes_of_updates(
    shape: Sequence[int], updates_shape: Sequence[int], numbers: DimensionNumbers
) -> Axes:
    """The size of a window along each axis of the operand, from the shape of the updates.

    Along axes that the updates lack it is 1, or 0 where the operand is empty: nothing is written.
    """
    window_axes, inserted, _, batching, _ = numbers
    sizes = iter([updates_shape[d] for d in window_axes])
    return tuple(
        [min_dim(1, n) if i in inserted + batching else next(sizes) for i, n in enumerate(shape)]
    )


def check_update_window(where: str, x: Any, updates: Any, numbers: DimensionNumbers) -> None:
    """Raise `ValueError` unless the updates have the axes of a window."""
    window_axes, inserted, _, batching, _ = numbers
    kept = x.ndim - len({*inserted, *batching})
    if len(window_axes) != kept or not all([0 <= d < updates.ndim for d in window_axes]):
        expected = f"{kept} axes of the updates, one for each axis of the operand in a window"
        raise ValueError(_refusal(where, "update_window_dims", x, updates, numbers, expected))


def check_indices(where: str, indices: Any) -> None:
    """Raise unless `indices` are integers with an axis for the components of an index."""
    if not dtypes.issubdtype(indices.dtype, np.integer) or not indices.ndim:
        error = TypeError if indices.ndim else ValueError
        raise error(
            message(
                where,
                given=indices.str_short(short_dtypes=False),
                expected="integers, with the components of an index along the last axis",
                fix="Convert to an integer dtype, and add an axis of size 1 for single numbers.",
            )
        )


def check_windows(
    where: str, x: Any, indices: Any, numbers: DimensionNumbers, slice_sizes: Sequence[int]
) -> None:
    """Raise `ValueError` unless the dimension numbers fit the operand, indices and window."""
    for field, valid, expected in _requirements(x.shape, indices.shape, numbers, slice_sizes):
        if not valid:
            raise ValueError(_refusal(where, field, x, indices, numbers, expected))


def _requirements(
    shape: Axes, indices_shape: Axes, numbers: DimensionNumbers, sizes: Sequence[int]
) -> Iterator[tuple[str, bool, str]]:
    """Field, whether it is right, and what is right; a later line may rely on the earlier ones."""
    window_axes, collapsed, index_map, batching, indices_batching = numbers
    first, second, third, fourth, fifth = numbers._fields
    ndim, (*batch, components) = len(shape), indices_shape
    kept = ndim - len(collapsed) - len(batching)
    yield "slice_sizes", len(sizes) == ndim, f"{ndim} sizes, one per axis of the operand"
    fits = all([0 <= size <= n for size, n in zip(sizes, shape, strict=True)])
    yield "slice_sizes", fits, f"a window no larger than the operand; it is {tuple(sizes)}"
    yield first, _are_axes(window_axes, len(batch) + len(window_axes)), _INCREASING
    yield second, _are_axes(collapsed, ndim), _INCREASING
    least = 0 if type(numbers) is ScatterDimensionNumbers else 1
    single = all([least <= sizes[d] <= 1 for d in collapsed])
    yield second, single, "axes of size 1 in a window"
    yield fourth, _are_axes(batching, ndim), _INCREASING
    yield fourth, all([sizes[d] <= 1 for d in batching]), "axes of size 1 in a window"
    yield fourth, not set(batching) & set(collapsed), f"axes not among {second}"
    yield first, len(window_axes) == kept, f"{kept} axes, one for each that a window keeps"
    yield third, _are_axes(sorted(index_map), ndim), "different axes of the operand"
    yield third, len(index_map) == components, f"{components} axes, one per index component"
    yield third, not set(index_map) & set(batching), f"axes not among {fourth}"
    yield fifth, _are_axes(sorted(indices_batching), len(batch)), "different axes of the indices"
    same = [shape[d] for d in batching] == [batch[d] for d in indices_batching]
    yield fifth, same, "axes of the same sizes as the operand's batch axes"


_INCREASING = "existing axes in increasing order"


def _are_axes(axes: Sequence[int], ndim: int) -> bool:
    increasing = all([a < b for a, b in pairwise(axes)])
    return increasing and (not axes or (axes[0] >= 0 and axes[-1] < ndim))


def _refusal(where: str, field: str, x: Any, other: Any, numbers: Any, expected: str) -> str:
    return message(
        f"{where}, {field}",
        given=f"{x.str_short()}, {other.str_short()} and {numbers}",
        expected=expected,
        fix="Correct the dimension numbers or the shapes; jnp indexing makes them for you.",
    )
