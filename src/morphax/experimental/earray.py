"""Arrays of extended dtypes, made of the numbers that stand for their elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..array import Array
from ..core import ShapedArray, Tracer
from ..dtypes import ExtendedDType, KeyType
from ..numpy import asarray
from ..random import wrap_key_data
from ..util.messages import message


class _Extended(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        dtype = getattr(instance, "dtype", None)
        is_extended = isinstance(dtype, ExtendedDType) and not isinstance(dtype, KeyType)
        return isinstance(instance, Array) and is_extended


class EArray(metaclass=_Extended):
    """An array of an extended dtype, of the numbers that its elements are made of.

    The result is an `Array` as any other: it is indexed, reshaped, printed.  Arrays of an extended
    dtype, those of keys left out, are the instances of this class.

    Args:
        aval: the type of the result, a `jax.core.ShapedArray`.
        data: an array of its shape, of the dtype that elements are stored in; of keys, their words.

    Raises:
        TypeError: `data` is not of that shape and dtype.

    Example:
        >>> import numpy as np
        >>> from morphax.core import ShapedArray
        >>> from morphax.experimental import EArray, primal_tangent_dtype
        >>> code = primal_tangent_dtype("int8", "float32")
        >>> x = EArray(ShapedArray((3,), code), np.array([1, 2, 3], np.int8))
        >>> x[1:].dtype, isinstance(x, EArray)
        (PrimalTangentDType{i8/f32}, True)
    """

    def __new__(cls, aval: ShapedArray, data: Any) -> Any:
        dtype = aval.dtype
        if isinstance(dtype, KeyType):
            shape, stored = (*aval.shape, *dtype.key_shape), np.dtype("uint32")
        else:
            shape = aval.shape
            stored = dtype.physical_dtype if isinstance(dtype, ExtendedDType) else dtype
        _check(aval, data, shape, stored)
        if isinstance(dtype, KeyType):
            return wrap_key_data(data, dtype=dtype)
        numbers = asarray(data)
        return Array(aval, numbers.to_host(), None, numbers.place, numbers.committed)


def _check(aval: ShapedArray, data: Any, shape: Any, stored: Any) -> None:
    if isinstance(data, Tracer):
        raise TypeError(message(
            "jax.experimental.EArray, argument data",
            given=f"a traced value, {data}",
            expected="an array that has its numbers",
            fix="Convert traced values with jax.lax.convert_element_type(data, aval.dtype).",
        ))  # fmt: skip
    if getattr(data, "shape", None) == shape and getattr(data, "dtype", None) == stored:
        return
    raise TypeError(message(
        "jax.experimental.EArray, argument data",
        given=f"{getattr(data, 'dtype', type(data).__name__)} of shape "
        f"{getattr(data, 'shape', ())} for {aval.str_short()}",
        expected=f"an array of {stored} of shape {shape}",
        fix="Give the numbers that the elements are stored in.",
    ))  # fmt: skip
