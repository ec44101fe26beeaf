"""The inverse of the error function in float64, as a formula of compiled programs.

With w = −log(1 − x²), erf⁻¹(x) / x is smooth: a polynomial in w serves |x| < 0.999, and two in √w
the tails.  There is no branch, so that many numbers are computed together.

1 − x² is (1 − |x|) (1 + |x|), of which the first factor is exact in the tails; to square first, as
XLA does, leaves ten digits there.  The polynomials interpolate at Chebyshev nodes; they are off by
1e-16 at most.

Reference: Giles, "Approximating the erfinv function", GPU Computing Gems Jade Edition (2011).
"""

from __future__ import annotations

import math
from typing import Any

from .horner import polynomial

# Highest power first.
_CENTRE = (
    3.240704459379902e-21, -1.113483769832702e-21, -3.4996044354754177e-19, 1.150022252066253e-18,
    1.557432024623325e-17, -1.3016928016796445e-16, -4.0282154327661744e-17,
    6.596407712420834e-15, -4.001237735091896e-14, -8.118399443074353e-14, 2.6304834740560442e-12,
    -1.2976885526532075e-11, -5.414287198084716e-11, 1.0512181539804126e-09,
    -4.11266082002324e-09, -2.9070382262927266e-08, 4.234788173782339e-07,
    -1.3654691850603575e-06, -1.3882523394405316e-05, 0.00018673420802464837,
    -0.000740702534154477, -0.00603367087142785, 0.2401581824255883, 1.6536545626831027,
)  # fmt: skip
_MIDDLE = (
    -3.831039946072411e-10, 9.071950571029922e-08, -2.6860975725571463e-07, 1.832399988132858e-08,
    1.4958263152984917e-06, -4.013946398190292e-06, 2.9273722115986924e-06,
    1.2475343474376931e-05, -4.731952918337189e-05, 6.828484052292924e-05, 2.4031363245440546e-05,
    -0.00035503751863069763, 0.0009532893521118177, -0.0016882755561681802, 0.0024914420976198813,
    -0.0037512085075638536, 0.0053709145535581985, 1.0052589676941592, 3.0838856104922208,
)  # fmt: skip
_TAIL = (
    2.7520836691204922e-11, -2.2467591693364952e-11, -3.7171553416167463e-10,
    1.4895546197648137e-09, -3.5875995609819953e-09, 7.644335983557396e-09,
    -1.5146221782627176e-08, 2.9124399186491765e-08, -6.761414811460412e-08,
    2.2901554497563463e-07, -9.930119183482954e-07, 4.5260599477720725e-06,
    -1.968177348376382e-05, 7.599527735160192e-05, -0.00021503011962944126,
    -0.00013871931835112341, 1.0103004648645413, 4.849906401408584,
)  # fmt: skip
_END_OF_CENTRE = 6.25


def inverse_erf(m: Any, x: Any) -> Any:
    """erf⁻¹ x in a notation: ±∞ at ±1, NaN beyond."""
    size = _size(m, x)
    return _chosen(m, x, size, _tail(m, size))


def inverse_erf_of_each(m: Any, x: Any) -> Any:
    """The same, of numbers that have ways of their own: few need the tails."""
    size = _size(m, x)
    return _chosen(m, x, size, m.if_any(~(size < _END_OF_CENTRE), lambda: _tail(m, size)))


def _size(m: Any, x: Any) -> Any:
    magnitude = abs(x)
    return -m.log((1.0 - magnitude) * (1.0 + magnitude))


def _tail(m: Any, size: Any) -> Any:
    root = m.sqrt(size)
    return m.where(root < 4.0, polynomial(_MIDDLE, root - 3.25), polynomial(_TAIL, root - 5.0))


def _chosen(m: Any, x: Any, size: Any, tail: Any) -> Any:
    ratio = m.where(size < _END_OF_CENTRE, polynomial(_CENTRE, size - 3.125), tail)
    return m.where(abs(x) == 1.0, x * math.inf, ratio * x)
