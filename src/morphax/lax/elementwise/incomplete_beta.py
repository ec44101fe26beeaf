"""The regularised incomplete beta function.

Compiled programs sum the continued fraction of DiDonato and Morris, which converges quickly for x
below the mean a/(a+b); above, I_x(a, b) = 1 − I_{1−x}(b, a).  Its leading factor is formed from the
scaled gamma function and the distance of x from the mean, so that large parameters cost no digits.

References: DLMF, 8.17.  DiDonato & Morris, "Algorithm 708: significant digit computation of the
incomplete beta function ratios", ACM Transactions on Mathematical Software 18 (1992).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np

from ...core import not_differentiable
from ...util.compiled import part
from ...util.scipy_libraries import special_functions
from ..ground.formulas import ByFormula, Notation
from ..ground.operands import standardize
from .arithmetic import add, div, mul, neg, sub
from .densities import beta_density_of_single
from .exponential import log, log1p
from .gamma_parts import log1p_minus, log_scaled_gamma
from .selection import scalar_like
from .special import digamma

# The number of steps grows with the square root of the larger parameter, and so does the effect of
# rounding.  Where that has spoiled the sum, near the mean of a distribution that is so narrow, the
# compiled program gives NaN.
_MOST_STEPS = 30000.0
_LARGEST_PARAMETERS = 1e10
_LARGEST_RATIO = 1e300
_FEW = 100.0
# Nearer to 1 the fraction converges slowly unless a is large.
_END_OF_FRACTION = 0.9999


def _leading_factor(m: Notation, a: Any, b: Any, x: Any, y: Any) -> Any:
    """xᵃ yᵇ / B(a, b) for y = 1 − x."""
    scale, exponent = _scale_and_exponent(m, a, b, x, y)
    return scale * m.exp(exponent)


def _scale_and_exponent(m: Notation, a: Any, b: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """The leading factor is the first times the exponential of the second."""
    total = a + b
    excess = x * b - y * a
    x_distance, y_distance = excess / a, -excess / b
    # Beyond the largest number the logarithm counts a or b times, which is nothing.
    x_ratio, y_ratio = _bounded(m, x * (total / a)), _bounded(m, y * (total / b))
    is_near = (abs(x_distance) < 0.3) & (abs(y_distance) < 0.3)
    # The linear terms of the two logarithms cancel each other.
    near = a * log1p_minus(m, x_distance, x_ratio) + b * log1p_minus(m, y_distance, y_ratio)
    far = a * _log_ratio(m, x_distance, x_ratio) + b * _log_ratio(m, y_distance, y_ratio)
    exponent = m.where(is_near, near, far)
    scale = log_scaled_gamma(m, total) - log_scaled_gamma(m, a) - log_scaled_gamma(m, b)
    return m.sqrt(a * (b / total) * (0.5 / math.pi)), exponent + scale


def _bounded(m: Notation, ratio: Any) -> Any:
    return m.where(ratio < _LARGEST_RATIO, ratio, _LARGEST_RATIO)


def _log_ratio(m: Notation, distance: Any, ratio: Any) -> Any:
    """The logarithm of a ratio, of which also the distance from 1 is known."""
    is_near = abs(distance) < 0.3
    near = log1p_minus(m, distance, ratio) + distance
    return m.where(is_near, near, m.log(ratio))


def _fraction(m: Notation, a: Any, b: Any, x: Any, excess: Any) -> Any:
    """α₁/(β₁ + α₂/(β₂ + …)), by which the leading factor is multiplied, for `excess` a − (a+b) x.

    α₁ = 1, αₙ₊₁ = (a+n−1) (a+b+n−1) n (b−n) x² / (a+2n−1)², βₙ₊₁ = n + n (b−n) x / (a+2n−1) + (a+n)
    (a − (a+b) x + 1 + n (2−x)) / (a+2n+1).  Summed as a series whose terms are tₖ = ρₖ tₖ₋₁.
    """

    def denominator(n: Any) -> Any:
        inner = n * (b - n) * (x / (a + (2.0 * n - 1.0)))
        return n + inner + (a + n) * ((excess + 1.0 + n * (2.0 - x)) / (a + 2.0 * n + 1.0))

    def goes_on(n: Any, beta: Any, r: Any, t: Any, s: Any) -> Any:
        return (abs(t) > m.precision * abs(s)) & (n < _MOST_STEPS)

    def step(n: Any, beta: Any, r: Any, t: Any, s: Any) -> Sequence[Any]:
        n = n + 1.0
        ratio = x / (a + (2.0 * n - 1.0))
        # In this order: a + n has lost the digits of a small a.
        alpha = ((a + (n - 1.0)) * ratio) * ((a + b + (n - 1.0)) * ratio) * (n * (b - n))
        following = denominator(n)
        v = -(alpha / beta / following) * (1.0 + r)
        r = v / (1.0 - v)
        t = r * t
        return n, following, r, t, s + t

    zero = 0.0 * x
    first = a * ((excess + 1.0) / (a + 1.0))
    start = (0.0, first, zero, zero + 1.0, zero + 1.0)
    _, _, _, t, s = m.iterate(goes_on, step, start)
    is_wide = (a <= _LARGEST_PARAMETERS) | (b <= _LARGEST_PARAMETERS)
    is_exact = is_wide & (abs(t) <= m.precision * abs(s))
    return m.where(is_exact, s / first, math.nan)


def _value(m: Notation, a: Any, b: Any, x: Any) -> Any:
    """I_x(a, b) of positive finite a and b, for 0 < x < 1."""
    swaps, *turned = _turned(m, a, b, x)
    # It is the same after the exchange, and before it parts of it depend on no x.
    factor = _leading_factor(m, a, b, x, 1.0 - x)
    value = factor * _fraction(m, *turned)
    return m.where(swaps, 1.0 - value, value)


def _turned(m: Notation, a: Any, b: Any, x: Any) -> tuple[Any, ...]:
    """Whether 1 − x takes the place of x, then the parameters, the number, and a − (a+b) x of them.

    The last is formed of x and 1 − x: where b is large beside x, the product has lost its digits.
    """
    y = 1.0 - x
    at_start = (y > _END_OF_FRACTION) & (x * b < 0.5)
    at_end = (x > _END_OF_FRACTION) & (y * a < 0.5)
    swaps = ((x * b > y * a) & ~at_start) | at_end
    first, second = m.where(swaps, b, a), m.where(swaps, a, b)
    distance = y * a - x * b
    return swaps, first, second, m.where(swaps, y, x), m.where(swaps, -distance, distance)


def log_of_tail(m: Notation, a: Any, b: Any, x: Any, *, upper: bool) -> Any:
    """log I_x(a, b), or log(1 − I_x(a, b)) if `upper`, for a, b > 0, also where that underflows."""
    is_distribution = (a > 0.0) & (b > 0.0) & ((a < math.inf) | (b < math.inf))
    at_zero, at_one = is_distribution & (b == math.inf), is_distribution & (a == math.inf)
    is_regular, is_between = is_distribution & ~(at_zero | at_one), (x > 0.0) & (x < 1.0)
    a, b = m.where(is_regular, a, 1.0), m.where(is_regular, b, 1.0)
    is_inside, inner = is_regular & is_between, m.where(is_between, x, 0.5)
    swaps, *turned = _turned(m, a, b, inner)
    scale, exponent = _scale_and_exponent(m, a, b, inner, 1.0 - inner)
    tail = exponent + m.log(scale * _fraction(m, *turned))
    opposite = _log_one_minus_exp(m, tail)
    value = m.where(swaps, tail, opposite) if upper else m.where(swaps, opposite, tail)
    below, above = (0.0, -math.inf) if upper else (-math.inf, 0.0)
    is_below = (x <= 0.0) | (at_one & (x < 1.0))
    is_above = (x >= 1.0) | (at_zero & (x > 0.0))
    limit = m.where(is_below, below, m.where(is_above, above, math.nan))
    return m.where(is_inside, value, m.where(is_distribution, limit, math.nan))


def _log_one_minus_exp(m: Notation, x: Any) -> Any:
    """log(1 − eˣ) for x ≤ 0."""
    is_small = x > -math.log(2)
    small, large = m.where(is_small, x, -1.0), m.where(is_small, -1.0, x)
    return m.where(is_small, m.log(-m.expm1(small)), m.log1p(-m.exp(large)))


def _parameters(m: Notation, a: Any, b: Any) -> tuple[Any, Any, Any]:
    """Whether a and b are positive and finite, and both, with 1 in the place of others.

    It does not depend on x: what follows from scalars alone is computed once.
    """
    is_distribution = (a > 0.0) & (b > 0.0) & (a < math.inf) & (b < math.inf)
    return is_distribution, m.where(is_distribution, a, 1.0), m.where(is_distribution, b, 1.0)


def _regularized(m: Notation, a: Any, b: Any, x: Any) -> Any:
    """I_x(a, b), also at the ends of the ranges."""
    is_distribution, inner_a, inner_b = _parameters(m, a, b)
    is_between = (x > 0.0) & (x < 1.0)
    is_regular = is_distribution & is_between
    value = _value(m, inner_a, inner_b, m.where(is_between, x, 0.5))
    # The distribution is at 0 for a = 0 and for b = ∞, at 1 for b = 0 and for a = ∞.
    at_zero, at_one = (a == 0.0) | (b == math.inf), (b == 0.0) | (a == math.inf)
    limit = m.where((x == 1.0) | ((x > 0.0) & at_zero), 1.0, 0.0)
    is_defined = (a >= 0.0) & (b >= 0.0) & (x >= 0.0) & (x <= 1.0) & ~(at_zero & at_one)
    return m.where(is_regular, value, m.where(is_defined, limit, math.nan))


def _density(m: Notation, a: Any, b: Any, x: Any) -> Any:
    """x^(a−1) (1−x)^(b−1) / B(a, b), also at the ends of the ranges."""
    is_distribution, inner_a, inner_b = _parameters(m, a, b)
    is_regular, is_between = is_distribution & (x >= 0.0) & (x <= 1.0), (x > 0.0) & (x < 1.0)
    is_inside, inner = is_distribution & is_between, m.where(is_between, x, 0.5)
    value = _leading_factor(m, inner_a, inner_b, inner, 1.0 - inner) / (inner * (1.0 - inner))
    # At 0 it is 0, b or ∞ as a is above, at or below 1; at 1 likewise.
    own, other = m.where(x == 0.0, inner_a, inner_b), m.where(x == 0.0, inner_b, inner_a)
    end = m.where(own > 1.0, 0.0, m.where(own < 1.0, math.inf, other))
    return m.where(is_inside, value, m.where(is_regular, end, math.nan))


def density_over_tail(m: Notation, a: Any, b: Any, x: Any, *, upper: bool) -> Any:
    """The density over 1 − I_x(a, b) if `upper`, else over I, where nothing is left of both too.

    With the leading factor L the density is L / (x (1 − x)), and one of the tails is L F.
    """
    is_distribution, inner_a, inner_b = _parameters(m, a, b)
    is_between = (x > 0.0) & (x < 1.0)
    inner = m.where(is_between, x, 0.5)
    swaps, *turned = _turned(m, inner_a, inner_b, inner)
    fraction = _fraction(m, *turned)
    factor = _leading_factor(m, inner_a, inner_b, inner, 1.0 - inner)
    own, other = 1.0 / fraction, factor / (1.0 - factor * fraction)
    ratio = m.where(swaps, own, other) if upper else m.where(swaps, other, own)
    is_empty = x == (1.0 if upper else 0.0)
    end = m.where(is_empty, math.inf, _density(m, a, b, x))
    limit = m.where(is_distribution, end, math.nan)
    return m.where(is_distribution & is_between, ratio / (inner * (1.0 - inner)), limit)


class OfBetaNumbers(ByFormula):
    """Functions of parameters a, b ≥ 0 and a number x in [0, 1]."""


@final
class BetaDensity(OfBetaNumbers):
    """x^(a−1) (1−x)^(b−1) / B(a, b), element by element: the derivative of I with respect to x."""

    name = "beta_density"
    formula = _density
    formula_of_single = beta_density_of_single

    def d_x(self, t: Any, a: Any, b: Any, x: Any, out: Any) -> Any:
        return mul(t, mul(out, add(log(x), sub(digamma(add(a, b)), digamma(a)))))

    def d_y(self, t: Any, a: Any, b: Any, x: Any, out: Any) -> Any:
        return mul(t, mul(out, add(log1p(neg(x)), sub(digamma(add(a, b)), digamma(b)))))

    def d_z(self, t: Any, a: Any, b: Any, x: Any, out: Any) -> Any:
        one = scalar_like(1, x)
        slope = sub(div(sub(a, one), x), div(sub(b, one), sub(one, x)))
        return mul(t, mul(out, slope))


_NO_DERIVATIVE = "the derivative of I_x(a, b) with respect to a and b has no closed form"


@final
class RegularizedIncompleteBeta(OfBetaNumbers):
    """I_x(a, b) = ∫₀ˣ s^(a−1) (1−s)^(b−1) ds / B(a, b), element by element."""

    name = "regularized_incomplete_beta"
    formula = _regularized

    d_x = not_differentiable(_NO_DERIVATIVE)
    d_y = not_differentiable(_NO_DERIVATIVE)

    def kernel(self, *avals: Any, **params: Any) -> Callable[..., Any] | None:
        return kernel_of_single(self, "regular_values", avals)

    def evaluate(self, *operands: Any, **params: Any) -> Any:
        a, b, x = [np.asarray(v, np.float64) for v in operands]
        # SciPy does not define all limits, and takes some for a value.
        ends = (a == 0) | (b == 0) | np.isinf(a) | np.isinf(b)
        # Of whole parameters it adds binomial probabilities, which lose digits where b is large.
        is_binomial = (a < _FEW) & (b > _FEW) & (b == np.floor(b))
        b_near = np.where(is_binomial, np.nextafter(b, 0), b)
        value = special_functions().betainc(np.where(ends, 1, a), np.where(ends, 1, b_near), x)
        at_zero, at_one = (a == 0) | (b == np.inf), (b == 0) | (a == np.inf)
        limit = np.where((x == 1) | ((x > 0) & at_zero), 1.0, 0.0)
        inside = (a >= 0) & (b >= 0) & (x >= 0) & (x <= 1) & ~(at_zero & at_one)
        return np.where(inside, np.where(ends, limit, value), np.nan).astype(operands[0].dtype)

    def d_z(self, t: Any, a: Any, b: Any, x: Any, out: Any) -> Any:
        return mul(t, beta_density_p.bind(a, b, x))


def kernel_of_single(
    primitive: ByFormula, name: str, avals: Sequence[Any]
) -> Callable[..., Any] | None:
    """A function of float32: most numbers by native code, those that it leaves out by `evaluate`.

    Args:
        primitive: the function.
        name: that of native code.
        avals: the types of the operands.
    """
    if _native is None or any([aval.dtype != np.float32 for aval in avals]):
        return None
    regular = getattr(_native, name)

    def kernel(*operands: Any) -> Any:
        if len({v.shape for v in operands}) > 1:
            operands = tuple(np.broadcast_arrays(*operands))
        out = np.empty(operands[0].shape, np.float32)
        if not regular(*[v.ravel() for v in operands], out.reshape(-1)):
            left = np.isnan(out)
            out[left] = primitive.evaluate(*[v[left] for v in operands])
        return out

    return kernel


_native: Any = part("incomplete_beta")
beta_density_p = BetaDensity()
regularized_incomplete_beta_p = RegularizedIncompleteBeta()


def betainc(a: Any, b: Any, x: Any) -> Any:
    """I_x(a, b) = ∫₀ˣ s^(a−1) (1−s)^(b−1) ds / B(a, b), the regularised incomplete beta function.

    It has a derivative with respect to `x` only.

    Args:
        a, b: floating arrays (...), or scalars.
        x: array of their dtype and shape, or scalar.

    Returns:
        Array (...); NaN where a or b is negative, or x outside [0, 1].

    Raises:
        TypeError: the dtypes differ, or are not floating.

    Example:
        >>> import morphax as jax
        >>> jax.lax.betainc(2.0, 3.0, 0.5)
        Array(0.6875, dtype=float32, weak_type=True)
    """
    return regularized_incomplete_beta_p.bind(*standardize(a, b, x))
