"""Products with logarithms, of which entropies are sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...control.custom.custom_jvp import custom_jvp
from ...engines.reference.nan_checks import checked_as_one
from ...numpy.half_precision import in_float32
from ...numpy.operands import settled
from ._deviances import deviance, log_ratio, one_minus_ratio
from ._operands import operands, real_operands, strong


def xlogy(x: Any, y: Any) -> Any:
    """x log y, and 0 where x = 0.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> import morphax.scipy.special
        >>> jax.scipy.special.xlogy(jnp.array([0.0, 2.0]), jnp.array([0.0, 1.0]))
        Array([0., 0.], dtype=float32)
    """
    return _xlogy(*operands("xlogy", x, y))


@custom_jvp
def _xlogy(x: Any, y: Any) -> Any:
    return jnp.where(x != 0, x * lax.log(y), 0.0)


# Tangents that are not of weak types, as JAX's.
_xlogy.defjvps(
    lambda t, out, x, y: strong(t * lax.log(y)),
    lambda t, out, x, y: strong(t * x / y),
)


def xlog1py(x: Any, y: Any) -> Any:
    """x log(1 + y), and 0 where x = 0.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> import morphax.scipy.special
        >>> jax.scipy.special.xlog1py(jnp.array([0.0, 2.0]), jnp.array([-1.0, 0.0]))
        Array([0., 0.], dtype=float32)
    """
    return _xlog1py(*operands("xlog1py", x, y))


@custom_jvp
def _xlog1py(x: Any, y: Any) -> Any:
    return jnp.where(x != 0, x * lax.log1p(y), 0.0)


_xlog1py.defjvps(
    lambda t, out, x, y: strong(t * lax.log1p(y)),
    lambda t, out, x, y: strong(t * x / (1 + y)),
)


@checked_as_one
def entr(x: Any) -> Any:
    """−x log x, a term of an entropy: 0 at 0, −∞ below.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> import morphax.scipy.special
        >>> jax.scipy.special.entr(jnp.array([0.0, 1.0, -1.0]))
        Array([ -0.,  -0., -inf], dtype=float32)
    """
    (x,) = real_operands("entr", x)
    return jnp.where(x < 0, -np.inf, -_xlogx(x))


@custom_jvp
def _xlogx(x: Any) -> Any:
    return jnp.where(x != 0, x * lax.log(x), 0.0)


_xlogx.defjvps(lambda t, out, x: t * (lax.log(x) + 1))


@in_float32
def rel_entr(p: Any, q: Any) -> Any:
    """p log(p / q), a term of a relative entropy: 0 for p = 0 ≤ q, ∞ outside the domain.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> import morphax.scipy.special
        >>> jax.scipy.special.rel_entr(jnp.array([0.0, 2.0]), jnp.array([1.0, 2.0]))
        Array([ 0., -0.], dtype=float32)
    """
    p, q = real_operands("rel_entr", p, q)
    return settled(_rel_entr(p, q), p)


@custom_jvp
def _rel_entr(p: Any, q: Any) -> Any:
    inside, log_of_ratio, _ = _ratio(p, q)
    return jnp.where(inside, p * log_of_ratio, _outside(p, q, 0.0))


# By the product rule the second derivative would have p / p², which overflows before 1 / p does.
_rel_entr.defjvps(
    lambda t, out, p, q: t * _in_domain(p, q, lambda log, _: log + 1, 0.0),
    lambda t, out, p, q: t * _in_domain(p, q, lambda _, ratio: -ratio, 0.0),
)


def _ratio(p: Any, q: Any) -> tuple[Any, Any, Any]:
    """Where both numbers are positive; log(p / q) and p / q there, 0 and 1 elsewhere."""
    inside = (p > 0) & (q > 0)
    # The operands of the branch that is not taken stay where its derivative is finite.
    safe_p, safe_q = jnp.where(inside, p, 1), jnp.where(inside, q, 1)
    return inside, log_ratio(safe_p, safe_q, safe_q - safe_p), safe_p / safe_q


def _outside(p: Any, q: Any, at_zero: Any) -> Any:
    """The value where p or q is not positive: `at_zero` for p = 0 ≤ q."""
    value = jnp.where((p == 0) & (q >= 0), at_zero, np.inf)
    return jnp.where(jnp.isnan(p) | jnp.isnan(q), np.nan, value)


def _in_domain(p: Any, q: Any, slope: Callable[[Any, Any], Any], elsewhere: float) -> Any:
    inside, log_of_ratio, ratio = _ratio(p, q)
    return jnp.where(inside, slope(log_of_ratio, ratio), elsewhere)


@in_float32
def kl_div(p: Any, q: Any) -> Any:
    """p log(p / q) − p + q: `rel_entr` with a sum that is never negative.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> import morphax.scipy.special
        >>> jax.scipy.special.kl_div(jnp.array([0.0, 2.0]), jnp.array([1.0, 2.0]))
        Array([1., 0.], dtype=float32)
    """
    p, q = real_operands("kl_div", p, q)
    return settled(_kl_div(p, q), p)


@custom_jvp
def _kl_div(p: Any, q: Any) -> Any:
    inside = (p > 0) & (q > 0)
    value = deviance(jnp.where(inside, p, 1), jnp.where(inside, q, 1))
    value = jnp.where((p == np.inf) | (q == np.inf), np.nan, value)
    return jnp.where(inside, value, _outside(p, q, q))


_kl_div.defjvps(
    lambda t, out, p, q: t * _in_domain(p, q, lambda log, _: log, -1.0),
    lambda t, out, p, q: t * _slope_of_kl_div(p, q),
)


def _slope_of_kl_div(p: Any, q: Any) -> Any:
    inside = (p > 0) & (q > 0)
    slope = one_minus_ratio(jnp.where(inside, p, 1), jnp.where(inside, q, 1))
    return jnp.where(inside, slope, 1.0)
