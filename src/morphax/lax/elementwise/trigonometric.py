"""Circular functions and their inverses."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from ...core import aval_of
from ...engines import loops
from ...engines.xla.stablehlo import Value
from ..ground.accuracy import check_accuracy
from ..ground.families import Elementwise
from ..ground.kinds import COMPLEX, INEXACT
from ..ground.operands import standardize
from .arithmetic import add, div, mul, neg, sub
from .complex import above_the_cut
from .complex_formulas import Wave
from .complex_special_points import HALF_TURN, Parts, SpecialPoints, special_atanh
from .magnitude import abs
from .powers import one_minus_square, rsqrt, square
from .selection import max
from .square_ranges import scale_of_extreme


@final
class Sin(Wave):
    """sin x, element by element."""

    name = "sin"
    compiled = True
    numpy = np.sin
    stablehlo = "stablehlo.sine"
    angle = "real"
    real_part, imaginary_part = ("sin", "cosh"), ("cos", "sinh")

    def d_x(self, t: Any, x: Any, out: Any, **params: Any) -> Any:
        return mul(t, cos(x))


@final
class Cos(Wave):
    """cos x, element by element."""

    name = "cos"
    compiled = True
    numpy = np.cos
    stablehlo = "stablehlo.cosine"
    angle = "real"
    real_part, imaginary_part = ("cos", "cosh"), ("sin", "sinh")
    is_negated = True

    def d_x(self, t: Any, x: Any, out: Any, **params: Any) -> Any:
        return mul(t, neg(sin(x)))


@final
class Tan(SpecialPoints):
    """tan x, element by element."""

    name = "tan"
    accepts = INEXACT
    compiled = True
    numpy = np.tan
    stablehlo = "stablehlo.tan"

    def special(self, p: Parts) -> tuple[Value, Value]:  # that of real numbers is real
        return p.real, p.where(p.equals(p.y, 0), p.y, p.imag)

    def scalar_of_complex(self, w: loops.Writer, z: loops.Operand) -> loops.Operand:
        return loops.complex_waves.tan(w, z)

    def d_x(self, t: Any, x: Any, out: Any, **params: Any) -> Any:
        return mul(t, add(square(out), 1.0))


def _asin(x: Any) -> Any:
    return np.arcsin(above_the_cut(x))


@final
class Asin(SpecialPoints):
    """The x in [−π/2, π/2] of a sine, element by element."""

    name = "asin"
    accepts = INEXACT
    compiled = True
    numpy = _asin
    stablehlo = "chlo.asin"

    def special(self, p: Parts) -> tuple[Value, Value]:  # asin(i y) = i asinh y
        return p.where(p.equals(p.x, 0), p.x, p.real), p.imag

    def scalar_of_complex(self, w: loops.Writer, z: loops.Operand) -> loops.Operand:
        return loops.complex_waves.asin(w, z)

    def d_x(self, t: Any, x: Any, out: Any) -> Any:
        return mul(t, _rsqrt_of_one_minus_square(x))


def _acos(x: Any) -> Any:
    return np.arccos(above_the_cut(x))


@final
class Acos(SpecialPoints):
    """The x in [0, π] of a cosine, element by element."""

    name = "acos"
    accepts = INEXACT
    compiled = True
    numpy = _acos
    stablehlo = "chlo.acos"

    def special(self, p: Parts) -> tuple[Value, Value]:  # acos(i y) = π/2 − i asinh y
        return p.where(p.equals(p.x, 0), p.number(HALF_TURN), p.real), p.imag

    def scalar_of_complex(self, w: loops.Writer, z: loops.Operand) -> loops.Operand:
        return loops.complex_waves.acos(w, z)

    def d_x(self, t: Any, x: Any, out: Any) -> Any:
        return mul(t, neg(_rsqrt_of_one_minus_square(x)))


def _rsqrt_of_one_minus_square(x: Any) -> Any:
    if aval_of(x).dtype in COMPLEX:  # The square may be out of range.
        return mul(rsqrt(sub(1.0, x)), rsqrt(add(1.0, x)))
    return rsqrt(one_minus_square(x))


@final
class Atan(SpecialPoints):
    """The x in [−π/2, π/2] of a tangent, element by element."""

    name = "atan"
    accepts = INEXACT
    compiled = True
    numpy = np.arctan
    stablehlo = "chlo.atan"

    def special(self, p: Parts) -> tuple[Value, Value]:  # b + i a where atanh(y + i x) = a + i b
        imag, real = special_atanh(Parts(p.b, p.aval, p.y, p.x, p.imag, p.real))
        return real, imag

    def scalar_of_complex(self, w: loops.Writer, z: loops.Operand) -> loops.Operand:
        return loops.complex_waves.atan(w, z)

    def d_x(self, t: Any, x: Any, out: Any) -> Any:
        return div(t, add(square(x), 1.0))


def _atan2(x: Any, y: Any) -> Any:
    if x.dtype.kind != "c":
        return np.arctan2(x, y)
    # Of two scalars NumPy gives a scalar, whose parts cannot be set.
    radius = np.sqrt(above_the_cut(np.asarray(x * x + y * y)))
    return -1j * np.log(above_the_cut(np.asarray((y + 1j * x) / radius)))


@final
class Atan2(Elementwise):
    """The angle from the second axis to the point (y, x), element by element."""

    name = "atan2"
    accepts = INEXACT
    numpy = _atan2
    stablehlo = "stablehlo.atan2"

    def scalar_of_complex(
        self, w: loops.Writer, x: loops.Operand, y: loops.Operand
    ) -> loops.Operand:
        return loops.complex_waves.angle(w, x, y)

    def d_x(self, t: Any, x: Any, y: Any, out: Any) -> Any:
        return mul(t, _over_length_squared(y, x, y))

    def d_y(self, t: Any, x: Any, y: Any, out: Any) -> Any:
        return mul(t, _over_length_squared(neg(x), x, y))


def _over_length_squared(side: Any, x: Any, y: Any) -> Any:
    """One of ±x and ±y over x² + y², whose squares may be out of range."""
    if aval_of(x).dtype in COMPLEX:
        return div(side, add(square(x), square(y)))
    scale = scale_of_extreme(max(abs(x), abs(y)))
    x, y, side = mul(x, scale), mul(y, scale), mul(side, scale)
    return mul(div(side, add(square(x), square(y))), scale)


sin_p = Sin()
cos_p = Cos()
tan_p = Tan()
asin_p = Asin()
acos_p = Acos()
atan_p = Atan()
atan2_p = Atan2()


def sin(x: Any, *, accuracy: Any = None) -> Any:
    """Sine of `x` in radians, element by element.

    Args:
        x: array (...) of floating or complex dtype.
        accuracy: accepted for compatibility; the engine's best is always used.

    Returns:
        Array (...) of the dtype of `x`.

    Raises:
        TypeError: `x` is boolean or integer.

    Example:
        >>> import morphax as jax
        >>> jax.lax.sin(0.0)
        Array(0., dtype=float32, weak_type=True)
    """
    if accuracy is not None:
        check_accuracy("lax.sin", accuracy)
    return sin_p.bind(x)


def cos(x: Any, *, accuracy: Any = None) -> Any:
    """Cosine of `x` in radians, element by element.

    Args:
        x: array of floating or complex dtype.

    Raises:
        TypeError: `x` is of another dtype; the function of `jax.numpy` converts it.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.cos(jnp.array([0.0, jnp.pi]))
        Array([ 1., -1.], dtype=float32)
    """
    if accuracy is not None:
        check_accuracy("lax.cos", accuracy)
    return cos_p.bind(x)


def tan(x: Any, *, accuracy: Any = None) -> Any:
    """Tangent of `x` in radians, element by element.

    Args:
        x: array of floating or complex dtype.

    Raises:
        TypeError: `x` is of another dtype; the function of `jax.numpy` converts it.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.tan(jnp.array([0.0, jnp.pi / 4]))
        Array([0., 1.], dtype=float32)
    """
    if accuracy is not None:
        check_accuracy("lax.tan", accuracy)
    return tan_p.bind(x)


def asin(x: Any) -> Any:
    """The angle in [−π/2, π/2] whose sine is `x`, element by element; NaN where |x| > 1.

    Args:
        x: array of floating or complex dtype.

    Raises:
        TypeError: `x` is of another dtype; the function of `jax.numpy` converts it.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.asin(jnp.array([0.0, 2.0]))
        Array([ 0., nan], dtype=float32)
    """
    return asin_p.bind(x)


def acos(x: Any) -> Any:
    """The angle in [0, π] whose cosine is `x`, element by element; NaN where |x| > 1.

    Args:
        x: array of floating or complex dtype.

    Raises:
        TypeError: `x` is of another dtype; the function of `jax.numpy` converts it.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.acos(jnp.array([1.0, 2.0]))
        Array([ 0., nan], dtype=float32)
    """
    return acos_p.bind(x)


def atan(x: Any) -> Any:
    """The angle in [−π/2, π/2] whose tangent is `x`, element by element.

    Args:
        x: array of floating or complex dtype.

    Raises:
        TypeError: `x` is of another dtype; the function of `jax.numpy` converts it.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.atan(jnp.array([0.0, -0.0]))
        Array([ 0., -0.], dtype=float32)
    """
    return atan_p.bind(x)


def atan2(x: Any, y: Any) -> Any:
    """The angle in [−π, π] with sine proportional to `x` and cosine to `y`, element by element.

    Args:
        x: floating or complex array (...), or scalar.
        y: array of the dtype and shape of `x`, or scalar.

    Returns:
        Array (...): atan(x / y), in the quadrant that the signs of both tell, those of zeros too.

    Example:
        >>> import morphax as jax
        >>> jax.lax.atan2(0.0, -1.0)
        Array(3.1415927, dtype=float32, weak_type=True)
    """
    return atan2_p.bind(*standardize(x, y))
