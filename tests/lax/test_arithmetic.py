"""Edges of arithmetic: extremes of integers, zeros, infinities, NaN; error texts."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from morphax import jit, lax
from morphax import numpy as jnp
from tests.lax.engines import (
    array,
    check_all_agree,
    check_engines_agree,
    complex_array,
    pairs,
)

FLOAT_EDGES = (0.0, -0.0, 1, -1, np.nan, np.inf, -np.inf, 2.5, -3, 7)
INTEGERS = ("int2", "int4", "int8", "int32", "int64", "uint4", "uint8", "uint32", "uint64")
BINARY = ("add", "sub", "mul", "div", "rem")


def extremes(dtype: str) -> np.ndarray:
    info = ml_dtypes.iinfo(array(0, dtype).dtype)
    low, high = int(info.min), int(info.max)
    values = sorted({low, low + 1, -1, 0, 1, 2, 3, 7, high // 2, high - 1, high})
    holder = np.int64 if low else np.uint64
    return np.array([v for v in values if low <= v <= high], holder).astype(info.dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_floats_at_edges(dtype: str) -> None:
    check_all_agree(BINARY, *pairs(array(FLOAT_EDGES, dtype)))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_at_extremes(dtype: str) -> None:
    check_all_agree(BINARY, *pairs(extremes(dtype)))


@pytest.mark.parametrize(
    ("x", "y", "quotient", "remainder"),
    [(7, 2, 3, 1), (-7, 2, -3, -1), (7, -2, -3, 1), (5, 0, -1, 5), (-128, -1, -128, 0)],
)
def test_integer_division(x: int, y: int, quotient: int, remainder: int) -> None:
    assert lax.div(np.int8(x), np.int8(y)).to_host() == quotient
    assert lax.rem(np.int8(x), np.int8(y)).to_host() == remainder


def test_unsigned_division_by_zero_sets_all_bits() -> None:
    assert lax.div(np.uint8(7), np.uint8(0)).to_host() == 255


def test_complex_infinities() -> None:
    values = complex_array((0.0, -0.0, 1, np.nan, np.inf, -np.inf))
    check_all_agree(("add", "sub", "mul"), *pairs(values))


def test_complex_division_at_infinities_and_zeros() -> None:
    values = complex_array((0.0, 1, np.nan, np.inf))
    check_engines_agree(lax.div, *pairs(values), rtol=1e-6, zeros=False)


def test_python_scalars_take_the_dtype_of_the_array() -> None:
    x = array([1.5, 2.5], "bfloat16")
    assert lax.mul(x, 2).aval.dtype == ml_dtypes.bfloat16
    assert lax.mul(2.0, lax.mul(2.0, 3.0)).aval.weak_type


def test_mul_out_dtype() -> None:
    product = lax.mul(np.int8(100), np.int8(100), out_dtype=np.int32)
    assert product.aval.dtype == np.int32
    assert product.to_host() == 10000


def test_unequal_dtypes_are_refused() -> None:
    with pytest.raises(TypeError, match=r"lax\.add[\s\S]*float32[\s\S]*int32[\s\S]*equal dtypes"):
        lax.add(np.float32(1), np.int32(1))


@pytest.mark.parametrize("pair", [(1, 1.0), (2.0, 1), (1.0, 1j)])
def test_numbers_of_several_kinds_are_refused(pair: tuple[complex, complex]) -> None:
    with pytest.raises(TypeError, match=r"lax\.add[\s\S]*equal dtypes"):
        lax.add(*pair)


def test_unequal_shapes_are_refused() -> None:
    with pytest.raises(TypeError, match=r"lax\.mul[\s\S]*float32\[2\] and float32\[3\]"):
        lax.mul(np.zeros(2, np.float32), np.zeros(3, np.float32))


def test_booleans_are_refused() -> None:
    with pytest.raises(TypeError, match=r"lax\.neg, operand 0[\s\S]*bool\[\]"):
        lax.neg(np.bool_(True))


def test_remainders_of_complex_numbers_are_refused() -> None:
    with pytest.raises(TypeError, match=r"lax\.rem, operand 0[\s\S]*complex64"):
        lax.rem(np.complex64(1), np.complex64(1))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int4", "uint4"])
@pytest.mark.parametrize("divide", [lax.div, lax.rem])
def test_known_zeros_as_divisors_do_not_end_the_process(divide: Any, dtype: str) -> None:
    def quotients(x: Any, empty: Any) -> Any:
        zero = lax.convert_element_type(lax.reduce_sum(empty, (0,)), dtype)
        seven = lax.full((), 7, dtype)
        return divide(zero, zero), divide(x, zero), divide(seven, zero), divide(zero, seven)

    given = jnp.asarray(3, dtype), jnp.zeros(0, jnp.int32)
    for got, expected in zip(jit(quotients)(*given), quotients(*given), strict=True):
        assert int(got) == int(expected)
