"""Changing the dtype."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from morphax import lax

from .op_case import ALL, FLOATS, OpCase, Operand, numpy_dtype


def conversion(new_dtype: str, dtypes: tuple[str, ...], **options: Any) -> OpCase:
    def reference(x: np.ndarray) -> np.ndarray:
        target = numpy_dtype(new_dtype)
        if x.dtype.kind == "c" and target.kind != "c":
            x = x.real
        return x.astype(target)

    def operation(x: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
            return lax.convert_element_type(x, numpy_dtype(new_dtype))

    return OpCase(
        f"convert_element_type/{new_dtype}",
        operation,
        reference,
        (Operand(low=0, high=100),),
        dtypes,
        **options,
    )


def rounded_to_4_digits(x: np.ndarray) -> np.ndarray:
    mantissa, exponent = np.frexp(x)
    return np.ldexp(np.rint(mantissa * 16), exponent - 4)


CASES = (
    conversion("float64", ALL),
    conversion("complex128", ALL),
    *[conversion(d, ALL, derivatives=0) for d in ("int8", "uint32", "int64", "bool")],
    # The result is rounded to the new dtype, whatever the precision of the operand.
    *[conversion(d, ALL, derivatives=0) for d in ("float32", "bfloat16", "float16", "complex64")],
    OpCase("convert_element_type/rank_0", lambda x: lax.convert_element_type(x, np.int32),
           lambda x: x.astype(np.int32), (Operand(()),), FLOATS, derivatives=0),
    OpCase("bitcast_convert_type/same", lambda x: lax.bitcast_convert_type(x, np.uint32),
           lambda x: x.astype(np.float32).view(np.uint32), dtypes=("float32",), derivatives=0),
    OpCase("bitcast_convert_type/narrow", lambda x: lax.bitcast_convert_type(x, np.uint8),
           lambda x: x.astype(np.float32)[..., None].view(np.uint8), dtypes=("float32",),
           derivatives=0),
    OpCase("bitcast_convert_type/wide", lambda x: lax.bitcast_convert_type(x, np.uint32),
           lambda x: x.view(np.uint32)[..., 0], (Operand((3, 4), 0, 100),), ("uint8", "int8"),
           derivatives=0),
    OpCase("bitcast_convert_type/rank_0", lambda x: lax.bitcast_convert_type(x, np.int16),
           lambda x: x.reshape(1).view(np.int16), (Operand(()),), ("float64",), derivatives=0),
    OpCase("reduce_precision", lambda x: lax.reduce_precision(x, 5, 3), rounded_to_4_digits,
           (Operand(low=0.5, high=2),), ("float32", "float64"), derivatives=0),
    OpCase("reduce_precision/none", lambda x: lax.reduce_precision(x, 11, 52), lambda x: x,
           dtypes=("float64",)),
)  # fmt: skip
