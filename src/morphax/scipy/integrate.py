"""`morphax.scipy.integrate`: integrals of samples."""

from __future__ import annotations

from typing import Any

from ..numpy.trapezoidal_rule import trapezoid as _trapezoid


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral along an axis by the trapezoidal rule: Σᵢ (xᵢ₊₁ − xᵢ) (yᵢ + yᵢ₊₁) / 2.

    Args:
        y: samples (..., n, ...), numbers of any dtype; integers become floating.
        x: their places, a vector (n,) or an array like `y`, in any order.
        dx: the distance of the samples, if there is no `x`.
        axis: the axis along which they follow one another.

    Returns:
        Array without that axis; 0 where there are fewer than two samples.

    Raises:
        ValueError: if there is no such axis, or `x` does not fit `y`.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.scipy.integrate.trapezoid(jnp.array([0.0, 1.0, 4.0]), dx=0.5)
        Array(1.5, dtype=float32)
    """
    return _trapezoid(y, x, dx, axis)
