"""From anything that names a dtype to the dtype, and from 64-bit types to 32-bit ones.

`dtype` reads a dtype-like value as NumPy would.  `canonicalize` also narrows it: while
``jax_enable_x64`` is off, int64, uint64, float64 and complex128 stand for their halves.  Both are
called for every array that is made, so a hit is one look-up in a dictionary.
"""

from __future__ import annotations

from typing import Any, Final

import ml_dtypes
import numpy as np

from ..config import current
from ..util.messages import message
from .catalogue import NARROW, SCALARS, float0
from .extended import ExtendedDType, extended

DType = np.dtype[Any] | ExtendedDType
"""What `aval.dtype` may be."""

bfloat16 = ml_dtypes.bfloat16

_ABSTRACT = frozenset({
    np.generic, np.number, np.integer, np.signedinteger, np.unsignedinteger, np.inexact,
    np.floating, np.complexfloating, np.flexible, np.character,
})  # fmt: skip

WIDE_PYTHON: Final[dict[type, np.dtype[Any]]] = {
    kind: np.dtype(kind) for kind in (bool, int, float, complex)
}
"""The dtypes of Python scalars when 64-bit types are on."""

_NARROW_PYTHON = {kind: NARROW.get(wide, wide) for kind, wide in WIDE_PYTHON.items()}

REMEMBERED: Final = (type, str, np.dtype, ExtendedDType)
"""What names a dtype by itself; of other objects that have one, as arrays do, there is no end."""

_known: dict[Any, Any] = {**WIDE_PYTHON, **{d: d for d in SCALARS}, float0: float0}
_narrowed: dict[Any, Any] = {}


def dtype(x: Any) -> Any:
    """The dtype that `x` names, not canonicalised.

    Args:
        x: a dtype, a scalar type (Python's, NumPy's or ``jnp.float32``), a dtype's name, an
            extended dtype, or an object with a ``dtype`` that is no array: a scalar of NumPy or a
            ``ShapeDtypeStruct``.

    Returns:
        An `np.dtype`, or the `ExtendedDType` itself.

    Raises:
        TypeError: if `x` names no dtype, or an abstract class such as ``np.floating``, or is an
            array of NumPy.
        ValueError: if `x` is an array.

    Example:
        >>> from morphax import dtypes
        >>> dtypes.dtype("bfloat16"), dtypes.dtype(int)
        (dtype(bfloat16), dtype('int64'))
    """
    try:
        return _known[x]
    except (KeyError, TypeError):
        return _read(x)


def _read(x: Any) -> Any:
    if isinstance(x, type) and (x in _ABSTRACT or issubclass(x, extended)):
        raise TypeError(_no_dtype(f"the abstract class {x.__name__}"))
    if isinstance(x, np.ndarray) or hasattr(x, "aval"):
        raise (TypeError if isinstance(x, np.ndarray) else ValueError)(_no_dtype("an array"))
    attribute = x if isinstance(x, ExtendedDType) else getattr(x, "dtype", None)
    try:
        is_dtype = isinstance(attribute, (np.dtype, ExtendedDType))
        result = attribute if is_dtype else np.dtype(x)
    except (TypeError, ValueError):
        raise TypeError(_no_dtype(f"{x!r} of type {type(x).__name__}")) from None
    if isinstance(x, REMEMBERED):
        _known[x] = result
    return result


def _no_dtype(given: str) -> str:
    return message(
        "dtype",
        given=given,
        expected="a dtype, the name of one, or a scalar type",
        fix='Pass for example jnp.float32, "float32", float, or the dtype of an array, x.dtype.',
    )


def canonicalize(x: Any) -> Any:
    """As `dtype`, with 64-bit types narrowed to 32 bits while ``jax_enable_x64`` is off.

    Example:
        >>> from morphax import dtypes
        >>> dtypes.canonicalize("float64"), dtypes.canonicalize("bfloat16")
        (dtype('float32'), dtype(bfloat16))
    """
    if current().enable_x64:
        return dtype(x)
    try:
        return _narrowed[x]
    except (KeyError, TypeError):
        wide = dtype(x)
        result = NARROW.get(wide, wide)
        if isinstance(x, REMEMBERED):
            _narrowed[x] = result
        return result


def canonicalize_dtype(dtype: Any, allow_extended_dtype: bool = False) -> Any:
    """The dtype that arrays get when `dtype` is asked for, under the present ``jax_enable_x64``.

    Args:
        dtype: anything that names a dtype.
        allow_extended_dtype: whether key dtypes pass through.

    Raises:
        ValueError: if `dtype` is an extended dtype and these are not allowed.

    Example:
        >>> import morphax as jax
        >>> jax.dtypes.canonicalize_dtype("int64")
        dtype('int32')
    """
    result = canonicalize(dtype)
    if isinstance(result, ExtendedDType) and not allow_extended_dtype:
        raise ValueError(message(
            "canonicalize_dtype, argument dtype",
            given=f"the extended dtype {result}",
            expected="a numeric dtype",
            fix="Pass allow_extended_dtype=True to let extended dtypes through.",
        ))  # fmt: skip
    return result


def python_scalar_dtype(kind: type) -> np.dtype[Any]:
    """The dtype of a Python scalar of type `kind`: bool, int, float or complex.

    Example:
        >>> import morphax as jax
        >>> jax.dtypes.python_scalar_dtype(float)
        dtype('float32')
    """
    return (WIDE_PYTHON if current().enable_x64 else _NARROW_PYTHON)[kind]


def is_python_scalar(x: Any) -> bool:
    """Whether `x` is exactly a Python bool, int, float or complex (not a NumPy scalar).

    Example:
        >>> import morphax as jax
        >>> jax.dtypes.is_python_scalar(1.0)
        True
    """
    return type(x) in WIDE_PYTHON


def short_name(d: Any) -> str:
    """The name of a dtype in printed jaxprs: ``f32``, ``bf16``, ``key<fry>``, ``float0``.

    Example:
        >>> import morphax as jax
        >>> jax.dtypes.short_name(jax.numpy.dtype("bfloat16"))
        'bf16'
    """
    row = SCALARS.get(d)
    if row is not None:
        return row.short
    return "float0" if d == float0 else str(d.name)


def itemsize_bits(dtype: Any) -> int:
    """The width of one element in bits; 4 for int4, although NumPy stores it in a byte.

    Raises:
        ValueError: if `dtype` is not numeric.

    Example:
        >>> import morphax as jax
        >>> jax.dtypes.itemsize_bits("int4")
        4
    """
    row = SCALARS.get(_read(dtype))
    if row is None:
        raise ValueError(message(
            "itemsize_bits, argument dtype",
            given=f"{dtype}",
            expected="a numeric dtype",
            fix="Use dtype.itemsize for the bytes of other dtypes.",
        ))  # fmt: skip
    return row.bits


_INEXACT: Final = frozenset([d for d, row in SCALARS.items() if issubclass(row.kind, np.inexact)])


def tangent_dtype(d: Any) -> Any:
    """The dtype of tangents of a `d`: `d` itself if real or complex, otherwise `float0`.

    Example:
        >>> import morphax as jax
        >>> jax.dtypes.tangent_dtype("int32") == jax.float0
        True
    """
    if d in _INEXACT:
        return d
    rule = d.rule("tangent_dtype") if isinstance(d, ExtendedDType) else None
    return float0 if rule is None else rule(d)
