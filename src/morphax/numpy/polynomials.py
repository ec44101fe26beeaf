"""Polynomials, given by their coefficients, the one of the highest power first."""

from __future__ import annotations

from typing import Any

from .. import lax
from ..core import aval_of
from ..errors import ShapeError
from ..lax.ground.axes import integer
from ..util.messages import message
from .indexing import getitem
from .operands import as_array, of_one_dtype
from .shaping import broadcast_to


def polyval(p: Any, x: Any, *, unroll: int = 16) -> Any:
    """p₀ xⁿ⁻¹ + … + pₙ₋₁, by Horner's rule.

    Args:
        p: coefficients (n, ...).
        x: places, that broadcast with the coefficients of one power.
        unroll: how many powers to take in one step of a loop.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.polyval(jnp.array([1, 0, 2]), 3)
        Array(11, dtype=int32)
    """
    p, x = of_one_dtype("polyval", as_array("polyval", p), as_array("polyval", x))
    if not p.aval.ndim:
        raise ShapeError(
            message(
                "jnp.polyval, argument p",
                given=f"{p.aval}",
                expected="coefficients along the first axis, the highest power first",
                fix="Pass a vector: jnp.polyval(jnp.array([c]), x) for a constant.",
            )
        )
    count, *rest = p.aval.shape
    shape = lax.broadcast_shapes(tuple(rest), x.aval.shape)
    x = broadcast_to(x, shape)

    def step(total: Any, coefficient: Any) -> tuple[Any, None]:
        return lax.add(lax.mul(total, x), broadcast_to(coefficient, shape)), None

    total = lax.full(shape, 0, aval_of(x).dtype)
    if count > integer("jnp.polyval, argument unroll", unroll):
        return lax.scan(step, total, p, unroll=unroll)[0]
    for i in range(count):
        total, _ = step(total, getitem(p, i))
    return total
