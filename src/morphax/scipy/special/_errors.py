"""The error function and its kin, and the normal distribution function and its inverse."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...control.custom.custom_jvp import custom_jvp
from ...engines.reference.replay import replayed
from ...lax.elementwise.inverse_erfc import erfc_inv_p
from ...numpy.complex_numbers import is_complex
from ...numpy.half_precision import in_float32
from ...util.messages import described, message
from ._operands import chebyshev, operands, polynomial, real_operands, strong

SQRT_HALF = math.sqrt(0.5)
_INVERSE_SQRT_PI = 1 / math.sqrt(math.pi)
SQRT_2PI = math.sqrt(2 * math.pi)

# Chebyshev series of (x + ½) erfcx x in (x − 3.5) / (x + 3.5) for x ≥ 0, computed with 50 digits.
_ERFCX = (
    0.588816365818062, -0.0008150886417073145, -0.04366841286731573, 0.029004874185146634,
    -0.012170057698091112, 0.0037647418578178743, -0.0008719408788556261, 0.00014134914908277792,
    -1.159245580563175e-05, -1.0558833490665204e-06, 4.382880078446411e-07, -3.052851317543059e-08,
    -8.558332358170958e-09, 1.6956801343056294e-09, 1.27330809683023e-10, -6.241392039758147e-11,
    -1.1061378876716896e-12, 2.2136301819115147e-12, -1.6836330640155063e-14,
    -8.259628000461789e-14, 9.512051522269417e-16, 3.300593968586416e-15, 1.440141224704502e-17,
    -1.3895854817871648e-16,
)  # fmt: skip
_ERFCX_OF_SINGLE = np.polynomial.chebyshev.cheb2poly(_ERFCX[:14])[::-1].tolist()
# Cody (1969), numerator and denominator, highest power first.
_ERFCX_REMOTE = (
    (
        1.63153871373020978e-2,
        3.05326634961232344e-1,
        3.60344899949804439e-1,
        1.25781726111229246e-1,
        1.60837851487422766e-2,
        6.58749161529837803e-4,
    ),
    (
        1.0,
        2.56852019228982242e0,
        1.87295284992346047e0,
        5.27905102951428412e-1,
        6.05183413124413191e-2,
        2.33520497626869185e-3,
    ),
)
# Wichura (1988), likewise, for probabilities in the middle, in the tails, and far out.
_NDTRI_MIDDLE = (
    (
        2.5090809287301226727e3,
        3.3430575583588128105e4,
        6.7265770927008700853e4,
        4.5921953931549871457e4,
        1.3731693765509461125e4,
        1.9715909503065514427e3,
        1.3314166789178437745e2,
        3.3871328727963666080e0,
    ),
    (
        5.2264952788528545610e3,
        2.8729085735721942674e4,
        3.9307895800092710610e4,
        2.1213794301586595867e4,
        5.3941960214247511077e3,
        6.8718700749205790830e2,
        4.2313330701600911252e1,
        1.0,
    ),
)
_NDTRI_TAIL = (
    (
        7.74545014278341407640e-4,
        2.27238449892691845833e-2,
        2.41780725177450611770e-1,
        1.27045825245236838258e0,
        3.64784832476320460504e0,
        5.76949722146069140550e0,
        4.63033784615654529590e0,
        1.42343711074968357734e0,
    ),
    (
        1.05075007164441684324e-9,
        5.47593808499534494600e-4,
        1.51986665636164571966e-2,
        1.48103976427480074590e-1,
        6.89767334985100004550e-1,
        1.67638483018380384940e0,
        2.05319162663775882187e0,
        1.0,
    ),
)
_NDTRI_REMOTE = (
    (
        2.01033439929228813265e-7,
        2.71155556874348757815e-5,
        1.24266094738807843860e-3,
        2.65321895265761230930e-2,
        2.96560571828504891230e-1,
        1.78482653991729133580e0,
        5.46378491116411436990e0,
        6.65790464350110377720e0,
    ),
    (
        2.04426310338993978564e-15,
        1.42151175831644588870e-7,
        1.84631831751005468180e-5,
        7.86869131145613259100e-4,
        1.48753612908506148525e-2,
        1.36929880922735805310e-1,
        5.99832206555887937690e-1,
        1.0,
    ),
)
# The same for float32, off by 3e-10 and 8e-9: the quotients of least relative error, by weighted
# least squares with 60 digits; the tail is that of all probabilities from 1e-38 on.
_NDTRI_MIDDLE_OF_SINGLE = (
    (
        151.88679572658472,
        697.9611812774618,
        423.5805896379948,
        71.19135662573079,
        3.3871328718192246,
    ),
    (209.6292122087052, 410.9368748878637, 175.19454051015794, 24.02343323243787, 1.0),
)
_NDTRI_TAIL_OF_SINGLE = (
    (
        1.4145389790379006,
        12.081860961776112,
        12.537232416325653,
        -11.430044707474432,
        -6.823103854614405,
    ),
    (1.0, 8.562979029748227, 11.131166766589656, 2.3581325564142666),
)


def _ratio(x: Any, coefficients: tuple[Sequence[float], Sequence[float]]) -> Any:
    """The quotient of two polynomials of `x`."""
    numerator, denominator = coefficients
    return polynomial(x, numerator) / polynomial(x, denominator)


def erf(x: Any) -> Any:
    """The error function 2/√π ∫₀ˣ exp(−s²) ds.

    Example:
        >>> from morphax.scipy import special
        >>> special.erf(1.0)
        Array(0.8427008, dtype=float32, weak_type=True)
    """
    return lax.erf(*operands("erf", x))


def erfc(x: Any) -> Any:
    """1 − erf x, accurate for large x.

    Example:
        >>> from morphax.scipy import special
        >>> special.erfc(5.0)
        Array(1.5374598e-12, dtype=float32, weak_type=True)
    """
    return lax.erfc(*operands("erfc", x))


def erfinv(x: Any) -> Any:
    """The inverse of `erf`, on (−1, 1).

    Example:
        >>> from morphax.scipy import special
        >>> special.erfinv(special.erf(0.5))
        Array(0.5, dtype=float32, weak_type=True)
    """
    return lax.erf_inv(*operands("erfinv", x))


def erfcinv(y: Any) -> Any:
    """The inverse of `erfc`, on (0, 2): ∞ at 0, −∞ at 2, NaN beyond.

    Args:
        y: real array (...).

    Returns:
        Array (...), floating.

    Raises:
        ValueError: `y` is complex.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.scipy.special import erfcinv
        >>> erfcinv(jnp.array([0.0, 0.5, 1.0, 2.0]))
        Array([       inf, 0.47693628, 0.        ,       -inf], dtype=float32)
    """
    (y,) = operands("erfcinv", y)
    if is_complex(y):
        raise ValueError(
            message(
                "scipy.special.erfcinv, argument y",
                given=described(y),
                expected="real numbers",
                fix="Pass the real part.",
            )
        )
    return erfc_inv_p.bind(strong(y))


@in_float32
def ndtr(x: Any) -> Any:
    """The distribution function of the standard normal distribution.

    Example:
        >>> from morphax.scipy import special
        >>> special.ndtr(0.0)
        Array(0.5, dtype=float32)
    """
    (x,) = operands("ndtr", x)
    return strong(0.5 * lax.erfc(x * -SQRT_HALF))


@replayed(1)
@in_float32
def erfcx(x: Any) -> Any:
    """exp(x²) · erfc(x), which does not vanish as `erfc` does: about 1 / (x √π) for large x.

    Reference:
        Shepherd & Laframboise, "Chebyshev approximation of (1 + 2x) exp(x²) erfc x in 0 ≤ x < ∞",
        Mathematics of Computation 36 (1981).
        W. J. Cody, "Rational Chebyshev approximations for the error function", Mathematics of
        Computation 23 (1969), for the derivative.

    Example:
        >>> from morphax.scipy import special
        >>> special.erfcx(100.0)
        Array(0.00564161, dtype=float32)
    """
    return strong(_erfcx(*operands("erfcx", x)))


@custom_jvp
def _erfcx(x: Any) -> Any:
    is_left = x < 0
    above = erfcx_right(lax.abs(x))
    return jnp.where(is_left, 2 * lax.exp(jnp.where(is_left, x * x, 0)) - above, above)


@custom_jvp
def erfcx_right(x: Any) -> Any:
    """erfcx x for x ≥ 0."""
    bounded = jnp.minimum(x, 1e30)
    # In this order next to no digits are lost about 0.
    t = 2 * bounded / (bounded + 3.5) - 1
    if x.dtype == np.float64:
        return chebyshev(t, _ERFCX, 2.0**-57) / (x + 0.5)
    return polynomial(t, _ERFCX_OF_SINGLE) / (x + 0.5)


def _erfcx_correction(x: Any) -> Any:
    """1/√π − x erfcx x, for x ≥ 4."""
    square = lax.square(1 / x)
    return square * _ratio(square, _ERFCX_REMOTE)


def _slope_of_erfcx(x: Any, out: Any) -> Any:
    """2 x erfcx x − 2/√π, two terms that nearly cancel for large x."""
    remote = x > 4
    plain = jnp.where(remote, 0, x) * out - _INVERSE_SQRT_PI
    return 2 * jnp.where(remote, -_erfcx_correction(jnp.where(remote, x, 4)), plain)


_erfcx.defjvps(lambda t, out, x: t * _slope_of_erfcx(x, out))
erfcx_right.defjvps(lambda t, out, x: t * _slope_of_erfcx(x, out))


@replayed(1)
@in_float32
def log_ndtr(x: Any, series_order: int = 3) -> Any:
    """The logarithm of `ndtr`, accurate in both tails.

    Args:
        x: array (...), floating.
        series_order: of no account: the formula here needs no series.

    Returns:
        Array (...): log Φ(x), which is log(erfcx(−x/√2) / 2) − x²/2 far below.

    Example:
        >>> from morphax.scipy import special
        >>> special.log_ndtr(-40.0)
        Array(-804.60846, dtype=float32)
    """
    return strong(_log_ndtr(*operands("log_ndtr", x)))


@custom_jvp
def _log_ndtr(x: Any) -> Any:
    """By one erfcx, of |x| / √2, and one logarithm: of Φ, or on the left of Φ / e^(−x²/2)."""
    below, half_square = x < 0, 0.5 * lax.square(x)
    half = 0.5 * erfcx_right(lax.abs(x) * SQRT_HALF)
    rest = half * lax.exp(-half_square)
    whole = 1 - rest
    # What 1 − r lost when it was rounded is put back, divided by its argument.
    lost = jnp.where(below, half_square, (rest - (1 - whole)) / whole)
    return lax.log(jnp.where(below, half, whole)) - lost


# φ / Φ, both of which vanish far below, where it is √(2/π) / erfcx(−x/√2).
_log_ndtr.defjvps(
    lambda t, out, x: (
        t
        * jnp.where(
            x < 0,
            _inverse_mills_ratio(jnp.where(x < 0, x, 0)),
            lax.exp(-0.5 * lax.square(jnp.where(x < 0, 0, x)) - jnp.where(x < 0, 0, out))
            / SQRT_2PI,
        )
    )
)


def _inverse_mills_ratio(x: Any) -> Any:
    """φ(x) / Φ(x) for x ≤ 0; far below by its series, for squares of erfcx would vanish there."""
    is_far = x < -1e4
    inverse = 1 / jnp.where(is_far, x, -1)
    far = 2 * inverse * inverse * inverse - inverse - x
    near = 2 / SQRT_2PI / erfcx_right(jnp.where(is_far, 0, x) * -SQRT_HALF)
    return jnp.where(is_far, far, near)


@replayed(1)
@in_float32
def ndtri(p: Any) -> Any:
    """The inverse of `ndtr`: −∞ at 0, ∞ at 1, NaN outside [0, 1].

    Reference:
        M. J. Wichura, "Algorithm AS 241: the percentage points of the normal distribution", Applied
        Statistics 37 (1988).

    Example:
        >>> from morphax.scipy import special
        >>> special.ndtri(0.975)
        Array(1.9599645, dtype=float32)
    """
    return strong(_ndtri(*real_operands("ndtri", p, refusal=TypeError)))


@custom_jvp
def _ndtri(p: Any) -> Any:
    centred = p - 0.5
    is_middle = lax.abs(centred) <= 0.425
    near = jnp.where(is_middle, centred, 0)
    place = 0.180625 - near * near
    smaller = jnp.where(centred < 0, p, 1 - p)
    inside = ~is_middle & (smaller > 0)
    r = lax.sqrt(-lax.log(jnp.where(inside, smaller, 0.1)))
    if near.dtype == np.float64:
        middle = _ratio(place, _NDTRI_MIDDLE)
        tail = jnp.where(r <= 5, _ratio(r - 1.6, _NDTRI_TAIL), _ratio(r - 5, _NDTRI_REMOTE))
    else:
        middle, tail = _ratio(place, _NDTRI_MIDDLE_OF_SINGLE), _ratio(r, _NDTRI_TAIL_OF_SINGLE)
    tail = jnp.where(smaller == 0, np.inf, jnp.where(inside, tail, np.nan))
    return jnp.where(is_middle, near * middle, jnp.where(centred < 0, -tail, tail))


_ndtri.defjvps(lambda t, out, p: t * SQRT_2PI * lax.exp(0.5 * out * out))
