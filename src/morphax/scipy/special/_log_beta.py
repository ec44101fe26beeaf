"""log |B(a, b)|, where neither log Γ(a), log Γ(b) and log Γ(a + b) nor their errors cancel.

It is the sum of the three, and where one of a and b is large Stirling's formula takes the place of
the two that nearly cancel.

References: DLMF, 5.11 and 5.12.  Didonato & Morris, "Algorithm 708", ACM TOMS 18 (1992).
"""

from __future__ import annotations

from typing import Any

from ... import lax
from ... import numpy as jnp
from ...control.custom.custom_jvp import custom_jvp
from ...lax.elementwise.gamma_parts import (
    START_OF_STIRLING,
    STIRLING,
)
from ...lax.ground.horner import polynomial
from ._digamma_difference import digamma_difference_p


@custom_jvp
def log_beta(a: Any, b: Any, total: Any) -> Any:
    """log |B(a, b)| for `total` = a + b, where one of the three may be of a smaller shape."""
    of_a, of_b = lax.lgamma(a), lax.lgamma(b)
    near = of_a + of_b - lax.lgamma(total)
    large = jnp.where(a < b, b, a)
    remote = (large >= START_OF_STIRLING) & (total >= START_OF_STIRLING)
    small = jnp.where(remote, jnp.where(a < b, a, b), 1)
    large = jnp.where(remote, large, START_OF_STIRLING)
    sum_ = jnp.where(remote, total, START_OF_STIRLING + 1)
    far = jnp.where(a < b, of_a, of_b) + _difference_by_stirling(small, large, sum_)
    return jnp.where(remote, far, near)


# The terms of Stirling's formula, and the digammas, nearly cancel; the sum moves with both.
log_beta.defjvps(
    lambda t, out, a, b, total: -t * digamma_difference_p.bind(*jnp.broadcast_arrays(a, b)),
    lambda t, out, a, b, total: -t * digamma_difference_p.bind(*jnp.broadcast_arrays(b, a)),
    None,
)


def _difference_by_stirling(a: Any, b: Any, total: Any) -> Any:
    """log Γ(b) − log Γ(a + b) for large b and `total` = a + b, where the two nearly cancel.

    By log Γ(x) = (x − ½) log x − x + ½ log 2π + Δ(x), in their difference only that of the
    corrections Δ is left, and a log b + (a + b − ½) log(1 + a/b) − a.
    """
    quotient = (total - 0.5) * lax.log1p(a / b) + a * (lax.log(b) - 1)
    return _correction(b) - _correction(total) - quotient


def _correction(x: Any) -> Any:
    """Stirling's series Σₖ B₂ₖ / (2k (2k − 1) x²ᵏ⁻¹), good to the last digit for x ≥ 10."""
    inverse = 1 / x
    return polynomial(STIRLING, inverse * inverse) * inverse
