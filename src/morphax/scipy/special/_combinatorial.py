"""Quotients of gamma functions: rising factorials, binomial coefficients, and their kin.

Where the number of factors is a small integer the product itself is formed, so that integers come
out exact; elsewhere the logarithms of the gamma functions are subtracted by Stirling's formula,
whose large terms cancel before they are computed.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Any, final

import numpy as np

from ... import dtypes, lax
from ... import numpy as jnp
from ...lax.elementwise.gamma_parts import LANCZOS_SHIFT, lanczos_parts, log_scaled_gamma
from ...lax.ground.axes import counted
from ...lax.ground.formulas import ByFormula, Notation
from ...numpy.half_precision import in_float32
from ...numpy.operands import concrete_values
from ...util.messages import message
from ._digamma_difference import digamma_difference_p
from ._operands import operands, real_operands, strong

_MOST_FACTORS = 1100.0


def _ratio_of_gammas(m: Notation, z: Any, n: Any, total: Any) -> Any:
    """Γ(z + n) / Γ(z) for positive z and their sum, by Lanczos' form of both."""
    above = z + LANCZOS_SHIFT
    exponent = (total - 0.5) * m.log1p(n / above) + n * (m.log(above) - 1.0)
    # Beyond, the quotients N / D are 1, and their parts might overflow.
    bound, bound_of_total = m.where(z < 1e18, z, 1e18), m.where(total < 1e18, total, 1e18)
    numerator, divisor = lanczos_parts(bound_of_total)
    other_numerator, other_divisor = lanczos_parts(bound)
    ratio = (numerator * (bound * other_divisor)) / (other_numerator * (bound_of_total * divisor))
    # In two factors, for one alone may leave the range where the product does not.
    half = m.exp(0.5 * exponent)
    return half * (half * ratio)


def _rising_product(m: Notation, z: Any, n: Any) -> Any:
    """z (z + 1) … (z + n − 1), and for n < 0 one over (z − 1) … (z − |n|)."""
    upward = n >= 0.0
    first = m.where(upward, z, z + n)

    def goes_on(i: Any, product: Any) -> Any:
        # Neither 0 nor what has left the range comes back.
        return (i < abs(n)) & (abs(product) < math.inf) & (product != 0.0)

    def step(i: Any, product: Any) -> tuple[Any, Any]:
        going = goes_on(i, product)
        return i + 1.0, m.where(going, product * (first + i), product)

    zero = 0.0 * n
    _, product = m.iterate(goes_on, step, (zero, zero + 1.0))
    inverse = m.where(product == 0.0, math.inf, 1.0 / m.where(product == 0.0, 1.0, product))
    return m.where(upward, product + 0.0, inverse)


def _is_pole(m: Notation, x: Any) -> Any:
    return (x <= 0.0) & (x == m.floor(x))


def _is_odd(m: Notation, n: Any) -> Any:
    """Whether a whole number is odd."""
    return n - 2.0 * m.floor(0.5 * n) == 1.0


def _sign_of_gamma(m: Notation, x: Any) -> Any:
    return m.where((x < 0.0) & _is_odd(m, m.floor(x)), -1.0, 1.0)


def _by_size(m: Notation, x: Any, y: Any) -> Any:
    """Γ(x) / Γ(y)."""
    size = m.exp(m.lgamma(x) - m.lgamma(y))
    return _sign_of_gamma(m, x) * _sign_of_gamma(m, y) * size


def _rising(m: Notation, z: Any, n: Any) -> Any:
    """Γ(z + n) / Γ(z)."""
    is_product = (n == m.floor(n)) & (abs(n) <= _MOST_FACTORS) & ((abs(z) < math.inf) | (n == 0.0))
    product = m.if_any(
        is_product,
        lambda: _rising_product(m, m.where(is_product, z, 1.0), m.where(is_product, n, 0.0)),
    )
    total = z + n
    is_positive = (z > 0.0) & (total > 0.0) & (z < math.inf) & (total < math.inf)
    vanishes, is_infinite = _is_pole(m, z), _is_pole(m, total)
    # Where both have a pole, the quotient is that of the residues, (−1)ⁿ Γ(1 − z) / Γ(1 − z − n).
    has_both = vanishes & is_infinite & (n == m.floor(n)) & (abs(total) < math.inf)
    has_ratio = is_positive | (has_both & (abs(z) < math.inf))
    lower = m.where(has_both, 1.0 - total, z)
    upper = m.where(has_both, 1.0 - z, total)
    one = [m.where(has_ratio, x, 1.0) for x in (lower, upper)]
    by_lanczos = _ratio_of_gammas(m, one[0], m.where(has_ratio, n, 0.0), one[1])
    by_lanczos = m.where(has_both & _is_odd(m, n), -by_lanczos, by_lanczos)
    has_size = ~(is_positive | vanishes | is_infinite)
    by_size = m.if_any(
        has_size, lambda: _by_size(m, m.where(has_size, total, 1.0), m.where(has_size, z, 1.0))
    )
    # A sum that is no whole number may be rounded to one.
    outer = m.where(vanishes & (n != m.floor(n)), 0.0, m.where(is_infinite, math.inf, by_size))
    value = m.where(has_ratio, by_lanczos, m.where(vanishes & ~is_infinite, 0.0, outer))
    value = m.where(is_product, product, m.where(total == total, value, math.nan))
    # Far out it is a power, which real numbers have on the left for whole n only.
    is_far = (abs(z) == math.inf) & (n != 0.0) & (abs(n) < math.inf)
    has_power = is_far & ((z > 0.0) | (n == m.floor(n)))
    power = m.if_any(
        has_power, lambda: m.power(m.where(has_power, z, 1.0), m.where(has_power, n, 1.0))
    )
    value = m.where(is_far, m.where(has_power, power, math.nan), value)
    # Beyond all of them there are poles of the numerator.
    return m.where(n == -math.inf, m.where(vanishes & (z == z), 0.0, math.nan), value)


