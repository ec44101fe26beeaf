"""Which elements of an array the elements of a view of it are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .values import Shape


def viewed_strides(
    strides: Sequence[int], axes: Sequence[tuple[Any, Sequence[tuple[int, int]]]], ndim: int
) -> tuple[int, ...]:
    """The strides of a view, see `Builder.view`, of an array with these strides."""
    found = [0] * ndim
    for stride, (_, terms) in zip(strides, axes, strict=True):
        for axis, factor in terms:
            found[axis] += factor * stride
    return tuple(found)


def split_axes(old: Shape, new: Shape) -> list[tuple[int, list[tuple[int, int]]]] | None:
    """How a reshaped array reads the axes of the old one; `None` if some of them join."""
    targets = [(i, n) for i, n in enumerate(new) if n != 1]
    axes: list[tuple[int, list[tuple[int, int]]]] = []
    position = len(targets)
    for size in reversed(old):
        terms: list[tuple[int, int]] = []
        factor = 1
        while factor < size and position:
            position -= 1
            axis, n = targets[position]
            terms.append((axis, factor))
            factor *= n
        if factor != size:
            return None
        axes.append((0, terms))
    return axes[::-1]
