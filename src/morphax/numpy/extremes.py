"""The larger and the smaller of two values, where NaN is no value."""

from __future__ import annotations

from typing import Any

from .. import lax
from ..engines.reference.replay import replayed
from .arithmetic import chosen
from .logic import greater, less
from .operands import promoted


@replayed(2)
def fmax(x1: Any, x2: Any) -> Any:
    """The larger of two values, element by element; NaN only if both are NaN.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.fmax(jnp.array([1.0, 5.0, jnp.nan]), 3.0)
        Array([3., 5., 3.], dtype=float32)
    """
    x1, x2 = promoted("fmax", x1, x2)
    return chosen(_prefers_first(greater(x1, x2), x2), x1, x2)


@replayed(2)
def fmin(x1: Any, x2: Any) -> Any:
    """The smaller of two values, element by element; NaN only if both are NaN.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.fmin(jnp.array([1.0, 5.0, jnp.nan]), 3.0)
        Array([1., 3., 3.], dtype=float32)
    """
    x1, x2 = promoted("fmin", x1, x2)
    return chosen(_prefers_first(less(x1, x2), x2), x1, x2)


def _prefers_first(condition: Any, second: Any) -> Any:
    return lax.bitwise_or(condition, lax.ne(second, second))
