"""From values to avals: which Python objects may stand as operands, and what is known of them.

`Array` and `Tracer` carry their aval.  NumPy arrays, NumPy scalars and Python scalars get theirs
here, with 64-bit dtypes narrowed unless ``jax_enable_x64`` is set.  Further types are added with
`register_value_type`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes
from ..config import current as current_config
from ..util.memo import memoize
from ..util.messages import message
from .aval import ShapedArray

_aval_by_type: dict[type, Callable[[Any], Any]] = {}


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
            given=f"{x!r:.80} of type {type(x).__name__}",
            expected="an array, a NumPy array or a Python scalar",
            fix="Convert the value with jnp.asarray, or pass it as a static argument.",
        )
    )


def is_value(x: Any) -> bool:
    """Whether `x` may be an operand."""
    return hasattr(x, "aval") or any(base in _aval_by_type for base in type(x).__mro__)


def _array_aval(x: Any) -> ShapedArray:
    return _canonical_aval(x.shape, x.dtype, current_config().enable_x64)


@memoize
def _canonical_aval(shape: tuple[int, ...], dtype: Any, x64: bool) -> ShapedArray:
    return ShapedArray(shape, dtypes.check_numeric(dtypes.canonicalize(dtype), "array operand"))


@memoize
def _scalar_aval(type_: type, x64: bool) -> ShapedArray:
    return ShapedArray((), dtypes.python_scalar_dtype(type_), weak_type=type_ is not bool)


def _python_scalar_aval(x: Any) -> ShapedArray:
    return _scalar_aval(type(x), current_config().enable_x64)


def _int_aval(x: int) -> ShapedArray:
    aval = _scalar_aval(int, current_config().enable_x64)
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


for _type in (bool, float, complex):
    register_value_type(_type, _python_scalar_aval)
register_value_type(int, _int_aval)
register_value_type(np.ndarray, _array_aval)
register_value_type(np.generic, _array_aval)
