"""Γ(a) in parts, and the coefficients of Temme's expansion: what the incomplete functions share.

Γ(a + 1) = √(2πa) (a/e)ᵃ Γ*(a), where the scaled gamma function Γ* tends to 1.  Lanczos' form
Γ(a) = √(2π) (a+h)^(a−½) e^(−a−h) N(a) / D(a), where D(a) = a (a+1) … (a+7), holds for all a > 0.

References: DLMF, 5.11 and 8.12.  Lanczos, "A precision approximation of the gamma function", SIAM
Journal on Numerical Analysis B 1 (1964).  Temme, "The asymptotic expansion of the incomplete gamma
functions", SIAM Journal on Mathematical Analysis 10 (1979).
"""

from __future__ import annotations

from typing import Any

from ..ground.formulas import Notation
from ..ground.horner import polynomial

START_OF_STIRLING = 10.0
"""From here on Γ* is computed by Stirling's series."""

# Of log Γ*, highest power of 1/a² first.
STIRLING = (1 / 156, -691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12)

LANCZOS_SHIFT = 7.4
"""The h of Lanczos' form."""

# N, highest power first: it equals D Γ(a) … / √(2π) at eight numbers between 0 and ∞ and, but for
# 10⁻¹⁷ of it, everywhere.  All its terms are positive.
_LANCZOS = (
    1.0, 59.163333333333334, 1531.3853388888883, 22650.588114006231, 209389.90063684225,
    1238834.2978396161, 4580912.8370976855, 9679526.6358460499, 8948198.8838016118,
)  # fmt: skip

# Γ*(1/t) on [0, 1], highest power first: the polynomial of least relative error, 1e-9, by weighted
# least squares with 40 digits.
SCALED_GAMMA_OF_SINGLE = (
    0.00011757930604703879, -0.000571252038578361, 0.0010397013712208688, -0.00027317484858128125,
    -0.0026817929689804103, 0.0034732417188298092, 0.08333324896183551, 1.0000000009633556,
)  # fmt: skip

# Chebyshev series of log Γ(1 + a) / a on [0, 1], computed with 50 digits.
_LOG_GAMMA_NEAR_ONE = (
    -0.2647362369323025, 0.28587285859139466, -0.0235145763321575, 0.002685079974656731,
    -0.0003497552715727561, 4.880755320003236e-05, -7.098358790485804e-06, 1.060746616681459e-06,
    -1.6155933858435658e-07, 2.4955218012272827e-08, -3.896697345119788e-09, 6.137352658308378e-10,
    -9.734966110649396e-11, 1.5533015630980043e-11, -2.4909467297324567e-12, 4.0120228240690907e-13,
    -6.486576014785499e-14, 1.0522714222232995e-14, -1.7121447861626466e-15, 2.7933134227060694e-16,
    -4.568268129156648e-17, 7.487532521050853e-18, -1.2296930690028795e-18,
)  # fmt: skip

