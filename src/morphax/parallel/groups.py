"""Groups of members: collectives that stay within parts of a mapped axis.

``axis_index_groups=[[0, 2], [1, 3]]`` parts four members in two groups of two.  A collective over
groups is the same collective over an axis of the group's size, mapped over groups.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from ..core import BatchAxes, aval_of
from ..lax.ground.axes import integer
from ..lax.ground.dimension_numbers import GatherDimensionNumbers
from ..lax.ground.linear_structure import batched_first
from ..lax.indexing.gather import gather
from ..lax.shape.shape_operations import reshape
from ..transforms.vmap import vmap
from ..util.messages import described, message
from .axis_names import joint_size, named_axes

Groups = tuple[tuple[int, ...], ...] | None


def canonical_groups(where: str, groups: Any, size: int) -> Groups:
    """Groups as tuples; they must part all `size` members into groups of one size."""
    if groups is None:
        return None
    place = f"{where}, argument axis_index_groups"
    are_lists = isinstance(groups, Sequence) and all([isinstance(g, Sequence) for g in groups])
    if not are_lists and not isinstance(groups, np.ndarray):
        raise TypeError(
            message(
                place,
                given=described(groups),
                expected="a list of lists of positions",
                fix="Write [[0, 1], [2, 3]] for two groups of four members.",
            )
        )
    parsed = tuple([tuple([integer(place, i) for i in group]) for group in groups])
    if sorted(chain.from_iterable(parsed)) != list(range(size)) or len({*map(len, parsed)}) != 1:
        raise ValueError(
            message(
                place,
                given=f"{groups!r} for an axis of size {size}",
                expected=f"groups of one size that hold each of the members 0 … {size - 1} once",
                fix="List every member in exactly one group, as in [[0, 1], [2, 3]] for four.",
            )
        )
    return parsed


def group_size(groups: Groups, size: int) -> int:
    """How many members communicate with each other."""
    return size if groups is None else len(groups[0])


def communicating(where: str, axis_name: Any, groups: Any) -> tuple[tuple[Any, ...], Groups, int]:
    """The names of the axes, the groups, and how many members communicate with each other."""
    names = named_axes(where, axis_name)
    size = joint_size(names)
    parsed = canonical_groups(where, groups, size)
    return names, parsed, group_size(parsed, size)


def by_groups(
    program: Callable[[Any], Any], batch: BatchAxes, x: Any, dim: int | None, groups: Any
) -> Any:
    """Run `program`, which communicates over ``batch.name``, in each group.

    Args:
        program: for one member.
        batch: the mapped axis that `groups` parts.
        x: batch with its axis at `dim`.
        groups: positions of members.

    Returns:
        The results of all members, along axis 0.
    """
    order = np.array(groups)
    together = rows(batched_first(batch, x, dim), order.ravel())
    parted = reshape(together, (*order.shape, *together.aval.shape[1:]))
    results = vmap(vmap(program, axis_name=batch.name))(parted)
    together = reshape(results, (batch.size, *results.aval.shape[2:]))
    return rows(together, np.argsort(order.ravel()))


def rows(x: Any, order: Any) -> Any:
    """Members ``x[order[0]], x[order[1]], …``, each zeros where the position is the size of `x`."""
    shape = aval_of(x).shape
    if np.array_equal(order, np.arange(shape[0])):
        return x
    within = bool((np.asarray(order) < shape[0]).all())
    return gather(
        x,
        np.asarray(order, np.int32)[:, None],
        GatherDimensionNumbers(tuple(range(1, len(shape))), (0,), (0,)),
        (1, *shape[1:]),
        unique_indices=within and len(set(order)) == len(order),
        mode="promise_in_bounds" if within else "fill",
        fill_value=None if within else 0,
    )