@final
class Rising(ByFormula):
    """Γ(z + n) / Γ(z), element by element."""

    name = "rising_factorial"
    formula = _rising

    def d_x(self, t: Any, z: Any, n: Any, out: Any) -> Any:
        return t * out * digamma_difference_p.bind(z, n)

    def d_y(self, t: Any, z: Any, n: Any, out: Any) -> Any:
        return t * out * lax.digamma(z + n)


rising_p = Rising()


@in_float32
def poch(z: Any, m: Any) -> Any:
    """(z)ₘ = Γ(z + m) / Γ(z), the rising factorial z (z + 1) … (z + m − 1).

    Integers `m` up to 1100 in size form the product, so that it is as exact as its factors.

    Args:
        z, m: arrays (...) that broadcast, floating.

    Returns:
        Array (...): ∞ where only the numerator has a pole, 0 where only the denominator has.

    Raises:
        TypeError: an operand is a list.
        ValueError: an operand is complex.

    Reference:
        DLMF, 5.2.4 and 5.11.

    Example:
        >>> from morphax.scipy import special
        >>> special.poch(1.5, 2.0)
        Array(3.75, dtype=float32)
    """
    return strong(rising_p.bind(*real_operands("poch", z, m)))


def _log_binomial(m: Notation, n: Any, k: Any) -> Any:
    """log C(n, k) for 0 < k < n: by Stirling's formula k log(n/k) + (n−k) log(n/(n−k)) and less."""
    rest, share = n - k, k / n
    # The quotient of numbers far apart leaves the range.
    log_share = m.where(share > 1e-290, m.log(share), m.log(k) - m.log(n))
    entropy = -k * log_share - rest * m.log1p(-share)
    scale = log_scaled_gamma(m, n) - log_scaled_gamma(m, k) - log_scaled_gamma(m, rest)
    return entropy + scale - 0.5 * m.log(2 * math.pi * k * (rest / n))


def _combinations(m: Notation, n: Any, k: Any) -> Any:
    """C(n, k) for 0 ≤ k ≤ n, and 0 elsewhere."""
    is_inside = (k >= 0.0) & (k <= n)
    whole = n == m.floor(n)
    fewer = m.where(whole & (n - k < k), n - k, k)
    is_product = is_inside & (fewer == m.floor(fewer)) & (fewer <= _MOST_FACTORS)
    is_product = is_product & ((n < math.inf) | (fewer == 0.0))
    count, top = m.where(is_product, fewer, 0.0), m.where(is_product, n, 1.0)

    def goes_on(i: Any, product: Any) -> Any:
        return (i < count) & (product < math.inf)

    def step(i: Any, product: Any) -> tuple[Any, Any]:
        i = i + 1.0
        return i, m.where(i <= count, product * (top - count + i) / i, product)

    zero = 0.0 * count
    _, product = m.iterate(goes_on, step, (zero, zero + 1.0))
    is_inner = is_inside & ~is_product & (k < n) & (n < math.inf)
    inner = m.exp(_log_binomial(m, m.where(is_inner, n, 2.0), m.where(is_inner, k, 1.0)))
    inner = m.where(is_inner, inner, m.where(k == n, 1.0, math.inf))
    value = m.where(is_product, product, m.where(is_inside, inner, 0.0))
    return m.where((n == n) & (k == k), value, math.nan)


