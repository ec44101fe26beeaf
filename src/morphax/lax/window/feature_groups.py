"""Axes that are part of the features of a convolution in groups, for a while."""

from __future__ import annotations

from typing import Any

from ...core import aval_of
from ..ground.linear_structure import moved_axis
from ..shape.shape_operations import reshape


def merged_into(x: Any, source: int, axis: int, groups: int) -> Any:
    """The axis `source` made part of another one.

    With `axis` counted without `source`, of size groups · n, the result has groups · m · n in its
    place, where m is the size of `source`.
    """
    x = moved_axis(x, source, 0)
    m, *shape = aval_of(x).shape
    split = reshape(x, (m, *shape[:axis], groups, shape[axis] // groups, *shape[axis + 1 :]))
    moved = moved_axis(split, 0, axis + 1)
    return reshape(moved, (*shape[:axis], m * shape[axis], *shape[axis + 1 :]))


def split_off(x: Any, axis: int, groups: int, m: int) -> Any:
    """An axis of size m in front, taken out of `axis`: the inverse of `merged_into`."""
    shape = aval_of(x).shape
    size = shape[axis] // m
    parts = (groups, m, size // groups)
    split = reshape(x, (*shape[:axis], *parts, *shape[axis + 1 :]))
    return reshape(moved_axis(split, axis + 1, 0), (m, *shape[:axis], size, *shape[axis + 1 :]))
