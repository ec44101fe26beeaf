"""Sums of exponentials, and the logistic function."""

from __future__ import annotations

from typing import Any

from ... import lax, nn
from ... import numpy as jnp
from ...control.custom.custom_jvp import custom_jvp
from ...engines.reference.replay import replayed
from ...numpy.complex_numbers import is_complex
from ...numpy.operands import settled
from ._deviances import twice_artanh
from ._operands import operands


def expit(x: Any) -> Any:
    """The logistic function 1 / (1 + e⁻ˣ).

    Args:
        x: real numbers of any shape; integers become floating numbers.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> import morphax.scipy.special
        >>> jax.scipy.special.expit(jnp.array([0.0, jnp.inf]))
        Array([0.5, 1. ], dtype=float32)
    """
    return lax.logistic(*operands("expit", x))


@replayed(1)
def logit(x: Any) -> Any:
    """log(x / (1 − x)), the inverse of `expit`.

    Args:
        x: real numbers of any shape; NaN outside of [0, 1].

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> import morphax.scipy.special
        >>> jax.scipy.special.logit(jnp.array([0.0, 0.5, 1.0]))
        Array([-inf,   0.,  inf], dtype=float32)
    """
    return settled(_logit(*operands("logit", x)))


@custom_jvp
def _logit(x: Any) -> Any:
    value = lax.log(x / (1 - x))
    if is_complex(x):
        return value
    # Next to its zero at ½ the quotient has no digits of what it differs from 1 by.
    is_near = lax.abs(x - 0.5) < 1 / 6
    return jnp.where(is_near, twice_artanh(jnp.where(is_near, 2 * x - 1, 0)), value)


_logit.defjvps(lambda t, out, x: t / (x * (1 - x)))


def logsumexp(
    a: Any,
    axis: Any = None,
    b: Any = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: Any = None,
) -> Any:
    """log Σ b exp(a) over axes, without overflow in between; see `morphax.nn.logsumexp`.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.scipy import special
        >>> special.logsumexp(jnp.array([1000.0, 1000.0]))
        Array(1000.6932, dtype=float32)
    """
    return nn.logsumexp(a, axis, b, keepdims, return_sign, where)


def softmax(x: Any, /, *, axis: Any = None) -> Any:
    """exp(x) / Σ exp(x) along axes, all by default.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.scipy import special
        >>> special.softmax(jnp.array([0.0, 0.0]))
        Array([0.5, 0.5], dtype=float32)
    """
    return nn.softmax(x, axis)


@replayed(1)
def log_softmax(x: Any, /, *, axis: Any = None) -> Any:
    """x − log Σ exp(x) along axes, all by default.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.scipy import special
        >>> special.log_softmax(jnp.array([0.0, 0.0]))
        Array([-0.6931472, -0.6931472], dtype=float32)
    """
    return nn.log_softmax(x, axis)
