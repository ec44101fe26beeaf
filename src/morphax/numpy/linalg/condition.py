"""The condition number of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ...engines.reference.replay import replayed
from ...util.messages import message
from ..reductions import any as any_
from .norms import norm
from .operands import matrices, square_matrices
from .systems import inv


@replayed(1)
def cond(x: Any, p: Any = None) -> Any:
    """The condition numbers |A| |A⁻¹| of matrices, infinite for singular ones.

    Args:
        x: matrices `(..., m, n)` of some size; integers become floating.
        p: order of the norm, as in `norm`.  By default 2: the largest singular value over the
            smallest; for -2 the other way round.  For the others the matrices are square.

    Returns:
        Real array `(...)`.

    Raises:
        ShapeError: if the shape does not fit.
        ValueError: if the matrices are empty, or the order is unknown.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.linalg.cond(jnp.array([[4.0, 0.0], [0.0, 2.0]]))
        Array(2., dtype=float32)
    """
    values = p is None or p in (2, -2)
    a = matrices("cond", x) if values else square_matrices("cond", x)
    if not a.aval.size:
        raise ValueError(
            message(
                "jnp.linalg.cond",
                given=f"{a.aval}",
                expected="matrices with at least one element",
                fix="An empty matrix has no condition number.",
            )
        )
    if values:
        s = lax.linalg.svd(a, compute_uv=False)
        first, last = lax.index_in_dim(s, 0, -1, False), lax.index_in_dim(s, -1, -1, False)
        found = lax.div(last, first) if p == -2 else lax.div(first, last)
    else:
        found = lax.mul(norm(a, p, (-2, -1)), norm(inv(a), p, (-2, -1)))
    given = any_(lax.ne(a, a), axis=(-2, -1))
    unknown = lax.bitwise_and(lax.ne(found, found), lax.bitwise_not(given))
    return lax.select(unknown, lax.full_like(found, np.inf), found)
