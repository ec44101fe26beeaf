"""Special functions."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from morphax import lax
from morphax.lax.elementwise.inverse_erfc import erfc_inv_p
from morphax.lax.elementwise.special import lgamma_of_draws_p
from morphax.lax.elementwise.zeta import zeta_slope_p

from .op_case import FLOATS, OpCase, Operand

POSITIVE = (Operand(low=0.5, high=6),)
# Between the poles −1 and 0.
NEGATIVE = (Operand(low=-0.8, high=-0.2),)


def _zeta_slope(x: Any, q: Any) -> Any:
    """∂ζ/∂x by differences of fourth order, which have fewer digits."""
    h = 1e-3
    near = special.zeta(x + h, q) - special.zeta(x - h, q)
    far = special.zeta(x + 2 * h, q) - special.zeta(x - 2 * h, q)
    return (8 * near - far) / (12 * h)


CASES = (
    OpCase("erf", lax.erf, special.erf, dtypes=FLOATS),
    OpCase("erf/rank_0", lax.erf, special.erf, (Operand(()),)),
    OpCase("erfc", lax.erfc, special.erfc, dtypes=FLOATS),
    OpCase("erf_inv", lax.erf_inv, special.erfinv, (Operand(low=-0.8, high=0.8),), FLOATS),
    OpCase("erfc_inv", erfc_inv_p.bind, special.erfcinv, (Operand(low=0.6, high=1.4),), FLOATS),
    OpCase("erfc_inv/tails", erfc_inv_p.bind, special.erfcinv, (Operand(low=0.02, high=0.4),)),
    OpCase("lgamma", lax.lgamma, special.gammaln, POSITIVE, FLOATS),
    OpCase("lgamma_of_draws", lgamma_of_draws_p.bind, special.gammaln, POSITIVE, FLOATS),
    OpCase("lgamma/negative", lax.lgamma, special.gammaln, NEGATIVE, FLOATS),
    OpCase("digamma", lax.digamma, special.psi, POSITIVE, FLOATS),
    OpCase("digamma/negative", lax.digamma, special.psi, NEGATIVE, FLOATS),
    OpCase("digamma/empty", lax.digamma, special.psi, (Operand((0,)),)),
    OpCase(
        "polygamma",
        lambda m, x: lax.polygamma(lax.floor(m), x),
        lambda m, x: special.polygamma(m // 1, x),
        (Operand(low=1, high=4), *POSITIVE),
        FLOATS,
    ),
    OpCase(
        "zeta/near_1",
        lax.zeta,
        special.zeta,
        (Operand(low=1.1, high=3), *POSITIVE),
        ("float64", "float32"),
    ),
    OpCase(
        "zeta_slope",
        lambda x, q: zeta_slope_p.bind(x, q, order=1),
        _zeta_slope,
        (Operand(low=1.5, high=4), *POSITIVE),
        ("float64", "bfloat16"),
        tolerance=1e4,
    ),
    # The first operand is rounded down here, which has no derivative.
    OpCase(
        "zeta",
        lambda x, q: lax.zeta(lax.add(lax.floor(x), 0.5), q),
        lambda x, q: special.zeta(np.floor(x) + 0.5, q),
        (Operand(low=1, high=4), *POSITIVE),
        FLOATS,
    ),
)
