"""log |Γ| and its derivative ψ, with all digits next to the zeros of positive numbers.

On [1, 2] log Γ(x) is (x − 1) (x − 2) times a polynomial, and ψ(x) one times the distance from its
root, of which more digits are known than a float has.  Below 4 log Γ is moved there by
Γ(x + 1) = x Γ(x), above it is Stirling's (x − ½) log x − x and a polynomial in 1/x.  ψ is moved up,
to its asymptotic series.  Numbers on the left are reflected.

What XLA and others make of sums of logarithms has no digits where these cancel.

Reference: DLMF, 5.5, 5.7 and 5.11.
"""

from __future__ import annotations

import math
from typing import Any

from .horner import polynomial

# Polynomials by interpolation in Chebyshev's points with 60 digits, highest power first; those "in
# single" are for results of 8 digits.

# log Γ(x) − (x − ½) log x + x in 2/x − 1, for x ≥ 1.
ABOVE_ONE = (
    -1.2496157394226516e-11, -1.138843839461295e-12, 1.1209128445245066e-10,
    -1.0759984316523354e-10, -2.021058096584865e-10, 3.9489200054133546e-10,
    -3.478657569554614e-10, 6.090776139379939e-10, -7.055388144030629e-10, -1.3744874794123066e-09,
    8.343785144222177e-09, -2.2293176264984083e-08, 3.5040368828208156e-08, 6.4171145710516024e-09,
    -2.7228885009045054e-07, 1.0599775592730635e-06, -1.9283381691359057e-06,
    -3.833103162935326e-06, 4.975306753836073e-05, -0.00019216804437087782, -0.0008575572265035157,
    0.040725690922956415, 0.960279229160082,
)  # fmt: skip
ABOVE_ONE_IN_SINGLE = (
    1.010260461451611e-06, -2.3536266135376504e-06, -3.7900124056889488e-06, 4.999405886746204e-05,
    -0.00019217761139677959, -0.0008576033956258674, 0.04072569122741195, 0.9602792305910731,
)  # fmt: skip

# log Γ(x) / ((x − 1) (x − 2)) and ψ(x) / (x − root) in 2x − 3, on [1, 2].
_BETWEEN_ZEROS = (
    1.1273354955165048e-11, -3.533898162275879e-11, 5.18198984494436e-11, -1.6393816009998903e-10,
    6.533268528434416e-10, -2.0732827842398214e-09, 6.434152357291201e-09, -2.057761163373013e-08,
    6.623601939725099e-08, -2.138843561161159e-07, 6.948440187550096e-07, -2.274240971132041e-06,
    7.5113915317296576e-06, -2.509432984849446e-05, 8.510090378468051e-05, -0.0002945507014009265,
    0.0010498186644508718, -0.003913560937631659, 0.01572785026864121, -0.07297994795715297,
    0.4831289505409809,
)  # fmt: skip
_BETWEEN_ZEROS_IN_SINGLE = (
    9.3293411551376e-06, -3.103229500210679e-05, 8.36736962200333e-05, -0.0002898917636782564,
    0.0010502229394284677, -0.00391488031275785, 0.01572781972865774, -0.07297984829723407,
    0.4831289505409809,
)  # fmt: skip
_ABOUT_ROOT = (
    2.4057297773026326e-10, -7.217231554506031e-10, 9.021824538932729e-10, -2.7066308634469587e-09,
    1.0962078810190396e-08, -3.288837880625679e-08, 9.509734580818946e-08, -2.8534578211707985e-07,
    8.590699307116732e-07, -2.5785659502395533e-06, 7.741184312154647e-06, -2.3258098660110816e-05,
    6.995019751413975e-05, -0.00021074843772854427, 0.0006368880294427922, -0.001935066662210221,
    0.005936795278346364, -0.01855061538185726, 0.060135621060196195, -0.21181371064072865,
    0.9510558760318328,
)  # fmt: skip
ROOT, REST_OF_ROOT = 1.4616321449683622, 9.549995429965697e-17
"""The root of ψ in two parts."""

