"""Integrals of sines and cosines: Si and Ci, and those of Fresnel.

Near 0 they are power series.  Beyond, each pair oscillates with two functions that do not: for Si
and Ci, Si(x) = π/2 − f cos x − g sin x and Ci(x) = f sin x − g cos x; Fresnel's likewise, with
πx²/2 for x.  These functions are Chebyshev series in 1/x², fitted with 34 digits.

References: DLMF, 6.2, 6.6, 7.2, 7.5 and 7.6.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, final

import numpy as np

from ... import lax
from ...lax.ground.formulas import ByFormula, Notation
from ...numpy.half_precision import in_float32
from ...numpy.sine_cardinal import sine_over
from ...util.scipy_libraries import special_functions
from . import _sine_integrals_of_single as of_single
from ._operands import chebyshev, real_operands, strong_value

_EULER = 0.5772156649015329
_HALF_PI = math.pi / 2
_START_OF_SICI = 4.0
_START_OF_FRESNEL = 1.6
# Series of float32 end later than this.
_OF_SINGLE = 1e-9
_FAR_OF_SINGLE = of_single.si_far, of_single.ci_far
# x f and x² g of Si and Ci for 0 ≤ 1/x² ≤ 1/16.
_SICI_F = (
    0.9547633884032938, -0.0410699867196166, 0.003510547451979443, -0.0005172175488768527,
    0.00010328193778536401, -2.5139407613382352e-05, 7.046299766746879e-06, -2.1974483848031207e-06,
    7.455004638205959e-07, -2.708631114149491e-07, 1.0420323162393677e-07, -4.208421591372028e-08,
    1.7724757498225048e-08, -7.74422777800052e-09, 3.4951406359013262e-09, -1.6237582824385952e-09,
    7.742528363926332e-10, -3.7799091899163987e-10, 1.88541422775123e-10, -9.59125670597109e-11,
    4.9682959803373714e-11, -2.6170247508461876e-11, 1.4000802549480765e-11, -7.59939190020669e-12,
    4.180924280099721e-12, -2.329503198593681e-12, 1.3134666656043042e-12, -7.489259710373862e-13,
    4.3156892152686246e-13, -2.5119135630240085e-13, 1.4759641639777377e-13, -8.750963270360878e-14,
    5.233039470169941e-14, -3.154964169112439e-14, 1.9169672438943435e-14, -1.1734494182153279e-14,
    7.23442246654718e-15, -4.490589030808209e-15, 2.8057028644646755e-15, -1.764029879952221e-15,
    1.1158102879529235e-15, -7.098978504229967e-16, 4.541814860205704e-16, -2.921484712180433e-16,
    1.889018047179606e-16, -1.227578493002122e-16, 8.016223604969915e-17, -5.2593064665655515e-17,
    3.4662481680401224e-17, -2.294569325283646e-17,
)  # fmt: skip
_SICI_G = (
    0.8841994524524334, -0.10005788518210433, 0.012620432620807134, -0.0023462168947058176,
    0.000551332382934603, -0.00015195038861323185, 4.7073797699758375e-05, -1.5961270265510487e-05,
    5.8179485492273865e-06, -2.2508864416686086e-06, 9.156512743606252e-07, -3.888480555539212e-07,
    1.714194880024692e-07, -7.809375500314394e-08, 3.6631597833534293e-08, -1.76384904168849e-08,
    8.696178410539918e-09, -4.380464863692863e-09, 2.2502675038852276e-09, -1.17700015758502e-09,
    6.259545254121297e-10, -3.380666786792553e-10, 1.852194545569322e-10, -1.0284402466040064e-10,
    5.782395348462625e-11, -3.289567950916888e-11, 1.8922183673288262e-11, -1.0998473138756963e-11,
    6.456164584319981e-12, -3.825356633471876e-12, 2.286744820897889e-12, -1.3785489844419103e-12,
    8.377430096727466e-13, -5.130059360071793e-13, 3.164520038790771e-13, -1.9657529582635788e-13,
    1.2292979596429762e-13, -7.737004482153775e-14, 4.89964176234517e-14, -3.121240214296344e-14,
    1.999694557016269e-14, -1.2881961796436849e-14, 8.342496350738212e-15, -5.430309775689793e-15,
    3.552150032728289e-15, -2.3346617611104476e-15, 1.541538723392013e-15, -1.0223937814972219e-15,
    6.81011015355302e-16, -4.555166672093026e-16, 3.0592398220256253e-16, -2.0626686474843452e-16,
    1.396053572087298e-16, -9.483823396762125e-17, 6.465875808148971e-17, -4.4237297225791535e-17,
    3.036839404941478e-17, -2.091604481540047e-17,
)  # fmt: skip
# π x f and π² x³ g of Fresnel's integrals for 0 ≤ 1/x² ≤ 1/1.6².
_FRESNEL_F = (
    0.9863363201440892, -0.017434711935667774, -0.0032843323295990833, 0.00047917600017883833,
    -1.8619619802379467e-05, -8.150918540032402e-06, 2.587726789013415e-06, -3.9252934992232015e-07,
    -2.1512431919364245e-09, 2.2836876754584742e-08, -8.499726763291014e-09, 1.842151876873228e-09,
    -1.409508168172263e-10, -8.882961905190672e-11, 5.4765892555348864e-11, -1.8743019440517345e-11,
    4.1638179593038524e-12, -2.414655884484344e-13, -3.278027409579456e-13, 2.1341331333863226e-13,
    -8.459062549380565e-14, 2.372763092932497e-14, -3.5165353565159447e-15, -9.832591170808696e-16,
    1.109818366941122e-15, -5.789936116299722e-16, 2.1963730743766776e-16, -6.047970004835463e-17,
)  # fmt: skip
_FRESNEL_G = (
    0.9409999566964287, -0.07323801495965342, -0.011080882163852846, 0.0029448994832483783,
    -0.00027899517938683355, -3.806033430512676e-05, 2.31347749560821e-05, -5.402791752102135e-06,
    5.174171446117134e-07, 1.6576137404669198e-07, -1.0664447578788885e-07, 3.316459682688467e-08,
    -5.963027554403364e-09, -2.1851665767503924e-10, 7.012039577320227e-10, -3.434593625980914e-10,
    1.0849588331952686e-10, -2.094174491870192e-11, -1.0173533894786215e-12, 3.215055432435972e-12,
    -1.8090293935122656e-12, 6.863533836314422e-13, -1.8272372599934581e-13, 1.976702531251072e-14,
    1.3818740569078966e-14, -1.2191672441167487e-14, 6.135499072640144e-15, -2.299854118993552e-15,
    6.161617601820922e-16, -5.703266115217924e-17, -6.290220430562784e-17, 5.559208483752467e-17,
    -2.993893252254774e-17,
)  # fmt: skip


def _si_and_ci_far(m: Notation, x: Any, precision: float) -> tuple[Any, Any]:
    """f cos x + g sin x and f sin x − g cos x for x ≥ 4."""
    inverse = 1.0 / x
    square = inverse * inverse
    u = square * (2.0 * _START_OF_SICI**2) - 1.0
    f = inverse * chebyshev(u, _SICI_F, precision)
    g = square * chebyshev(u, _SICI_G, precision)
    sine, cosine = m.sin(x), m.cos(x)
    return f * cosine + g * sine, f * sine - g * cosine


def _swing(m: Notation, is_far: Any, size: Any, which: int, precision: float) -> Any:
    """One of these two where it is asked for; of float32 by shorter formulas, where they go."""

    def general(where: Any) -> Any:
        inner = m.where(where, size, _START_OF_SICI)
        return m.if_any(where, lambda: _si_and_ci_far(m, inner, precision)[which])

    if m.precision < _OF_SINGLE:
        return general(is_far)
    is_usual, is_remote = is_far & (size <= of_single.END), is_far & (size > of_single.END)
    inner, formula = m.where(is_usual, size, _START_OF_SICI), _FAR_OF_SINGLE[which]
    usual = m.if_any(is_usual, lambda: formula(m, inner))
    return m.where(is_remote, general(is_remote), usual)


def _si(m: Notation, x: Any) -> Any:
    size = abs(x)
    is_near = size < _START_OF_SICI
    near = m.where(is_near, x, 0.0)
    square = near * near
    total: Any = 0.0
    for k in reversed(range(18)):
        total = total * -square + 1 / ((2 * k + 1) * math.factorial(2 * k + 1))
    is_far = (size >= _START_OF_SICI) & (size < math.inf)
    swing = _swing(m, is_far, size, 0, m.precision)
    far = m.where(is_far, _HALF_PI - swing, m.where(x == x, _HALF_PI, math.nan))
    return m.where(is_near, near * total, m.where(x < 0.0, -far, far))


def _ci(m: Notation, x: Any) -> Any:
    size = abs(x)
    is_near = size < _START_OF_SICI
    near = m.where(is_near, size, 1.0)
    square = near * near
    total: Any = 0.0
    for k in reversed(range(1, 19)):
        total = (total - 1 / (2 * k * math.factorial(2 * k)) * (-1) ** (k + 1)) * square
    is_far = (size >= _START_OF_SICI) & (size < math.inf)
    # Near its zeros, it needs digits beyond those of the dtype.
    swing = _swing(m, is_far, size, 1, 0.0)
    limit = m.where(x == math.inf, 0.0, math.nan)
    far = m.where(is_far, swing, limit)
    return m.where(is_near, _EULER + m.log(near) + total, far)


def _phase(floor: Callable[[Any], Any], x: Any) -> Any:
    """πx²/2, less a multiple of 2π: x² modulo 4 comes of exact products.

    With x = n + r, x² = n² + 2nr + r²; n² is 0 or 1, and nr needs no more digits than x.
    """
    n = floor(x + 0.5)
    r = x - n
    is_odd = n - 2.0 * floor(0.5 * n)
    product = n * r
    return _HALF_PI * (is_odd + 2.0 * (product - 2.0 * floor(0.5 * product)) + r * r)


def _fresnel(m: Notation, x: Any, start: int) -> Any:
    """S for `start` 1, C for `start` 0."""
    size = abs(x)
    is_near = size < _START_OF_FRESNEL
    near = m.where(is_near, x, 0.0)
    half = near * near * _HALF_PI
    square = half * half
    total: Any = 0.0
    for k in reversed(range(18)):
        n = 2 * k + start
        total = total * -square + 1 / ((2 * n + 1) * math.factorial(n))
    series = near * total * (half if start else 1.0)
    is_far = ~is_near & (size < 2.0**53)
    inner = m.where(is_far, size, 2.0)
    swing = m.if_any(is_far, lambda: _fresnel_far(m, inner, start))
    far = m.where(is_far, 0.5 - swing, m.where(x == x, 0.5, math.nan))
    return m.where(is_near, series, m.where(x < 0.0, -far, far))


def _fresnel_far(m: Notation, x: Any, start: int) -> Any:
    """½ − S or ½ − C for 1.6 ≤ x < 2⁵³."""
    inverse = 1.0 / x
    u = inverse * inverse * (2.0 * _START_OF_FRESNEL**2) - 1.0
    f = chebyshev(u, _FRESNEL_F, m.precision) * (inverse / math.pi)
    g = chebyshev(u, _FRESNEL_G, m.precision) * (inverse * inverse * inverse / math.pi**2)
    phase = _phase(m.floor, x)
    sine, cosine = m.sin(phase), m.cos(phase)
    return f * cosine + g * sine if start else g * cosine - f * sine


def _si_of_scipy(x: Any) -> Any:
    """SciPy's, which has digits enough for dtypes narrower than float64."""
    return np.copysign(special_functions().sici(x)[0], x)  # It gives 0 for −0.


