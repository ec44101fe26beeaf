from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from morphax import dtypes
from morphax.config import override
from morphax.dtypes import promote_types, requested, result_type

KEY = dtypes.KeyType("fry", (2,), np.uint64)


@dataclass
class Typed:
    """As `jax.ShapeDtypeStruct`: something with a dtype, and perhaps a weak one."""

    dtype: Any
    weak_type: bool = False


@dataclass
class Valued(Typed):
    """As an array or a tracer: its dtype was decided when it was made."""

    aval: object = None


@pytest.mark.parametrize(
    ("operands", "expected"),
    [
        ([1], ("int32", True)),
        ([1.0], ("float32", True)),
        ([1j], ("complex64", True)),
        ([True], ("bool", False)),
        ([int], ("int32", True)),
        ([float, "int8"], ("float32", True)),
        ([bool, 1], ("int32", True)),
        ([2**40], ("int32", True)),
        ([3, np.int8(1)], ("int8", False)),
        ([np.zeros(2), np.float16(1)], ("float32", False)),
        ([np.bool_(True), 1], ("int32", True)),
        (["bfloat16", 1.0], ("bfloat16", False)),
        ([Typed(np.dtype("int8")), 2], ("int8", False)),
        ([Typed(np.dtype("float32"), True), np.float16(1)], ("float16", False)),
        ([Typed(np.dtype("float64"))], ("float32", False)),
        ([Valued(np.dtype("float64")), 1.0], ("float64", False)),
        ([Valued(np.dtype("float32"), True)], ("float32", True)),
        ([None], ("float32", False)),
        ([None, 1], ("float32", False)),
        ([dtypes.float0], (dtypes.float0, False)),
        ([KEY, KEY], (KEY, False)),
    ],
)
def test_result_type(operands: list[Any], expected: tuple[Any, bool]) -> None:
    expected = dtypes.dtype(expected[0]), expected[1]
    assert result_type(*operands, return_weak_type_flag=True) == expected
    assert result_type(*operands) == expected[0]


def test_result_type_with_x64() -> None:
    with override(enable_x64=True):
        assert result_type(1) == np.int64
        assert result_type(np.float64(1), np.float32(1)) == np.float64
        assert result_type("int32", "uint32") == np.int64


@pytest.mark.parametrize("x", [[1, 2], (1,), object()])
def test_result_type_refuses_what_has_no_dtype(x: Any) -> None:
    with pytest.raises(TypeError, match="scalars, arrays and dtypes"):
        result_type(x)


@pytest.mark.parametrize(
    "x", [np.array("a"), np.datetime64(1, "s"), np.longdouble(1), np.dtype(">f4"), ">f4", "O"]
)
def test_result_type_refuses_dtypes_that_arrays_cannot_have(x: Any) -> None:
    with pytest.raises(TypeError, match="native byte order"):
        result_type(x)


def test_result_type_needs_an_argument() -> None:
    with pytest.raises(ValueError, match="at least one"):
        result_type()


@pytest.mark.parametrize("x", ["float64", np.float64, np.dtype("float64"), "int", np.uint64])
def test_explicit_requests_for_64_bits_are_narrowed_with_a_warning(x: Any) -> None:
    narrow = dtypes.NARROW[dtypes.dtype(x)]
    with pytest.warns(UserWarning, match=r"f, argument dtype: .*64 becomes .*32") as caught:
        assert requested(x, "f, argument dtype") == narrow
    assert caught[0].filename == __file__


@pytest.mark.parametrize("x", [float, int, complex, bool, None, "float32", "bool"])
def test_other_requests_pass_silently(x: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert requested(x, "f") == dtypes.canonicalize(x)


def test_explicit_requests_can_be_granted_or_refused() -> None:
    with override(explicit_x64_dtypes="allow"):
        assert requested("float64", "f") == np.float64
        assert requested(float, "f") == np.float32
    with (
        override(explicit_x64_dtypes="error"),
        pytest.raises(ValueError, match=r"^f \(at .*test_operands(?s:.)*jax_enable_x64"),
    ):
        requested("float64", "f")
    with override(enable_x64=True):
        assert requested("float64", "f") == np.float64


def test_requests_pass_extended_dtypes_and_refuse_strings() -> None:
    assert requested(KEY, "f") is KEY
    with pytest.raises(TypeError, match=r"^f \("):
        requested("S3", "f")


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("float64", "float32", "float64"),
        (int, "int8", "int8"),
        (float, "int8", "float64"),
        (float, float, "float64"),
        (int, int, "int64"),
        (bool, int, "int64"),
        (complex, float, "complex128"),
        ("int32", "uint32", "int32"),
        ("uint64", "int64", "float64"),
        (None, None, "float64"),
    ],
)
def test_promote_types_does_not_narrow(a: Any, b: Any, expected: str) -> None:
    assert promote_types(a, b) == np.dtype(expected)
