"""Special functions: the error function and the gamma function with their relatives.

The reference engine takes them from SciPy, which is loaded when the first of them is computed, and
corrects what XLA defines otherwise at poles, infinities and −0.
"""

from __future__ import annotations

import math
from typing import Any, final

import numpy as np

from ...engines import loops
from ...engines.xla.stablehlo import Builder, Value
from ..ground.families import ComputedWide, compare
from ..ground.kinds import FLOATING
from .arithmetic import mul, neg
from .exponential import exp
from .inverse_erf import inverse_erf
from .powers import square
from .zeta import polygamma

_SLOPE_OF_ERF = 2 / math.sqrt(math.pi)


class SpecialFunction(ComputedWide):
    """A function of real numbers."""

    accepts = FLOATING


def _erf(x: Any) -> Any:
    if x.dtype == np.float32:
        return np.array([math.erf(v) for v in x.reshape(-1).tolist()], x.dtype).reshape(x.shape)
    from scipy import special

    return special.erf(x)


@final
class Erf(SpecialFunction):
    """2/√π ∫₀ˣ exp(−s²) ds, element by element."""

    name = "erf"
    compiled = True
    numpy = _erf
    stablehlo = "chlo.erf"

    def d_x(self, t: Any, x: Any, out: Any) -> Any:
        return mul(t, mul(_SLOPE_OF_ERF, exp(neg(square(x)))))


def _erfc(x: Any) -> Any:
    from scipy import special

    return special.erfc(x)


@final
class Erfc(SpecialFunction):
    """1 − erf x, element by element, accurate for large x."""

    name = "erfc"
    numpy = _erfc
    stablehlo = "chlo.erfc"

    def d_x(self, t: Any, x: Any, out: Any) -> Any:
        return mul(t, mul(-_SLOPE_OF_ERF, exp(neg(square(x)))))


def _erf_inv(x: Any) -> Any:
    if x.dtype == np.float32:
        return inverse_erf(x)
    from scipy import special

    return np.where(x == 0, x, special.erfinv(x))


@final
class ErfInv(SpecialFunction):
    """The inverse of erf, element by element."""

    name = "erf_inv"
    compiled = True
    numpy = _erf_inv
    stablehlo = "chlo.erf_inv"

    def scalar(self, w: loops.Writer, x: loops.Operand) -> loops.Operand:
        return loops.special.inverse_erf(w, x)

    def d_x(self, t: Any, x: Any, out: Any) -> Any:
        return mul(t, mul(1 / _SLOPE_OF_ERF, exp(square(out))))


def _lgamma(x: Any) -> Any:
    from scipy import special

    return np.where(np.isinf(x), np.inf, special.gammaln(x)).astype(x.dtype)


@final
class Lgamma(SpecialFunction):
    """log |Γ(x)|, element by element; ∞ at the poles 0, −1, −2 and so on."""

    name = "lgamma"
    compiled = True
    numpy = _lgamma
    stablehlo = "chlo.lgamma"

    def d_x(self, t: Any, x: Any, out: Any) -> Any:
        return mul(t, digamma(x))


def _digamma(x: Any) -> Any:
    from scipy import special

    return np.where(x == 0, np.nan, special.psi(x)).astype(x.dtype)


@final
class Digamma(SpecialFunction):
    """ψ(x) = Γ′(x) / Γ(x), element by element; NaN at the poles 0, −1, −2 and so on."""

    name = "digamma"
    compiled = True
    numpy = _digamma

    def lower_wide(self, b: Builder, out: Any, x: Value) -> Value:
        # What XLA gives at the pole 0 depends on its version.
        defined = compare(b, out.update(dtype=np.dtype(bool)), "NE", x, b.full(0, out))
        value = b.op("chlo.digamma", out, x)
        return b.op("stablehlo.select", out, defined, value, b.full(np.nan, out))

    def scalar(self, w: loops.Writer, x: loops.Operand) -> loops.Operand:
        return loops.special.in_float64(w, loops.special.digamma, x)

    def d_x(self, t: Any, x: Any, out: Any) -> Any:
        return mul(t, polygamma(1.0, x))


erf_p = Erf()
erfc_p = Erfc()
erf_inv_p = ErfInv()
lgamma_p = Lgamma()
digamma_p = Digamma()


def erf(x: Any) -> Any:
    """The error function 2/√π ∫₀ˣ exp(−s²) ds, element by element."""
    return erf_p.bind(x)


def erfc(x: Any) -> Any:
    """1 − erf x, element by element, accurate for large `x`."""
    return erfc_p.bind(x)


def erf_inv(x: Any) -> Any:
    """The inverse of `erf`, element by element: ±∞ at ±1, NaN beyond."""
    return erf_inv_p.bind(x)


def lgamma(x: Any) -> Any:
    """The logarithm of |Γ(x)|, element by element; ∞ at the poles 0, −1, −2 and so on."""
    return lgamma_p.bind(x)


def digamma(x: Any) -> Any:
    """ψ(x) = Γ′(x) / Γ(x), element by element; NaN at the poles 0, −1, −2 and so on."""
    return digamma_p.bind(x)