def _ci_of_scipy(x: Any) -> Any:
    return special_functions().sici(x)[1]


@final
class SineIntegral(ByFormula):
    """Si(x), element by element."""

    name = "sine_integral"
    formula = _si
    of_narrow = _si_of_scipy

    def d_x(self, t: Any, x: Any, out: Any) -> Any:
        return t * sine_over(0, x)


@final
class CosineIntegral(ByFormula):
    """Ci(|x|), element by element."""

    name = "cosine_integral"
    formula = _ci
    of_narrow = _ci_of_scipy

    def d_x(self, t: Any, x: Any, out: Any) -> Any:
        return t * (lax.cos(x) / x)


@final
class FresnelSine(ByFormula):
    """Fresnel's S, element by element."""

    name = "fresnel_sine"
    formula = staticmethod(lambda m, x: _fresnel(m, x, 1))

    def d_x(self, t: Any, x: Any, out: Any) -> Any:
        return t * lax.sin(_phase(lax.floor, x))


@final
class FresnelCosine(ByFormula):
    """Fresnel's C, element by element."""

    name = "fresnel_cosine"
    formula = staticmethod(lambda m, x: _fresnel(m, x, 0))

    def d_x(self, t: Any, x: Any, out: Any) -> Any:
        return t * lax.cos(_phase(lax.floor, x))


