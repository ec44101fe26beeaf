"""What special functions do to their operands, and the polynomials that they are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import dtypes
from ...lax.elementwise.convert import convert
from ...numpy.operands import as_array, promoted_inexact
from ...util.messages import message


def operands(name: str, *operands: Any) -> list[Any]:
    """Arrays of one floating dtype."""
    where = f"scipy.special.{name}"
    return [as_array(where, x) for x in promoted_inexact(where, *operands)]


def real_operands(name: str, *given: Any, refusal: type[Exception] = ValueError) -> list[Any]:
    """Arrays of one floating dtype, which is not complex; `refusal` is raised where it is."""
    arrays = operands(name, *given)
    if dtypes.issubdtype(arrays[0].dtype, np.complexfloating):
        raise refusal(
            message(
                f"scipy.special.{name}",
                given=f"operands that combine to {arrays[0].dtype}",
                expected="real numbers",
                fix="Give the real part, jnp.real(x), if the imaginary part is 0.",
            )
        )
    return arrays


def strong(x: Any) -> Any:
    """`x` with a dtype that others adapt to."""
    return convert(x, x.aval.dtype)


def polynomial(x: Any, coefficients: Sequence[float]) -> Any:
    """Horner's rule; the coefficient of the highest power comes first."""
    total = x * coefficients[0] + coefficients[1]
    for coefficient in coefficients[2:]:
        total = total * x + coefficient
    return total


def chebyshev(u: Any, coefficients: Sequence[float]) -> Any:
    """Σ cₖ Tₖ(u), by Clenshaw's rule; c₀ comes first."""
    current: Any = 0.0
    previous: Any = 0.0
    for coefficient in reversed(coefficients[1:]):
        current, previous = 2.0 * u * current - previous + coefficient, current
    return u * current - previous + coefficients[0]
