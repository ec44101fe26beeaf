"""From values to avals: which Python objects may stand as operands, and what is known of them.

`Array` and `Tracer` carry their aval.  NumPy arrays, NumPy scalars and Python scalars get theirs
here, with 64-bit dtypes narrowed unless ``jax_enable_x64`` is set.  Further types are added with
`register_value_type`; where NumPy cannot convert their values, `conversions` says how.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes
from ..config import current as current_config
from ..util.memo import ResultTable
from ..util.messages import described, message
from .aval import ShapedArray

_aval_by_type: dict[type, Callable[[Any], Any]] = {}
conversions: dict[type, Callable[[Any], Any]] = {}
"""From values of a type to something that NumPy converts; asked where NumPy fails by itself."""


def register_value_type(type_: type, aval_of_value: Callable[[Any], Any]) -> None:
    """Accept values of `type_` as operands."""
    _aval_by_type[type_] = aval_of_value


def aval_of(x: Any) -> Any:
    """What tracing knows of `x`; `TypeError` if `x` cannot be an operand."""
    rule = _aval_by_type.get(type(x))
    if rule is not None:
        return rule(x)
    try:
        return x.aval
    except AttributeError:
        return _aval_of_subclass(x)


def _aval_of_subclass(x: Any) -> Any:
    for base in type(x).__mro__[1:]:
        if base in _aval_by_type:
            # The next value of this type is found at once.
            rule = _aval_by_type[type(x)] = _aval_by_type[base]
            return rule(x)
    raise TypeError(
        message(
            "array operand",
            given=described(x),
            expected="an array, a NumPy array or a Python scalar",
            fix="Convert the value with jnp.asarray, or pass it as a static argument.",
        )
    )


def is_value(x: Any) -> bool:
    """Whether `x` may be an operand."""
    kind = type(x)
    return (
        kind in _aval_by_type
        or hasattr(x, "aval")
        or any(base in _aval_by_type for base in kind.__mro__)
    )


def host_value(x: Any, dtype: Any) -> np.ndarray[Any, Any]:
    """A value that may be an operand as a NumPy array of a dtype, not always a new one."""
    try:
        return np.asarray(x, dtype)
    except TypeError:
        if type(x) not in conversions:
            raise
        return np.asarray(conversions[type(x)](x), dtype)


def _array_aval(x: Any) -> ShapedArray:
    return _array_avals[x.shape, x.dtype, current_config().enable_x64]


def _canonical_aval(shape: tuple[int, ...], dtype: Any, x64: bool) -> ShapedArray:
    canonical = dtypes.canonicalize(np.dtype(dtype))
    return ShapedArray(shape, dtypes.check_numeric(canonical, "array operand"))


_array_avals = ResultTable(_canonical_aval)


def _scalar_aval(type_: type, x64: bool) -> ShapedArray:
    kind = next(base for base in type_.__mro__ if base in (bool, int, float, complex))
    return ShapedArray((), dtypes.python_scalar_dtype(kind), weak_type=kind is not bool)


_scalar_avals = ResultTable(_scalar_aval)


def _python_scalar_aval(x: Any) -> ShapedArray:
    return _scalar_avals[type(x), current_config().enable_x64]


def _int_aval(x: int) -> ShapedArray:
    aval = _scalar_avals[int, current_config().enable_x64]
    bound = 1 << (8 * aval.dtype.itemsize - 1)
    if -bound <= x < bound:
        return aval
    raise OverflowError(
        message(
            "array operand",
            given=f"the Python int {x}",
            expected=f"a value that fits {aval.dtype}",
            fix="Pass a NumPy scalar of the dtype you mean, or enable jax_enable_x64.",
        )
    )


def _numpy_scalar_aval(x: Any) -> ShapedArray:
    return _array_avals[(), type(x), current_config().enable_x64]


for _type in (bool, float, complex):
    register_value_type(_type, _python_scalar_aval)
register_value_type(int, _int_aval)
register_value_type(np.ndarray, _array_aval)
register_value_type(np.generic, _numpy_scalar_aval)
# Its type does not tell the dtype: `float0` is one of many.
register_value_type(np.void, _array_aval)
