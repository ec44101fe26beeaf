from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from morphax import dtypes
from morphax.dtypes import extended, issubdtype, prng_key, scalar_type_of
from morphax.dtypes.kinds import to_complex_dtype

KEY = dtypes.KeyType("fry", (2,), np.uint64)
OTHER_KEY = dtypes.KeyType("wide", (4,), np.complex128)

KINDS = {
    np.generic, np.number, np.inexact, np.floating, np.complexfloating, np.integer,
    np.signedinteger, np.unsignedinteger, np.bool_, np.void, np.flexible, extended, prng_key,
}  # fmt: skip
REAL = {np.generic, np.number, np.inexact, np.floating}
COMPLEX = {np.generic, np.number, np.inexact, np.complexfloating}
SIGNED = {np.generic, np.number, np.integer, np.signedinteger}
UNSIGNED = {np.generic, np.number, np.integer, np.unsignedinteger}


@pytest.mark.parametrize(
    ("x", "kinds"),
    [
        ("float32", REAL),
        (ml_dtypes.bfloat16, REAL),
        ("float8_e4m3fn", REAL),
        (float, REAL),
        (np.floating, REAL),
        ("complex64", COMPLEX),
        ("int8", SIGNED),
        (ml_dtypes.int4, SIGNED),
        (int, SIGNED),
        ("uint2", UNSIGNED),
        (bool, {np.generic, np.bool_}),
        (KEY, {np.generic, extended, prng_key}),
        (prng_key, {np.generic, extended, prng_key}),
        (extended, {np.generic, extended}),
        (dtypes.float0, {np.generic, np.void, np.flexible}),
        ("O", {np.generic}),
        (ml_dtypes.float6_e2m3fn, REAL),
        (np.longdouble, REAL),
    ],
)
def test_every_type_is_of_its_kinds_and_no_others(x: Any, kinds: set[type]) -> None:
    for _ in range(2):  # the second answer comes from memory
        assert {kind for kind in KINDS if issubdtype(x, kind)} == kinds


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("float32", np.float32, True),
        ("float32", "float64", False),
        ("bfloat16", "bfloat16", True),
        ("float32", "bfloat16", False),
        ("int64", int, True),
        ("int32", int, False),
        (np.floating, "float32", False),
        (KEY, KEY, True),
        (KEY, OTHER_KEY, False),
        (prng_key, KEY, False),
        ("uint64", KEY, False),
    ],
)
def test_a_type_is_a_subtype_of_a_concrete_one_if_equal(a: Any, b: Any, expected: bool) -> None:
    assert issubdtype(a, b) is expected


def test_all_numpy_types_are_classified_as_numpy_does() -> None:
    own = [d for d in dtypes.SCALARS if d.isbuiltin == 1]
    for a in own:
        for b in [*own, *(KINDS - {extended, prng_key})]:
            assert issubdtype(a, b) == np.issubdtype(a, b)


def test_issubdtype_refuses_what_is_no_dtype() -> None:
    with pytest.raises(TypeError, match="dtype"):
        issubdtype(1, np.integer)
    with pytest.raises(TypeError, match="dtype"):
        issubdtype(np.zeros(2), object())


def test_an_answer_for_a_value_is_not_given_for_an_equal_one() -> None:
    assert issubdtype(np.int8(3), np.integer)
    with pytest.raises(TypeError, match="3 of type int"):
        issubdtype(3, np.integer)


@pytest.mark.parametrize(
    ("x", "kind"),
    [
        (True, bool),
        (1, int),
        (1.0, float),
        (1j, complex),
        ("bfloat16", float),
        ("uint4", int),
        (np.float32(1), float),
        (np.zeros(2, "c8"), complex),
        (np.bool_, bool),
        (float, float),
    ],
)
def test_scalar_type_of(x: Any, kind: type) -> None:
    assert scalar_type_of(x) is kind


@pytest.mark.parametrize(
    ("narrow", "wide"),
    [("float32", "float64"), ("float16", "int64"), ("bool", "uint64"), ("complex64", "complex128")],
)
def test_to_complex_dtype(narrow: str, wide: str) -> None:
    assert to_complex_dtype(narrow) == np.complex64
    assert to_complex_dtype(wide) == np.complex128


@pytest.mark.parametrize("x", [KEY, dtypes.float0, object, np.datetime64(1, "s")])
def test_scalar_type_of_refuses_what_is_no_number(x: Any) -> None:
    with pytest.raises(TypeError, match="boolean, integer, real or complex"):
        scalar_type_of(x)
