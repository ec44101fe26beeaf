"""Axes of the operand of which each member sends or gets a part."""

from __future__ import annotations

from typing import Any

from ..core import aval_of
from ..lax.shape.shape_operations import reshape
from ..util.messages import message


def part_size(
    where: str, shape: tuple[int, ...], axis: int, parts: int, *, exactly_one: bool = False
) -> int:
    """The size of each of as many equal parts of an axis; one, if so demanded."""
    size = shape[axis]
    fits = size == parts if exactly_one or not parts else size % parts == 0
    if not fits:
        raise ValueError(
            message(
                where,
                given=f"axis {axis} of size {size}, in an operand of shape {shape}",
                expected=f"size {parts}, for one element to each of the members that communicate"
                if exactly_one
                else f"a multiple of {parts}, the number of members that communicate",
                fix="Pass tiled=True to send several consecutive elements to each member."
                if exactly_one
                else "Pad the axis, or choose another one.",
            )
        )
    return size // parts if parts else 1


def in_parts(x: Any, axis: int, parts: int) -> Any:
    """`x` with one axis parted in two: number of the part, place in it."""
    shape = aval_of(x).shape
    part = part_size("parts", shape, axis, parts)
    return reshape(x, (*shape[:axis], parts, part, *shape[axis + 1 :]))
