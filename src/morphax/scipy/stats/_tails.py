"""The logarithms of the incomplete gamma and beta functions, as distributions need them.

They are finite far beyond where the functions themselves underflow.
"""

from __future__ import annotations

import functools
from typing import Any, final

from ... import lax
from ...core import not_differentiable
from ...lax.elementwise import incomplete_beta, incomplete_gamma_formulas
from ...lax.ground.formulas import ByFormula
from .. import special


def _log_gamma_density(a: Any, x: Any) -> Any:
    return (a - 1) * lax.log(x) - x - lax.lgamma(a)


def _log_beta_density(a: Any, b: Any, x: Any) -> Any:
    return (a - 1) * lax.log(x) + (b - 1) * lax.log1p(-x) - special.betaln(a, b)


@final
class LogIgamma(ByFormula):
    """log P(a, x), element by element."""

    name = "log_igamma"
    formula = functools.partial(incomplete_gamma_formulas.log_of_tail, upper=False)

    def d_x(self, t: Any, a: Any, x: Any, out: Any) -> Any:
        # How x moves with a at constant P, times how P moves with x.
        density = lax.exp(_log_gamma_density(a, x) - out)
        return -t * density * lax.random_gamma_grad(a, x)

    def d_y(self, t: Any, a: Any, x: Any, out: Any) -> Any:
        return t * lax.exp(_log_gamma_density(a, x) - out)


@final
class LogIgammac(ByFormula):
    """log Q(a, x), element by element."""

    name = "log_igammac"
    formula = functools.partial(incomplete_gamma_formulas.log_of_tail, upper=True)

    def d_x(self, t: Any, a: Any, x: Any, out: Any) -> Any:
        density = lax.exp(_log_gamma_density(a, x) - out)
        return t * density * lax.random_gamma_grad(a, x)

    def d_y(self, t: Any, a: Any, x: Any, out: Any) -> Any:
        return -t * lax.exp(_log_gamma_density(a, x) - out)


_NO_DERIVATIVE = not_differentiable(
    "the derivative of I_x(a, b) with respect to a and b has no closed form"
)


@final
class LogBetainc(ByFormula):
    """log I_x(a, b), element by element."""

    name = "log_betainc"
    formula = functools.partial(incomplete_beta.log_of_tail, upper=False)

    d_x = _NO_DERIVATIVE
    d_y = _NO_DERIVATIVE

    def d_z(self, t: Any, a: Any, b: Any, x: Any, out: Any) -> Any:
        return t * lax.exp(_log_beta_density(a, b, x) - out)


@final
class LogBetaincc(ByFormula):
    """log(1 − I_x(a, b)), element by element."""

    name = "log_betaincc"
    formula = functools.partial(incomplete_beta.log_of_tail, upper=True)

    d_x = _NO_DERIVATIVE
    d_y = _NO_DERIVATIVE

    def d_z(self, t: Any, a: Any, b: Any, x: Any, out: Any) -> Any:
        return -t * lax.exp(_log_beta_density(a, b, x) - out)


log_igamma_p = LogIgamma()
log_igammac_p = LogIgammac()
log_betainc_p = LogBetainc()
log_betaincc_p = LogBetaincc()
