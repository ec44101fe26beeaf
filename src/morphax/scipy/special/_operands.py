"""What special functions do to their operands, and the polynomials that they are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import dtypes
from ...control.custom.custom_jvp import custom_jvp
from ...core import aval_of
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
    return convert(x, aval_of(x).dtype)


@custom_jvp
def strong_value(x: Any) -> Any:
    """The same, with the tangent as it is, which stays weak: so JAX has it of some integrals."""
    return strong(x)


strong_value.defjvps(lambda t, out, x: t)


def polynomial(x: Any, coefficients: Sequence[float]) -> Any:
    """Horner's rule; the coefficient of the highest power comes first."""
    total = x * coefficients[0] + coefficients[1]
    for coefficient in coefficients[2:]:
        total = total * x + coefficient
    return total


def chebyshev(u: Any, coefficients: Sequence[float], precision: float) -> Any:
    """Σ cₖ Tₖ(u), less a `precision`th part of c₀ at most; c₀ comes first.

    With v = T₂(u), it is Σ c₂ⱼ Tⱼ(v) + u Σ c₂ⱼ₊₁ Vⱼ(v), where V₀ = 1, V₁ = 2v − 1: two sums of half
    the length, which do not wait for each other.
    """
    beyond = np.cumsum(np.abs(coefficients[::-1]))[::-1]
    coefficients = coefficients[: int(np.count_nonzero(beyond > precision * abs(coefficients[0])))]
    twice = 4.0 * u * u - 2.0
    current, following = _clenshaw(twice, coefficients[0::2])
    even = current - 0.5 * twice * following
    current, following = _clenshaw(twice, coefficients[1::2])
    return even + u * (current - following)


def _clenshaw(twice: Any, coefficients: Sequence[float]) -> tuple[Any, Any]:
    """b₀ and b₁ of bₖ = cₖ + 2v bₖ₊₁ − bₖ₊₂, the sums of polynomials with Pₖ₊₁ = 2v Pₖ − Pₖ₋₁."""
    current: Any = 0.0
    following: Any = 0.0
    for coefficient in reversed(coefficients):
        current, following = twice * current - following + coefficient, current
    return current, following
