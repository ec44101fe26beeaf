"""Activation functions in pieces: rectifiers, and those that meet straight lines."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes, lax
from .. import numpy as jnp
from ..control.custom.custom_jvp import custom_jvp
from ..engines.reference.replay import replayed
from ..lax.elementwise.convert import convert
from ..numpy.half_precision import in_float32
from ..numpy.operands import as_array, promoted, promoted_inexact

# SELU's constants make mean 0 and variance 1 a fixed point (Klambauer et al., NeurIPS 2017).
_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946


def _inexact(name: str, x: Any) -> Any:
    """`x`; integers meet a weak float in a branch or a sum, so that they become one, as in JAX."""
    name = f"nn.{name}"
    x = as_array(name, x)
    if not dtypes.issubdtype(x.aval.dtype, np.inexact):
        return convert(x, dtypes.python_scalar_dtype(float), weak_type=True)
    return as_array(name, promoted_inexact(name, x)[0])


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
    """min(max(x, 0), 6); its derivative at 0 and at 6 is taken to be 0.

    Args:
        x: real numbers of any shape; integers become floating numbers.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.nn.relu6(jnp.array([-2.0, 0.0, 2.0]))
        Array([0., 0., 2.], dtype=float32)
    """
    # Unlike max and min, which share it, a clamp has no derivative at its bounds.
    x, low, high = promoted("relu6", as_array("relu6", x), 0.0, 6.0)
    return lax.clamp(low, x, high)


@replayed(2)
def elu(x: Any, alpha: Any = 1.0) -> Any:
    """x where it is positive, else α (eˣ − 1).

    Args:
        x: real numbers of any shape.
        alpha: what negative numbers approach, with the sign changed.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.nn.elu(jnp.array([-2.0, 0.0, 2.0])).round(3)
        Array([-0.865,  0.   ,  2.   ], dtype=float32)
    """
    x = _inexact("elu", x)
    # The exponential sees no large positive x, whose infinite value would spoil the gradient.
    negative = jnp.where(x > 0, 0.0, x)
    return jnp.where(x > 0, x, alpha * jnp.expm1(negative))


@replayed(2)
@in_float32
def celu(x: Any, alpha: Any = 1.0) -> Any:
    """max(x, 0) + min(0, α (eˣ⸍ᵅ − 1)).

    Reference: Barron, "Continuously differentiable exponential linear units", 2017.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.nn.celu(jnp.array([-2.0, 0.0, 2.0])).round(3)
        Array([-0.865,  0.   ,  2.   ], dtype=float32)
    """
    x = _inexact("celu", x)
    return jnp.maximum(x, 0.0) + alpha * jnp.expm1(jnp.minimum(x, 0.0) / alpha)


@replayed(1)
def selu(x: Any) -> Any:
    """λ · elu(x, α) with the constants of Klambauer et al., NeurIPS 2017.

    Args:
        x: real numbers of any shape; integers become floating numbers.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.nn.selu(jnp.array([-2.0, 0.0, 2.0])).round(3)
        Array([-1.52 ,  0.   ,  2.101], dtype=float32)
    """
    return _SELU_SCALE * elu(x, _SELU_ALPHA)


@replayed(2)
def leaky_relu(x: Any, negative_slope: Any = 1e-2) -> Any:
    """x where it is not negative, else `negative_slope` · x.

    Args:
        x: real numbers of any shape; integers stay integers beside a slope that is one.
        negative_slope: the slope on the left of 0.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.nn.leaky_relu(jnp.array([-2.0, 0.0, 2.0]))
        Array([-0.02,  0.  ,  2.  ], dtype=float32)
    """
    x = as_array("nn.leaky_relu", x)
    return jnp.where(x >= 0, x, negative_slope * x)


@replayed(1)
def hard_tanh(x: Any) -> Any:
    """x, limited to [−1, 1].

    Args:
        x: real numbers of any shape; integers become floating numbers.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.nn.hard_tanh(jnp.array([-2.0, 0.0, 2.0]))
        Array([-1.,  0.,  1.], dtype=float32)
    """
    x = as_array("nn.hard_tanh", x)
    return jnp.where(x > 1, 1, jnp.where(x < -1, -1, x))


@replayed(1)
def hard_sigmoid(x: Any) -> Any:
    """relu6(x + 3) / 6.

    Args:
        x: real numbers of any shape; integers become floating numbers.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.nn.hard_sigmoid(jnp.array([-2.0, 0.0, 2.0])).round(3)
        Array([0.167, 0.5  , 0.833], dtype=float32)
    """
    return relu6(_inexact("hard_sigmoid", x) + 3.0) / 6.0


@replayed(1)
def hard_silu(x: Any) -> Any:
    """x · hard_sigmoid(x): 0 up to −3, x from 3 on, x (x + 3) / 6 in between.

    The derivative at −3 is taken to be 0, and 1 at 3; at ±∞ value and derivative are the limits.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.nn.hard_silu(jnp.array([-2.0, 0.0, 2.0])).round(3)
        Array([-0.333,  0.   ,  1.667], dtype=float32)
    """
    x = _inexact("hard_silu", x)
    # Where it is not chosen, the product must not have an infinite factor.  Up to −3 it is −3 · 0,
    # as in JAX a negative zero, but for −∞ too, where the limit is meant.  Complex numbers have an
    # order, which their absolute values do not know.
    inside = jnp.where((x >= 3) | (x <= -3), -3, x)
    return jnp.where(x >= 3, x, inside * ((inside + 3.0) / 6.0))


hard_swish = hard_silu


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
    inside = jnp.where(x >= 1.0, 1, jnp.where(x <= -1.0, -1, x))
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
