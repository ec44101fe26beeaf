"""The logarithm of the sum of two exponentials, and what each of them contributes.

Both cases of the definition are the function itself, in a neighbourhood too, and so are all their
derivatives; those of max(x, y) and |x − y|, of which it could be made, are wrong where x = y.
"""

from __future__ import annotations

import math
from typing import Any

from .arithmetic import add, div, mul, neg, sub
from .bitwise import bitwise_and
from .comparison import eq, ge, ne
from .exponential import exp, exp2, log1p, logistic
from .selection import scalar_like, select_n_p


def log_sum(x: Any, y: Any, base: int | None = None) -> Any:
    """log(eˣ + eʸ) of real numbers, element by element, without overflow in between.

    With the base 2 it is log₂(2ˣ + 2ʸ).  The derivative of two equal infinities is shared evenly,
    as at every other tie.
    """
    gap, together = _gap(x, y)
    first = ge(x, y)
    below = select_n_p.bind(first, gap, neg(gap))
    if base == 2:
        rest = div(log1p(exp2(below)), _beside(gap, math.log(2)))
    else:
        rest = log1p(exp(below))
    total = add(select_n_p.bind(first, y, x), rest)
    return select_n_p.bind(together, total, mul(add(x, y), _beside(gap, 0.5)))


def shares(x: Any, y: Any) -> tuple[Any, Any]:
    """eˣ / (eˣ + eʸ) and eʸ / (eˣ + eʸ), the derivatives of `log_sum`."""
    gap, _ = _gap(x, y)
    return logistic(gap), logistic(neg(gap))


def _gap(x: Any, y: Any) -> tuple[Any, Any]:
    """x − y, and where both are one infinity, whose difference is 0 here."""
    gap = sub(x, y)
    together = bitwise_and(eq(x, y), ne(gap, gap))
    return select_n_p.bind(together, gap, _beside(gap, 0.0)), together


def _beside(x: Any, value: float) -> Any:
    """`value` as a scalar of the dtype of `x`, weak where that is a weak scalar."""
    return value if x.aval.weak_type and not x.aval.shape else scalar_like(value, x)
