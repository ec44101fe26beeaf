"""Exponentials and logarithms, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import lax
from ..core import aval_of
from ..engines.reference.nan_checks import checked_as_one
from ..engines.reference.replay import replayed
from ..lax.elementwise.convert import convert
from ..lax.elementwise.log_sum import log_sum
from .arithmetic import chosen
from .complex_numbers import is_complex
from .operands import promoted_inexact, refuse_out_and_where, settled


@replayed(1)
def exp(x: Any, /) -> Any:
    """eˣ, element by element.

    Args:
        x: numbers of any shape; integers become floating numbers.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.exp(jnp.array([0.0, 1.0]))
        Array([1.       , 2.7182817], dtype=float32)
    """
    return lax.exp(*promoted_inexact("exp", x))


@replayed(1)
def exp2(x: Any, /) -> Any:
    """2ˣ, element by element.

    Args:
        x: numbers of any shape.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.exp2(jnp.array([0.0, 3.0]))
        Array([1., 8.], dtype=float32)
    """
    return lax.exp2(*promoted_inexact("exp2", x))


@replayed(1)
def expm1(x: Any, /) -> Any:
    """eˣ − 1, accurate near zero.

    Args:
        x: numbers of any shape; those near 0 keep their digits.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.expm1(1e-10)
        Array(1.e-10, dtype=float32, weak_type=True)
    """
    return lax.expm1(*promoted_inexact("expm1", x))


@replayed(1)
def log(x: Any, /) -> Any:
    """The natural logarithm of x, element by element.

    Args:
        x: numbers of any shape; −∞ for 0, NaN for negative real ones.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.log(jnp.array([1.0, 0.0, -1.0]))
        Array([  0., -inf,  nan], dtype=float32)
    """
    return lax.log(*promoted_inexact("log", x))


@replayed(1)
def log2(x: Any, /) -> Any:
    """The logarithm of x to base 2.

    Args:
        x: numbers of any shape; −∞ for 0, NaN for negative real ones.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.log2(jnp.array([1.0, 8.0]))
        Array([0., 3.], dtype=float32)
    """
    return _logarithm("log2", x, 2.0)


@replayed(1)
def log10(x: Any, /) -> Any:
    """The logarithm of x to base 10.

    Args:
        x: numbers of any shape; −∞ for 0, NaN for negative real ones.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.log10(jnp.array([1.0, 1000.0]))
        Array([0., 3.], dtype=float32)
    """
    return _logarithm("log10", x, 10.0)


def _logarithm(name: str, x: Any, base: float) -> Any:
    (x,) = promoted_inexact(name, x)
    logarithm = lax.log(x)
    if not is_complex(x):
        return lax.div(logarithm, lax.log(np.asarray(base, aval_of(x).dtype)[()]))
    # The quotient of complex numbers would be NaN where a part is infinite.
    parts = lax.real(logarithm), lax.imag(logarithm)
    scale = lax.log(np.asarray(base, aval_of(parts[0]).dtype)[()])
    return lax.complex(*[lax.div(part, scale) for part in parts])


@replayed(1)
def log1p(x: Any, /) -> Any:
    """log(1 + x), accurate near zero.

    Args:
        x: numbers of any shape; those near 0 keep their digits.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.log1p(1e-10)
        Array(1.e-10, dtype=float32, weak_type=True)
    """
    return lax.log1p(*promoted_inexact("log1p", x))


@replayed(2)
@checked_as_one
@replayed(2)
def logaddexp(x1: Any, x2: Any, /, *, out: None = None, where: None = None) -> Any:
    """log(eˣ + eʸ), element by element, without overflow in between.

    The derivatives are eˣ / (eˣ + eʸ) and eʸ / (eˣ + eʸ): ½ each where the operands are equal, two
    equal infinities too, and NaN where one is NaN.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.logaddexp(1000.0, 1000.0)
        Array(1000.6932, dtype=float32, weak_type=True)
    """
    if out is not None or where is not None:
        refuse_out_and_where("logaddexp", out)
    x1, x2 = promoted_inexact("logaddexp", x1, x2)
    if is_complex(x1):
        return _sum_of_complex_powers(x1, x2, 1.0)
    # Strong constants take part in the sum.
    weak = aval_of(x1).weak_type and aval_of(x2).weak_type
    return convert(log_sum(x1, x2), aval_of(x1).dtype, weak)


@replayed(2)
@checked_as_one
@replayed(2)
def logaddexp2(x1: Any, x2: Any, /, *, out: None = None, where: None = None) -> Any:
    """log₂(2ˣ + 2ʸ), element by element, without overflow in between.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.logaddexp2(1000.0, 1000.0)
        Array(1001., dtype=float32, weak_type=True)
    """
    if out is not None or where is not None:
        refuse_out_and_where("logaddexp2", out)
    x1, x2 = promoted_inexact("logaddexp2", x1, x2)
    if is_complex(x1):
        return _sum_of_complex_powers(x1, x2, np.log(2.0))
    weak = aval_of(x1).weak_type and aval_of(x2).weak_type
    return settled(convert(log_sum(x1, x2, base=2), aval_of(x1).dtype, weak))


def _sum_of_complex_powers(x: Any, y: Any, scale: float) -> Any:
    """log(aˣ + aʸ) to the base a = exp(`scale`), whose imaginary part is in (−π, π] / `scale`.

    With x the one of larger real part it is x + log(1 + a^(y − x)).
    """
    dtype = aval_of(x).dtype
    factor = dtype.type(scale)
    first = lax.ge(lax.real(x), lax.real(y))
    larger, smaller = chosen(first, x, y), chosen(first, y, x)
    rest = lax.log1p(lax.exp(lax.mul(lax.sub(smaller, larger), factor)))
    total = lax.add(lax.mul(larger, factor), rest)
    angle = lax.imag(total)
    turn = np.asarray(2 * np.pi, aval_of(angle).dtype)[()]
    turns = lax.round(lax.div(angle, turn), lax.RoundingMethod.TO_NEAREST_EVEN)
    within = lax.complex(lax.real(total), lax.sub(angle, lax.mul(turns, turn)))
    return convert(lax.div(within, factor), dtype, aval_of(x).weak_type and aval_of(y).weak_type)
