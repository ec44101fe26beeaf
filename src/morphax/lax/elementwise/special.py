"""Special functions: the error function and the gamma function with their relatives.

The reference engine takes them from SciPy, which is loaded when the first of them is computed, and
corrects what XLA defines otherwise at poles, infinities and −0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, final

import numpy as np

from ...core import not_differentiable
from ...engines import loops
from ...engines.reference.fusion import dtype_name, single_operation
from ...engines.xla.stablehlo import Builder, Value
from ..ground.families import ComputedWide, compare
from ..ground.kinds import FLOATING
from ..ground.operands import standardize
from .arithmetic import add, mul, neg
from .exponential import exp
from .inverse_erf import inverse_erf
from .powers import square

_SLOPE_OF_ERF = 2 / math.sqrt(math.pi)


class SpecialFunction(ComputedWide):
    """A function of real numbers."""

    accepts = FLOATING


class CompiledInFloat32(SpecialFunction):
    """A function that the compiled chains have; its `numpy` gives the same bits."""

    def kernel(self, *avals: Any, **params: Any) -> Callable[..., Any] | None:
        (x,) = avals
        return single_operation(f"{self.name}_{dtype_name(x.dtype)}", x) or super().kernel(x)


def _erf(x: Any) -> Any:
    if x.dtype == np.float32:
        return np.array([math.erf(v) for v in x.reshape(-1).tolist()], x.dtype).reshape(x.shape)
    from scipy import special

    return special.erf(x)


@final
class Erf(CompiledInFloat32):
    """2/√π ∫₀ˣ exp(−s²) ds, element by element."""

    name = "erf"
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
class ErfInv(CompiledInFloat32):
    """The inverse of erf, element by element."""

    name = "erf_inv"
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
    numpy = _lgamma
    stablehlo = "chlo.lgamma"

    def d_x(self, t: Any, x: Any, out: Any) -> Any:
        return mul(t, digamma(x))


def _digamma(x: Any) -> Any:
    from scipy import special

    return np.where(x == 0, np.nan, special.psi(x)).astype(x.dtype)


def _undefined_at_zero(b: Builder, value: Value, x: Value) -> Value:
    """`value`, but NaN where x is 0: what XLA gives at this pole depends on its version."""
    out = value.aval
    defined = compare(b, out.update(dtype=np.dtype(bool)), "NE", x, b.full(0, out))
    return b.op("stablehlo.select", out, defined, value, b.full(np.nan, out))


@final
class Digamma(SpecialFunction):
    """ψ(x) = Γ′(x) / Γ(x), element by element; NaN at the poles 0, −1, −2 and so on."""

    name = "digamma"
    numpy = _digamma

    def lower_wide(self, b: Builder, out: Any, x: Value) -> Value:
        return _undefined_at_zero(b, b.op("chlo.digamma", out, x), x)

    def scalar(self, w: loops.Writer, x: loops.Operand) -> loops.Operand:
        return loops.special.in_float64(w, loops.special.digamma, x)

    def d_x(self, t: Any, x: Any, out: Any) -> Any:
        return mul(t, polygamma(1.0, x))


def _zeta(x: Any, q: Any) -> Any:
    from scipy import special

    is_whole, is_even = x == np.floor(x), x / 2 == np.floor(x / 2)
    pole = (q <= 0) & (q == np.floor(q))
    undefined = (x != 1) & (
        np.isinf(x) | np.where(pole, ~is_even, (q == np.inf) | ((q < 0) & ~is_whole))
    )
    # To the poles SciPy would count up one by one.
    value = np.where(pole | (x == 1), np.inf, special.zeta(x, np.where(pole, 1, q)))
    return np.where(undefined, np.nan, value).astype(x.dtype)


@final
class Zeta(SpecialFunction):
    """The Hurwitz zeta function ζ(x, q) = Σₖ (q + k)⁻ˣ over k ≥ 0, element by element."""

    name = "zeta"
    numpy = _zeta
    stablehlo = "chlo.zeta"

    def scalar(self, w: loops.Writer, x: loops.Operand, q: loops.Operand) -> loops.Operand:
        return loops.special.zeta(w, x, q)

    d_x = not_differentiable("∂ζ/∂x has no closed form in the primitives")

    def d_y(self, t: Any, x: Any, q: Any, out: Any) -> Any:
        return mul(t, mul(neg(x), zeta(add(x, 1.0), q)))


def _polygamma(m: Any, x: Any) -> Any:
    from scipy import special

    sign = np.where(m / 2 == np.floor(m / 2), -1.0, 1.0)
    value = sign * np.exp(special.gammaln(m + 1)) * _zeta(m + 1, x)
    is_order = (m > 0) & (m == np.floor(m))
    result = np.where(m == 0, _digamma(x), np.where(is_order, value, np.nan))
    return result.astype(x.dtype)


@final
class Polygamma(SpecialFunction):
    """ψ⁽ᵐ⁾(x), the m-th derivative of the digamma function, element by element."""

    name = "polygamma"
    numpy = _polygamma

    def lower_wide(self, b: Builder, out: Any, m: Value, x: Value) -> Value:
        # Both are 0 where the function is the digamma function at its pole 0.
        distance = [b.elementwise("stablehlo.abs", out, v) for v in (m, x)]
        at_pole = b.elementwise("stablehlo.add", out, *distance)
        return _undefined_at_zero(b, b.op("chlo.polygamma", out, m, x), at_pole)

    def scalar(self, w: loops.Writer, m: loops.Operand, x: loops.Operand) -> loops.Operand:
        return loops.special.polygamma(w, m, x)

    d_x = not_differentiable("the order m is a whole number")

    def d_y(self, t: Any, m: Any, x: Any, out: Any) -> Any:
        return mul(t, polygamma(add(m, 1.0), x))


erf_p = Erf()
erfc_p = Erfc()
erf_inv_p = ErfInv()
lgamma_p = Lgamma()
digamma_p = Digamma()
zeta_p = Zeta()
polygamma_p = Polygamma()


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


def zeta(x: Any, q: Any) -> Any:
    """The Hurwitz zeta function ζ(x, q) = Σₖ (q + k)⁻ˣ over k ≥ 0, element by element.

    Args:
        x: floating array (...), or scalar.
        q: array of the dtype and shape of `x`, or scalar.

    Returns:
        Array (...); ∞ for x = 1, NaN for x < 1.

    Example:
        >>> import morphax as jax
        >>> jax.lax.zeta(2.0, 1.0)
        Array(1.644934, dtype=float32, weak_type=True)
    """
    return zeta_p.bind(*standardize(x, q))


def polygamma(m: Any, x: Any) -> Any:
    """ψ⁽ᵐ⁾(x), the m-th derivative of the digamma function, element by element.

    Args:
        m: order, a whole number ≥ 0 in the dtype of `x`.
        x: floating array (...); either may be a scalar.

    Returns:
        Array (...); NaN where m is not whole or negative.

    Example:
        >>> import morphax as jax
        >>> jax.lax.polygamma(1.0, 1.0)
        Array(1.644934, dtype=float32, weak_type=True)
    """
    return polygamma_p.bind(*standardize(m, x))
