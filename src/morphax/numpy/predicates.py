"""Questions about elements, arrays and dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes, lax
from ..array import Array
from ..array.placement import at_default_place
from ..core import aval_of, carries_aval
from ..engines.reference.nan_checks import checked_as_one
from ..engines.reference.replay import replayed
from ..lax.elementwise.convert import convert
from ..util.messages import message
from .complex_numbers import is_complex
from .creation import asarray
from .of_numpy import isclose_of_numpy
from .operands import as_array, check_no_out, promoted, promoted_inexact

finfo = dtypes.finfo
iinfo = dtypes.iinfo
result_type = dtypes.result_type
promote_types = dtypes.promote_types
can_cast = np.can_cast


def issubdtype(arg1: Any, arg2: Any) -> bool:
    """Whether the dtype `arg1` is `arg2` or of the kind `arg2`.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.issubdtype(jnp.bfloat16, jnp.floating)
        True
    """
    return dtypes.issubdtype(arg1, arg2)


@replayed(1)
def isnan(x: Any, /) -> Any:
    """Where x is NaN.

    Args:
        x: numbers of any shape.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.isnan(jnp.array([1.0, jnp.inf, jnp.nan]))
        Array([False, False,  True], dtype=bool)
    """
    x = as_array("isnan", x)
    return lax.ne(x, x) if issubdtype(x.aval.dtype, np.inexact) else _nowhere(x)


def _nowhere(x: Any) -> Any:
    return lax.full_like(x, False, np.bool_)


@replayed(1)
def isinf(x: Any, /) -> Any:
    """Where x is infinite; a complex number is if one of its parts is.

    Args:
        x: numbers of any shape.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.isinf(jnp.array([1.0, -jnp.inf, jnp.nan]))
        Array([False,  True, False], dtype=bool)
    """
    x = as_array("isinf", x)
    if is_complex(x):
        return lax.bitwise_or(isinf(lax.real(x)), isinf(lax.imag(x)))
    if not issubdtype(x.aval.dtype, np.floating):
        return _nowhere(x)
    return lax.eq(lax.abs(x), _infinity(x, np.inf))


def _infinity(x: Any, value: float) -> Any:
    return np.asarray(value, x.aval.dtype)[()]


@replayed(1)
def isfinite(x: Any, /) -> Any:
    """Where x is neither infinite nor NaN.

    Args:
        x: numbers of any shape.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.isfinite(jnp.array([1.0, jnp.inf, jnp.nan]))
        Array([ True, False, False], dtype=bool)
    """
    x = as_array("isfinite", x)
    if is_complex(x):
        return lax.bitwise_and(lax.is_finite(lax.real(x)), lax.is_finite(lax.imag(x)))
    if issubdtype(x.aval.dtype, np.floating):
        return lax.is_finite(x)
    return lax.full_like(x, True, np.bool_)


def isposinf(x: Any, /, out: None = None) -> Any:
    """Where x is +∞.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.isposinf(jnp.array([jnp.inf, -jnp.inf, 1.0]))
        Array([ True, False, False], dtype=bool)
    """
    check_no_out("isposinf", out)
    return _is_infinity("isposinf", x, np.inf)


def isneginf(x: Any, /, out: None = None) -> Any:
    """Where x is −∞.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.isneginf(jnp.array([jnp.inf, -jnp.inf, 1.0]))
        Array([False,  True, False], dtype=bool)
    """
    check_no_out("isneginf", out)
    return _is_infinity("isneginf", x, -np.inf)


def _is_infinity(name: str, x: Any, value: float) -> Any:
    x = _real_operand(name, x)
    if not issubdtype(x.aval.dtype, np.floating):
        return _nowhere(x)
    return lax.eq(x, _infinity(x, value))


def _real_operand(name: str, x: Any) -> Any:
    x = as_array(name, x)
    if not is_complex(x):
        return x
    raise ValueError(
        message(
            f"jnp.{name}, argument x",
            given=f"{x.aval}",
            expected="real numbers: complex ones have no sign",
            fix="Ask of jnp.real(x) or jnp.imag(x).",
        )
    )


def _has_sign(dtype: Any) -> bool:
    """Whether numbers of this dtype are floats that may be negative: powers of two are not."""
    return issubdtype(dtype, np.floating) and bool(dtypes.finfo(dtype).min < 0)


@replayed(1)
def signbit(x: Any, /) -> Any:
    """Where the sign bit is set: of negative numbers, of −0, and of NaN with a sign.

    Args:
        x: real numbers of any shape.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.signbit(jnp.array([1.0, -0.0]))
        Array([False,  True], dtype=bool)
    """
    x = _real_operand("signbit", x)
    dtype = x.aval.dtype
    if not issubdtype(dtype, np.signedinteger) and not _has_sign(dtype):
        return _nowhere(x)
    if issubdtype(dtype, np.floating):
        if dtypes.itemsize_bits(dtype) < 8:
            x = convert(x, np.float32)
        x = lax.bitcast_convert_type(x, f"int{8 * x.aval.dtype.itemsize}")
    return lax.lt(x, np.zeros((), x.aval.dtype)[()])


@replayed(4, of_many=isclose_of_numpy)
@checked_as_one
def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """Where |a − b| ≤ atol + rtol |b|; infinities must be equal.

    Args:
        a, b: arrays that broadcast together.
        rtol, atol: relative and absolute tolerance.
        equal_nan: whether NaN is close to NaN.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.isclose(jnp.array([1.0, 100.0]), jnp.array([1.000001, 101.0]))
        Array([ True, False], dtype=bool)
    """
    a, b = as_array("isclose", a), as_array("isclose", b)
    if a.aval.dtype == b.aval.dtype and dtypes.issubdtype(a.aval.dtype, dtypes.extended):
        # Keys have no distances.
        return lax.eq(*promoted("isclose", a, b))
    a, b = promoted_inexact("isclose", a, b)
    distance, size = lax.abs(lax.sub(a, b)), lax.abs(b)
    dtype = aval_of(size).dtype
    relative, absolute = (convert(as_array("isclose", t), dtype) for t in (rtol, atol))
    bound = lax.add(absolute, lax.mul(relative, size))
    close = lax.bitwise_and(lax.le(distance, bound), isfinite(b))
    close = lax.bitwise_or(close, lax.eq(a, b))
    if equal_nan:
        close = lax.bitwise_or(close, lax.bitwise_and(lax.ne(a, a), lax.ne(b, b)))
    return close


@replayed(4)
@checked_as_one
def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """Whether all elements are close; see `isclose`.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.allclose(jnp.array([1.0, 100.0]), jnp.array([1.000001, 100.0001]))
        Array(True, dtype=bool)
    """
    return _all(isclose(a, b, rtol, atol, equal_nan))


def _all(x: Any) -> Any:
    return lax.reduce_and(x, tuple(range(aval_of(x).ndim)))


@replayed(2)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Whether shapes and elements are equal, with `equal_nan` also NaN and NaN.

    Args:
        a1, a2: arrays of any shapes.
        equal_nan: whether NaN equals NaN.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.array_equal(jnp.arange(2), jnp.array([0, 1]))
        Array(True, dtype=bool)
    """
    a1, a2 = asarray(a1), asarray(a2)
    if a1.aval.shape != a2.aval.shape:
        return at_default_place(Array.from_host(np.bool_(False)))
    a1, a2 = promoted("array_equal", a1, a2)
    same = lax.eq(a1, a2)
    if equal_nan:
        same = lax.bitwise_or(same, lax.bitwise_and(lax.ne(a1, a1), lax.ne(a2, a2)))
    return _all(same)


