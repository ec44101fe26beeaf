"""From values to avals: which Python objects may stand as operands, and what is known of them.

`Array` and `Tracer` carry their aval.  NumPy arrays, NumPy scalars and Python scalars get theirs
here, with 64-bit dtypes narrowed unless ``jax_enable_x64`` is set.  Further types are added with
`register_value_type`; where NumPy cannot convert their values, `conversions` says how.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..config import current as current_config
from ..util.memo import ResultTable
from ..util.messages import described, message
from .abstract_value import AbstractValue, DType, Operand
from .aval import ShapedArray
from .dims import SymbolicDim

_aval_by_type: dict[type, Callable[[Any], Any]] = {}
carriers: set[type] = set()
"""The types met so far whose values carry their aval: arrays, tracers, references."""
computed: dict[type, Callable[[Any], Any]] = {}
"""From values of a type to the operation by which a program computes them: they are no numbers."""
conversions: dict[type, Callable[[Any], Any]] = {}
"""From values of a type to something that NumPy converts; asked where NumPy fails by itself."""


def register_value_type(type_: type, aval_of_value: Callable[[Any], AbstractValue]) -> None:
    """Accept values of `type_` as operands."""
    _aval_by_type[type_] = aval_of_value


def aval_of(x: Operand) -> Any:
    """What tracing knows of `x`; `TypeError` if `x` cannot be an operand."""
    rule = _aval_by_type.get(type(x))
    if rule is not None:
        return rule(x)
    if type(x) in carriers or carries_aval(x):
        return x.aval
    return _aval_of_subclass(x)


def carries_aval(x: object) -> bool:
    """Whether a value carries its aval, as arrays and tracers do.

    It is asked of the class: an object that passes all attributes on to an array it holds is no
    array, and who took it for one would not see the tracer inside.
    """
    kind = type(x)
    if kind in carriers:
        return True
    if hasattr(kind, "aval") and kind not in _aval_by_type:
        carriers.add(kind)
        return True
    return False


def _aval_of_subclass(x: Operand) -> Any:
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


def is_value(x: object) -> bool:
    """Whether `x` may be an operand."""
    kind = type(x)
    return (
        kind in _aval_by_type
        or carries_aval(x)
        or any(base in _aval_by_type for base in kind.__mro__)
    )


def host_value(x: Operand, dtype: DType) -> np.ndarray[Any, Any]:
    """A value that may be an operand as a NumPy array of a dtype, not always a new one."""
    try:
        return np.asarray(x, dtype)
    except TypeError:
        if type(x) not in conversions:
            raise
        return np.asarray(conversions[type(x)](x), dtype)


def _array_aval(x: Operand) -> ShapedArray:
    return _array_avals[x.shape, x.dtype, current_config().enable_x64]


def _canonical_aval(shape: tuple[int, ...], dtype: DType, x64: bool) -> ShapedArray:
    canonical = dtypes.canonicalize(np.dtype(dtype))
    return ShapedArray(shape, dtypes.check_numeric(canonical, "array operand"))


_array_avals = ResultTable(_canonical_aval)


def _scalar_aval(type_: type, x64: bool) -> ShapedArray:
    kind = next(base for base in type_.__mro__ if base in (bool, int, float, complex))
    return ShapedArray((), dtypes.python_scalar_dtype(kind), weak_type=kind is not bool)


_scalar_avals = ResultTable(_scalar_aval)


def _python_scalar_aval(x: Operand) -> ShapedArray:
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


def _numpy_scalar_aval(x: Operand) -> ShapedArray:
    return _array_avals[(), type(x), current_config().enable_x64]


# Scalars whose dtype is a matter of options, as types of one dtype each.
class _Int32(int):
    __slots__ = ()


class _Int64(int):
    __slots__ = ()


class _Float32(float):
    __slots__ = ()


class _Float64(float):
    __slots__ = ()


class _Complex64(complex):
    __slots__ = ()


class _Complex128(complex):
    __slots__ = ()


class _NumpyInt64(np.int64):
    __slots__ = ()


class _NumpyUint64(np.uint64):
    __slots__ = ()


class _NumpyFloat64(np.float64):
    __slots__ = ()


class _NumpyComplex128(np.complex128):
    __slots__ = ()


type_of_pinned: dict[tuple[type, ShapedArray], type] = {
    (kind, ShapedArray((), np.dtype(dtype), weak_type=not issubclass(kind, np.generic))): type_
    for kind, dtype, type_ in (
        (int, "int32", _Int32),
        (int, "int64", _Int64),
        (float, "float32", _Float32),
        (float, "float64", _Float64),
        (complex, "complex64", _Complex64),
        (complex, "complex128", _Complex128),
        (np.int64, "int64", _NumpyInt64),
        (np.uint64, "uint64", _NumpyUint64),
        (np.float64, "float64", _NumpyFloat64),
        (np.complex128, "complex128", _NumpyComplex128),
    )
}
pinned_types = frozenset(type_of_pinned.values())
python_scalar_types = frozenset({bool, int, float, complex}) | frozenset(
    type_ for (kind, _), type_ in type_of_pinned.items() if not issubclass(kind, np.generic)
)
"""Types of numbers without a dtype of their own, and their counterparts in programs."""


def pinned(x: Operand, aval: ShapedArray) -> Any:
    """A scalar as a program keeps it: of the dtype it has today, whatever options say later.

    Programs are applied long after they were written, and numbers in them must fit the variables,
    which keep their dtypes.

    Example:
        >>> import morphax as jax
        >>> program = jax.make_jaxpr(lambda x: 2.0 * x)(jax.numpy.ones(2))
        >>> with jax.enable_x64(True):
        ...     jax.core.eval_jaxpr(program.jaxpr, program.consts, jax.numpy.ones(2, "float32"))
        [Array([2., 2.], dtype=float32)]
    """
    kind = type_of_pinned.get((type(x), aval))
    if kind is not None:
        return kind(x)
    return x.astype(aval.dtype) if isinstance(x, np.generic) and x.dtype != aval.dtype else x


def in_own_dtypes(operands: Sequence[Operand]) -> list[Any] | None:
    """Operands with each NumPy number in the dtype that it has, or `None` if that changes nothing.

    A number of 64 bits is narrowed where these are not enabled.  Beside an array of its very dtype,
    which has outlived the block of `enable_x64` that made it, it is meant as it is.
    """
    if current_config().enable_x64:
        return None
    wide = {getattr(aval_of(x), "dtype", None) for x in operands} & _narrowed.keys()
    own = [
        number_in(x, x.dtype) if isinstance(x, np.generic) and x.dtype in wide else x
        for x in operands
    ]
    return own if any([x is not y for x, y in zip(own, operands, strict=True)]) else None


def number_in(value: Any, dtype: DType) -> Any:
    """A number of a dtype, which no option narrows."""
    kind = None if current_config().enable_x64 else _narrowed.get(dtype)
    return dtype.type(value) if kind is None else kind(value)


def number_of(value: Any, aval: ShapedArray) -> Any:
    """A number of the dtype of an aval, weak where that is, which no option narrows."""
    kind = _weak_types.get(aval.dtype) if aval.weak_type else None
    return number_in(value, aval.dtype) if kind is None else kind(value)


_weak_types = {aval.dtype: type_ for (_, aval), type_ in type_of_pinned.items() if aval.weak_type}
_narrowed = {aval.dtype: type_ for (_, aval), type_ in type_of_pinned.items() if not aval.weak_type}


def _constant_aval(aval: ShapedArray) -> Callable[[Any], ShapedArray]:
    return lambda x: aval


for (_, _aval), _type in type_of_pinned.items():
    register_value_type(_type, _constant_aval(_aval))
for _type in (bool, float, complex):
    register_value_type(_type, _python_scalar_aval)
register_value_type(int, _int_aval)
register_value_type(SymbolicDim, lambda size: _scalar_avals[int, current_config().enable_x64])
register_value_type(np.ndarray, _array_aval)
register_value_type(np.generic, _numpy_scalar_aval)
# Its type does not tell the dtype: `float0` is one of many.
register_value_type(np.void, _array_aval)
