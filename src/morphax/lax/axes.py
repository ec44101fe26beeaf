"""Axis numbers and shapes as users write them, made canonical: plain integers, none negative.

Each function takes `where`, the function and argument that error text should name.
"""

from __future__ import annotations

from operator import index
from typing import Any

from ..errors import JAXTypeError
from ..util.messages import message


def canonical_axis(where: str, axis: Any, ndim: int) -> int:
    """`axis` counted from the front; `ValueError` if there is no such axis."""
    number = index(axis)
    if not -ndim <= number < ndim:
        raise ValueError(
            message(
                where,
                given=f"axis {number} of an array of rank {ndim}",
                expected=f"an axis in [{-ndim}, {ndim})" if ndim else "no axis: the rank is 0",
                fix="Count axes from 0 at the front, or from -1 at the end.",
            )
        )
    return number + ndim if number < 0 else number


def canonical_axes(where: str, axes: Any, ndim: int) -> tuple[int, ...]:
    """Axes counted from the front; `ValueError` if one is missing or named twice."""
    numbers = tuple([canonical_axis(where, axis, ndim) for axis in axes])
    if len(set(numbers)) != len(numbers):
        raise ValueError(
            message(
                where,
                given=f"axes {tuple(axes)} of an array of rank {ndim}",
                expected="axes that all differ",
                fix="Name each axis once.",
            )
        )
    return numbers


def canonical_shape(where: str, shape: Any) -> tuple[int, ...]:
    """A shape as a tuple of sizes; one integer stands for a shape of rank 1."""
    try:
        sizes = tuple(map(index, shape)) if hasattr(shape, "__len__") else (index(shape),)
    except JAXTypeError:
        raise
    except TypeError:
        raise TypeError(_bad_shape(where, shape)) from None
    if sizes and min(sizes) < 0:
        raise ValueError(_bad_shape(where, shape))
    return sizes


def integers(where: str, values: Any, count: int) -> tuple[int, ...]:
    """`count` integers, one per axis."""
    numbers = tuple(map(index, values))
    if len(numbers) != count:
        raise ValueError(
            message(
                where,
                given=f"{len(numbers)} numbers, {numbers}",
                expected=f"{count}, one per axis of the operand",
                fix="Give one number for each axis.",
            )
        )
    return numbers


def _bad_shape(where: str, shape: Any) -> str:
    return message(
        where,
        given=f"{shape}",
        expected="a non-negative integer per axis, known while tracing",
        fix="Give the sizes as Python integers.",
    )
