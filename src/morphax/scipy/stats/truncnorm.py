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
from ._arguments import arguments, inside, placed, standardized, strong
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
    distance, scale, a, b = placed("truncnorm.logpdf", x, loc, scale, a, b)
    z = distance / scale
    outside = (z < a) | (z > b)
    middle = 0.5 * (_finite(a) + _finite(b)) * scale
    value = _log_of_scaled(inside(outside, distance, middle), scale, a, b) - lax.log(scale)
    return _of_interval(a, b, jnp.where(outside, -np.inf, value))


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
    return lax.exp(logcdf(*arguments("truncnorm.cdf", x, a, b, loc, scale)))


@replayed(5)
@in_float32
def logcdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the distribution function, accurate in both tails.

    Example:
        >>> from morphax.scipy.stats import truncnorm
        >>> truncnorm.logcdf(1.0, a=-1.0, b=1.0)
        Array(0., dtype=float32)
    """
    z, _, a, b = standardized("truncnorm.logcdf", x, loc, scale, a, b)
    return _log_share(z, a, b, below=True)


@replayed(5)
@in_float32
def sf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The survival function (Φ(b) − Φ(z)) / (Φ(b) − Φ(a)).

    Example:
        >>> from morphax.scipy.stats import truncnorm
        >>> truncnorm.sf(0.0, a=-1.0, b=1.0).round(5)
        Array(0.5, dtype=float32)
    """
    return lax.exp(logsf(*arguments("truncnorm.sf", x, a, b, loc, scale)))


@replayed(5)
@in_float32
def logsf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the survival function, accurate in both tails.

    Example:
        >>> from morphax.scipy.stats import truncnorm
        >>> truncnorm.logsf(0.0, a=-1.0, b=1.0).round(5)
        Array(-0.69315, dtype=float32)
    """
    z, _, a, b = standardized("truncnorm.logsf", x, loc, scale, a, b)
    return _log_share(z, a, b, below=False)


def _log_share(z: Any, a: Any, b: Any, *, below: bool) -> Any:
    """The logarithm of the share of the mass that lies below z, or above."""
    empty, full = (z <= a, z >= b) if below else (z >= b, z <= a)
    place = jnp.where(empty | full, 0.5 * (_finite(a) + _finite(b)), z)
    parts = ((a, place), (place, b))
    (start, stop), others = parts if below else parts[::-1]
    share = _log_part(start, stop, a, b)
    # The larger share is the complement of the smaller one.
    rest = log1mexp(-jnp.where(share > -0.5, _log_part(*others, a, b), -1.0))
    value = jnp.where(share > -0.5, rest, share)
    return _of_interval(a, b, jnp.where(empty, -np.inf, jnp.where(full, 0.0, value)))


def _of_interval(a: Any, b: Any, value: Any) -> Any:
    """The value, or NaN where there is no interval from a to b."""
    return strong(jnp.where(a < b, value, np.nan))


@custom_jvp
def _log_density(z: Any, a: Any, b: Any) -> Any:
    """log(φ(z) / (Φ(b) − Φ(a))) for a ≤ z ≤ b."""
    mass = _mass(a, b)
    return _log_ratio(z, mass.end) + mass.lost - lax.log(SQRT_2PI * mass.scaled)


@_log_density.defjvp
def _log_density_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    z, a, b = primals
    of_z, of_a, of_b = tangents
    change = of_a * _slope_at(a, a, b) - of_b * _slope_at(b, a, b)
    return _log_density(z, a, b), change - of_z * _finite(z)


_log_of_scaled = of_quotient(_log_density, lambda z, a, b: jnp.where(z == 0, 0, -np.inf))
_density = exponential(logpdf, 5)


@custom_jvp
def _log_part(start: Any, stop: Any, a: Any, b: Any) -> Any:
    """log((Φ(stop) − Φ(start)) / (Φ(b) − Φ(a)))."""
    part, whole = _mass(start, stop), _mass(a, b)
    ratio = lax.log(part.scaled) - part.lost - (lax.log(whole.scaled) - whole.lost)
    return ratio + _log_ratio(part.end, whole.end)


@_log_part.defjvp
def _log_part_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    start, stop, a, b = primals
    of_start, of_stop, of_a, of_b = tangents
    part = of_stop * _slope_at(stop, start, stop) - of_start * _slope_at(start, start, stop)
    whole = of_b * _slope_at(b, a, b) - of_a * _slope_at(a, a, b)
    return _log_part(start, stop, a, b), part - whole


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
