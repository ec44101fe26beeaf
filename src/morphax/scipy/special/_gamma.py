"""The gamma function and its kin: factorials, beta, digamma, zeta."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...control.custom.custom_jvp import custom_jvp
from ...core import aval_of
from ...engines.reference.nan_checks import checked_as_one
from ...engines.reference.replay import replayed
from ...lax.elementwise.gamma_parts import START_OF_STIRLING, STIRLING
from ...lax.ground.horner import polynomial
from ...numpy.half_precision import in_float32
from ...util.messages import message
from ._digamma_difference import digamma_difference_p
from ._gamma_function import gamma_p
from ._log_gamma import loggamma
from ._operands import operands


def digamma(x: Any) -> Any:
    """The derivative of log Γ."""
    return lax.digamma(*operands("digamma", x))


@in_float32
def polygamma(n: Any, x: Any) -> Any:
    """The derivative of order `n` of `digamma`."""
    return lax.polygamma(*operands("polygamma", n, x))


@in_float32
def zeta(x: Any, q: Any = 1.0) -> Any:
    """The zeta function of Hurwitz, Σₖ (k + q)⁻ˣ; for q = 1 that of Riemann."""
    return lax.zeta(*operands("zeta", x, 1.0 if q is None else q))


def gammaln(x: Any) -> Any:
    """log |Γ(x)|."""
    return lax.lgamma(*operands("gammaln", x))


@replayed(1)
@checked_as_one
def gammasgn(x: Any) -> Any:
    """The sign of Γ(x): NaN at negative integers, the sign of the zero at 0."""
    (x,) = operands("gammasgn", x)
    below = lax.floor(x)
    negative = jnp.where(jnp.remainder(below, 2) == 0, 1.0, -1.0)
    negative = jnp.where((x == below) | jnp.isnan(x), np.nan, negative)
    sign = jnp.where(x == 0, jnp.copysign(1.0, x), jnp.where(x > 0, 1.0, negative))
    return lax.convert_element_type(sign, aval_of(x).dtype)


def gamma(x: Any) -> Any:
    """Γ(x) = ∫₀^∞ s^(x−1) exp(−s) ds, continued to negative and complex x; NaN at the poles."""
    (x,) = operands("gamma", x)
    if jnp.issubdtype(x.dtype, np.complexfloating):
        return lax.exp(loggamma(x))
    # The dtype is one for good, as in JAX.
    return gamma_p.bind(lax.convert_element_type(x, aval_of(x).dtype))


@in_float32
def factorial(n: Any, exact: bool = False) -> Any:
    """n! = Γ(n + 1), zero for negative n; `exact` must be false."""
    if exact:
        raise ValueError(
            message(
                "scipy.special.factorial, argument exact",
                given="True",
                expected="False: arrays hold no integers of unbounded size",
                fix="Use math.factorial for exact integers.",
            )
        )
    (n,) = operands("factorial", n)
    return jnp.where(n < 0, 0, gamma_p.bind(n + 1))


@in_float32
def betaln(a: Any, b: Any) -> Any:
    """log |B(a, b)|."""
    a, b = operands("betaln", a, b)
    return log_beta(a, b, a + b)


@custom_jvp
def log_beta(a: Any, b: Any, total: Any) -> Any:
    """log |B(a, b)| for `total` = a + b, where one of the three may be of a smaller shape."""
    of_a, of_b = lax.lgamma(a), lax.lgamma(b)
    near = of_a + of_b - lax.lgamma(total)
    large = jnp.where(a < b, b, a)
    remote = (large >= START_OF_STIRLING) & (total >= START_OF_STIRLING)
    small = jnp.where(remote, jnp.where(a < b, a, b), 1)
    large = jnp.where(remote, large, START_OF_STIRLING)
    sum_ = jnp.where(remote, total, START_OF_STIRLING + 1)
    far = jnp.where(a < b, of_a, of_b) + _difference_by_stirling(small, large, sum_)
    return jnp.where(remote, far, near)


# The terms of Stirling's formula, and the digammas, nearly cancel; the sum moves with both.
log_beta.defjvps(
    lambda t, out, a, b, total: -t * digamma_difference_p.bind(*jnp.broadcast_arrays(a, b)),
    lambda t, out, a, b, total: -t * digamma_difference_p.bind(*jnp.broadcast_arrays(b, a)),
    None,
)


def _difference_by_stirling(a: Any, b: Any, total: Any) -> Any:
    """log Γ(b) − log Γ(a + b) for large b and `total` = a + b, where the two nearly cancel.

    By log Γ(x) = (x − ½) log x − x + ½ log 2π + Δ(x), in their difference only that of the
    corrections Δ is left, and a log b + (a + b − ½) log(1 + a/b) − a.

    Reference: Didonato & Morris, "Algorithm 708", ACM TOMS 18 (1992).
    """
    quotient = (total - 0.5) * lax.log1p(a / b) + a * (lax.log(b) - 1)
    return _correction(b) - _correction(total) - quotient


def _correction(x: Any) -> Any:
    """Stirling's series Σₖ B₂ₖ / (2k (2k − 1) x²ᵏ⁻¹), good to the last digit for x ≥ 10."""
    inverse = 1 / x
    return polynomial(STIRLING, inverse * inverse) * inverse


@in_float32
def beta(a: Any, b: Any) -> Any:
    """B(a, b) = Γ(a) Γ(b) / Γ(a + b)."""
    a, b = operands("beta", a, b)
    return gammasgn(a) * gammasgn(b) * gammasgn(a + b) * lax.exp(betaln(a, b))