@final
class Combinations(ByFormula):
    """C(n, k), element by element."""

    name = "combinations"
    formula = _combinations

    def d_x(self, t: Any, n: Any, k: Any, out: Any) -> Any:
        return t * jnp.where(out == 0, 0, out * -digamma_difference_p.bind(n + 1, -k))

    def d_y(self, t: Any, n: Any, k: Any, out: Any) -> Any:
        return t * jnp.where(out == 0, 0, out * digamma_difference_p.bind(k + 1, n - k - k))


combinations_p = Combinations()


@in_float32
def comb(N: Any, k: Any, *, repetition: bool = False) -> Any:
    """C(N, k) = N! / (k! (N − k)!), in how many ways k of N things are chosen.

    Args:
        N, k: arrays (...) that broadcast, floating.
        repetition: whether a thing may be chosen again: C(N + k − 1, k).

    Returns:
        Array (...): 0 unless 0 ≤ k ≤ N.

    Raises:
        TypeError: an operand is a list, or complex.

    Reference:
        DLMF, 26.3 and 5.11.

    Example:
        >>> from morphax.scipy import special
        >>> special.comb(5, 2)
        Array(10., dtype=float32)
    """
    n, k = operands("comb", N, k)
    if not repetition:
        return strong(combinations_p.bind(n, k))
    value = combinations_p.bind(n + k - 1, k)
    # Of no things, none are chosen in one way.
    return strong(jnp.where((n == 0) & (k == 0), 1, value))


@in_float32
def multigammaln(a: Any, d: Any) -> Any:
    """log Γ_d(a), for the multivariate gamma function of dimension d.

    Γ_d(a) = π^(d(d−1)/4) Γ(a) Γ(a − ½) … Γ(a − (d−1)/2), where a > (d − 1)/2.

    Args:
        a: array (...), floating.
        d: an integer that is known while tracing.

    Returns:
        Array (...): ∞ at poles.

    Raises:
        TypeError: `a` is a list or complex, or `d` is no scalar.

    Reference:
        DLMF, 35.3.4.

    Example:
        >>> from morphax.scipy import special
        >>> special.multigammaln(3.0, 2)
        Array(1.550195, dtype=float32)
    """
    where = "scipy.special.multigammaln"
    (a,) = operands("multigammaln", a)
    dimension = concrete_values(where, d, "Give d as a Python integer, or mark it as static.")
    if dimension.ndim or dimension.dtype.kind not in "biuf" or int(dimension) != dimension:
        raise TypeError(
            message(
                f"{where}, argument d",
                given=f"{d}",
                expected="an integer",
                fix="Call it once for each dimension.",
            )
        )
    count = int(dimension)
    constant = 0.25 * count * (count - 1) * math.log(math.pi)
    steps = jnp.arange(count, dtype=a.dtype) * 0.5
    return strong(lax.lgamma(a[..., None] - steps).sum(-1) + constant)


@functools.lru_cache(maxsize=1)
def _even_bernoulli_numbers() -> tuple[Fraction, ...]:
    """B₂, B₄, …, as far as float64 holds them, from the tangent numbers.

    Reference:
        Brent & Harvey, "Fast computation of Bernoulli, tangent and secant numbers", 2013.
    """
    count = 129
    tangent = [0, 1]
    for k in range(2, count + 1):
        tangent.append((k - 1) * tangent[k - 1])
    for k in range(2, count + 1):
        for j in range(k, count + 1):
            tangent[j] = (j - k) * tangent[j - 1] + (j - k + 2) * tangent[j]
    return tuple(
        Fraction((-1) ** (k - 1) * 2 * k * tangent[k], 4**k * (4**k - 1))
        for k in range(1, count + 1)
    )


def bernoulli(n: Any) -> Any:
    """The Bernoulli numbers B₀, B₁ = −½, …, Bₙ, each rounded once.

    Args:
        n: a Python integer ≥ 0.

    Returns:
        Array (n + 1,), of the default floating dtype; what exceeds its range is ±∞.

    Raises:
        TypeError: `n` is no integer.
        ValueError: `n` is negative.

    Reference:
        DLMF, 24.2.

    Example:
        >>> from morphax.scipy import special
        >>> special.bernoulli(4)
        Array([ 1.        , -0.5       ,  0.16666667,  0.        , -0.03333334],      dtype=float32)
    """
    last = counted("scipy.special.bernoulli, argument n", n)
    values = np.zeros(max(last + 1, 2))
    values[:2] = 1, -0.5
    exact = [float(x) for x in _even_bernoulli_numbers()]
    for k in range(1, last // 2 + 1):
        values[2 * k] = exact[k - 1] if k <= len(exact) else (-1) ** (k - 1) * math.inf
    with np.errstate(over="ignore"):
        return jnp.asarray(values[: last + 1].astype(dtypes.canonicalize_dtype(float)))