# The coefficients of ηⁿ in Cₖ(η), a row for each k.  Those of C₀ = 1/μ − 1/η follow from
# η²/2 = μ − log(1 + μ), and Cₖ = C′ₖ₋₁/η + gₖ/μ with the gₖ for which there is no pole at η = 0
# (DLMF 8.12.10).  What is below 10⁻¹⁷ for a ≥ 30, |η| ≤ 0.34 is left out.
TEMME = (
    (
        -0.3333333333333333, 0.08333333333333333, -0.014814814814814815, 0.0011574074074074073,
        0.0003527336860670194, -0.0001787551440329218, 3.919263178522438e-05,
        -2.185448510679992e-06, -1.85406221071516e-06, 8.296711340953087e-07,
        -1.7665952736826078e-07, 6.707853543401498e-09, 1.0261809784240309e-08,
        -4.382036018453353e-09, 9.14769958223679e-10, -2.5514193994946248e-11,
    ),
    (
        -0.001851851851851852, -0.003472222222222222, 0.0026455026455026454, -0.0009902263374485596,
        0.00020576131687242798, -4.018775720164609e-07, -1.8098550334489977e-05,
        7.64916091608111e-06, -1.6120900894563446e-06, 4.647127802807434e-09, 1.378633446915721e-07,
        -5.752545603517705e-08, 1.1951628599778148e-08, -1.7543241719747647e-11,
        -1.0091543710600413e-09,
    ),
    (
        0.004133597883597883, -0.0026813271604938273, 0.0007716049382716049, 2.0093878600823047e-06,
        -0.0001073665322636516, 5.2923448829120125e-05, -1.2760635188618728e-05,
        3.423578734096138e-08, 1.3721957309062934e-06, -6.298992138380055e-07,
        1.4280614206064242e-07, -2.0477098421990866e-10, -1.409252991086752e-08,
        6.228974084922022e-09,
    ),
    (
        0.0006494341563786008, 0.00022947209362139917, -0.0004691894943952557,
        0.00026772063206283885, -7.561801671883977e-05, -2.396505113867297e-07,
        1.1082654115347302e-05, -5.6749528269915965e-06, 1.4230900732435883e-06,
        -2.7861080291528143e-11, -1.6958404091930278e-07, 8.099464905388083e-08,
    ),
    (
        -0.0008618882909167117, 0.0007840392217200666, -0.0002990724803031902,
        -1.4638452578843418e-06, 6.641498215465122e-05, -3.968365047179435e-05,
        1.1375726970678419e-05, 2.507497226237533e-10, -1.6954149536558305e-06,
        8.907507532205309e-07, -2.292934834000805e-07,
    ),
    (
        -0.00033679855336635813, -6.972813758365857e-05, 0.0002772753244959392,
        -0.00019932570516188847, 6.797780477937208e-05, 1.419062920643967e-07,
        -1.3594048189768693e-05, 8.018470256334202e-06, -2.291481176508095e-06,
    ),
    (
        0.0005313079364639922, -0.0005921664373536939, 0.0002708782096718045, 7.902353232660328e-07,
        -8.153969367561969e-05, 5.61168275310625e-05, -1.8329116582843375e-05,
    ),
    (
        0.00034436760689237765, 5.171790908260592e-05, -0.00033493161081142234,
        0.0002812695154763237, -0.00010976582244684731,
    ),
    (
        -0.0006526239185953094, 0.0008394987206720873, -0.000438297098541721,
        -6.969091458420552e-07, 0.00016644846642067547,
    ),
    (
        -0.0005967612901927463, -7.204895416020011e-05, 0.0006782308837667328,
    ),
    (
        0.0013324454494800656,
    ),
)  # fmt: skip


def log1p_minus(m: Notation, x: Any, following: Any) -> Any:
    """log(1 + x) − x, given 1 + x with all its digits.

    Near 0, with s = x / (2 + x), it is −x s + 2 s³ (1/3 + s²/5 + s⁴/7 + …), where nothing cancels.
    """
    is_near = abs(x) < 0.3
    near = m.where(is_near, x, 0.0)
    s = near / (near + 2.0)
    series = polynomial([1 / (2 * k + 3) for k in reversed(range(11))], s * s)
    small = 2.0 * s * s * s * series - near * s
    return m.where(is_near, small, m.log(following) - x)


def log_gamma_of_next(m: Notation, a: Any) -> Any:
    """log Γ(1 + a) for a ≥ 0, with all its digits where a is small."""
    is_small = a <= 1.0
    u = 2.0 * m.where(is_small, a, 0.5) - 1.0
    current: Any = 0.0
    previous: Any = 0.0
    for coefficient in reversed(_LOG_GAMMA_NEAR_ONE[1:]):
        current, previous = 2.0 * u * current - previous + coefficient, current
    near = a * (u * current - previous + _LOG_GAMMA_NEAR_ONE[0])
    return m.where(is_small, near, m.lgamma(m.where(is_small, 1.0, a) + 1.0))


def lanczos_parts(a: Any) -> tuple[Any, Any]:
    """N(a) and D(a) / a of Lanczos' form, for 0 < a < 10³⁰."""
    product: Any = a + 1.0
    for k in range(2, len(_LANCZOS) - 1):
        product = product * (a + float(k))
    return polynomial(_LANCZOS, a), product


def log_scaled_gamma(m: Notation, a: Any) -> Any:
    """log Γ*(a) for a > 0."""
    is_large = a >= START_OF_STIRLING
    large, small = m.where(is_large, a, START_OF_STIRLING), m.where(is_large, 1.0, a)
    inverse = 1.0 / large
    numerator, denominator = lanczos_parts(small)
    above = small + LANCZOS_SHIFT
    # The quotient must not overflow where its logarithm counts for nothing.
    direct = small * m.log1p(LANCZOS_SHIFT / m.where(small > 1e-300, small, 1.0)) - LANCZOS_SHIFT
    direct = direct + m.log(numerator / (denominator * m.sqrt(small * above)))
    return m.where(is_large, inverse * polynomial(STIRLING, inverse * inverse), direct)