# Beyond it ψ is its series.  Below it is moved up by as many steps.
_STEPS = 10
OF_DIGAMMA = (1 / 12, -691 / 32760, 1 / 132, -1 / 240, 1 / 252, -1 / 120, 1 / 12)
"""B₂ₖ / 2k, highest power of 1/x² first."""


def sine_of_half_turns(m: Any, x: Any) -> Any:
    """sin πx, with all its digits next to whole x, too."""
    whole = m.floor(x + 0.5)
    is_odd = whole - 2.0 * m.floor(0.5 * whole) != 0.0
    sine = m.sin(math.pi * (x - whole))
    return m.where(is_odd, -sine, sine)


def _of_positive(m: Any, x: Any, *, is_single: bool) -> Any:
    """log Γ(x) for x ≥ 0."""
    far_out, between = (
        (ABOVE_ONE_IN_SINGLE, _BETWEEN_ZEROS_IN_SINGLE)
        if is_single
        else (ABOVE_ONE, _BETWEEN_ZEROS)
    )
    is_large, is_small = x >= 4.0, x < 1.0
    below = m.floor(m.where(is_large, 1.0, x))
    past = m.where(is_large, 0.5, x - below)
    near = past * (past - 1.0) * polynomial(between, 2.0 * past - 1.0)
    # The factors by which Γ differs from that on [1, 2].
    factor = m.where(below >= 3.0, (x - 1.0) * (x - 2.0), m.where(below >= 2.0, x - 1.0, 1.0))
    log = m.log(m.where(is_small | is_large, x, factor))
    far = (x - 0.5) * log - x + polynomial(far_out, 2.0 / m.where(is_large, x, 4.0) - 1.0)
    return m.where(is_large, far, m.where(is_small, near - log, near + log))


def log_gamma(m: Any, x: Any, *, is_single: bool = False) -> Any:
    """log |Γ(x)|: ∞ at the poles 0, −1, −2 and so on, and at ±∞."""
    is_left = x < 0.0
    right = _of_positive(m, m.where(is_left, 1.0 - x, x), is_single=is_single)
    sine = abs(sine_of_half_turns(m, m.where(is_left, x, 0.5)))
    value = m.where(is_left, m.log(math.pi / sine) - right, right)
    return m.where(abs(x) == math.inf, math.inf, value)


def digamma(m: Any, x: Any) -> Any:
    """ψ(x), in float64: NaN at the poles 0, −1, −2 and so on, and at −∞."""
    is_left = x < 0.5
    z = m.where(is_left, 1.0 - x, x)
    is_low = z < float(_STEPS)
    low = m.where(is_low, z, 1.0)
    below = sum([1.0 / (low + k) for k in range(_STEPS)])
    high = m.where(is_low, z + float(_STEPS), z)
    inverse = 1.0 / high
    square = inverse * inverse
    series = m.log(high) - 0.5 * inverse - square * polynomial(OF_DIGAMMA, square)
    distance = (z - ROOT) - REST_OF_ROOT
    is_near = (z >= 1.0) & (z <= 2.0)
    near = distance * polynomial(_ABOUT_ROOT, 2.0 * m.where(is_near, z, 1.5) - 3.0)
    right = m.where(is_near, near, m.where(is_low, series - below, series))
    # Of what x is past a whole number the tangent is exact enough next to the poles.
    past = m.where(is_left, x - m.floor(x + 0.5), 0.25)

    def reflected() -> Any:
        return math.pi * m.cos(math.pi * past) / m.sin(math.pi * past)

    value = right - m.where(is_left, m.if_any(is_left, reflected), 0.0)
    value = m.where(x == math.inf, math.inf, value)
    return m.where((is_left & (past == 0.0)) | (x == -math.inf), math.nan, value)
