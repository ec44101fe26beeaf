"""Dimension numbers of products, checked: what `lax.dot_general` wants of its operands."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

from .... import dtypes
from ....core import Operand, aval_of
from ....util.messages import message

Axes = tuple[int, ...]
DotNumbers = tuple[tuple[Axes, Axes], tuple[Axes, Axes]]


def dot_numbers(
    where: str, lhs: Sequence[int], rhs: Sequence[int], dimension_numbers: Any
) -> DotNumbers:
    """The numbers as tuples, for operands of these shapes.

    Raises:
        TypeError: if an axis does not exist or stands twice, or axes that meet differ in size.
    """
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = [
        tuple([tuple([index(axis) for axis in axes]) for axes in pair])
        for pair in dimension_numbers
    ]
    lhs_axes, rhs_axes = (*lhs_contract, *lhs_batch), (*rhs_contract, *rhs_batch)
    are_axes = all(
        len({*axes}) == len(axes) and all(0 <= axis < len(shape) for axis in axes)
        for axes, shape in ((lhs_axes, lhs), (rhs_axes, rhs))
    )
    if (
        not are_axes
        or len(lhs_contract) != len(rhs_contract)
        or len(lhs_batch) != len(rhs_batch)
        or any(lhs[a] != rhs[b] for a, b in zip(lhs_axes, rhs_axes, strict=True))
    ):
        raise TypeError(
            message(
                f"{where}, argument dimension_numbers",
                given=f"{dimension_numbers} for shapes {tuple(lhs)} and {tuple(rhs)}",
                expected="pairs of different axes of equal sizes",
                fix="Give ((axes of lhs, axes of rhs) to contract, (batch axes of both)).",
            )
        )
    return (lhs_contract, rhs_contract), (lhs_batch, rhs_batch)


def dot_shape(lhs: Operand, rhs: Operand, numbers: DotNumbers) -> tuple[int, ...]:
    """The shape of the product."""
    return product_shape(aval_of(lhs).shape, aval_of(rhs).shape, numbers)


def product_shape(lhs: Sequence[int], rhs: Sequence[int], numbers: DotNumbers) -> tuple[int, ...]:
    """The shape of the product of operands of these shapes."""
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = numbers
    gone = (*lhs_contract, *lhs_batch), (*rhs_contract, *rhs_batch)
    free = [
        [size for axis, size in enumerate(shape) if axis not in axes]
        for shape, axes in zip((lhs, rhs), gone, strict=True)
    ]
    return (*[lhs[axis] for axis in lhs_batch], *free[0], *free[1])


def result_dtype(lhs: Operand, rhs: Operand, preferred: Any) -> Any:
    """The dtype of a product."""
    if preferred is not None:
        return dtypes.canonicalize_dtype(preferred)
    return dtypes.result_type(aval_of(lhs).dtype, aval_of(rhs).dtype)
