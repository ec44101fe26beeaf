"""The logarithms of the incomplete gamma and beta functions, as distributions need them.

They are finite far beyond where the functions themselves underflow.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, final

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...core import not_differentiable
from ...lax.elementwise import incomplete_beta, incomplete_gamma_formulas
from ...lax.elementwise.incomplete_gamma import OfGammaNumbers
from ...lax.ground.formulas import ByFormula, HostNotation
from ...util.scipy_libraries import special_functions

# Below this a tail may be a denormal number, or 0.
_LEAST = 1e-290


def _slope_of_log_density(a: Any, x: Any) -> Any:
    return (a - 1) / x - 1


def _with_ends(x: Any, at_zero: float, slope: Any, at_infinity: float) -> Any:
    """A product that is 0 · ∞ at the ends of the range of x, with its limits there."""
    return jnp.where(x == 0, at_zero, jnp.where(x == np.inf, at_infinity, slope))


@final
class OverIgamma(OfGammaNumbers):
    """The density over P(a, x), element by element: how log P moves with x."""

    name = "gamma_density_over_igamma"
    formula = functools.partial(incomplete_gamma_formulas.density_over_tail, upper=False)

    def d_x(self, t: Any, a: Any, x: Any, out: Any) -> Any:
        score = lax.log(x) - lax.digamma(a)
        return t * out * (score + out * lax.random_gamma_grad(a, x))

    def d_y(self, t: Any, a: Any, x: Any, out: Any) -> Any:
        return t * out * (_slope_of_log_density(a, x) - out)


@final
class OverIgammac(OfGammaNumbers):
    """The density over Q(a, x), element by element: how −log Q moves with x."""

    name = "gamma_density_over_igammac"
    formula = functools.partial(incomplete_gamma_formulas.density_over_tail, upper=True)

    def d_x(self, t: Any, a: Any, x: Any, out: Any) -> Any:
        score = lax.log(x) - lax.digamma(a)
        return t * out * (score - out * lax.random_gamma_grad(a, x))

    def d_y(self, t: Any, a: Any, x: Any, out: Any) -> Any:
        return t * out * (_slope_of_log_density(a, x) + out)


@final
class LogIgamma(OfGammaNumbers):
    """log P(a, x), element by element."""

    name = "log_igamma"
    formula = functools.partial(incomplete_gamma_formulas.log_of_tail, upper=False)

    def d_x(self, t: Any, a: Any, x: Any, out: Any) -> Any:
        # How x moves with a at constant P, times how P moves with x.
        slope = over_igamma_p.bind(a, x) * lax.random_gamma_grad(a, x)
        return -t * _with_ends(x, np.inf, slope, 0)

    def d_y(self, t: Any, a: Any, x: Any, out: Any) -> Any:
        return t * over_igamma_p.bind(a, x)


@final
class LogIgammac(OfGammaNumbers):
    """log Q(a, x), element by element."""

    name = "log_igammac"
    formula = functools.partial(incomplete_gamma_formulas.log_of_tail, upper=True)

    def d_x(self, t: Any, a: Any, x: Any, out: Any) -> Any:
        slope = over_igammac_p.bind(a, x) * lax.random_gamma_grad(a, x)
        return t * _with_ends(x, 0, slope, np.inf)

    def d_y(self, t: Any, a: Any, x: Any, out: Any) -> Any:
        return -t * over_igammac_p.bind(a, x)


def _log_of_beta_tail(a: Any, b: Any, x: Any, *, upper: bool) -> Any:
    """By SciPy's tails, whose digits are enough for dtypes narrower than float64.

    Where these are too small, and at the ends of the ranges, the formula takes their place.
    """
    wide = np.broadcast_arrays(a, b, x)
    tail, other = special_functions().betainc(*wide), special_functions().betaincc(*wide)
    if upper:
        tail, other = other, tail
    found = np.asarray(np.where(other < 0.5, np.log1p(-other), np.log(tail)))
    inside = [(0 < x) & (x < end) for x, end in zip(wide, (np.inf, np.inf, 1), strict=True)]
    is_rare = ~(inside[0] & inside[1] & inside[2] & (tail > _LEAST))
    if is_rare.any():
        few = [x[is_rare] for x in wide]
        found[is_rare] = incomplete_beta.log_of_tail(HostNotation(), *few, upper=upper)
    return found


_NO_DERIVATIVE = not_differentiable(
    "the derivative of I_x(a, b) with respect to a and b has no closed form"
)


def _slope_of_log_beta_density(a: Any, b: Any, x: Any) -> Any:
    return (a - 1) / x - (b - 1) / (1 - x)


@final
class OverBetainc(ByFormula):
    """The density over I_x(a, b), element by element: how log I moves with x."""

    name = "beta_density_over_betainc"
    formula = functools.partial(incomplete_beta.density_over_tail, upper=False)

    d_x = _NO_DERIVATIVE
    d_y = _NO_DERIVATIVE

    def d_z(self, t: Any, a: Any, b: Any, x: Any, out: Any) -> Any:
        return t * out * (_slope_of_log_beta_density(a, b, x) - out)


@final
class OverBetaincc(ByFormula):
    """The density over 1 − I_x(a, b), element by element: how −log(1 − I) moves with x."""

    name = "beta_density_over_betaincc"
    formula = functools.partial(incomplete_beta.density_over_tail, upper=True)

    d_x = _NO_DERIVATIVE
    d_y = _NO_DERIVATIVE

    def d_z(self, t: Any, a: Any, b: Any, x: Any, out: Any) -> Any:
        return t * out * (_slope_of_log_beta_density(a, b, x) + out)


@final
class LogBetainc(ByFormula):
    """log I_x(a, b), element by element."""

    name = "log_betainc"
    formula = functools.partial(incomplete_beta.log_of_tail, upper=False)
    of_narrow = functools.partial(_log_of_beta_tail, upper=False)

    def kernel(self, *avals: Any, **params: Any) -> Callable[..., Any] | None:
        return incomplete_beta.kernel_of_single(self, "regular_logs", avals)

    d_x = _NO_DERIVATIVE
    d_y = _NO_DERIVATIVE

    def d_z(self, t: Any, a: Any, b: Any, x: Any, out: Any) -> Any:
        return t * over_betainc_p.bind(a, b, x)


@final
class LogBetaincc(ByFormula):
    """log(1 − I_x(a, b)), element by element."""

    name = "log_betaincc"
    formula = functools.partial(incomplete_beta.log_of_tail, upper=True)
    of_narrow = functools.partial(_log_of_beta_tail, upper=True)

    def kernel(self, *avals: Any, **params: Any) -> Callable[..., Any] | None:
        return incomplete_beta.kernel_of_single(self, "regular_logs_of_complement", avals)

    d_x = _NO_DERIVATIVE
    d_y = _NO_DERIVATIVE

    def d_z(self, t: Any, a: Any, b: Any, x: Any, out: Any) -> Any:
        return -t * over_betaincc_p.bind(a, b, x)


over_igamma_p = OverIgamma()
over_igammac_p = OverIgammac()
log_igamma_p = LogIgamma()
log_igammac_p = LogIgammac()
over_betainc_p = OverBetainc()
over_betaincc_p = OverBetaincc()
log_betainc_p = LogBetainc()
log_betaincc_p = LogBetaincc()
