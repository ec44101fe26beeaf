"""The normal distribution, cut off at `loc` + a `scale` and at `loc` + b `scale`.

Within, the density is that of `norm` divided by Φ(b) − Φ(a).  All functions take arrays that
broadcast against each other, and give an array of their shape and promoted floating dtype.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np

from ... import dtypes, lax
from ... import numpy as jnp
from ...control.custom.custom_jvp import custom_jvp
from ...engines.reference.replay import replayed
from ...nn import log1mexp
from ...numpy.half_precision import in_float32
from ..special._errors import SQRT_2PI, SQRT_HALF, erfcx_right
from ._arguments import arguments, inside, placed, strong
from ._ends import exponential, of_quotient

# So many give the digits of floats of 4 and 8 bytes.
_TERMS: Final = {4: 8, 8: 16}


@replayed(5)
@in_float32
def logpdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density, −∞ outside.

    Example:
        >>> from morphax.scipy.stats import truncnorm
        >>> truncnorm.logpdf(0.5, -1.0, 1.0).round(5)
        Array(-0.66222, dtype=float32)
    """
    within = _within("truncnorm.logpdf", x, a, b, loc, scale)
    value = _log_of_scaled(*within.arguments) - lax.log(within.scale)
    return _with_outside(within, -np.inf, -np.inf, value)


@replayed(5)
@in_float32
def pdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density, 0 outside.

    Example:
        >>> from morphax.scipy.stats import truncnorm
        >>> truncnorm.pdf(2.0, a=-1.0, b=1.0)
        Array(0., dtype=float32)
    """
    return _density(*arguments("truncnorm.pdf", x, a, b, loc, scale))


@replayed(5)
@in_float32
def cdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The distribution function (Φ(z) − Φ(a)) / (Φ(b) − Φ(a)).

    Example:
        >>> from morphax.scipy.stats import truncnorm
        >>> truncnorm.cdf(0.0, a=-1.0, b=1.0).round(5)
        Array(0.5, dtype=float32)
    """
    within = _within("truncnorm.cdf", x, a, b, loc, scale)
    return _with_outside(within, 0, 1, _share_of_scaled(*within.arguments))


@replayed(5)
@in_float32
def logcdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the distribution function, accurate in both tails.

    Example:
        >>> from morphax.scipy.stats import truncnorm
        >>> truncnorm.logcdf(1.0, a=-1.0, b=1.0)
        Array(0., dtype=float32)
    """
    within = _within("truncnorm.logcdf", x, a, b, loc, scale)
    return _with_outside(within, -np.inf, 0, _log_share_of_scaled(*within.arguments))


@replayed(5)
@in_float32
def sf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The survival function (Φ(b) − Φ(z)) / (Φ(b) − Φ(a)).

    Example:
        >>> from morphax.scipy.stats import truncnorm
        >>> truncnorm.sf(0.0, a=-1.0, b=1.0).round(5)
        Array(0.5, dtype=float32)
    """
    within = _within("truncnorm.sf", x, a, b, loc, scale)
    return _with_outside(within, 1, 0, _share_of_scaled(*_mirrored(within)))


