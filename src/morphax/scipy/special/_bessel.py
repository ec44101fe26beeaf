"""Modified Bessel functions of the first kind."""

from __future__ import annotations

from typing import Any

from ... import lax
from ...numpy.bessel import bessel_i0, bessel_i1
from ...numpy.half_precision import in_float32
from ._operands import operands


@in_float32
def i0e(x: Any) -> Any:
    """exp(−|x|) I₀(x), for the modified Bessel function of order 0.

    Example:
        >>> from morphax.scipy import special
        >>> special.i0e(1000.0)
        Array(0.01261724, dtype=float32, weak_type=True)
    """
    return lax.bessel_i0e(*operands("i0e", x))


@in_float32
def i1e(x: Any) -> Any:
    """exp(−|x|) I₁(x), for the modified Bessel function of order 1.

    Example:
        >>> from morphax.scipy import special
        >>> special.i1e(1000.0)
        Array(0.01261093, dtype=float32, weak_type=True)
    """
    return lax.bessel_i1e(*operands("i1e", x))


@in_float32
def i0(x: Any) -> Any:
    """The modified Bessel function I₀.

    Example:
        >>> from morphax.scipy import special
        >>> special.i0(0.0)
        Array(1., dtype=float32, weak_type=True)
    """
    return bessel_i0(*operands("i0", x))


@in_float32
def i1(x: Any) -> Any:
    """The modified Bessel function I₁.

    Example:
        >>> from morphax.scipy import special
        >>> special.i1(1.0)
        Array(0.5651591, dtype=float32, weak_type=True)
    """
    return bessel_i1(*operands("i1", x))
