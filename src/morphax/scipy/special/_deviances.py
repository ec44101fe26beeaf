"""What is left of distributions whose densities are made of Γ, with all its digits.

The logarithms of a density, such as those of xᵃ, e⁻ˣ and Γ(a + 1), are large, and nearly cancel
where the density is: of parameters of a million nothing would be left of float32.  So each Γ is
taken apart, Γ(a + 1) = (a/e)ᵃ exp S(a), and the powers (a/e)ᵃ are put together with those of x:

- S(a) ≈ ½ log 2πa, of the *scaled factorial* (`_scaled_factorials.py`), is small;
- the rest is a *deviance*, which is 0 at the mode, and is computed from the distance to it.

Then xᵃ e⁻ˣ / Γ(a + 1) = exp(−S(a) − D(a, x)) with D(a, x) = a log(a / x) − a + x, and, for
x + y = 1 and n = a + b,
xᵃ yᵇ Γ(n + 1) / (Γ(a + 1) Γ(b + 1)) = exp(S(n) − S(a) − S(b) − D(a, nx) − D(b, ny)).
Densities with xᵃ⁻¹ for xᵃ have a logarithm of x more, which D has anyway.

The compiled forms for eager mode are `native/deviances.cpp`.

References: Loader, "Fast and accurate computation of binomial probabilities" (2000).  DLMF, 5.5
and 5.11.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, final

from ... import dtypes, lax
from ... import numpy as jnp
from ...control.custom.custom_jvp import custom_jvp
from ...core import aval_of, not_differentiable
from ...lax.ground.formulas import ByFormula, Notation
from ...lax.ground.horner import polynomial
from ._scaled_factorials import OF_SINGLE, InItsDtype, slope_of_factorial_p

# (artanh s − s) / s³ in s² on [0, 1/9], by interpolation in Chebyshev's points with 60 digits.
_OF_ARTANH = (
    0.07815288900461426, 0.03746071897775383, 0.05422589197440007, 0.05867139530651599,
    0.06667589315724629, 0.07692271982430275, 0.09090909948981357, 0.11111111099118386,
    0.1428571428580005, 0.19999999999999762, 0.3333333333333333,
)  # fmt: skip
_OF_ARTANH_IN_SINGLE = (
    0.11612164612011674, 0.10853287900440187, 0.14296178997151418, 0.1999985316596486,
    0.3333333366026371,
)  # fmt: skip


def _deviance(m: Notation, x: Any, y: Any, distance: Any, *, powers: float) -> Any:
    """x log(x / y) − x + y less `powers` logarithms, for x, y ≥ 0 and y − x, which has more digits.

    Where they are within a factor of two, log(y / x) is 2 artanh s for s = (y − x) / (y + x).
    """
    is_single = m.precision > OF_SINGLE
    size = x + y
    is_near = abs(distance) < size * (1 / 3)
    s = m.where(is_near, distance, 0.0) / m.where(is_near, size, 1.0)
    square = s * s
    rest = square * polynomial(_OF_ARTANH_IN_SINGLE if is_single else _OF_ARTANH, square)
    near = s * (distance - 2.0 * x * rest)
    if powers:
        near = near + 2.0 * powers * (s + s * rest)
    # The quotient by the least numbers would be infinite; where it vanishes x is nothing beside y,
    # but the logarithm that x does not multiply counts.
    least, small, scale = (1e-37, 1e-19, 64) if is_single else (1e-300, 1e-150, 500)
    is_small, shift = y < small, scale * math.log(2)
    quotient = m.where(is_small, y * 2.0**scale, y)
    if powers:
        is_slight = x < small
        quotient = m.where(is_slight, x * 2.0**scale, x) / quotient
        log = m.log(m.where(quotient > least, quotient, least)) - m.where(is_slight, shift, 0.0)
    else:
        quotient = x / quotient
        log = m.log(m.where(quotient > least, quotient, 1.0))
    log = log + m.where(is_small, shift, 0.0)
    value = m.where(is_near, near, distance + (x - powers) * log)
    if not powers:
        value = m.where(x == 0.0, y, m.where((y == 0.0) & (x > 0.0), math.inf, value))
    else:
        at_zero = m.where(x < powers, -math.inf, m.where(x > powers, math.inf, -x))
        value = m.where(y == 0.0, at_zero, value)
    return m.where(abs(distance) == math.inf, math.inf, value)


def _excess(m: Notation, a: Any, b: Any, x: Any) -> Any:
    """(a + b) x − a, which is next to nothing where x is the mean a / (a + b)."""
    return x * b - (1.0 - x) * a


def _distance_from_product(m: Notation, x: Any, n: Any, p: Any, *, part: str) -> Any:
    distance = n * p - x
    whole = m.floor(distance)
    return {"full": distance, "whole": whole, "broken": distance - whole}[part]


def _binomial_slope(m: Notation, a: Any, b: Any, x: Any) -> Any:
    """b / (1−x) − a / x, where 0 / 0 is 0."""
    y = 1.0 - x
    places = m.where((x == 0.0) & (a == 0.0), 1.0, x) * m.where(b == 0.0, 1.0, y)
    value = _excess(m, a, b, x) / places
    return m.where(a == 0.0, b / m.where(b == 0.0, 1.0, y), m.where(b == 0.0, -a / x, value))


_OF_ITS_CALLERS = not_differentiable(
    "the functions of arrays that apply it have slopes of their own"
)


@final
class Deviance(InItsDtype):
    """x log(x / y) − x + y less `powers` times log(x / y), given y − x too, element by element."""

    name = "deviance"
    formula = _deviance

    d_x = _OF_ITS_CALLERS
    d_y = _OF_ITS_CALLERS
    d_z = _OF_ITS_CALLERS

    def fused(self, *avals: Any, powers: int) -> str:
        return f"{'density_' if powers else ''}{super().fused(*avals)}"


@final
class BinomialExcess(ByFormula):
    """(a + b) x − a, element by element, with the digits that are left where that is small."""

    name = "binomial_excess"
    compiled = True
    formula = _excess

    def d_x(self, t: Any, a: Any, b: Any, x: Any, out: Any) -> Any:
        return t * (x - 1)

    def d_y(self, t: Any, a: Any, b: Any, x: Any, out: Any) -> Any:
        return t * x

    def d_z(self, t: Any, a: Any, b: Any, x: Any, out: Any) -> Any:
        return t * (a + b)


@final
class BinomialSlope(ByFormula):
    """How the binomial deviance moves with x, element by element."""

    name = "binomial_slope"
    formula = _binomial_slope

    def d_x(self, t: Any, a: Any, b: Any, x: Any, out: Any) -> Any:
        return -t / x

    def d_y(self, t: Any, a: Any, b: Any, x: Any, out: Any) -> Any:
        return t / (1 - x)

    def d_z(self, t: Any, a: Any, b: Any, x: Any, out: Any) -> Any:
        # The square of x may be 0.
        of_a = jnp.where(a == 0, 0, a / x / x)
        return t * (of_a + jnp.where(b == 0, 0, b / (1 - x) / (1 - x)))


@final
class DistanceFromProduct(ByFormula):
    """n p − x, or its whole or broken part, element by element."""

    name = "distance_from_product"
    compiled = True
    formula = _distance_from_product

    d_x = _OF_ITS_CALLERS
    d_y = _OF_ITS_CALLERS
    d_z = _OF_ITS_CALLERS

    def fused(self, *avals: Any, part: str) -> str:
        return f"{part}_{super().fused(*avals)}"


deviance_p = Deviance()
excess_p = BinomialExcess()
distance_from_product_p = DistanceFromProduct()
binomial_slope_p = BinomialSlope()


def _of_one_shape(*rules: Callable[..., Any] | None) -> list[Callable[..., Any] | None]:
    """Rules of derivatives whose results have the shape of the function's, as operands may not."""

    def spread(rule: Callable[..., Any]) -> Callable[..., Any]:
        return lambda t, out, *operands: jnp.broadcast_to(
            rule(t, out, *operands), aval_of(out).shape
        )

    return [rule and spread(rule) for rule in rules]