sine_integral_p = SineIntegral()
cosine_integral_p = CosineIntegral()
fresnel_sine_p = FresnelSine()
fresnel_cosine_p = FresnelCosine()


@in_float32
def sici(x: Any) -> tuple[Any, Any]:
    """Si(x) = ∫₀ˣ sin(s)/s ds and Ci(x) = γ + log |x| + ∫₀ˣ (cos(s) − 1)/s ds.

    Args:
        x: array (...), floating.

    Returns:
        Two arrays (...); for x < 0 the second is the real part of Ci, which is that for −x.

    Raises:
        TypeError: `x` is a list.
        ValueError: `x` is complex.

    Reference:
        DLMF, 6.2 and 6.6.

    Example:
        >>> from morphax.scipy import special
        >>> special.sici(1.0)
        (Array(0.94608307, dtype=float32), Array(0.33740392, dtype=float32))
    """
    (x,) = real_operands("sici", x)
    return strong_value(sine_integral_p.bind(x)), strong_value(cosine_integral_p.bind(x))


@in_float32
def fresnel(x: Any) -> tuple[Any, Any]:
    """S(x) = ∫₀ˣ sin(πs²/2) ds and C(x) = ∫₀ˣ cos(πs²/2) ds, Fresnel's integrals.

    Args:
        x: array (...), floating.

    Returns:
        Two arrays (...), S and C; their limit at ±∞ is ±½.

    Raises:
        NotImplementedError: `x` is complex.
        TypeError: `x` is a list.

    Reference:
        DLMF, 7.2, 7.5 and 7.6.

    Example:
        >>> from morphax.scipy import special
        >>> special.fresnel(1.0)
        (Array(0.43825915, dtype=float32), Array(0.7798934, dtype=float32))
    """
    (x,) = real_operands("fresnel", x, refusal=NotImplementedError)
    return strong_value(fresnel_sine_p.bind(x)), strong_value(fresnel_cosine_p.bind(x))
