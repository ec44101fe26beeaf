"""The gamma function and its kin: factorials, beta, digamma, zeta."""

from __future__ import annotations

import math
from typing import Any, final

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...core import aval_of
from ...engines.reference.nan_checks import checked_as_one
from ...engines.reference.replay import replayed
from ...lax.elementwise.gamma_parts import LANCZOS_SHIFT, lanczos_parts
from ...lax.ground.formulas import ByFormula, Notation
from ...numpy.half_precision import in_float32
from ...util.messages import message
from ._log_gamma import loggamma
from ._operands import operands

_START_OF_STIRLING = 10.0
_LANCZOS_SCALE = math.sqrt(2 * math.pi) * math.exp(-LANCZOS_SHIFT - 0.5)
# Highest power first.
_STIRLING = (1 / 156, -691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12)


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


def _gamma(m: Notation, x: Any) -> Any:
    """By Lanczos' form for x ≥ 0, and as π / (sin πx · Γ(1 − x)) below."""
    is_left = x < 0.0
    above = m.where(is_left, 1.0 - x, x)
    # Beyond, Γ is ∞, whatever the quotient.
    bound = m.where(above < 1e18, above, 1e18)
    numerator, denominator = lanczos_parts(bound)
    exponent = (above - 0.5) * (m.log(above + LANCZOS_SHIFT) - 1.0)
    # In two factors, for one alone may leave the range where the product does not.
    half = m.exp(0.5 * exponent)
    factor = half * (numerator / (bound * denominator) * _LANCZOS_SCALE)
    reflected = m.if_any(is_left, lambda: math.pi / (_sine_of_turns(m, x) * factor) / half)
    is_pole = is_left & (x == m.floor(x))
    return m.where(is_pole, math.nan, m.where(is_left, reflected, half * factor))


def _sine_of_turns(m: Notation, x: Any) -> Any:
    """sin πx, with all digits next to its zeros."""
    whole = m.floor(x + 0.5)
    is_odd = whole - 2.0 * m.floor(0.5 * whole) != 0.0
    sine = m.sin(math.pi * (x - whole))
    return m.where(is_odd, -sine, sine)


@final
class Gamma(ByFormula):
    """Γ(x), element by element: NaN at negative integers, ±∞ at ±0."""

    name = "gamma"
    formula = _gamma

    def evaluate(self, *operands: Any, **params: Any) -> Any:
        from scipy import special

        (x,) = operands
        return special.gamma(np.asarray(x, np.float64)).astype(x.dtype)

    def d_x(self, t: Any, x: Any, out: Any) -> Any:
        return lax.mul(t, lax.mul(out, lax.digamma(x)))


gamma_p = Gamma()


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
    small, large = jnp.where(a < b, a, b), jnp.where(a < b, b, a)
    remote = (large >= _START_OF_STIRLING) & (small + large >= _START_OF_STIRLING)
    far = _growth_by_stirling(
        jnp.where(remote, small, 1), jnp.where(remote, large, _START_OF_STIRLING)
    )
    near = lax.lgamma(a + b) - lax.lgamma(large)
    return lax.lgamma(small) - jnp.where(remote, far, near)


def _growth_by_stirling(a: Any, b: Any) -> Any:
    """log |Γ(a + b) / Γ(b)| for large b and a + b, where the two logarithms nearly cancel.

    By log Γ(x) = (x − ½) log x − x + ½ log 2π + Δ(x), in their difference only that of the
    corrections Δ is left, and a log b + (a + b − ½) log(1 + a/b) − a.

    Reference: Didonato & Morris, "Algorithm 708", ACM TOMS 18 (1992).
    """
    total = a + b
    quotient = (total - 0.5) * lax.log1p(a / b) + a * (lax.log(b) - 1)
    return quotient - (_correction(b) - _correction(total))


def _correction(x: Any) -> Any:
    """Stirling's series Σₖ B₂ₖ / (2k (2k − 1) x²ᵏ⁻¹), good to the last digit for x ≥ 10."""
    inverse = 1 / x
    square = inverse * inverse
    value = jnp.zeros_like(x)
    for coefficient in _STIRLING:
        value = value * square + coefficient
    return value * inverse


@in_float32
def beta(a: Any, b: Any) -> Any:
    """B(a, b) = Γ(a) Γ(b) / Γ(a + b)."""
    a, b = operands("beta", a, b)
    return gammasgn(a) * gammasgn(b) * gammasgn(a + b) * lax.exp(betaln(a, b))
