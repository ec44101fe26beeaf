"""Powers and roots in floating point, squares and reciprocals, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import lax
from ..engines.reference.replay import replayed
from .operands import as_array, is_bool, promoted, promoted_inexact

_INT32 = np.dtype(np.int32)


@replayed(2)
def float_power(x1: Any, x2: Any, /) -> Any:
    """x raised to the power y, in floating point.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.float_power(jnp.array([2, 4]), -1)
        Array([0.5 , 0.25], dtype=float32)
    """
    return lax.pow(*promoted_inexact("float_power", x1, x2))


def square(x: Any, /) -> Any:
    """x², element by element; of booleans, as integers.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.square(jnp.array([3, -4]))
        Array([ 9, 16], dtype=int32)
    """
    (x,) = promoted("square", x)
    return lax.square(lax.convert_element_type(x, _INT32) if is_bool(x) else x)


def sqrt(x: Any, /) -> Any:
    """√x, element by element; NaN for negative real numbers.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.sqrt(jnp.array([4.0, 0.0, -1.0]))
        Array([ 2.,  0., nan], dtype=float32)
    """
    return lax.sqrt(*promoted_inexact("sqrt", x))


def cbrt(x: Any, /) -> Any:
    """The cube root of x, element by element.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.cbrt(jnp.array([27.0, -8.0]))
        Array([ 3., -2.], dtype=float32)
    """
    return lax.cbrt(*promoted_inexact("cbrt", x))


@replayed(1)
def reciprocal(x: Any, /) -> Any:
    """1 / x, element by element.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.reciprocal(jnp.array([2.0, 4.0]))
        Array([0.5 , 0.25], dtype=float32)
    """
    (x,) = promoted_inexact("reciprocal", as_array("reciprocal", x))
    return lax.div(1, x)
