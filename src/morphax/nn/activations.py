"""Activation functions, element by element."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import dtypes, lax
from .. import numpy as jnp
from ..control.custom.custom_jvp import custom_jvp
from ..engines.reference.replay import replayed
from ..lax.elementwise.convert import convert
from ..lax.ground.horner import polynomial
from ..numpy.operands import as_array, promoted, promoted_inexact

# SELU's constants make mean 0 and variance 1 a fixed point (Klambauer et al., NeurIPS 2017).
_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946

# (1 − e⁻ˣ) / x on [0, log 2], highest power first: the polynomials of least relative error, 2e-19
# and 2e-10, by weighted least squares with 40 digits.
_SHARE = (
    -1.5167554742515203e-09, 2.4064409396988624e-08, -2.745625889896921e-07, 2.7550680272668813e-06,
    -2.4801297295370923e-05, 0.00019841261353321617, -0.0013888888724807491, 0.008333333331316696,
    -0.041666666666520004, 0.16666666666666113, -0.5, 1.0,
)  # fmt: skip
_SHARE_OF_SINGLE = (
    0.00014664727346585462, -0.001341684450154712, 0.008311328550501594, -0.041661323107407035,
    0.1666660423412713, -0.49999997237109745, 0.9999999997978746,
)  # fmt: skip


_BRANCHING = frozenset(
    {"celu", "elu", "hard_sigmoid", "hard_silu", "leaky_relu", "sparse_plus", "sparse_sigmoid"}
)
"""Where integers meet a weak float in a branch or a sum, so that they become one, as in JAX."""


def _inexact(name: str, x: Any) -> Any:
    if name in _BRANCHING:
        x = as_array(name, x)
        if not dtypes.issubdtype(x.aval.dtype, np.inexact):
            return convert(x, dtypes.python_scalar_dtype(float), weak_type=True)
    return as_array(name, promoted_inexact(name, x)[0])


def identity(x: Any) -> Any:
    """x itself."""
    return as_array("nn.identity", x)


@custom_jvp
def relu(x: Any) -> Any:
    """max(x, 0); its derivative at 0 is taken to be 0.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.nn.relu(jnp.array([-2.0, 3.0]))
        Array([0., 3.], dtype=float32)
    """
    return jnp.maximum(x, 0)


@relu.defjvp
def _relu_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    return relu(x), jnp.where(jnp.greater(x, 0), t, 0)


@replayed(1)
def relu6(x: Any) -> Any:
    """min(max(x, 0), 6); its derivative at 0 and at 6 is taken to be 0."""
    # Unlike max and min, which share it, a clamp has no derivative at its bounds.
    x, low, high = promoted("relu6", as_array("relu6", x), 0.0, 6.0)
    return lax.clamp(low, x, high)


@replayed(1)
def sigmoid(x: Any) -> Any:
    """1 / (1 + e⁻ˣ)."""
    return lax.logistic(_inexact("sigmoid", x))


@replayed(1)
def softplus(x: Any) -> Any:
    """log(1 + eˣ)."""
    return jnp.logaddexp(x, 0)


@replayed(2)
def squareplus(x: Any, b: Any = 4) -> Any:
    """(x + √(x² + b)) / 2, a smooth relu; for x < 0 in a form that does not cancel.

    Args:
        x: array of floating or complex dtype.
        b: how smooth it is, an array that broadcasts with `x`; at 0 it is relu.

    Reference: Barron, "Squareplus: a softplus-like algebraic rectifier", 2021.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.nn.squareplus(jnp.array([-1e4, 1.5]))
        Array([1.e-04, 2.e+00], dtype=float32)
    """
    x, b = promoted_inexact("nn.squareplus", as_array("nn.squareplus", x), b)
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        return (x + jnp.sqrt(x * x + b)) / 2
    size = jnp.abs(x)
    # The square of a large number would overflow, and b is nothing next to it.
    large = size > dtypes.finfo(x.dtype).max ** 0.5 / 2
    inside = jnp.where(large, 0, x)
    root = jnp.where(large, size, jnp.sqrt(inside * inside + b))
    return jnp.where(x < 0, b / (2 * (size + root)), (x + root) / 2)


@replayed(1)
def sparse_plus(x: Any) -> Any:
    """0 up to −1, x from 1 on, (x + 1)² / 4 in between.

    The integral of `sparse_sigmoid`, as softplus is that of the sigmoid.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.nn.sparse_plus(jnp.array([-2.0, 0.0, 3.0]))
        Array([0.  , 0.25, 3.  ], dtype=float32)
    """
    x = _inexact("sparse_plus", x)
    # Where it is not chosen, the square must not be infinite; up to −1 it is 0.  The slope of a
    # clamp would be 0 for NaN.
    inside = jnp.where(abs(x) >= 1.0, lax.sign(x), x)
    return jnp.where(x >= 1.0, x, (inside + 1.0) ** 2 / 4)


@replayed(1)
def sparse_sigmoid(x: Any) -> Any:
    """(x + 1) / 2, limited to [0, 1]; the derivative of `sparse_plus`.

    Reference: Blondel, Martins & Niculae, "Learning with Fenchel-Young losses", JMLR 21 (2020),
    section 6.2.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.nn.sparse_sigmoid(jnp.array([-2.0, 0.0, 3.0]))
        Array([0. , 0.5, 1. ], dtype=float32)
    """
    return 0.5 * jnp.clip(_inexact("sparse_sigmoid", x) + 1.0, 0.0, 2.0)


@custom_jvp
def log1mexp(x: Any) -> Any:
    """log(1 − e⁻ˣ) for x ≥ 0, accurate at both ends; NaN for x < 0.

    Args:
        x: array of floating dtype.

    Reference: Mächler, "Accurately computing log(1 − exp(−|a|))", 2012.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.nn.log1mexp(jnp.array([0.0, 1e-10, 1.0]))
        Array([        -inf, -23.02585   ,  -0.45867515], dtype=float32)
    """
    (x,) = promoted_inexact("log1mexp", as_array("log1mexp", x))
    is_near, power = x < np.log(2.0), jnp.exp(-x)
    far, near = 1 - power, jnp.where(is_near, x, 0)
    # One logarithm: what 1 − e⁻ˣ lost when it was rounded is put back, divided by its argument.
    lost = jnp.where(is_near, 0, power - (1 - far)) / jnp.where(is_near, 1, far)
    share = near * polynomial(_SHARE if x.dtype == np.float64 else _SHARE_OF_SINGLE, near)
    return -(lost - jnp.log(jnp.where(is_near, share, far)))


@log1mexp.defjvp
def _log1mexp_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    # 1 / (eˣ − 1), whose derivatives do not overflow in this form.
    return log1mexp(x), t * (jnp.exp(-x) / -jnp.expm1(-x))


@replayed(1)
def soft_sign(x: Any) -> Any:
    """x / (1 + |x|), ±1 at ±∞."""
    x = _inexact("soft_sign", x)
    size = jnp.abs(x)
    rest = 1 / (size + 1)
    # Far out, the terms of the derivative of a quotient would cancel.
    far = size > 1
    return jnp.where(far, jnp.sign(x) * (1 - rest), jnp.where(far, 0, x) * rest)


@replayed(1)
def silu(x: Any) -> Any:
    """x · sigmoid(x), also known as swish."""
    x = _inexact("silu", x)
    return x * lax.logistic(x)


swish = silu


@replayed(1)
def mish(x: Any) -> Any:
    """x · tanh(softplus(x)).

    Reference: Misra, "Mish: a self regularized non-monotonic activation function", 2019.
    """
    x = _inexact("mish", x)
    return x * jnp.tanh(softplus(x))


@replayed(1)
def log_sigmoid(x: Any) -> Any:
    """log sigmoid(x) = −softplus(−x)."""
    return -softplus(-_inexact("log_sigmoid", x))


def tanh(x: Any) -> Any:
    """Hyperbolic tangent."""
    return jnp.tanh(x)


@replayed(2)
def elu(x: Any, alpha: Any = 1.0) -> Any:
    """x where it is positive, else α (eˣ − 1)."""
    x = _inexact("elu", x)
    # The exponential sees no large positive x, whose infinite value would spoil the gradient.
    negative = jnp.where(x > 0, 0.0, x)
    return jnp.where(x > 0, x, alpha * jnp.expm1(negative))


@replayed(2)
def celu(x: Any, alpha: Any = 1.0) -> Any:
    """max(x, 0) + min(0, α (eˣ⸍ᵅ − 1)).

    Reference: Barron, "Continuously differentiable exponential linear units", 2017.
    """
    x = _inexact("celu", x)
    return jnp.maximum(x, 0.0) + alpha * jnp.expm1(jnp.minimum(x, 0.0) / alpha)


@replayed(1)
def selu(x: Any) -> Any:
    """λ · elu(x, α) with the constants of Klambauer et al., NeurIPS 2017."""
    return _SELU_SCALE * elu(x, _SELU_ALPHA)


@replayed(2)
def leaky_relu(x: Any, negative_slope: Any = 1e-2) -> Any:
    """x where it is not negative, else `negative_slope` · x."""
    x = _inexact("leaky_relu", x)
    return jnp.where(x >= 0, x, negative_slope * x)


@replayed(1)
def hard_tanh(x: Any) -> Any:
    """x, limited to [−1, 1]."""
    x = as_array("nn.hard_tanh", x)
    return jnp.where(x > 1, 1, jnp.where(x < -1, -1, x))


@replayed(1)
def hard_sigmoid(x: Any) -> Any:
    """relu6(x + 3) / 6."""
    return relu6(_inexact("hard_sigmoid", x) + 3.0) / 6.0


@replayed(1)
def hard_silu(x: Any) -> Any:
    """x · hard_sigmoid(x): 0 up to −3, x from 3 on, x (x + 3) / 6 in between.

    The derivative at −3 is taken to be 0, and 1 at 3; at ±∞ value and derivative are the limits.
    """
    x = _inexact("hard_silu", x)
    # Where it is not chosen, the product must not have an infinite factor.  Up to −3 it is −3 · 0,
    # as in JAX a negative zero, but for −∞ too, where the limit is meant.
    inside = jnp.where(jnp.abs(x) >= 3, -3, x)
    return jnp.where(x >= 3, x, inside * ((inside + 3.0) / 6.0))


hard_swish = hard_silu


def _part_of_gelu(x: Any) -> tuple[Any, Any, Any]:
    """x as it is computed with, what is left of it, and how fast the argument of that grows.

    ½ (1 + tanh u) is σ(2u), which does not cancel where it is small.  Beyond ±30 it is 0 or 1 in
    all dtypes, and the cube may be out of range.
    """
    bound, scale = np.asarray(40, x.dtype), 2 * math.sqrt(2 / math.pi)
    # So it is NaN where x is, and so are all derivatives.
    near = lax.select(lax.abs(x) > bound, lax.clamp(-bound, x, bound), x)
    square = near * near
    part = lax.logistic(scale * (near + 0.044715 * (near * square)))
    return near, part, scale + (3 * 0.044715 * scale) * square


@custom_jvp
def _gelu(x: Any) -> Any:
    near, part, _ = _part_of_gelu(x)
    # -40 σ(−∞) is the limit −0; beyond 40 the number itself is.
    return lax.select(x > 30.0, x, near * part)


@_gelu.defjvp
def _gelu_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    near, part, growth = _part_of_gelu(x)
    return _gelu(x), t * (part + near * (part * (1 - part)) * growth)


@replayed(1)
def gelu(x: Any, approximate: bool = True) -> Any:
    """x Φ(x), with Φ the standard normal distribution function.

    Args:
        x: array of floating dtype.
        approximate: use ½ x (1 + tanh(√(2/π) (x + 0.044715 x³))) instead of the error function.

    Reference: Hendrycks & Gimpel, "Gaussian error linear units", 2016.
    """
    x = _inexact("gelu", x)
    if approximate:
        return _gelu(x)
    return 0.5 * x * lax.erfc(-x * np.sqrt(0.5).astype(x.dtype))


@replayed(1)
def glu(x: Any, axis: int = -1) -> Any:
    """The first half of `x` along `axis`, times the sigmoid of the second.

    Raises:
        ValueError: the axis has an odd size.
    """
    first, second = jnp.split(_inexact("glu", x), 2, axis)
    return first * sigmoid(second)
