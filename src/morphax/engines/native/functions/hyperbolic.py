"""Hyperbolic functions and their inverses, from exponentials and logarithms."""

from __future__ import annotations

import math

from .exponential import exp, exp_in_range, expm1, log_beyond_one
from .kernel import F32, F64, NO_VALUE, Lanes

# Of (tanh x − x) / x³, in x², up to 0.6 and up to 0.55.
_TANH = {
    4: (
        *(0.0022310691823536761, -0.0082670972951746325, 0.021734442706525157),
        *(-0.053952476187521831, 0.13333247796908179, -0.33333331782643959),
    ),
    8: (
        *(-2.8502418596292263e-6, 1.3036686478262499e-5, -3.7809058674035387e-5),
        *(9.6409599666270557e-5, -2.3900770054607493e-4, 5.9000683158167179e-4),
        *(-1.4558319141921774e-3, 3.5921278297113315e-3, -8.8632355181856925e-3),
        *(2.1869488535728082e-2, -5.3968253968244774e-2, 0.13333333333333323),
        -0.33333333333333333,
    ),
}
_NEAR = {4: 0.6, 8: 0.55}
# From here on tanh is 1.
_FAR = {4: 10.0, 8: 22.0}
# Up to here arsinh x and artanh x are x in float32, and float64 has the digits of logarithms near 1
# beyond.
_LINEAR = 2.0**-14


def tanh(x: Lanes) -> Lanes:
    """Tanh x: a polynomial near 0, and ``1 − 2 / (e²ˣ + 1)``."""
    size = x.dtype.itemsize
    magnitude = x.call("fabs").at_most(_FAR[size])
    z = magnitude * magnitude
    near = (magnitude * z).times_plus(z.polynomial(_TANH[size]), magnitude)
    far = 1.0 - 2.0 / (exp_in_range(magnitude + magnitude) + 1.0)
    return near.where(magnitude < _NEAR[size], far).with_sign_of(x)


def sinh(x: Lanes) -> Lanes:
    """Sinh x of float32."""
    t = expm1(x.call("fabs").to(F64))
    # Of infinity the quotient is none.
    magnitude = 0.5 * (t + (t / (t + 1.0)).where(t < math.inf, 1.0))
    return magnitude.to(F32).with_sign_of(x)


def cosh(x: Lanes) -> Lanes:
    """Cosh x of float32."""
    e = exp(x.to(F64))
    return (0.5 * (e + 1.0 / e)).to(F32)


def asinh(x: Lanes) -> Lanes:
    """Arsinh x of float32: ``log(x + √(x² + 1))``."""
    wide = x.call("fabs").to(F64)
    value = log_beyond_one(wide + (wide * wide + 1.0).call("sqrt"), 4)
    return value.to(F32).where(wide > _LINEAR, x.call("fabs")).with_sign_of(x)


def acosh(x: Lanes) -> Lanes:
    """Arcosh x of float32, NaN below 1: ``log(x + √(x² − 1))``; of float32, squares are exact."""
    wide = x.to(F64)
    value = log_beyond_one(wide + (wide * wide - 1.0).call("sqrt"), 4)
    return wide.like(NO_VALUE).where(wide < 1.0, value).to(F32)


def atanh(x: Lanes) -> Lanes:
    """Artanh x of float32, infinite at ±1: ``½ log ((1 + x) / (1 − x))``."""
    wide = x.call("fabs").to(F64)
    value = 0.5 * log_beyond_one((wide + 1.0) / (1.0 - wide), 4)
    value = wide.like(math.nan).where(wide > 1.0, value)
    return value.to(F32).where(wide > _LINEAR, x.call("fabs")).with_sign_of(x)