def array_equiv(a1: Any, a2: Any) -> Any:
    """Whether two arrays are equal once broadcast together.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.array_equiv(jnp.ones((2, 3)), jnp.ones(3))
        Array(True, dtype=bool)
    """
    a1, a2 = asarray(a1), asarray(a2)
    try:
        lax.broadcast_shapes(a1.aval.shape, a2.aval.shape)
    except (TypeError, ValueError):
        return at_default_place(Array.from_host(np.bool_(False)))
    return _all(lax.eq(*promoted("array_equiv", a1, a2)))


def iscomplexobj(x: Any) -> bool:
    """Whether `x` has a complex dtype, or is a complex number.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.iscomplexobj(jnp.array([1 + 0j]))
        True
    """
    return is_complex(x) if carries_aval(x) else bool(np.iscomplexobj(x))


def isrealobj(x: Any) -> bool:
    """Whether `x` does not have a complex dtype.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.isrealobj(jnp.array([1 + 0j]))
        False
    """
    return not iscomplexobj(x)


def isscalar(element: Any) -> bool:
    """Whether `element` is a number, a string, or an array without axes.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.isscalar(3.0), jnp.isscalar([3.0])
        (True, False)
    """
    return np.isscalar(element) or getattr(element, "ndim", None) == 0


def iterable(y: Any) -> bool:
    """Whether `y` can be iterated over.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.iterable(jnp.arange(3)), jnp.iterable(3)
        (True, False)
    """
    return np.iterable(y) and getattr(y, "ndim", 1) > 0


_KINDS: dict[str, Any] = {
    "bool": np.bool_,
    "signed integer": np.signedinteger,
    "unsigned integer": np.unsignedinteger,
    "integral": np.integer,
    "real floating": np.floating,
    "complex floating": np.complexfloating,
    "numeric": np.number,
}


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind.

    Args:
        dtype: a dtype.
        kind: another dtype, the name of a kind of the array API standard such as
            ``"real floating"``, or a tuple of these, one of which must apply.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.isdtype(jnp.int8, ("integral", "bool"))
        True
    """
    given = dtypes.dtype(dtype)
    kinds = [_of_kind(one) for one in (kind if isinstance(kind, tuple) else (kind,))]
    return any([issubdtype(given, one) for one in kinds])


def _of_kind(kind: Any) -> Any:
    """The dtype or abstract class that `isdtype` means by `kind`."""
    if isinstance(kind, str) and kind in _KINDS:
        return _KINDS[kind]
    try:
        return dtypes.dtype(kind)
    except TypeError:
        raise (ValueError if isinstance(kind, str) else TypeError)(
            message(
                "jnp.isdtype, argument kind",
                given=f"{kind!r}",
                expected=f"a dtype or one of {list(_KINDS)}",
                fix="Use one of these names.",
            )
        ) from None