def twice_artanh(s: Any) -> Any:
    """2 artanh s = log((1 + s) / (1 − s)) for |s| ≤ 1/3."""
    is_single = dtypes.finfo(aval_of(s).dtype).bits <= 32
    square = lax.square(s)
    series = polynomial(_OF_ARTANH_IN_SINGLE if is_single else _OF_ARTANH, square)
    return 2 * s + 2 * s * (square * series)


@custom_jvp
def score(a: Any, b: Any, x: Any) -> Any:
    """log(a / (a+b) / x)."""
    return log_ratio(a, (a + b) * x, excess_p.bind(*_aligned(a, b, x)))


@custom_jvp
def score_of_rest(a: Any, b: Any, x: Any) -> Any:
    """log(b / (a+b) / (1−x))."""
    return log_ratio(b, (a + b) * (1 - x), -excess_p.bind(*_aligned(a, b, x)))


score.defjvps(
    *_of_one_shape(
        lambda t, out, a, b, x: t * (b / (a + b) / a),
        lambda t, out, a, b, x: -t / (a + b),
        lambda t, out, a, b, x: -t / x,
    )
)
score_of_rest.defjvps(
    *_of_one_shape(
        lambda t, out, a, b, x: -t / (a + b),
        lambda t, out, a, b, x: t * (a / (a + b) / b),
        lambda t, out, a, b, x: t / (1 - x),
    )
)


