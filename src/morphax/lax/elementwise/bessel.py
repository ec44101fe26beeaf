"""Modified Bessel functions of the first kind, scaled by e^{−|x|}.

I₀ is computed from two Chebyshev series, truncated for float64: e^{−x} I₀(x) on [0, 8] in
x/4 − 1, and √x e^{−x} I₀(x) on [8, ∞] in 16/x − 1.  Their coefficients were computed with 60 digits
from the power series and the asymptotic series of I₀.  So are those of I₁, near 0 of
e^{−x} I₁(x) / x, which loop programs are made of; XLA has its own.

Reference: Abramowitz & Stegun, "Handbook of Mathematical Functions", 9.6.12 and 9.7.1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, final

import numpy as np

from ... import dtypes
from ...engines import loops
from ...engines.xla.stablehlo import Builder, Value
from ...util.scipy_libraries import special_functions
from ..ground.families import compare
from ..ground.loop_formulas import LoopNotation, formula_of_scalars
from .arithmetic import add, div, mul, neg, sub
from .comparison import eq, lt
from .exponential import exp
from .magnitude import abs as absolute
from .magnitude import sign
from .powers import square
from .selection import scalar_like, select_n_p
from .special import SpecialFunction

_NEAR = (
    0.33839763720473803, -0.3046826723431984, 0.17162090152220877, -0.09490109704804764,
    0.04930528423967071, -0.02373741480589947, 0.010546460394594998, -0.004324309995050576,
    0.0016394756169413357, -0.0005763755745385824, 0.00018850288509584165, -5.754195010082104e-05,
    1.6448448070728896e-05, -4.4167383584587505e-06, 1.1173875391201037e-06, -2.670793853940612e-07,
    6.046995022541919e-08, -1.300025009986248e-08, 2.6598237246823866e-09, -5.189795601635263e-10,
    9.675809035373237e-11, -1.726826291441556e-11, 2.95505266312964e-12, -4.856446783111929e-13,
    7.676185498604936e-14, -1.1685332877993451e-14, 1.715391285555133e-15, -2.431279846547955e-16,
    3.3307945188222384e-17, -4.4153416464793395e-18,
)  # fmt: skip
_FAR = (
    0.4022452055070544, 0.0033691164782556943, 6.889758346916825e-05, 2.8913705208347567e-06,
    2.0489185894690638e-07, 2.266668990498178e-08, 3.3962320257083865e-09, 4.94060238822497e-10,
    1.1889147107846439e-11, -3.1499165279632416e-11, -1.3215811840447713e-11,
    -1.7941785315068062e-12, 7.180124451383666e-13, 3.8527783827421426e-13, 1.54008621752141e-14,
    -4.150569347287222e-14, -9.554846698828307e-15, 3.8116806693526224e-15, 1.7725601330565263e-15,
    -3.425485619677219e-16, -2.8276239805165836e-16, 3.461222867697461e-17, 4.46562142029676e-17,
    -4.830504485944178e-18, -7.23318048787476e-18,
)  # fmt: skip


_NEAR_OF_I1 = (
    0.12629359322181682, -0.17641651835783406, 0.1026436586898471, -0.05294598120809499,
    0.024726449030626516, -0.010564084894626197, 0.004156422944312888, -0.0015135724506312532,
    0.0005122859561685758, -0.00016176081582589674, 4.781565107550054e-05, -1.3273163656039436e-05,
    3.4702513081376785e-06, -8.568720264695455e-07, 2.0032947535521353e-07, -4.445059128796328e-08,
    9.381537386495773e-09, -1.8872497517228294e-09, 3.625590281552117e-10, -6.663489723502027e-11,
    1.1736186298890901e-11, -1.9839743977649436e-12, 3.223793365945575e-13, -5.042185504727912e-14,
    7.600684294735408e-15, -1.1055969477353862e-15, 1.5536319577362005e-16, -2.111421214358166e-17,
    2.7779141127610464e-18,
)  # fmt: skip
_FAR_OF_I1 = (
    0.38928811750914005, -0.009761097491361469, -0.00011058893876262371, -3.882564808877691e-06,
    -2.512236237870209e-07, -2.6314688468895196e-08, -3.835380385964237e-09, -5.589743462196584e-10,
    -1.8974958123505413e-11, 3.2526035830154884e-11, 1.4125807436613782e-11, 2.0356285441470896e-12,
    -7.198551776245908e-13, -4.0835511110921974e-13, -2.1015418427726643e-14, 4.272440016711951e-14,
    1.0420276984128802e-14, -3.8144030724370075e-15, -1.8803547755107825e-15,
    3.3082023109209285e-16, 2.96262899764595e-16, -3.209525921993424e-17, -4.6503053684893586e-17,
    4.414348323071708e-18, 7.517296310842105e-18,
)  # fmt: skip


def chebyshev_series(b: Builder, coefficients: Sequence[float], u: Value) -> Value:
    """Σₖ cₖ Tₖ(u) by Clenshaw's recurrence; terms below the precision of the dtype are left out."""
    aval = u.aval
    smallest = float(dtypes.finfo(aval.dtype).eps) * max(map(abs, coefficients)) / 16
    terms = [c for c in coefficients if abs(c) > smallest]
    twice_u = b.elementwise("stablehlo.add", aval, u, u)
    current, previous = b.full(terms[-1], aval), b.full(0, aval)
    for k in reversed(range(len(terms) - 1)):
        factor = twice_u if k else u
        scaled = b.elementwise("stablehlo.multiply", aval, factor, current)
        shifted = b.elementwise("stablehlo.subtract", aval, scaled, previous)
        previous = current
        current = b.elementwise("stablehlo.add", aval, shifted, b.full(terms[k], aval))
    return current


