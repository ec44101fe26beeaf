"""Addition and multiplication with their relatives, element by element."""

from __future__ import annotations

from typing import Any

from ..lax.arithmetic import add_p, mul_p, neg_p
from .operands import promoted


def add(x: Any, y: Any, /) -> Any:
    """x + y, element by element.

    Args:
        x, y: arrays or scalars that broadcast to a common shape.

    Returns:
        Array of the common shape and promoted dtype.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.add(jnp.arange(3), 1.5)
        Array([1.5, 2.5, 3.5], dtype=float32)
    """
    return add_p.bind(*promoted("add", x, y))


def multiply(x: Any, y: Any, /) -> Any:
    """x · y, element by element."""
    return mul_p.bind(*promoted("multiply", x, y))


def negative(x: Any, /) -> Any:
    """−x, element by element."""
    return neg_p.bind(*promoted("negative", x))