@custom_jvp
def log_ratio(x: Any, y: Any, distance: Any) -> Any:
    """log(x / y) of positive numbers, given y − x too, with all its digits where x is next to y."""
    is_near = lax.abs(distance) < 0.5 * y
    # The sum must not overflow.
    scale = jnp.where(y > 0.25 * float(dtypes.finfo(aval_of(y).dtype).max), 0.25, 1)
    size = x * scale + y * scale
    s = -jnp.where(is_near, distance * scale, 0) / jnp.where(is_near, size, 1)
    # By −0 the quotient would be negative.
    return jnp.where(is_near, twice_artanh(s), log_of_quotient(x, jnp.where(y == 0, 0, y)))


# The distance follows from the two numbers.
log_ratio.defjvps(
    *_of_one_shape(
        lambda t, out, x, y, distance: t / x,
        lambda t, out, x, y, distance: -t / y,
        None,
    )
)


def log_of_quotient(x: Any, y: Any) -> Any:
    """log(x / y) of positive numbers, also where the quotient leaves the range of the dtype.

    There both are scaled by a power of two, of which the quotient has the square.
    """
    ratio = x / y
    limits = dtypes.finfo(aval_of(ratio).dtype)
    power = (limits.maxexp + limits.nmant) // 2
    # Beside an infinite one the other could be scaled out of the range.
    above = (ratio > float(limits.max)) & (x < math.inf)
    below = (ratio < float(limits.tiny)) & (y < math.inf)
    large, small = 2.0**power, 2.0**-power
    # XLA makes  x · scale · scale / y  of a quotient by  y / scale.
    scale = jnp.where(above, small, jnp.where(below, large, 1))
    inverse = jnp.where(above, large, jnp.where(below, small, 1))
    rest = jnp.where(above, 2 * power, jnp.where(below, -2 * power, 0)) * math.log(2)
    return lax.log((x * scale) / (y * inverse)) + rest


@custom_jvp
def one_minus_ratio(x: Any, y: Any) -> Any:
    """1 − x / y, and 1 for x = 0."""
    return jnp.where(x == 0, 1, jnp.where(y == math.inf, 1 - x / y, (y - x) / y))


one_minus_ratio.defjvps(
    *_of_one_shape(
        lambda t, out, x, y: -t / y,
        lambda t, out, x, y: jnp.where(x == 0, 0, t * (x / y) / y),
    )
)


def _aligned(*operands: Any) -> list[Any]:
    """Operands of one shape; scalars stay, so that what follows from them is computed once."""
    shapes = [x.shape for x in map(aval_of, operands)]
    shape = lax.broadcast_shapes(*shapes)
    return [
        jnp.broadcast_to(x, shape) if own and own != shape else x
        for x, own in zip(operands, shapes, strict=True)
    ]


@custom_jvp
def deviance(x: Any, y: Any) -> Any:
    """x log(x / y) − x + y for x, y ≥ 0, which broadcast against each other."""
    return deviance_at(x, y, y - x)


def deviance_at(x: Any, y: Any, distance: Any) -> Any:
    """The same, given y − x too, which may have more digits; it has no derivative."""
    return deviance_p.bind(*_aligned(x, y, distance), powers=0)


