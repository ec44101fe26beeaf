"""The gamma function and its kin: factorials, beta, digamma, zeta."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...core import aval_of
from ...engines.reference.nan_checks import checked_as_one
from ...engines.reference.replay import replayed
from ...lax.elementwise.convert import convert
from ...numpy.half_precision import in_float32
from ...util.messages import message
from ._gamma_function import gamma_p
from ._log_beta import log_beta
from ._log_gamma import loggamma
from ._operands import operands


def digamma(x: Any) -> Any:
    """The derivative of log Γ.

    Example:
        >>> from morphax.scipy import special
        >>> special.digamma(1.0)
        Array(-0.5772157, dtype=float32, weak_type=True)
    """
    return lax.digamma(*operands("digamma", x))


@in_float32
def polygamma(n: Any, x: Any) -> Any:
    """The derivative of order `n` of `digamma`.

    Example:
        >>> from morphax.scipy import special
        >>> special.polygamma(1, 1.0)
        Array(1.644934, dtype=float32, weak_type=True)
    """
    return lax.polygamma(*operands("polygamma", n, x))


@in_float32
def zeta(x: Any, q: Any = 1.0) -> Any:
    """The zeta function of Hurwitz, Σₖ (k + q)⁻ˣ; for q = 1 that of Riemann.

    Example:
        >>> from morphax.scipy import special
        >>> special.zeta(2.0, 1.0)
        Array(1.644934, dtype=float32, weak_type=True)
    """
    return lax.zeta(*operands("zeta", x, 1.0 if q is None else q))


def gammaln(x: Any) -> Any:
    """log |Γ(x)|.

    Example:
        >>> from morphax.scipy import special
        >>> special.gammaln(100.0)
        Array(359.13422, dtype=float32, weak_type=True)
    """
    return lax.lgamma(*operands("gammaln", x))


@replayed(1)
@checked_as_one
def gammasgn(x: Any) -> Any:
    """The sign of Γ(x): NaN at negative integers, the sign of the zero at 0.

    Example:
        >>> from morphax.scipy import special
        >>> special.gammasgn(-0.5)
        Array(-1., dtype=float32)
    """
    (x,) = operands("gammasgn", x)
    below = lax.floor(x)
    negative = jnp.where(jnp.remainder(below, 2) == 0, 1.0, -1.0)
    negative = jnp.where((x == below) | jnp.isnan(x), np.nan, negative)
    sign = jnp.where(x == 0, jnp.copysign(1.0, x), jnp.where(x > 0, 1.0, negative))
    return convert(sign, aval_of(x).dtype)


def gamma(x: Any) -> Any:
    """Γ(x) = ∫₀^∞ s^(x−1) exp(−s) ds, continued to negative and complex x; NaN at the poles.

    Example:
        >>> from morphax.scipy import special
        >>> special.gamma(5.0)
        Array(24., dtype=float32)
    """
    (x,) = operands("gamma", x)
    if jnp.issubdtype(x.dtype, np.complexfloating):
        return lax.exp(loggamma(x))
    # The dtype is one for good, as in JAX.
    return gamma_p.bind(convert(x, aval_of(x).dtype))


@in_float32
def factorial(n: Any, exact: bool = False) -> Any:
    """n! = Γ(n + 1), zero for negative n; `exact` must be false.

    Example:
        >>> from morphax.scipy import special
        >>> special.factorial(5)
        Array(120., dtype=float32, weak_type=True)
    """
    if exact:
        raise ValueError(
            message(
                "scipy.special.factorial, argument exact",
                given="True",
                expected="False: arrays hold no integers of unbounded size",
                fix="Use math.factorial for exact integers.",
            )
        )
    (n,) = operands("factorial", n)
    return jnp.where(n < 0, 0, gamma_p.bind(n + 1))


@in_float32
def betaln(a: Any, b: Any) -> Any:
    """log |B(a, b)|.

    Example:
        >>> from morphax.scipy import special
        >>> special.betaln(1.0, 1e30)
        Array(-69.07755, dtype=float32, weak_type=True)
    """
    a, b = operands("betaln", a, b)
    return log_beta(a, b, a + b)


@in_float32
def beta(a: Any, b: Any) -> Any:
    """B(a, b) = Γ(a) Γ(b) / Γ(a + b).

    Example:
        >>> from morphax.scipy import special
        >>> special.beta(2.0, 3.0)
        Array(0.08333333, dtype=float32)
    """
    a, b = operands("beta", a, b)
    return gammasgn(a) * gammasgn(b) * gammasgn(a + b) * lax.exp(betaln(a, b))
