from __future__ import annotations

import pickle
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from morphax import dtypes
from morphax.config import override

KEY = dtypes.KeyType("fry", (2,), np.uint64)


class float32:
    """As ``jnp.float32``: a class that knows its dtype."""

    dtype = np.dtype(np.float32)


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        (bool, "bool"),
        (int, "int64"),
        (float, "float64"),
        (complex, "complex128"),
        ("float32", "float32"),
        ("bfloat16", "bfloat16"),
        ("int4", "int4"),
        ("f4", "float32"),
        ("int", "int64"),
        (np.float16, "float16"),
        (np.intp, "int64"),
        (ml_dtypes.float8_e5m2, "float8_e5m2"),
        (np.dtype("uint8"), "uint8"),
        (float32, "float32"),
        (float32(), "float32"),
        (np.int8(3), "int8"),
        (None, "float64"),
    ],
)
def test_dtype_reads_everything_that_names_one(x: Any, expected: str) -> None:
    for _ in range(2):  # the second answer comes from memory
        assert dtypes.dtype(x) == np.dtype(expected)


@pytest.mark.parametrize("x", [KEY, dtypes.float0, np.dtype(">f4"), np.dtype("M8[s]")], ids=str)
def test_dtype_passes_dtypes_through(x: Any) -> None:
    assert dtypes.dtype(x) == x
    assert dtypes.canonicalize(x) == x


@pytest.mark.parametrize("x", [1, True, "float33", np.floating, np.generic, dtypes.prng_key, [1.0]])
def test_dtype_refuses_what_names_none(x: Any) -> None:
    with pytest.raises(TypeError, match=r"dtype(?s:.)*expected: a dtype"):
        dtypes.dtype(x)


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        ("int64", "int32"),
        ("uint64", "uint32"),
        ("float64", "float32"),
        ("complex128", "complex64"),
        ("float16", "float16"),
        ("bfloat16", "bfloat16"),
        ("bool", "bool"),
    ],
)
def test_canonicalize_follows_x64(wide: str, narrow: str) -> None:
    for x in (wide, np.dtype(wide), np.dtype(wide).type):
        with override(enable_x64=True):
            assert dtypes.canonicalize(x) == np.dtype(wide)
        with override(enable_x64=False):
            assert dtypes.canonicalize(x) == np.dtype(narrow)
            assert dtypes.canonicalize_dtype(x) == np.dtype(narrow)


def test_canonicalize_dtype_lets_extended_dtypes_through_on_request_only() -> None:
    assert dtypes.canonicalize_dtype(KEY, allow_extended_dtype=True) is KEY
    with pytest.raises(ValueError, match="allow_extended_dtype"):
        dtypes.canonicalize_dtype(KEY)


@pytest.mark.parametrize("x64", [False, True])
def test_python_scalars_have_the_default_width(x64: bool) -> None:
    with override(enable_x64=x64):
        for kind in (bool, int, float, complex):
            assert dtypes.python_scalar_dtype(kind) == dtypes.canonicalize(kind)


def test_python_scalars_are_told_from_numpys() -> None:
    assert all(map(dtypes.is_python_scalar, (True, 1, 1.0, 1j)))
    assert not any(map(dtypes.is_python_scalar, (np.float64(1), np.bool_(True), "1", None, [1])))


@pytest.mark.parametrize(
    ("x", "short"),
    [
        ("float32", "f32"),
        ("int4", "i4"),
        ("uint64", "u64"),
        ("bool", "bool"),
        ("bfloat16", "bf16"),
        ("complex128", "c128"),
        ("float8_e4m3fn", "f8_e4m3fn"),
        (dtypes.float0, "float0"),
        (KEY, "key<fry>"),
        ("datetime64[s]", "datetime64[s]"),
    ],
)
def test_short_names(x: Any, short: str) -> None:
    assert dtypes.short_name(dtypes.dtype(x)) == short


@pytest.mark.parametrize(
    ("x", "bits"), [("int2", 2), ("uint4", 4), (bool, 8), (int, 64), ("complex64", 64)]
)
def test_itemsize_bits(x: Any, bits: int) -> None:
    assert dtypes.itemsize_bits(x) == bits


@pytest.mark.parametrize("x", [KEY, dtypes.float0, np.longdouble])
def test_itemsize_bits_refuses_other_dtypes(x: Any) -> None:
    with pytest.raises(ValueError, match="numeric dtype"):
        dtypes.itemsize_bits(x)


@pytest.mark.parametrize("name", ["float32", "bfloat16", "complex64", "float8_e5m2"])
def test_tangents_of_inexact_types_have_the_same_type(name: str) -> None:
    assert dtypes.tangent_dtype(dtypes.dtype(name)) is dtypes.dtype(name)


@pytest.mark.parametrize("x", ["int32", "bool", "uint4", KEY, dtypes.float0])
def test_tangents_of_other_types_are_float0(x: Any) -> None:
    assert dtypes.tangent_dtype(dtypes.dtype(x)) == dtypes.float0


def test_float0_survives_pickling() -> None:
    copy = pickle.loads(pickle.dumps(dtypes.float0))
    assert dtypes.dtype(copy) == dtypes.float0
    assert dtypes.short_name(copy) == "float0"
