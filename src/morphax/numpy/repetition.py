"""Arrays that are repeated to one shape, and how they are split over a mesh then.

An axis of size 1 is whole.  Repeated, it may be split as the axis of another array is, for each
device can repeat its part by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

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
    return [_split_as_others(x, shape, typed) for x, shape in zip(arrays, shapes, strict=True)]


def _split_as_others(x: Any, shape: Sequence[Any], typed: set[Any]) -> Any:
    """An array that had this shape before, split as one of `typed` where it was repeated."""
    split = x.aval.split
    if split is None:
        return x
    used = {name for names in split.spec for name in names}
    spec = list(split.spec)
    for axis, (old, new) in enumerate(zip(shape, x.aval.shape, strict=True)):
        others = {other.spec[axis] for other in typed} - {()}
        if old != new and len(others) == 1 and used.isdisjoint(names := others.pop()):
            spec[axis] = names
            used.update(names)
    return resharded(x, replace(split, spec=tuple(spec)))