def distances_from_product(x: Any, n: Any, p: Any) -> list[Any]:
    """n p − x, and its whole and broken parts, of which sums have more digits."""
    operands, parts = _aligned(x, n, p), ("full", "whole", "broken")
    return [distance_from_product_p.bind(*operands, part=part) for part in parts]


@custom_jvp
def gamma_deviance(a: Any, x: Any) -> Any:
    """deviance(a, x) + log(x / a), for a > 0 and x ≥ 0."""
    return gamma_deviance_at(a, x, x - a)


def gamma_deviance_at(a: Any, x: Any, distance: Any) -> Any:
    """The same, given x − a too, which may have more digits; it has no derivative."""
    return deviance_p.bind(*_aligned(a, x, distance), powers=1)


@custom_jvp
def binomial_deviance(a: Any, b: Any, x: Any) -> Any:
    """a log(a / (a+b) / x) + b log(b / (a+b) / (1−x)) for a, b ≥ 0, which broadcast."""
    return _two_deviances(a, b, x, powers=0)


@custom_jvp
def beta_deviance(a: Any, b: Any, x: Any) -> Any:
    """binomial_deviance(a, b, x) + log((a+b)² x (1−x) / ab)."""
    return _two_deviances(a, b, x, powers=1)


def table_deviance(a: Any, b: Any, c: Any, d: Any) -> Any:
    """Σ x log(x / y) for the four counts x of a table ((a, b), (c, d)) and their expectations y.

    Expected are rows of one distribution: in a + b the share of a + c among all.  Its rounding
    has no effect of first order, for the sum is least there, if it is that of the rarer column.
    """
    is_rarer = a + c < b + d
    pairs = [(jnp.where(is_rarer, x, y), jnp.where(is_rarer, y, x)) for x, y in ((a, b), (c, d))]
    rarer, other = [lax.add(*counts) for counts in zip(*pairs, strict=True)]
    share = rarer / (rarer + other)
    return binomial_deviance(*pairs[0], share) + binomial_deviance(*pairs[1], share)


def _two_deviances(a: Any, b: Any, x: Any, *, powers: int) -> Any:
    total, excess = a + b, excess_p.bind(*_aligned(a, b, x))
    of_a = deviance_p.bind(*_aligned(a, total * x, excess), powers=powers)
    return of_a + deviance_p.bind(*_aligned(b, total * (1 - x), -excess), powers=powers)


def digamma_beyond_log(k: Any, y: Any, distance: Any) -> Any:
    """ψ(k + 1) − log y for k ≥ 0, given y − k too, with its digits where that is small."""
    is_few = k < 1
    many, distance = jnp.where(is_few, 1, k), jnp.where(is_few, y - 1, distance)
    few = lax.digamma(jnp.where(is_few, k, 0) + 1) - lax.log(y)
    return jnp.where(is_few, few, slope_of_factorial_p.bind(many) + log_ratio(many, y, distance))


def binomial_excess(a: Any, b: Any, x: Any) -> Any:
    """(a + b) x − a."""
    return excess_p.bind(*_aligned(a, b, x))


def binomial_slope(a: Any, b: Any, x: Any) -> Any:
    """How binomial_deviance(a, b, x) moves with x."""
    return binomial_slope_p.bind(*_aligned(a, b, x))


deviance.defjvps(
    *_of_one_shape(
        lambda t, out, x, y: t * log_ratio(x, y, y - x),
        lambda t, out, x, y: t * one_minus_ratio(x, y),
    )
)
gamma_deviance.defjvps(
    *_of_one_shape(
        lambda t, out, a, x: t * (log_ratio(a, x, x - a) - 1 / a),
        lambda t, out, a, x: t * one_minus_ratio(a - 1, x),
    )
)
binomial_deviance.defjvps(
    *_of_one_shape(
        lambda t, out, a, b, x: t * score(a, b, x),
        lambda t, out, a, b, x: t * score_of_rest(a, b, x),
        lambda t, out, a, b, x: t * binomial_slope(a, b, x),
    )
)
beta_deviance.defjvps(
    *_of_one_shape(
        lambda t, out, a, b, x: t * (score(a, b, x) + (2 / (a + b) - 1 / a)),
        lambda t, out, a, b, x: t * (score_of_rest(a, b, x) + (2 / (a + b) - 1 / b)),
        lambda t, out, a, b, x: t * binomial_slope(a - 1, b - 1, x),
    )
)
