"""Modified Bessel functions of the first kind."""

from __future__ import annotations

from typing import Any

from ... import lax
from ... import numpy as jnp
from ...control.custom.custom_jvp import custom_jvp
from ...lax.elementwise.bessel import i1_over_x
from ._operands import operands


def i0e(x: Any) -> Any:
    """exp(−|x|) I₀(x), for the modified Bessel function of order 0."""
    return lax.bessel_i0e(*operands("i0e", x))


def i1e(x: Any) -> Any:
    """exp(−|x|) I₁(x), for the modified Bessel function of order 1."""
    return lax.bessel_i1e(*operands("i1e", x))


def i0(x: Any) -> Any:
    """The modified Bessel function I₀."""
    return _i0(*operands("i0", x))


@custom_jvp
def _i0(x: Any) -> Any:
    return lax.exp(lax.abs(x)) * lax.bessel_i0e(x)


_i0.defjvps(lambda t, out, x: t * i1(x))


def i1(x: Any) -> Any:
    """The modified Bessel function I₁."""
    return _i1(*operands("i1", x))


@custom_jvp
def _i1(x: Any) -> Any:
    return lax.exp(lax.abs(x)) * lax.bessel_i1e(x)


# The kinks of |x| in the factors, which cancel in the product, stay out of the derivatives.
_i1.defjvps(lambda t, out, x: t * (_i0(x) - _i1_over_x(x)))


def _i1_over_x(x: Any) -> Any:
    near = lax.abs(x) < 0.5
    series = i1_over_x(jnp.where(near, x, 0))
    return jnp.where(near, series, _i1(x) / jnp.where(near, 1, x))