def _series_in_loops(n: LoopNotation, coefficients: Sequence[float], u: Any) -> Any:
    """The same in loop programs."""
    smallest = n.precision * max(map(abs, coefficients))
    terms = [c for c in coefficients if abs(c) > smallest]
    current, previous = terms[-1], 0.0
    for k in reversed(range(len(terms) - 1)):
        current, previous = (u + u if k else u) * current - previous + terms[k], current
    return current


def _i0e_in_loops(n: LoopNotation, x: Any) -> Any:
    size = abs(x)
    near = _series_in_loops(n, _NEAR, size * 0.25 - 1.0)
    far = _series_in_loops(n, _FAR, 16.0 / size - 1.0) / n.sqrt(size)
    return n.where(size <= 8.0, near, far)


def _i1e_in_loops(n: LoopNotation, x: Any) -> Any:
    size = abs(x)
    near = x * _series_in_loops(n, _NEAR_OF_I1, size * 0.25 - 1.0)
    far = _series_in_loops(n, _FAR_OF_I1, 16.0 / size - 1.0) / n.sqrt(size)
    return n.where(size <= 8.0, near, n.where(x < 0.0, -far, far))


def _i0e(x: Any) -> Any:
    return special_functions().i0e(x)


@final
class BesselI0e(SpecialFunction):
    """e^{−|x|} I₀(x), element by element."""

    name = "bessel_i0e"
    most_by_loops = 1 << 14  # XLA's form of float32 has fewer digits.
    compiled = True
    numpy = _i0e

    def lower_wide(self, b: Builder, out: Any, x: Value) -> Value:
        def write(name: str, x: Value, y: Value) -> Value:
            return b.elementwise(f"stablehlo.{name}", out, x, y)

        x = b.elementwise("stablehlo.abs", out, x)
        one, eight = b.full(1, out), b.full(8, out)
        near_x, far_x = write("minimum", x, eight), write("maximum", x, eight)
        near = chebyshev_series(
            b, _NEAR, write("subtract", write("multiply", near_x, b.full(0.25, out)), one)
        )
        far = chebyshev_series(
            b, _FAR, write("subtract", write("divide", b.full(16, out), far_x), one)
        )
        far = write("divide", far, b.elementwise("stablehlo.sqrt", out, far_x))
        is_near = compare(b, out.update(dtype=np.dtype(bool)), "LE", x, eight)
        return b.op("stablehlo.select", out, is_near, near, far)

    def scalar(self, w: loops.Writer, x: loops.Operand) -> loops.Operand:
        return formula_of_scalars(w, _i0e_in_loops, x)

    def d_x(self, t: Any, x: Any, out: Any) -> Any:
        return mul(t, sub(bessel_i1e(x), mul(sign(x), out)))


def _i1e(x: Any) -> Any:
    return np.where(x == 0, x, special_functions().i1e(x))


@final
class BesselI1e(SpecialFunction):
    """e^{−|x|} I₁(x), element by element."""

    name = "bessel_i1e"
    most_by_loops = 1 << 14  # XLA's form of float32 has fewer digits.
    compiled = True
    numpy = _i1e
    stablehlo = "chlo.bessel_i1e"

    def scalar(self, w: loops.Writer, x: loops.Operand) -> loops.Operand:
        return formula_of_scalars(w, _i1e_in_loops, x)

    def d_x(self, t: Any, x: Any, out: Any) -> Any:
        # The recurrence is I₁′ = I₀ − I₁ / x.
        return mul(t, sub(sub(bessel_i0e(x), _over_x(x, out)), mul(sign(x), out)))


def i1_over_x(x: Any) -> Any:
    """I₁(x) / x for |x| ≤ ½ by its power series Σₖ (x²/4)ᵏ / (2 k! (k + 1)!)."""
    quarter = mul(square(x), scalar_like(0.25, x))
    total = scalar_like(0, x)
    for k in reversed(range(8)):
        coefficient = 0.5 / (math.factorial(k) * math.factorial(k + 1))
        total = add(mul(total, quarter), scalar_like(coefficient, x))
    return total


def _over_x(x: Any, out: Any) -> Any:
    """e^{−|x|} I₁(x) / x, whose derivatives by the quotient rule have no digits near 0."""
    half, zero = scalar_like(0.5, x), scalar_like(0, x)
    size = absolute(x)
    near = lt(size, half)
    divisor = select_n_p.bind(near, x, scalar_like(1, x))
    small = select_n_p.bind(near, zero, x)
    series = mul(exp(neg(absolute(small))), i1_over_x(small))
    # At 0 its slope is that of |x|, for which 0 is taken.
    series = select_n_p.bind(eq(x, zero), series, half)
    return select_n_p.bind(near, div(out, divisor), series)


bessel_i0e_p = BesselI0e()
bessel_i1e_p = BesselI1e()


def bessel_i0e(x: Any) -> Any:
    """e^{−|x|} I₀(x), the scaled modified Bessel function of order 0, element by element.

    Example:
        >>> from morphax import lax
        >>> lax.bessel_i0e(0.0)
        Array(1., dtype=float32, weak_type=True)
    """
    return bessel_i0e_p.bind(x)


def bessel_i1e(x: Any) -> Any:
    """e^{−|x|} I₁(x), the scaled modified Bessel function of order 1, element by element.

    Example:
        >>> from morphax import lax
        >>> lax.bessel_i1e(0.0)
        Array(0., dtype=float32, weak_type=True)
    """
    return bessel_i1e_p.bind(x)
