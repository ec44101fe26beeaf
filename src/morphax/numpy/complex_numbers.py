"""Parts of complex numbers, for real ones too."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes, lax
from ..core import aval_of
from ..engines.reference.replay import replayed
from ..lax.elementwise.convert import convert
from .operands import as_array, constant


def is_complex(x: Any) -> bool:
    """Whether `x`, an array, has a complex dtype."""
    return dtypes.issubdtype(aval_of(x).dtype, np.complexfloating)


def real(val: Any, /) -> Any:
    """The real part of each element.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.real(jnp.array([1 + 2j, 3 - 4j]))
        Array([1., 3.], dtype=float32)
    """
    val = as_array("real", val)
    return lax.real(val) if is_complex(val) else val


@replayed(1)
def imag(val: Any, /) -> Any:
    """The imaginary part of each element; 0 for real numbers.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.imag(jnp.array([1 + 2j, 3 - 4j]))
        Array([ 2., -4.], dtype=float32)
    """
    val = as_array("imag", val)
    return lax.imag(val) if is_complex(val) else lax.full_like(val, 0)


def conjugate(x: Any, /) -> Any:
    """The complex conjugate of each element.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.conjugate(jnp.array([1 + 2j, 3.0]))
        Array([1.-2.j, 3.-0.j], dtype=complex64)
    """
    x = as_array("conjugate", x)
    return lax.conj(x) if is_complex(x) else x


conj = conjugate


@replayed(1)
def angle(z: Any, deg: bool = False) -> Any:
    """The argument of complex numbers, in (−π, π], or in degrees.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.angle(jnp.array([1j, -1.0]), deg=True)
        Array([ 90., 180.], dtype=float32)
    """
    z = _floating("angle", z)
    if not is_complex(z):
        # Its zero part has the dtype for good.
        z = convert(z, z.aval.dtype)
    result = lax.atan2(imag(z), real(z))
    return lax.mul(result, constant(result, 180 / np.pi)) if deg else result


def _floating(name: str, x: Any) -> Any:
    """`x`, with integers and booleans in the default float, as NumPy has them here."""
    x = as_array(name, x)
    is_inexact = dtypes.issubdtype(x.aval.dtype, np.inexact)
    return x if is_inexact else convert(x, dtypes.python_scalar_dtype(float))


@replayed(1)
def iscomplex(x: Any) -> Any:
    """Where the imaginary part is not zero.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.iscomplex(jnp.array([1 + 2j, 3 + 0j]))
        Array([ True, False], dtype=bool)
    """
    x = as_array("iscomplex", x)
    if not is_complex(x):
        return lax.full_like(x, False, np.bool_)
    part = lax.imag(x)
    return lax.ne(part, constant(part, 0))


@replayed(1)
def isreal(x: Any) -> Any:
    """Where the imaginary part is zero.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.isreal(jnp.array([1 + 2j, 3 + 0j]))
        Array([False,  True], dtype=bool)
    """
    x = as_array("isreal", x)
    if not is_complex(x):
        return lax.full_like(x, True, np.bool_)
    part = lax.imag(x)
    return lax.eq(part, constant(part, 0))
