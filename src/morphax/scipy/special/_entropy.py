"""Products with logarithms, of which entropies are sums."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtypes, lax
from ... import numpy as jnp
from ...control.custom.custom_jvp import custom_jvp
from ...core import aval_of
from ...engines.reference.nan_checks import checked_as_one
from ...numpy.half_precision import in_float32
from ...numpy.operands import settled
from ._operands import operands, real_operands


def xlogy(x: Any, y: Any) -> Any:
    """x log y, and 0 where x = 0."""
    return _xlogy(*operands("xlogy", x, y))


@custom_jvp
def _xlogy(x: Any, y: Any) -> Any:
    return jnp.where(x != 0, x * lax.log(y), 0.0)


_xlogy.defjvps(
    lambda t, out, x, y: t * lax.log(y),
    lambda t, out, x, y: t * x / y,
)


def xlog1py(x: Any, y: Any) -> Any:
    """x log(1 + y), and 0 where x = 0."""
    return _xlog1py(*operands("xlog1py", x, y))


@custom_jvp
def _xlog1py(x: Any, y: Any) -> Any:
    return jnp.where(x != 0, x * lax.log1p(y), 0.0)


_xlog1py.defjvps(
    lambda t, out, x, y: t * lax.log1p(y),
    lambda t, out, x, y: t * x / (1 + y),
)


@checked_as_one
def entr(x: Any) -> Any:
    """−x log x, a term of an entropy: 0 at 0, −∞ below."""
    (x,) = real_operands("entr", x)
    return jnp.where(x < 0, -np.inf, -_xlogx(x))


@custom_jvp
def _xlogx(x: Any) -> Any:
    return jnp.where(x != 0, x * lax.log(x), 0.0)


_xlogx.defjvps(lambda t, out, x: t * (lax.log(x) + 1))


@in_float32
def rel_entr(p: Any, q: Any) -> Any:
    """p log(p / q), a term of a relative entropy: 0 for p = 0 ≤ q, ∞ outside the domain."""
    return settled(_rel_entr(*real_operands("rel_entr", p, q)))


@custom_jvp
def _rel_entr(p: Any, q: Any) -> Any:
    inside, log_ratio, _ = _ratio(p, q)
    return jnp.where(inside, p * log_ratio, _outside(p, q, 0.0))


# By the product rule the second derivative would have p / p², which overflows before 1 / p does.
_rel_entr.defjvps(
    lambda t, out, p, q: t * _in_domain(p, q, lambda log_ratio, ratio: log_ratio + 1, 0.0),
    lambda t, out, p, q: t * _in_domain(p, q, lambda log_ratio, ratio: -ratio, 0.0),
)


def _ratio(p: Any, q: Any) -> tuple[Any, Any, Any]:
    """Where both numbers are positive; log(p / q) and p / q there, 0 and 1 elsewhere."""
    inside = (p > 0) & (q > 0)
    # The operands of the branch that is not taken stay where its derivative is finite.
    safe_p, safe_q = jnp.where(inside, p, 1), jnp.where(inside, q, 1)
    return inside, _log_ratio(safe_p, safe_q), safe_p / safe_q


def _outside(p: Any, q: Any, at_zero: Any) -> Any:
    """The value where p or q is not positive: `at_zero` for p = 0 ≤ q."""
    value = jnp.where((p == 0) & (q >= 0), at_zero, np.inf)
    return jnp.where(jnp.isnan(p) | jnp.isnan(q), np.nan, value)


def _in_domain(p: Any, q: Any, slope: Callable[[Any, Any], Any], elsewhere: float) -> Any:
    inside, log_ratio, ratio = _ratio(p, q)
    return jnp.where(inside, slope(log_ratio, ratio), elsewhere)


@custom_jvp
def _log_ratio(p: Any, q: Any) -> Any:
    """log(p / q) of positive numbers, also where the quotient leaves the range of the dtype.

    There both are scaled by a power of two, of which the quotient has the square.
    """
    ratio = p / q
    limits = dtypes.finfo(aval_of(ratio).dtype)
    power = (limits.maxexp + limits.nmant) // 2
    above, below = ratio > float(limits.max), ratio < float(limits.tiny)
    large, small = 2.0**power, 2.0**-power
    # XLA makes  p · scale · scale / q  of a quotient by  q / scale.
    scale = jnp.where(above, small, jnp.where(below, large, 1))
    inverse = jnp.where(above, large, jnp.where(below, small, 1))
    rest = jnp.where(above, 2 * power, jnp.where(below, -2 * power, 0)) * math.log(2)
    return lax.log((p * scale) / (q * inverse)) + rest


_log_ratio.defjvps(lambda t, out, p, q: t / p, lambda t, out, p, q: -t / q)


@in_float32
def kl_div(p: Any, q: Any) -> Any:
    """p log(p / q) − p + q: `rel_entr` with a sum that is never negative."""
    return settled(_kl_div(*real_operands("kl_div", p, q)))


@custom_jvp
def _kl_div(p: Any, q: Any) -> Any:
    inside, log_ratio, _ = _ratio(p, q)
    return jnp.where(inside, p * log_ratio - p + q, _outside(p, q, q))


_kl_div.defjvps(
    lambda t, out, p, q: t * _in_domain(p, q, lambda log_ratio, ratio: log_ratio, -1.0),
    lambda t, out, p, q: t * _in_domain(p, q, lambda log_ratio, ratio: 1 - ratio, 1.0),
)
