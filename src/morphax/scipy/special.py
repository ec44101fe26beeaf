"""Special functions: the error, gamma, Bessel and entropy families, and sums of exponentials.

Where a formula and its derivative differ in what is finite (x log y at x = 0), the derivative is
defined apart.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import dtypes, lax, nn
from .. import numpy as jnp
from ..control.custom.custom_jvp import custom_jvp
from ..core import aval_of
from ..engines.reference.nan_checks import checked_as_one
from ..lax.elementwise.bessel import i1_over_x
from ..numpy.operands import as_array, promoted_inexact, settled
from ..util.messages import message

_SQRT_HALF = math.sqrt(0.5)
_START_OF_STIRLING = 10.0
# Highest power first.
_STIRLING = (1 / 156, -691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12)


def _operands(name: str, *operands: Any) -> list[Any]:
    """Arrays of one floating dtype."""
    return [as_array(name, x) for x in promoted_inexact(name, *operands)]


def erf(x: Any) -> Any:
    """The error function 2/√π ∫₀ˣ exp(−s²) ds."""
    return lax.erf(*_operands("erf", x))


def erfc(x: Any) -> Any:
    """1 − erf x, accurate for large x."""
    return lax.erfc(*_operands("erfc", x))


def erfinv(x: Any) -> Any:
    """The inverse of `erf`, on (−1, 1)."""
    return lax.erf_inv(*_operands("erfinv", x))


def ndtr(x: Any) -> Any:
    """The distribution function of the standard normal distribution."""
    (x,) = _operands("ndtr", x)
    return 0.5 * lax.erfc(x * -_SQRT_HALF)


def digamma(x: Any) -> Any:
    """The derivative of log Γ."""
    return lax.digamma(*_operands("digamma", x))


def polygamma(n: Any, x: Any) -> Any:
    """The derivative of order `n` of `digamma`."""
    return lax.polygamma(*_operands("polygamma", n, x))


def zeta(x: Any, q: Any = 1.0) -> Any:
    """The zeta function of Hurwitz, Σₖ (k + q)⁻ˣ; for q = 1 that of Riemann."""
    return lax.zeta(*_operands("zeta", x, 1.0 if q is None else q))


def gammaln(x: Any) -> Any:
    """log |Γ(x)|."""
    return lax.lgamma(*_operands("gammaln", x))


@checked_as_one
def gammasgn(x: Any) -> Any:
    """The sign of Γ(x): NaN at negative integers, the sign of the zero at 0."""
    (x,) = _operands("gammasgn", x)
    below = lax.floor(x)
    negative = jnp.where(jnp.remainder(below, 2) == 0, 1.0, -1.0)
    negative = jnp.where((x == below) | jnp.isnan(x), np.nan, negative)
    sign = jnp.where(x == 0, jnp.copysign(1.0, x), jnp.where(x > 0, 1.0, negative))
    return lax.convert_element_type(sign, aval_of(x).dtype)


@checked_as_one
def gamma(x: Any) -> Any:
    """Γ(x) = ∫₀^∞ s^(x−1) exp(−s) ds, continued to negative x."""
    return gammasgn(x) * lax.exp(gammaln(x))


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
    (n,) = _operands("factorial", n)
    return jnp.where(n < 0, 0, lax.exp(lax.lgamma(n + 1)))


def betaln(a: Any, b: Any) -> Any:
    """log |B(a, b)|."""
    a, b = _operands("betaln", a, b)
    small, large = jnp.where(a < b, a, b), jnp.where(a < b, b, a)
    remote = (large >= _START_OF_STIRLING) & (small + large >= _START_OF_STIRLING)
    by_gamma = lax.lgamma(a) + lax.lgamma(b) - lax.lgamma(a + b)
    by_stirling = _betaln_by_stirling(
        jnp.where(remote, small, 1), jnp.where(remote, large, _START_OF_STIRLING)
    )
    return jnp.where(remote, by_stirling, by_gamma)


def _betaln_by_stirling(a: Any, b: Any) -> Any:
    """log |B(a, b)| for large b and a + b, where log Γ(b) and log Γ(a + b) nearly cancel.

    By log Γ(x) = (x − ½) log x − x + ½ log 2π + Δ(x), in their difference only that of the
    corrections Δ is left, and a log b + (a + b − ½) log(1 + a/b) − a.

    Reference: Didonato & Morris, "Algorithm 708", ACM TOMS 18 (1992).
    """
    total = a + b
    quotient = (total - 0.5) * lax.log1p(a / b) + a * (lax.log(b) - 1)
    return lax.lgamma(a) - quotient + (_correction(b) - _correction(total))


def _correction(x: Any) -> Any:
    """Stirling's series Σₖ B₂ₖ / (2k (2k − 1) x²ᵏ⁻¹), good to the last digit for x ≥ 10."""
    inverse = 1 / x
    square = inverse * inverse
    value = jnp.zeros_like(x)
    for coefficient in _STIRLING:
        value = value * square + coefficient
    return value * inverse


