"""The incomplete gamma and beta functions, by their primitives."""

from __future__ import annotations

from typing import Any

from ... import lax
from ._operands import operands, real_operands


def gammainc(a: Any, x: Any) -> Any:
    """P(a, x) = ∫₀ˣ s^(a−1) e⁻ˢ ds / Γ(a), the regularised lower incomplete gamma function.

    Args:
        a, x: arrays (...) that broadcast, floating; both ≥ 0.

    Returns:
        Array (...); NaN outside the domain.

    Raises:
        TypeError: an operand is a list, or complex.

    Example:
        >>> from morphax.scipy import special
        >>> special.gammainc(1.0, 2.0)
        Array(0.86466473, dtype=float32, weak_type=True)
    """
    return lax.igamma(*operands("gammainc", a, x))


def gammaincc(a: Any, x: Any) -> Any:
    """Q(a, x) = 1 − P(a, x), which keeps its digits where it is small; see `gammainc`.

    Example:
        >>> from morphax.scipy import special
        >>> special.gammaincc(1.0, 20.0)
        Array(2.0611537e-09, dtype=float32, weak_type=True)
    """
    return lax.igammac(*operands("gammaincc", a, x))


def betainc(a: Any, b: Any, x: Any) -> Any:
    """I_x(a, b) = ∫₀ˣ s^(a−1) (1−s)^(b−1) ds / B(a, b), the regularised incomplete beta function.

    It has a derivative with respect to `x` only.

    Args:
        a, b, x: arrays (...) that broadcast, floating; a, b ≥ 0 and 0 ≤ x ≤ 1.

    Returns:
        Array (...); NaN outside the domain.

    Raises:
        TypeError: an operand is a list.
        ValueError: an operand is complex.

    Example:
        >>> from morphax.scipy import special
        >>> special.betainc(2.0, 3.0, 0.5)
        Array(0.6875, dtype=float32, weak_type=True)
    """
    return lax.betainc(*real_operands("betainc", a, b, x))
