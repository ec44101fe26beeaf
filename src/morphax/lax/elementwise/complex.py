"""Complex numbers: parts, pairs and conjugates.

Transposes treat ℂ as ℝ² and write a real-linear functional of z as Re(w · z), with w the cotangent.
Hence the transpose of z ↦ Im z is c ↦ −i c, and the gradient of a real function of z = x + i y is
∂f/∂x − i ∂f/∂y, the conjugate of the direction of steepest ascent.
"""

from __future__ import annotations

from typing import Any, final

import numpy as np

from ...core import aval_of, is_undefined_primal
from ...engines import loops
from ...engines.xla.stablehlo import Builder, Value
from ..ground.families import Elementwise, LinearElementwise, unbroadcast
from ..ground.kinds import COMPLEX, PARTS
from ..ground.operands import standardize
from .arithmetic import neg


def real_dtype(dtype: Any) -> Any:
    """The dtype of the parts of a complex dtype; any other dtype itself."""
    return np.finfo(dtype).dtype if dtype.kind == "c" else dtype


def complex_dtype(dtype: Any) -> Any:
    """The complex dtype whose parts are of `dtype`; a complex dtype itself."""
    return np.result_type(dtype, np.complex64)


def above_the_cut(z: Any) -> Any:
    """A NumPy array with imaginary parts −0 taken for 0, as XLA does on branch cuts."""
    if z.dtype.kind != "c":
        return z
    above = z.copy()
    above.imag += 0.0
    return above


@final
class Real(LinearElementwise):
    """Re z, element by element."""

    name = "real"
    quick = True
    accepts = COMPLEX
    stablehlo = "stablehlo.real"

    def result_dtype(self, dtype: Any) -> Any:
        return real_dtype(dtype)

    def evaluate(self, z: Any) -> Any:
        return z.real.copy()

    scalar_of_complex = Elementwise.scalar

    def transpose_x(self, ct: Any, z: Any) -> Any:
        return complex_p.bind(ct, ct.dtype.type(0))


@final
class Imag(LinearElementwise):
    """Im z, element by element."""

    name = "imag"
    quick = True
    accepts = COMPLEX
    stablehlo = "stablehlo.imag"

    def result_dtype(self, dtype: Any) -> Any:
        return real_dtype(dtype)

    def evaluate(self, z: Any) -> Any:
        return z.imag.copy()

    scalar_of_complex = Elementwise.scalar

    def transpose_x(self, ct: Any, z: Any) -> Any:
        return complex_p.bind(ct.dtype.type(0), neg(ct))


@final
class Complex(Elementwise):
    """x + i y, element by element."""

    name = "complex"
    accepts = PARTS
    stablehlo = "stablehlo.complex"
    linear = True

    def result_dtype(self, dtype: Any) -> Any:
        return complex_dtype(dtype)

    def evaluate(self, x: Any, y: Any) -> Any:
        out = np.empty(np.broadcast(x, y).shape, complex_dtype(x.dtype))
        out.real, out.imag = x, y
        return out

    def scalar(self, w: loops.Writer, x: loops.Operand, y: loops.Operand) -> loops.Operand:
        return w.op("complex", x, y)

    def transpose(self, ct: Any, x: Any, y: Any) -> list[Any]:
        return [
            unbroadcast(real(ct), x.aval) if is_undefined_primal(x) else None,
            unbroadcast(neg(imag(ct)), y.aval) if is_undefined_primal(y) else None,
        ]


@final
class Conj(LinearElementwise):
    """The conjugate of z, element by element; a real operand of `input_dtype` becomes complex."""

    name = "conj"
    quick = True
    accepts = COMPLEX | PARTS

    def result_dtype(self, dtype: Any) -> Any:
        return complex_dtype(dtype)

    def evaluate(self, z: Any, *, input_dtype: Any) -> Any:
        return np.conj(z) if z.dtype.kind == "c" else z.astype(complex_dtype(z.dtype))

    def lower(self, b: Builder, out: Any, z: Value, *, input_dtype: Any) -> Value:
        if z.aval.dtype.kind != "c":
            return b.op("stablehlo.complex", out, z, b.full(0, z.aval))
        parts = out.update(dtype=real_dtype(out.dtype))
        re, im = b.op("stablehlo.real", parts, z), b.op("stablehlo.imag", parts, z)
        return b.op("stablehlo.complex", out, re, b.elementwise("stablehlo.negate", parts, im))

    def scalar(self, w: loops.Writer, x: loops.Operand, **_: Any) -> loops.Operand:
        return w.op("complex", x, w.number(0, x.dtype))

    def scalar_of_complex(self, w: loops.Writer, z: loops.Operand, **_: Any) -> loops.Operand:
        return loops.complex_scalars.conjugate(w, z)

    def transpose_x(self, ct: Any, z: Any, *, input_dtype: Any) -> Any:
        conjugate = conj(ct)
        return conjugate if input_dtype.kind == "c" else real(conjugate)


real_p = Real()
imag_p = Imag()
complex_p = Complex()
conj_p = Conj()


def real(x: Any) -> Any:
    """Re x, element by element.

    Args:
        x: array of complex dtype.

    Raises:
        TypeError: `x` is of another dtype.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.real(jnp.array([1 + 2j]))
        Array([1.], dtype=float32)
    """
    return real_p.bind(x)


def imag(x: Any) -> Any:
    """Im x, element by element.

    Args:
        x: array of complex dtype.

    Raises:
        TypeError: `x` is of another dtype.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.imag(jnp.array([1 + 2j]))
        Array([2.], dtype=float32)
    """
    return imag_p.bind(x)


def complex(x: Any, y: Any) -> Any:
    """The complex number x + i y, element by element.

    Args:
        x: array (...) of dtype float32 or float64, or scalar.
        y: array of the dtype and shape of `x`, or scalar.

    Returns:
        Array (...) of dtype complex64 or complex128.

    Example:
        >>> import morphax as jax
        >>> jax.lax.complex(1.0, 2.0)
        Array(1.+2.j, dtype=complex64, weak_type=True)
    """
    return complex_p.bind(*standardize(x, y))


def conj(x: Any) -> Any:
    """The complex conjugate of `x`, element by element; always of complex dtype.

    Args:
        x: array of numbers.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.conj(jnp.array([1 + 2j]))
        Array([1.-2.j], dtype=complex64)
    """
    return conj_p.bind(x, input_dtype=aval_of(x).dtype)
