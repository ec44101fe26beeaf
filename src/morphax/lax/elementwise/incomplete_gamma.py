"""The incomplete gamma functions, and how gamma numbers move with their parameter.

They are computed by the formulas of `incomplete_gamma_formulas`, of which native code is the
compiled form; the reference engine takes P and Q from SciPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, final

import numpy as np

from ...core import not_differentiable
from ...engines.xla.incomplete_gamma_calls import call_incomplete_gamma, may_call_incomplete_gamma
from ...engines.xla.stablehlo import Builder, Value
from ...util.compiled import part
from ...util.messages import message
from ...util.scipy_libraries import special_functions
from ..ground.families import expanded
from ..ground.formulas import ByFormula
from ..ground.operands import standardize
from . import incomplete_gamma_formulas as formulas
from .arithmetic import div, mul, neg, sub
from .densities import gamma_density_of_single
from .exponential import log
from .selection import scalar_like
from .special import digamma

_compiled = part("incomplete_gamma")
# Of larger parameters SciPy ends its series too early: below the mean P(10⁷, x) is off by 4 %.
_MOST_FOR_SCIPY = 1e5
_NO_SECOND_DERIVATIVE = "the second derivative with respect to a has no closed form"


class OfGammaNumbers(ByFormula):
    """Functions of a parameter a ≥ 0 and a number x ≥ 0."""

    scipy_name: ClassVar[str | None] = None
    # XLA's programs call native code, which goes one way for each element.
    most_by_loops = None if _compiled is None else 128

    def size_by_loops(self, *avals: Any) -> int:
        return max([aval.size for aval in avals])

    def evaluate(self, *operands: Any, **params: Any) -> Any:
        if self.scipy_name is None:
            return self._by_formula(*operands)
        wide = [np.asarray(x, np.float64) for x in operands]
        function = getattr(special_functions(), self.scipy_name)
        out = np.asarray(function(*wide)).astype(operands[0].dtype)
        is_large = np.broadcast_to(wide[0] > _MOST_FOR_SCIPY, out.shape)
        if is_large.any():
            few = [np.broadcast_to(x, out.shape)[is_large] for x in operands]
            out[is_large] = self._by_formula(*few)
        return out

    def _by_formula(self, *operands: Any) -> Any:
        native = getattr(_compiled, self.name, None)
        return _by_native(native, *operands) if native else super().evaluate(*operands)

    def lower(self, b: Builder, out: Any, *operands: Value, **params: Any) -> Value:
        has_own = self.formula_of_single is not None and out.dtype != np.float64
        if not has_own and may_call_incomplete_gamma(b, self.name, out):
            a, x = expanded(b, out.shape, operands)
            return call_incomplete_gamma(b, self.name, out, a, x)
        return super().lower(b, out, *operands, **params)


def _by_native(native: Callable[..., None], a: Any, x: Any) -> Any:
    """A function by native code, which takes vectors of float32 or float64 of one length."""
    dtype = a.dtype if a.dtype == np.float32 else np.dtype(np.float64)
    if a.shape != x.shape:
        a, x = np.broadcast_arrays(a, x)
    out = np.empty(a.shape, dtype)
    native(*[v.astype(dtype, copy=False).ravel() for v in (a, x)], out.reshape(-1))
    return out.astype(a.dtype, copy=False)


def _slope_of_log_density(a: Any, x: Any) -> Any:
    """The derivative of the logarithm of the density with respect to x."""
    one = scalar_like(1, x)
    return sub(div(sub(a, one), x), one)


def _score(a: Any, x: Any) -> Any:
    """The derivative of the logarithm of the density with respect to a."""
    return sub(log(x), digamma(a))


@final
class GammaDensity(OfGammaNumbers):
    """x^(a−1) e⁻ˣ / Γ(a), element by element: the derivative of P with respect to x."""

    name = "gamma_density"
    formula = formulas.density_of_gamma
    formula_of_single = gamma_density_of_single

    def d_x(self, t: Any, a: Any, x: Any, out: Any) -> Any:
        return mul(t, mul(out, _score(a, x)))

    def d_y(self, t: Any, a: Any, x: Any, out: Any) -> Any:
        return mul(t, mul(out, _slope_of_log_density(a, x)))


@final
class IgammaGradA(OfGammaNumbers):
    """∂P(a, x)/∂a, element by element."""

    name = "igamma_grad_a"
    formula = formulas.slope_of_lower

    d_x = not_differentiable(_NO_SECOND_DERIVATIVE)

    def d_y(self, t: Any, a: Any, x: Any, out: Any) -> Any:
        return mul(t, mul(gamma_density_p.bind(a, x), _score(a, x)))


@final
class Igamma(OfGammaNumbers):
    """P(a, x) = ∫₀ˣ s^(a−1) e⁻ˢ ds / Γ(a), element by element."""

    name = "igamma"
    compiled = True
    formula = formulas.lower
    scipy_name = "gammainc"

    def d_x(self, t: Any, a: Any, x: Any, out: Any) -> Any:
        return mul(t, igamma_grad_a_p.bind(a, x))

    def d_y(self, t: Any, a: Any, x: Any, out: Any) -> Any:
        return mul(t, gamma_density_p.bind(a, x))


@final
class Igammac(OfGammaNumbers):
    """Q(a, x) = 1 − P(a, x), element by element, accurate for large x."""

    name = "igammac"
    compiled = True
    formula = formulas.upper
    scipy_name = "gammaincc"

    def d_x(self, t: Any, a: Any, x: Any, out: Any) -> Any:
        return neg(mul(t, igamma_grad_a_p.bind(a, x)))

    def d_y(self, t: Any, a: Any, x: Any, out: Any) -> Any:
        return neg(mul(t, gamma_density_p.bind(a, x)))


@final
class RandomGammaGrad(OfGammaNumbers):
    """∂x/∂a at constant P(a, x), element by element."""

    name = "random_gamma_grad"
    formula = formulas.slope_of_sample

    d_x = not_differentiable(_NO_SECOND_DERIVATIVE)

    def d_y(self, t: Any, a: Any, x: Any, out: Any) -> Any:
        # It is −(∂P/∂a) / p, and ∂p/∂a = p · score.
        return neg(mul(t, sub(_score(a, x), neg(mul(out, _slope_of_log_density(a, x))))))


gamma_density_p = GammaDensity()
igamma_grad_a_p = IgammaGradA()
igamma_p = Igamma()
igammac_p = Igammac()
random_gamma_grad_p = RandomGammaGrad()


def igamma(a: Any, x: Any) -> Any:
    """P(a, x) = ∫₀ˣ s^(a−1) e⁻ˢ ds / Γ(a), the regularised lower incomplete gamma function.

    Args:
        a: floating array (...), or scalar.
        x: array of the dtype and shape of `a`, or scalar.

    Returns:
        Array (...); NaN where a or x is negative, or both are 0 or ∞.

    Raises:
        TypeError: the dtypes differ, or are not floating.

    Example:
        >>> import morphax as jax
        >>> jax.lax.igamma(1.0, 2.0)
        Array(0.86466473, dtype=float32, weak_type=True)
    """
    return igamma_p.bind(*standardize(a, x))


def igammac(a: Any, x: Any) -> Any:
    """Q(a, x) = 1 − P(a, x), the regularised upper incomplete gamma function.

    It keeps all its digits where it is small; arguments are those of `igamma`.

    Example:
        >>> import morphax as jax
        >>> jax.lax.igammac(1.0, 20.0)
        Array(2.0611537e-09, dtype=float32, weak_type=True)
    """
    return igammac_p.bind(*standardize(a, x))


def igamma_grad_a(a: Any, x: Any) -> Any:
    """∂P(a, x)/∂a, the derivative of `igamma` with respect to its parameter; NaN for a = 0.

    Example:
        >>> import morphax as jax
        >>> jax.lax.igamma_grad_a(1.0, 1.0)
        Array(-0.4317297, dtype=float32, weak_type=True)
    """
    return igamma_grad_a_p.bind(*standardize(a, x))


def random_gamma_grad(*args: Any) -> Any:
    """∂x/∂a of a gamma number x with parameter a: the derivative at constant P(a, x).

    Reference: Figurnov, Mohamed & Mnih, "Implicit reparameterization gradients", NeurIPS 2018.

    Args:
        *args: a, a floating array (...), and x, an array of its dtype and shape; either may be a
            scalar.

    Returns:
        Array (...); 0 for x = 0.

    Example:
        >>> import morphax as jax
        >>> jax.lax.random_gamma_grad(1.0, 2.0)
        Array(1.6316915, dtype=float32, weak_type=True)
    """
    if len(args) != 2:
        raise TypeError(
            message(
                "lax.random_gamma_grad",
                given=f"{len(args)} arguments",
                expected="the parameter a and the number x",
                fix="Call random_gamma_grad(a, x).",
            )
        )
    a, x = args
    return random_gamma_grad_p.bind(*standardize(a, x))
