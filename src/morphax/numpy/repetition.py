"""Arrays that are repeated to one shape, and how they are split over a mesh then.

An axis of size 1 is whole.  Repeated, it may be split as the axis of another array is, for each
device can repeat its part by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..core import aval_of
from ..lax.shape.resharding import resharded


def repeated_alike(arrays: Sequence[Any], before: Sequence[Any]) -> list[Any]:
    """Arrays of one shape, split along axes where they were repeated as the others are.

    Args:
        arrays: of one shape.
        before: the avals that they had before they were repeated.
    """
    typed = {a.aval.split for a in arrays} - {None}
    if len(typed) < 2:
        return list(arrays)
    ndim = arrays[0].aval.ndim
    shapes = [(1,) * (ndim - aval.ndim) + aval.shape for aval in before]
    return [
        _split_as_others(
            x, [old != new for old, new in zip(shape, x.aval.shape, strict=True)], typed
        )
        for x, shape in zip(arrays, shapes, strict=True)
    ]


def split_alike(arrays: Sequence[Any]) -> list[Any]:
    """Arrays of one shape, and numbers, split along axes where they are whole as the others are."""
    avals = [aval_of(x) for x in arrays]
    typed = {aval.split for aval in avals if aval.ndim} - {None}
    if len(typed) < 2:
        return list(arrays)
    each = zip(arrays, avals, strict=True)
    return [_split_as_others(x, [True] * aval.ndim, typed) if aval.ndim else x for x, aval in each]


def _split_as_others(x: Any, may_change: Sequence[bool], typed: set[Any]) -> Any:
    """An array that is split as one of `typed` along axes where it is whole, if it may be."""
    split = aval_of(x).split
    if split is None:
        return x
    used = {name for names in split.spec for name in names}
    spec = list(split.spec)
    for axis, may in enumerate(may_change):
        others = {other.spec[axis] for other in typed} - {()}
        if may and not spec[axis] and len(others) == 1 and used.isdisjoint(names := others.pop()):
            spec[axis] = names
            used.update(names)
    return resharded(x, replace(split, spec=tuple(spec)))
