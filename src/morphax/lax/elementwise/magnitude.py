"""Magnitude, sign, and the neighbours of a float."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from ...core import aval_of, not_differentiable
from ...engines import loops
from ...engines.xla.stablehlo import Builder, Value
from ..ground.families import Elementwise, without_derivative
from ..ground.kinds import COMPLEX, FLOATING, NUMBER, SIGNED
from ..ground.operands import standardize
from .arithmetic import div, mul, neg
from .comparison import eq, ge
from .complex import complex, conj, imag, real, real_dtype
from .complex_special_points import Parts, SpecialPoints, special_log
from .selection import scalar_like, select_n_p


@final
class Abs(SpecialPoints):
    """|x|, element by element; the derivative at a real 0 is 1, at a complex 0 it is 0."""

    name = "abs"
    quick = True
    accepts = FLOATING | COMPLEX | SIGNED
    numpy = np.abs
    stablehlo = "stablehlo.abs"
    narrow_in_loops = "kept"

    def result_dtype(self, dtype: Any) -> Any:
        return real_dtype(dtype)

    def special(self, p: Parts) -> tuple[Value, Value]:
        return special_log(p)

    def scalar(self, w: loops.Writer, x: loops.Operand) -> loops.Operand:
        if x.dtype.kind == "f":
            return w.op("fabs", x)
        is_below = w.op("lt", x, w.number(0, x.dtype))
        return w.select(is_below, w.op("neg", x), x)

    def scalar_of_complex(self, w: loops.Writer, z: loops.Operand) -> loops.Operand:
        return loops.complex_scalars.magnitude(w, z)

    def d_x(self, t: Any, x: Any, out: Any) -> Any:
        if x.aval.dtype in COMPLEX:
            length = select_n_p.bind(eq(out, 0), out, scalar_like(1, out))
            return div(real(mul(t, conj(x))), length)
        slope = select_n_p.bind(ge(x, 0), scalar_like(-1, x), scalar_like(1, x))
        return mul(t, slope)


def _sign(x: Any) -> Any:
    if x.dtype.kind != "c":
        # NumPy has 0 for −0.
        return np.copysign(np.sign(x), x) if x.dtype.kind == "f" else np.sign(x)
    modulus = np.abs(x)
    out = np.empty_like(x)
    out.real, out.imag = x.real / modulus, x.imag / modulus
    return np.where(modulus == 0, x, out)


@final
class Sign(Elementwise):
    """x / |x|, element by element; 0 where x is 0, and there the derivative is 0 too."""

    name = "sign"
    accepts = NUMBER
    numpy = _sign
    compiled = True

    def lower(self, b: Builder, out: Any, x: Value) -> Value:
        if out.dtype.kind != "u" and not out.dtype.name.startswith("uint"):
            return b.elementwise("stablehlo.sign", out, x)
        return b.elementwise("stablehlo.minimum", out, x, b.full(1, out))

    def scalar(self, w: loops.Writer, x: loops.Operand) -> loops.Operand:
        return loops.scalars.sign(w, x)

    def scalar_of_complex(self, w: loops.Writer, z: loops.Operand) -> loops.Operand:
        return loops.complex_scalars.sign(w, z)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        if aval_of(primals[0]).dtype in COMPLEX:
            return super().jvp(primals, tangents, **params)
        return without_derivative(self, primals, params)

    def d_x(self, t: Any, x: Any, out: Any) -> Any:
        """Complex numbers turn: by the part of t / x across the direction of x."""
        length = abs(x)
        length = select_n_p.bind(eq(length, 0), length, scalar_like(1, length))
        turn = div(imag(mul(t, conj(out))), length)
        return complex(neg(mul(turn, imag(out))), mul(turn, real(out)))


@final
class NextAfter(Elementwise):
    """The neighbour of x in the direction of y, among the numbers of the dtype."""

    name = "nextafter"
    accepts = FLOATING
    compiled = True
    stablehlo = "chlo.next_after"
    jvp = not_differentiable("the step to the next number depends on the dtype, not on the value")
    narrow_in_loops = "refused"

    def evaluate(self, x: Any, y: Any) -> Any:
        return np.where(x == y, y, np.nextafter(x, y))

    def scalar(self, w: loops.Writer, x: loops.Operand, y: loops.Operand) -> loops.Operand:
        return loops.scalars.next_after(w, x, y)


abs_p = Abs()
sign_p = Sign()
nextafter_p = NextAfter()


def abs(x: Any) -> Any:
    """|x|, element by element; of complex numbers, in the real dtype.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax import lax
        >>> lax.abs(jnp.array([3 + 4j]))
        Array([5.], dtype=float32)
    """
    return abs_p.bind(x)


def sign(x: Any) -> Any:
    """The sign of `x`, element by element: −1, 0 or 1; of complex numbers, x / |x|.

    The derivative by a real x is 0; a complex x turns its sign.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax import lax
        >>> lax.sign(jnp.array([-2.5, 0.0, 7.0]))
        Array([-1.,  0.,  1.], dtype=float32)
    """
    return sign_p.bind(x)


def nextafter(x1: Any, x2: Any) -> Any:
    """The number of the dtype that follows `x1` in the direction of `x2`, element by element.

    Args:
        x1: floating array (...), or scalar.
        x2: array of the dtype and shape of `x1`, or scalar.

    Returns:
        Array (...); `x2` where both are equal.

    Example:
        >>> import morphax as jax
        >>> jax.lax.nextafter(1.0, 2.0) - 1.0
        Array(1.1920929e-07, dtype=float32, weak_type=True)
    """
    return nextafter_p.bind(*standardize(x1, x2))
