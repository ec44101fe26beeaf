"""Hyperbolic functions and their inverses."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from ...core import aval_of
from ...engines import loops
from ...engines.xla.stablehlo import Builder, Value
from ..ground.accuracy import check_accuracy
from ..ground.kinds import COMPLEX, INEXACT
from ..ground.logarithms import log_plus_one
from .arithmetic import add, div, mul, neg, sub
from .complex import above_the_cut, complex_p, imag, real
from .complex_formulas import Wave
from .complex_special_points import HALF_TURN, Parts, SpecialPoints, special_atanh
from .magnitude import abs
from .powers import one_minus_square, rsqrt, square
from .square_ranges import scale_of_large


@final
class Sinh(Wave):
    """(eˣ − e⁻ˣ) / 2, element by element."""

    name = "sinh"
    compiled = True
    numpy = np.sinh
    stablehlo = "chlo.sinh"
    angle = "imag"
    real_part, imaginary_part = ("cos", "sinh"), ("sin", "cosh")

    def d_x(self, t: Any, x: Any, out: Any) -> Any:
        return mul(t, cosh(x))


@final
class Cosh(Wave):
    """(eˣ + e⁻ˣ) / 2, element by element."""

    name = "cosh"
    compiled = True
    numpy = np.cosh
    stablehlo = "chlo.cosh"
    angle = "imag"
    real_part, imaginary_part = ("cos", "cosh"), ("sin", "sinh")

    def d_x(self, t: Any, x: Any, out: Any) -> Any:
        return mul(t, sinh(x))


@final
class Tanh(SpecialPoints):
    """sinh x / cosh x, element by element."""

    name = "tanh"
    accepts = INEXACT
    compiled = True
    numpy = np.tanh
    stablehlo = "stablehlo.tanh"

    def special(self, p: Parts) -> tuple[Value, Value]:  # tanh(i y) = i tan y
        return p.where(p.equals(p.x, 0), p.x, p.real), p.imag

    def scalar_of_complex(self, w: loops.Writer, z: loops.Operand) -> loops.Operand:
        return loops.complex_waves.tanh(w, z)

    def d_x(self, t: Any, x: Any, out: Any, **params: Any) -> Any:
        return mul(t, one_minus_square(out))


def _asinh(x: Any) -> Any:
    if x.dtype.kind != "c":
        return np.arcsinh(x)
    right = x.copy()
    right.real += 0.0
    return np.arcsinh(right)


@final
class Asinh(SpecialPoints):
    """The x of a hyperbolic sine, element by element."""

    name = "asinh"
    accepts = INEXACT
    compiled = True
    numpy = _asinh
    stablehlo = "chlo.asinh"

    def special(self, p: Parts) -> tuple[Value, Value]:  # that of real numbers is real
        return p.real, p.where(p.equals(p.y, 0), p.y, p.imag)

    def scalar_of_complex(self, w: loops.Writer, z: loops.Operand) -> loops.Operand:
        return loops.complex_waves.asinh(w, z)

    def d_x(self, t: Any, x: Any, out: Any) -> Any:
        if aval_of(x).dtype in COMPLEX:  # The square may be out of range.
            turned = complex_p.bind(neg(imag(x)), real(x))
            return mul(t, mul(rsqrt(sub(1.0, turned)), rsqrt(add(1.0, turned))))
        scale = scale_of_large(abs(x))
        return mul(t, mul(rsqrt(add(square(mul(x, scale)), square(scale))), scale))


def _acosh(x: Any) -> Any:
    return np.arccosh(above_the_cut(x))


@final
class Acosh(SpecialPoints):
    """The x ≥ 0 of a hyperbolic cosine, element by element."""

    name = "acosh"
    accepts = INEXACT
    compiled = True
    numpy = _acosh
    stablehlo = "chlo.acosh"

    def special(self, p: Parts) -> tuple[Value, Value]:  # acosh(i y) = asinh |y| ± i π/2
        is_lost = p.both(p.equals(p.x, 0), p.is_nan(p.y))
        return p.real, p.where(is_lost, p.number(HALF_TURN), p.imag)

    def scalar_of_complex(self, w: loops.Writer, z: loops.Operand) -> loops.Operand:
        return loops.complex_waves.acosh(w, z)

    def d_x(self, t: Any, x: Any, out: Any) -> Any:
        if x.aval.dtype.kind == "c":
            # One root of the product would be on the wrong branch where Re x < 0.
            return mul(t, mul(rsqrt(sub(x, 1.0)), rsqrt(add(x, 1.0))))
        scale = scale_of_large(x)
        below, above = mul(sub(x, 1.0), scale), mul(add(x, 1.0), scale)
        return mul(t, mul(rsqrt(mul(below, above)), scale))


@final
class Atanh(SpecialPoints):
    """The x of a hyperbolic tangent, element by element."""

    name = "atanh"
    accepts = INEXACT
    compiled = True
    numpy = np.arctanh
    stablehlo = "chlo.atanh"

    def lower(self, b: Builder, out: Any, x: Value, **params: Any) -> Value:
        if out.dtype != np.float64:
            return super().lower(b, out, x, **params)
        # By one logarithm, not the difference of two of which XLA's has 46 bits near −0.4.
        size = b.elementwise("stablehlo.abs", out, x)
        rest = b.elementwise("stablehlo.subtract", out, b.full(1, out), size)
        twice = b.elementwise("stablehlo.add", out, size, size)
        log = log_plus_one(b, out, b.elementwise("stablehlo.divide", out, twice, rest))
        half = b.elementwise("stablehlo.multiply", out, log, b.full(0.5, out))
        sign = b.elementwise("stablehlo.sign", out, x)
        return b.elementwise("stablehlo.multiply", out, sign, half)

    def special(self, p: Parts) -> tuple[Value, Value]:
        return special_atanh(p)

    def scalar_of_complex(self, w: loops.Writer, z: loops.Operand) -> loops.Operand:
        return loops.complex_waves.atanh(w, z)

    def d_x(self, t: Any, x: Any, out: Any) -> Any:
        return div(t, one_minus_square(x))


sinh_p = Sinh()
cosh_p = Cosh()
tanh_p = Tanh()
asinh_p = Asinh()
acosh_p = Acosh()
atanh_p = Atanh()


def sinh(x: Any) -> Any:
    """(eˣ − e⁻ˣ) / 2, element by element.

    Args:
        x: array of floating or complex dtype.

    Raises:
        TypeError: `x` is of another dtype; the function of `jax.numpy` converts it.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.sinh(jnp.array([0.0, jnp.inf]))
        Array([ 0., inf], dtype=float32)
    """
    return sinh_p.bind(x)


def cosh(x: Any) -> Any:
    """(eˣ + e⁻ˣ) / 2, element by element.

    Args:
        x: array of floating or complex dtype.

    Raises:
        TypeError: `x` is of another dtype; the function of `jax.numpy` converts it.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.cosh(jnp.array([0.0, jnp.inf]))
        Array([ 1., inf], dtype=float32)
    """
    return cosh_p.bind(x)


def tanh(x: Any, *, accuracy: Any = None) -> Any:
    """The quotient sinh x / cosh x, element by element.

    Args:
        x: array of floating or complex dtype.

    Raises:
        TypeError: `x` is of another dtype; the function of `jax.numpy` converts it.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.tanh(jnp.array([0.0, 20.0]))
        Array([0., 1.], dtype=float32)
    """
    if accuracy is not None:
        check_accuracy("lax.tanh", accuracy)
    return tanh_p.bind(x)


def asinh(x: Any) -> Any:
    """The number whose hyperbolic sine is `x`, element by element.

    Args:
        x: array of floating or complex dtype.

    Raises:
        TypeError: `x` is of another dtype; the function of `jax.numpy` converts it.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.asinh(jnp.array([0.0, jnp.inf]))
        Array([ 0., inf], dtype=float32)
    """
    return asinh_p.bind(x)


def acosh(x: Any) -> Any:
    """The number ≥ 0 whose hyperbolic cosine is `x`, element by element; NaN where x < 1.

    Args:
        x: array of floating or complex dtype.

    Raises:
        TypeError: `x` is of another dtype; the function of `jax.numpy` converts it.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.acosh(jnp.array([1.0, 0.0]))
        Array([ 0., nan], dtype=float32)
    """
    return acosh_p.bind(x)


def atanh(x: Any) -> Any:
    """The number whose hyperbolic tangent is `x`, element by element; NaN where |x| > 1.

    Args:
        x: array of floating or complex dtype.

    Raises:
        TypeError: `x` is of another dtype; the function of `jax.numpy` converts it.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.atanh(jnp.array([0.0, 1.0]))
        Array([ 0., inf], dtype=float32)
    """
    return atanh_p.bind(x)
