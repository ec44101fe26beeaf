"""Which dtype is what kind of number: `issubdtype` and `scalar_type_of`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..util.messages import message
from .catalogue import SCALARS
from .convert import REMEMBERED, dtype, is_python_scalar
from .extended import ExtendedDType

_answers: dict[tuple[Any, Any], bool] = {}
_PYTHON_TYPE = {np.bool_: bool, np.signedinteger: int, np.unsignedinteger: int,
                np.floating: float, np.complexfloating: complex}  # fmt: skip


def issubdtype(a: Any, b: Any) -> bool:
    """Whether dtype `a` is `b`, or of the kind `b`.

    As `numpy.issubdtype`, where bfloat16 and the 8-bit floats count as ``np.floating``, int4 and
    its like as ``np.integer``, and key dtypes as `prng_key` and `extended`.

    Args:
        a: anything that names a dtype, or an abstract class.
        b: the same.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.dtypes.issubdtype(jnp.bfloat16, jnp.floating)
        True
    """
    try:
        return _answers[a, b]
    except (KeyError, TypeError):
        answer = _is_kind_of(_scalar_class(a), _scalar_class(b))
        if isinstance(a, REMEMBERED) and isinstance(b, REMEMBERED):
            _answers[a, b] = answer
        return answer


def _scalar_class(x: Any) -> Any:
    """The NumPy scalar class that `x` stands for; extended dtypes stand for themselves."""
    if isinstance(x, type) and issubclass(x, np.generic):
        return x
    d = x.dtype if hasattr(x, "aval") else dtype(x)
    return d if isinstance(d, ExtendedDType) else d.type


def supports_inf(dtype_: Any) -> bool:
    """Whether a dtype has infinities: all floats do but some of 8 bits and less.

    Example:
        >>> from morphax.dtypes.kinds import supports_inf
        >>> supports_inf("bfloat16"), supports_inf("float8_e4m3fn"), supports_inf("int32")
        (True, False, False)
    """
    d = dtype(dtype_)
    if not issubdtype(d, np.inexact):
        return False
    with np.errstate(all="ignore"):
        return bool(np.isinf(np.array(np.inf, np.float32).astype(d).astype(np.complex64)))


def to_complex_dtype(dtype_: Any) -> np.dtype[Any]:
    """The dtype of complex numbers whose parts are as exact as numbers of a dtype, if there is one.

    Example:
        >>> from morphax.dtypes.kinds import to_complex_dtype
        >>> to_complex_dtype("bfloat16"), to_complex_dtype("float64")
        (dtype('complex64'), dtype('complex128'))
    """
    d = dtype(dtype_)
    is_wide = d.itemsize == (16 if issubdtype(d, np.complexfloating) else 8)
    return np.dtype(np.complex128 if is_wide else np.complex64)


def _is_array(x: Any) -> bool:
    return isinstance(x, np.ndarray) or hasattr(x, "aval")


_KIND_OF = {d.type: row.kind for d, row in SCALARS.items()}


def _is_kind_of(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if isinstance(b, ExtendedDType):
        return False
    own = a.type if isinstance(a, ExtendedDType) else a
    return issubclass(_KIND_OF.get(own, own), b) or issubclass(own, b)


def scalar_type_of(x: Any) -> type:
    """The Python scalar type that behaves as `x` does: bool, int, float or complex.

    Args:
        x: a scalar, an array, or anything that names a dtype.

    Raises:
        TypeError: if the dtype is not numeric.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.dtypes.scalar_type_of(jnp.bfloat16)
        <class 'float'>
    """
    d = dtype(type(x) if is_python_scalar(x) else x.dtype if _is_array(x) else x)
    row = SCALARS.get(d)
    if row is None:
        raise TypeError(message(
            "scalar_type_of, argument x",
            given=f"the dtype {d}",
            expected="a boolean, integer, real or complex dtype",
            fix="Convert x to a numeric dtype first.",
        ))  # fmt: skip
    return _PYTHON_TYPE[row.kind]
