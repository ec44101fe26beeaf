"""Activation functions, element by element."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import dtypes, lax
from .. import numpy as jnp
from ..control.custom.custom_jvp import custom_jvp
from ..core import number_in
from ..engines.reference.replay import replayed
from ..lax.elementwise.convert import convert
from ..lax.ground.horner import polynomial
from ..numpy.complex_numbers import is_complex
from ..numpy.half_precision import in_float32
from ..numpy.operands import as_array, promoted_inexact

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


def _inexact(name: str, x: Any) -> Any:
    name = f"nn.{name}"
    return as_array(name, promoted_inexact(name, x)[0])


def _beside_numbers(name: str, x: Any) -> Any:
    """`_inexact` of what meets a number first, beside which truth values are weak, as in JAX."""
    x = as_array(f"nn.{name}", x)
    if x.aval.dtype == np.bool_:
        return convert(x, dtypes.python_scalar_dtype(float), weak_type=True)
    return _inexact(name, x)


def identity(x: Any) -> Any:
    """x itself.

    Args:
        x: real numbers of any shape; integers become floating numbers.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.nn.identity(jnp.array([-2.0, 0.0, 2.0]))
        Array([-2.,  0.,  2.], dtype=float32)
    """
    return as_array("nn.identity", x)


@replayed(1)
def sigmoid(x: Any) -> Any:
    """1 / (1 + e⁻ˣ).

    Example:
        >>> import morphax as jax
        >>> jax.nn.sigmoid(0.0)
        Array(0.5, dtype=float32, weak_type=True)
    """
    return lax.logistic(_inexact("sigmoid", x))


@replayed(1)
def softplus(x: Any) -> Any:
    """log(1 + eˣ).

    Args:
        x: real numbers of any shape; integers become floating numbers.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.nn.softplus(jnp.array([-2.0, 0.0, 2.0])).round(3)
        Array([0.127, 0.693, 2.127], dtype=float32)
    """
    return jnp.logaddexp(x, 0)


@replayed(2)
@in_float32
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
    large = size > math.sqrt(float(dtypes.finfo(x.dtype).max)) / 2
    inside = jnp.where(large, 0, x)
    root = jnp.where(large, size, jnp.sqrt(inside * inside + b))
    return jnp.where(x < 0, b / (2 * (size + root)), (x + root) / 2)


@replayed(1)
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
    (x,) = promoted_inexact("nn.log1mexp", as_array("nn.log1mexp", x))
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        near, far = jnp.log(-jnp.expm1(-x)), jnp.log1p(-jnp.exp(-x))
        return jnp.where(x < math.log(2), near, far)
    return _log1mexp(x)


@custom_jvp
def _log1mexp(x: Any) -> Any:
    is_near, power = x < math.log(2), jnp.exp(-x)
    far, near = 1 - power, jnp.where(is_near, x, 0)
    # One logarithm: what 1 − e⁻ˣ lost when it was rounded is put back, divided by its argument.
    lost = jnp.where(is_near, 0, power - (1 - far)) / jnp.where(is_near, 1, far)
    share = near * polynomial(_SHARE if far.dtype == np.float64 else _SHARE_OF_SINGLE, near)
    return -(lost - jnp.log(jnp.where(is_near, share, far)))


@_log1mexp.defjvp
def _log1mexp_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    # 1 / (eˣ − 1), whose derivatives do not overflow in this form.
    return _log1mexp(x), t * (jnp.exp(-x) / -jnp.expm1(-x))


@replayed(1)
def soft_sign(x: Any) -> Any:
    """x / (1 + |x|), ±1 at ±∞.

    Args:
        x: real numbers of any shape; integers become floating numbers.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.nn.soft_sign(jnp.array([-2.0, 0.0, 2.0])).round(3)
        Array([-0.667,  0.   ,  0.667], dtype=float32)
    """
    x = _beside_numbers("soft_sign", x)
    size = jnp.abs(x)
    rest = 1 / (size + 1)
    # Far out, the terms of the derivative of a quotient would cancel.
    far = size > 1
    return jnp.where(far, jnp.sign(x) * (1 - rest), jnp.where(far, 0, x) * rest)


@replayed(1)
def silu(x: Any) -> Any:
    """x · sigmoid(x), also known as swish.

    Args:
        x: real numbers of any shape; integers become floating numbers.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.nn.silu(jnp.array([-2.0, 0.0, 2.0])).round(3)
        Array([-0.238,  0.   ,  1.762], dtype=float32)
    """
    x = _inexact("silu", x)
    return x * lax.logistic(x)


swish = silu


@replayed(1)
def mish(x: Any) -> Any:
    """x · tanh(softplus(x)).

    Reference: Misra, "Mish: a self regularized non-monotonic activation function", 2019.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.nn.mish(jnp.array([-2.0, 0.0, 2.0])).round(3)
        Array([-0.253,  0.   ,  1.944], dtype=float32)
    """
    x = _beside_numbers("mish", x)
    return x * jnp.tanh(softplus(x))


@replayed(1)
def log_sigmoid(x: Any) -> Any:
    """log sigmoid(x) = −softplus(−x).

    Args:
        x: real numbers of any shape; integers become floating numbers.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.nn.log_sigmoid(jnp.array([-2.0, 0.0, 2.0])).round(3)
        Array([-2.127, -0.693, -0.127], dtype=float32)
    """
    return -softplus(-_inexact("log_sigmoid", x))


def tanh(x: Any) -> Any:
    """Hyperbolic tangent.

    Args:
        x: real numbers of any shape; integers become floating numbers.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.nn.tanh(jnp.array([-2.0, 0.0, 2.0])).round(3)
        Array([-0.964,  0.   ,  0.964], dtype=float32)
    """
    return jnp.tanh(x)


_FAR = 1e8
_SATURATED = 40


def _part_of_gelu(x: Any) -> tuple[Any, Any]:
    """What is left of a number, and how fast the argument of that grows.

    ½ (1 + tanh u) is σ(2u), which does not cancel where it is small.  Beyond ±30 it is 0 or 1 in
    all dtypes, and the cube may be out of range.
    """
    near = _with_a_cube(x) if is_complex(x) else _clamped(x)
    scale, square = 2 * math.sqrt(2 / math.pi), near * near
    part = lax.logistic(near * (scale + (0.044715 * scale) * square))
    return part, scale + (3 * 0.044715 * scale) * square


def _clamped(x: Any) -> Any:
    return lax.clamp(number_in(-_SATURATED, x.dtype), x, number_in(_SATURATED, x.dtype))


def _with_a_cube(x: Any) -> Any:
    """x, or where its cube may be out of range a number of which the same is left.

    It is NaN where x is, and so are all derivatives.
    """
    if not is_complex(x):
        return lax.select(lax.abs(x) > number_in(_SATURATED, x.dtype), _clamped(x), x)
    # Here it depends on the direction, in which the argument of σ is beyond all numbers.
    size = lax.stop_gradient(jnp.maximum(lax.abs(lax.real(x)), lax.abs(lax.imag(x))))
    is_far = size > _FAR
    scaled = lax.stop_gradient(x) * jnp.where(is_far, _FAR / size, 1)
    return lax.select(is_far, scaled, x)


@custom_jvp
def _gelu(x: Any) -> Any:
    part, _ = _part_of_gelu(x)
    # −∞ times 0 would be no number; of all others beyond ±30 all or nothing is left.
    return (x if is_complex(x) else lax.max(x, number_in(-_SATURATED, x.dtype))) * part


@_gelu.defjvp
def _gelu_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    # A number of Python, as which rules get it, has no dtype.
    x, t = as_array("nn.gelu", primals[0]), tangents[0]
    part, growth = _part_of_gelu(x)
    return _gelu(x), t * (part + _with_a_cube(x) * (part * (1 - part)) * growth)


@replayed(1)
def gelu(x: Any, approximate: bool = True) -> Any:
    """x Φ(x), with Φ the standard normal distribution function.

    Args:
        x: array of floating dtype.
        approximate: use ½ x (1 + tanh(√(2/π) (x + 0.044715 x³))) instead of the error function.

    Reference: Hendrycks & Gimpel, "Gaussian error linear units", 2016.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.nn.gelu(jnp.array([-2.0, 0.0, 2.0])).round(3)
        Array([-0.045,  0.   ,  1.955], dtype=float32)
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

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.nn.glu(jnp.array([1.0, 2.0, 0.0, 0.0])).round(3)
        Array([0.5, 1. ], dtype=float32)
    """
    first, second = jnp.split(_inexact("glu", x), 2, axis)
    return first * sigmoid(second)
