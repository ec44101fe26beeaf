"""Exponentials and logarithms."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, final

import numpy as np

from ...engines import loops
from ...engines.xla.stablehlo import Builder, Value
from ..ground.accuracy import check_accuracy
from ..ground.families import ComputedWide
from ..ground.kinds import INEXACT
from ..ground.logarithms import log_plus_one
from . import complex_formulas
from .arithmetic import add, div, inverse, mul, sub
from .complex_formulas import LN_2
from .complex_special_points import Parts, SpecialPoints, joined, special_exp, special_log


@final
class Exp(SpecialPoints):
    """eˣ, element by element."""

    name = "exp"
    accepts = INEXACT
    compiled = True
    numpy = np.exp
    stablehlo = "stablehlo.exponential"

    def special(self, p: Parts) -> tuple[Value, Value]:
        return special_exp(p)

    def scalar_of_complex(self, w: loops.Writer, z: loops.Operand) -> loops.Operand:
        return loops.complex_scalars.exponential(w, z)

    def d_x(self, t: Any, x: Any, out: Any, **params: Any) -> Any:
        return mul(t, out)


def _exp2(x: Any) -> Any:
    return complex_formulas.exp2(x) if x.dtype.kind == "c" else np.exp2(x)


@final
class Exp2(ComputedWide):
    """2ˣ, element by element."""

    name = "exp2"
    accepts = INEXACT
    compiled = True
    numpy = _exp2

    def lower_wide(self, b: Builder, out: Any, x: Value) -> Value:
        if out.dtype.kind == "c":
            return exp_p.lower(b, out, complex_formulas.scaled(b, x, LN_2))
        scaled = b.elementwise("stablehlo.multiply", out, x, b.full(LN_2, out))
        return b.elementwise("stablehlo.exponential", out, scaled)

    def scalar_of_complex(self, w: loops.Writer, z: loops.Operand) -> loops.Operand:
        return loops.complex_scalars.exponential_of_two(w, z)

    def d_x(self, t: Any, x: Any, out: Any, **params: Any) -> Any:
        return mul(t, mul(LN_2, out))


def _expm1(x: Any) -> Any:
    return complex_formulas.expm1(x) if x.dtype.kind == "c" else np.expm1(x)


@final
class Expm1(SpecialPoints):
    """eˣ − 1, element by element, accurate near 0."""

    name = "expm1"
    accepts = INEXACT
    compiled = True
    numpy = _expm1
    stablehlo = "stablehlo.exponential_minus_one"

    def kernel(self, x: Any, **params: Any) -> Callable[..., Any] | None:
        kernel = super().kernel(x, **params)
        return np.expm1 if kernel is _expm1 and x.dtype.kind == "f" else kernel

    def special(self, p: Parts) -> tuple[Value, Value]:
        return special_exp(p, least=-1.0)

    def scalar_of_complex(self, w: loops.Writer, z: loops.Operand) -> loops.Operand:
        return loops.complex_scalars.exponential_less_one(w, z)

    def d_x(self, t: Any, x: Any, out: Any, **params: Any) -> Any:
        # Not out + 1, which has no digits left where out is next to −1.
        return mul(t, exp(x))


@final
class Log(SpecialPoints):
    """The natural logarithm of x, element by element."""

    name = "log"
    accepts = INEXACT
    compiled = True
    numpy = np.log
    stablehlo = "stablehlo.log"

    def special(self, p: Parts) -> tuple[Value, Value]:
        return special_log(p)

    def scalar_of_complex(self, w: loops.Writer, z: loops.Operand) -> loops.Operand:
        return loops.complex_scalars.logarithm(w, z)

    def d_x(self, t: Any, x: Any, out: Any, **params: Any) -> Any:
        return div(t, x)


def _log2(x: Any) -> Any:
    if x.dtype.kind != "c":
        return np.log2(x)
    # The quotient of complex numbers would be NaN where a part is infinite.
    logarithm, scale = np.log(x), x.real.dtype.type(LN_2)
    parts = np.stack([logarithm.real / scale, logarithm.imag / scale], -1)
    return np.ascontiguousarray(parts).view(x.dtype)[..., 0]


@final
class Log2(ComputedWide):
    """The logarithm of x to base 2, element by element."""

    name = "log2"
    accepts = INEXACT
    compiled = True
    numpy = _log2

    def lower_wide(self, b: Builder, out: Any, x: Value) -> Value:
        logarithm = b.elementwise("stablehlo.log", out, x)
        if out.dtype.kind != "c":
            return b.elementwise("stablehlo.divide", out, logarithm, b.full(LN_2, out))
        real, imag = special_log(Parts.of(b, x, logarithm))
        scale = b.full(LN_2, real.aval)
        real, imag = [b.elementwise("stablehlo.divide", v.aval, v, scale) for v in (real, imag)]
        return joined(b, out, (real, imag))

    def scalar_of_complex(self, w: loops.Writer, z: loops.Operand) -> loops.Operand:
        return loops.complex_scalars.logarithm_to_base_two(w, z)

    def d_x(self, t: Any, x: Any, out: Any, **params: Any) -> Any:
        return div(t, mul(LN_2, x))


def _log1p(x: Any) -> Any:
    return complex_formulas.log1p(x) if x.dtype.kind == "c" else np.log1p(x)


@final
class Log1p(SpecialPoints):
    """log(1 + x), element by element, accurate near 0."""

    name = "log1p"
    accepts = INEXACT
    compiled = True
    numpy = _log1p
    stablehlo = "stablehlo.log_plus_one"

    def kernel(self, x: Any, **params: Any) -> Callable[..., Any] | None:
        kernel = super().kernel(x, **params)
        return np.log1p if kernel is _log1p and x.dtype.kind == "f" else kernel

    def lower(self, b: Builder, out: Any, x: Value, **params: Any) -> Value:
        if out.dtype.kind == "c":
            return super().lower(b, out, x)
        return log_plus_one(b, out, x)

    def special(self, p: Parts) -> tuple[Value, Value]:
        return special_log(p)

    def scalar_of_complex(self, w: loops.Writer, z: loops.Operand) -> loops.Operand:
        return loops.complex_scalars.logarithm_of_following(w, z)

    def d_x(self, t: Any, x: Any, out: Any, **params: Any) -> Any:
        return div(t, add(x, 1.0))


def _logistic(x: Any) -> Any:
    return inverse(1 + np.exp(-x))


def _real_logistic(x: Any) -> Any:
    return np.reciprocal(1 + np.exp(-x))


@final
class Logistic(SpecialPoints):
    """1 / (1 + e⁻ˣ), element by element."""

    name = "logistic"
    accepts = INEXACT
    compiled = True
    numpy = _logistic
    stablehlo = "stablehlo.logistic"

    def special(self, p: Parts) -> tuple[Value, Value]:  # e^−∞ is 0 at any angle
        is_far = p.is_infinite(p.x)
        side = p.where(p.equals(p.x, math.inf), p.number(1), p.number(0))
        return p.where(is_far, side, p.real), p.where(is_far, p.number(0), p.imag)

    def kernel(self, x: Any, **params: Any) -> Callable[..., Any] | None:
        kernel = super().kernel(x, **params)
        return _real_logistic if kernel is _logistic and x.dtype.kind == "f" else kernel

    def scalar(self, w: loops.Writer, x: loops.Operand) -> loops.Operand:
        return loops.scalars.logistic(w, x)

    def scalar_of_complex(self, w: loops.Writer, z: loops.Operand) -> loops.Operand:
        return loops.complex_scalars.logistic(w, z)

    def d_x(self, t: Any, x: Any, out: Any, **params: Any) -> Any:
        return mul(t, mul(out, sub(1.0, out)))


exp_p = Exp()
exp2_p = Exp2()
expm1_p = Expm1()
log_p = Log()
log2_p = Log2()
log1p_p = Log1p()
logistic_p = Logistic()


def exp(x: Any, *, accuracy: Any = None) -> Any:
    """eˣ, element by element.

    Args:
        x: array of floating or complex dtype.

    Raises:
        TypeError: `x` is of another dtype; the function of `jax.numpy` converts it.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.exp(jnp.array([0.0, 1.0]))
        Array([1.       , 2.7182817], dtype=float32)
    """
    if accuracy is not None:
        check_accuracy("lax.exp", accuracy)
    return exp_p.bind(x)


def exp2(x: Any, *, accuracy: Any = None) -> Any:
    """2ˣ, element by element.

    Args:
        x: array of floating or complex dtype.

    Raises:
        TypeError: `x` is of another dtype; the function of `jax.numpy` converts it.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.exp2(jnp.array([0.0, 3.0]))
        Array([1., 8.], dtype=float32)
    """
    if accuracy is not None:
        check_accuracy("lax.exp2", accuracy)
    return exp2_p.bind(x)


def expm1(x: Any, *, accuracy: Any = None) -> Any:
    """eˣ − 1, element by element, accurate near 0.

    Args:
        x: array of floating or complex dtype.

    Raises:
        TypeError: `x` is of another dtype; the function of `jax.numpy` converts it.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.expm1(jnp.array([0.0, 1e-10]))
        Array([0.e+00, 1.e-10], dtype=float32)
    """
    if accuracy is not None:
        check_accuracy("lax.expm1", accuracy)
    return expm1_p.bind(x)


def log(x: Any, *, accuracy: Any = None) -> Any:
    """The natural logarithm of `x`, element by element; NaN for negative real numbers.

    Args:
        x: array of floating or complex dtype.

    Raises:
        TypeError: `x` is of another dtype; the function of `jax.numpy` converts it.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.log(jnp.array([1.0, 0.0]))
        Array([  0., -inf], dtype=float32)
    """
    if accuracy is not None:
        check_accuracy("lax.log", accuracy)
    return log_p.bind(x)


def log2(x: Any, *, accuracy: Any = None) -> Any:
    """The logarithm of `x` to base 2, element by element; NaN for negative real numbers.

    Example:
        >>> import morphax as jax
        >>> jax.lax.log2(8.0)
        Array(3., dtype=float32, weak_type=True)
    """
    if accuracy is not None:
        check_accuracy("lax.log2", accuracy)
    return log2_p.bind(x)


def log1p(x: Any, *, accuracy: Any = None) -> Any:
    """log(1 + x), element by element, accurate near 0.

    Args:
        x: array of floating or complex dtype.

    Raises:
        TypeError: `x` is of another dtype; the function of `jax.numpy` converts it.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.log1p(jnp.array([0.0, 1e-10]))
        Array([0.e+00, 1.e-10], dtype=float32)
    """
    if accuracy is not None:
        check_accuracy("lax.log1p", accuracy)
    return log1p_p.bind(x)


def logistic(x: Any, *, accuracy: Any = None) -> Any:
    """The sigmoid 1 / (1 + e⁻ˣ), element by element.

    Args:
        x: array of floating or complex dtype.

    Raises:
        TypeError: `x` is of another dtype; the function of `jax.numpy` converts it.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.logistic(jnp.array([0.0, jnp.inf]))
        Array([0.5, 1. ], dtype=float32)
    """
    if accuracy is not None:
        check_accuracy("lax.logistic", accuracy)
    return logistic_p.bind(x)