def beta(a: Any, b: Any) -> Any:
    """B(a, b) = Γ(a) Γ(b) / Γ(a + b)."""
    a, b = _operands("beta", a, b)
    return gammasgn(a) * gammasgn(b) * gammasgn(a + b) * lax.exp(betaln(a, b))


def i0e(x: Any) -> Any:
    """exp(−|x|) I₀(x), for the modified Bessel function of order 0."""
    return lax.bessel_i0e(*_operands("i0e", x))


def i1e(x: Any) -> Any:
    """exp(−|x|) I₁(x), for the modified Bessel function of order 1."""
    return lax.bessel_i1e(*_operands("i1e", x))


def i0(x: Any) -> Any:
    """The modified Bessel function I₀."""
    return _i0(*_operands("i0", x))


@custom_jvp
def _i0(x: Any) -> Any:
    return lax.exp(lax.abs(x)) * lax.bessel_i0e(x)


_i0.defjvps(lambda t, out, x: t * _i1(x))


def i1(x: Any) -> Any:
    """The modified Bessel function I₁."""
    return _i1(*_operands("i1", x))


@custom_jvp
def _i1(x: Any) -> Any:
    return lax.exp(lax.abs(x)) * lax.bessel_i1e(x)


# The kinks of |x| in the factors, which cancel in the product, stay out of the derivatives.
_i1.defjvps(lambda t, out, x: t * (_i0(x) - _i1_over_x(x)))


def _i1_over_x(x: Any) -> Any:
    near = lax.abs(x) < 0.5
    series = i1_over_x(jnp.where(near, x, 0))
    return jnp.where(near, series, _i1(x) / jnp.where(near, 1, x))


def expit(x: Any) -> Any:
    """The logistic function 1 / (1 + e⁻ˣ)."""
    return lax.logistic(*_operands("expit", x))


def logit(x: Any) -> Any:
    """log(x / (1 − x)), the inverse of `expit`."""
    return _logit(*_operands("logit", x))


@custom_jvp
def _logit(x: Any) -> Any:
    return lax.log(x / (1 - x))


_logit.defjvps(lambda t, out, x: t / (x * (1 - x)))


def xlogy(x: Any, y: Any) -> Any:
    """x log y, and 0 where x = 0."""
    return _xlogy(*_operands("xlogy", x, y))


@custom_jvp
def _xlogy(x: Any, y: Any) -> Any:
    return jnp.where(x != 0, x * lax.log(y), 0.0)


_xlogy.defjvps(
    lambda t, out, x, y: t * lax.log(y),
    lambda t, out, x, y: t * x / y,
)


def xlog1py(x: Any, y: Any) -> Any:
    """x log(1 + y), and 0 where x = 0."""
    return _xlog1py(*_operands("xlog1py", x, y))


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
    (x,) = _operands("entr", x)
    return jnp.where(x < 0, -np.inf, -_xlogx(x))


@custom_jvp
def _xlogx(x: Any) -> Any:
    return jnp.where(x != 0, x * lax.log(x), 0.0)


_xlogx.defjvps(lambda t, out, x: t * (lax.log(x) + 1))


def rel_entr(p: Any, q: Any) -> Any:
    """p log(p / q), a term of a relative entropy: 0 for p = 0 ≤ q, ∞ outside the domain."""
    p, q = _operands("rel_entr", p, q)
    inside = (p > 0) & (q > 0)
    # The operands of the branch that is not taken stay where its derivative is finite.
    safe_p, safe_q = jnp.where(inside, p, 1), jnp.where(inside, q, 1)
    outside = jnp.where((p == 0) & (q >= 0), 0.0, np.inf)
    return settled(jnp.where(inside, safe_p * _log_ratio(safe_p, safe_q), outside))


@custom_jvp
def _log_ratio(p: Any, q: Any) -> Any:
    """log(p / q) of positive numbers, also where the quotient leaves the range of the dtype."""
    ratio = p / q
    limits = dtypes.finfo(aval_of(ratio).dtype)
    is_normal = (ratio >= float(limits.tiny)) & (ratio <= float(limits.max))
    return jnp.where(is_normal, lax.log(jnp.where(is_normal, ratio, 1)), lax.log(p) - lax.log(q))


_log_ratio.defjvps(lambda t, out, p, q: t / p, lambda t, out, p, q: -t / q)


def kl_div(p: Any, q: Any) -> Any:
    """p log(p / q) − p + q: `rel_entr` with a sum that is never negative."""
    p, q = _operands("kl_div", p, q)
    return settled(rel_entr(p, q) - p + q)


def logsumexp(
    a: Any,
    axis: Any = None,
    b: Any = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: Any = None,
) -> Any:
    """log Σ b exp(a) over axes, without overflow in between; see `morphax.nn.logsumexp`."""
    return nn.logsumexp(a, axis, b, keepdims, return_sign, where)


def softmax(x: Any, /, *, axis: Any = None) -> Any:
    """exp(x) / Σ exp(x) along axes, all by default."""
    return nn.softmax(x, axis)


def log_softmax(x: Any, /, *, axis: Any = None) -> Any:
    """x − log Σ exp(x) along axes, all by default."""
    return nn.log_softmax(x, axis)