@replayed(5)
@in_float32
def logsf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the survival function, accurate in both tails.

    Example:
        >>> from morphax.scipy.stats import truncnorm
        >>> truncnorm.logsf(0.0, a=-1.0, b=1.0).round(5)
        Array(-0.69315, dtype=float32)
    """
    within = _within("truncnorm.logsf", x, a, b, loc, scale)
    return _with_outside(within, 0, -np.inf, _log_share_of_scaled(*_mirrored(within)))


class _Within(NamedTuple):
    """A point of an interval, as x − loc and `scale`.

    Args:
        arguments: distance, scale, a and b; for points outside, those of the middle.
        scale: the given one, or NaN where it is not positive.
        below: whether the given point is below the interval.
        above: whether it is above.
        is_interval: whether a < b.
    """

    arguments: tuple[Any, ...]
    scale: Any
    below: Any
    above: Any
    is_interval: Any


def _within(name: str, x: Any, a: Any, b: Any, loc: Any, scale: Any) -> _Within:
    distance, scale, a, b = placed(name, x, loc, scale, a, b)
    z = distance / scale
    below, above, is_interval = z < a, z > b, a < b
    outside = below | above
    # Slopes of what is not chosen are multiplied by 0, so they must be finite.
    low, high = jnp.where(is_interval, a, -1), jnp.where(is_interval, b, 1)
    middle = 0.5 * (_finite(low) + _finite(high))
    chosen = inside(outside, distance, middle), jnp.where(outside, 1, scale), low, high
    return _Within(chosen, scale, below, above, is_interval)


def _mirrored(within: _Within) -> tuple[Any, ...]:
    """The arguments of the same point after x → −x."""
    distance, scale, a, b = within.arguments
    return -distance, scale, -b, -a


def _with_outside(within: _Within, low: float, high: float, value: Any) -> Any:
    """The value, or the numbers below and above the interval, or NaN where there is none."""
    value = jnp.where(within.below, low, jnp.where(within.above, high, value))
    return strong(jnp.where(within.is_interval, value, np.nan))


@custom_jvp
def _log_density(z: Any, a: Any, b: Any) -> Any:
    """log(φ(z) / (Φ(b) − Φ(a))) for a ≤ z ≤ b."""
    mass = _mass(a, b)
    return _log_ratio(z, mass.end) + mass.lost - lax.log(SQRT_2PI * mass.scaled)


_log_density.defjvps(
    lambda t, out, z, a, b: -t * z,
    lambda t, out, z, a, b: _for_each(out, t * _slope_at(a, a, b)),
    lambda t, out, z, a, b: _for_each(out, -t * _slope_at(b, a, b)),
)


def _for_each(out: Any, tangent: Any) -> Any:
    """A tangent that is the same wherever the point is."""
    return jnp.broadcast_to(tangent, out.shape)


@custom_jvp
def _log_share(z: Any, a: Any, b: Any) -> Any:
    """The logarithm of the share of the mass that lies below z, for a ≤ z ≤ b."""
    share = _log_part(a, z, a, b)
    # The larger share is the complement of the smaller one.
    rest = log1mexp(-jnp.where(share > -0.5, _log_part(z, b, a, b), -1.0))
    # All of it is the whole: the logarithm of 1 − 0 would be −0.
    return jnp.where(z == b, 0, jnp.where(share > -0.5, rest, share))


def _slope_by_start(t: Any, out: Any, z: Any, a: Any, b: Any) -> Any:
    # Of the part less that of the whole: their quotient is the share above z.
    slope = -_slope_at(a, a, z) * lax.exp(_log_share(-z, -b, -a))
    return t * jnp.where(lax.abs(a) == np.inf, 0, slope)


_log_share.defjvps(
    lambda t, out, z, a, b: t * _slope_at(z, a, z),
    _slope_by_start,
    lambda t, out, z, a, b: _for_each(out, -t * _slope_at(b, a, b)),
)


@custom_jvp
def _share(z: Any, a: Any, b: Any) -> Any:
    return lax.exp(_log_share(z, a, b))


# At the ends the logarithm has infinite slopes, where the share is 0.
_share.defjvps(
    lambda t, out, z, a, b: t * _slope_at(z, a, b),
    lambda t, out, z, a, b: -t * _slope_at(a, a, b) * _share(-z, -b, -a),
    lambda t, out, z, a, b: -t * _slope_at(b, a, b) * out,
)


def _at_end(z: Any, a: Any, b: Any) -> Any:
    """The limit of z f′(z), for the logarithm of the share: as of log z next to a = 0."""
    near = jnp.where(a == 0, 1, 0)
    return jnp.where(z == 0, near, jnp.where(z < 0, -np.inf, 0))


_log_of_scaled = of_quotient(_log_density, lambda z, a, b: jnp.where(z == 0, 0, -np.inf))
_share_of_scaled = of_quotient(_share, lambda z, a, b: jnp.zeros_like(z))
_log_share_of_scaled = of_quotient(_log_share, _at_end)
_density = exponential(logpdf, 5)


def _log_part(start: Any, stop: Any, a: Any, b: Any) -> Any:
    """log((Φ(stop) − Φ(start)) / (Φ(b) − Φ(a)))."""
    part, whole = _mass(start, stop), _mass(a, b)
    ratio = lax.log(part.scaled) - part.lost - (lax.log(whole.scaled) - whole.lost)
    return ratio + _log_ratio(part.end, whole.end)


def _slope_at(x: Any, a: Any, b: Any) -> Any:
    """φ(x) / (Φ(b) − Φ(a)), both of which vanish in the tails."""
    mass = _mass(a, b)
    return lax.exp(_log_ratio(_finite(x), mass.end)) / (SQRT_2PI * mass.scaled)


class _Mass(NamedTuple):
    """Φ(b) − Φ(a), which is ``scaled · e^(−end²/2)``.

    Args:
        end: in a tail the one of a and b that is nearer to 0, between the tails 0.
        scaled: see above.
        lost: what the logarithm of `scaled` is too large by, for its rounding.
    """

    end: Any
    scaled: Any
    lost: Any


def _mass(a: Any, b: Any) -> _Mass:
    # Reflected so that the larger part is below 0, where Φ keeps its digits.
    flipped = a > 0
    low, high = _finite(jnp.where(flipped, -b, a)), _finite(jnp.where(flipped, -a, b))
    crossing = high > 0
    end = jnp.where(crossing, 0, high)
    below, above = [
        0.5 * erfcx_right(lax.abs(x) * SQRT_HALF) * lax.exp(_log_ratio(x, end)) for x in (low, high)
    ]
    outside = below + above
    inside = 1 - outside
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    is_narrow = (half < 0.3) & (lax.abs(middle) * half < 0.3)
    narrow = _narrow_mass(
        jnp.where(is_narrow, middle, 0), jnp.where(is_narrow, half, 0), end, crossing
    )
    wide = jnp.where(crossing, inside, above - below)
    # What 1 − r lost when it was rounded, divided by its argument.
    lost = jnp.where(crossing & ~is_narrow, (outside - (1 - inside)) / inside, 0)
    return _Mass(end, jnp.where(is_narrow, narrow, wide), lost)


def _narrow_mass(middle: Any, half: Any, end: Any, crossing: Any) -> Any:
    """The scaled mass from m − h to m + h by the Taylor series of φ in m, for h and m h below 0.3.

    The mass is φ(m) 2h (1 + He₂(m) h² / 3! + He₄(m) h⁴ / 5! + …), with Hermite's polynomials.
    """
    product, square = middle * half, lax.square(half)
    previous, term, total = 1.0, product, jnp.ones_like(middle)
    for n in range(1, _TERMS[middle.dtype.itemsize]):
        previous, term = term, product * term - n * square * previous
        if n % 2:
            total = total + term / math.factorial(n + 2)
    # end − m and end + m, without the rounding of m.
    difference = jnp.where(crossing, -middle, half)
    log_ratio = 0.5 * difference * jnp.where(crossing, middle, 2 * end - half)
    return lax.exp(log_ratio) * (2 / SQRT_2PI) * half * total


def _log_ratio(x: Any, end: Any) -> Any:
    """The logarithm of φ(x) / φ(end), with the digits of their distance."""
    return 0.5 * (end - x) * (end + x)


def _finite(x: Any) -> Any:
    """A number whose square is finite, where φ vanishes as it does beyond."""
    most = 0.5 * float(np.sqrt(dtypes.finfo(jnp.result_type(x)).max))
    return lax.clamp(-most, x, most)
