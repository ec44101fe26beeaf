"""Polynomials, given by their coefficients, the constant one first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import dtypes
from ...core import aval_of
from ...core.values import python_scalar_types
from ...errors import ShapeError
from ...util.messages import described, message
from ..ground.axes import integer, members
from ..ground.linear_structure import broadcast_to
from ..ground.operands import standardize
from .arithmetic import add, mul
from .convert import convert
from .selection import scalar_like


def polynomial(x: Any, coeffs: Sequence[Any], *, unroll: int | None = None) -> Any:
    """a₀ + a₁ x + … + aₙ xⁿ by Horner's rule, element by element.

    Args:
        x: array (...) of numbers.
        coeffs: (a₀, …, aₙ), scalars, or arrays of the rank of `x` that broadcast with it; an array
            is taken along its first axis.
        unroll: has no effect, all powers are written out; an integer that is not negative.

    Returns:
        Array of the common shape and dtype; 0 without coefficients.

    Raises:
        ShapeError: an array of another rank is among the coefficients.

    Example:
        >>> import morphax as jax
        >>> jax.lax.polynomial(3.0, [1.0, 5.0, 2.0])
        Array(34., dtype=float32, weak_type=True)
    """
    if unroll is not None and integer("lax.polynomial, argument unroll", unroll) < 0:
        raise ValueError(
            message(
                "lax.polynomial, argument unroll",
                given=f"{unroll}",
                expected="an integer ≥ 0, or None",
                fix="Leave it out.",
            )
        )
    operands = [x, *members("lax.polynomial, argument coeffs", coeffs)]
    for operand in operands:
        aval_of(operand)
    common = dtypes.result_type(*operands)
    operands = [
        v if type(v) in python_scalar_types else convert(v, common, aval_of(v).weak_type)
        for v in operands
    ]
    ranks = {aval_of(v).ndim for v in operands} - {0}
    if len(ranks) > 1:
        raise ShapeError(
            message(
                "lax.polynomial",
                given=f"x {described(x)} with coefficients of ranks {sorted(ranks)}",
                expected="coefficients that are scalars or have the rank of x",
                fix="Give each array axes of size 1 up to the rank of x.",
            )
        )
    x, *coefficients = standardize(*operands)
    if not coefficients:
        coefficients = [scalar_like(0, x)]
    total = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        total = add(mul(total, x), coefficient)
    shapes = [aval_of(v).shape for v in (x, *coefficients)]
    return broadcast_to(total, max(shapes, key=len))
