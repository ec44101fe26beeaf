"""Python numbers that a dtype does not hold are refused wherever a user writes one down."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax

U8 = np.array([0, 1, 200, 255], np.uint8)
I8 = np.array([-128, -1, 0, 127], np.int8)

REFUSED: list[Callable[[], Any]] = [
    lambda: jnp.int8(300),
    lambda: jnp.int8(-129),
    lambda: jnp.uint8(-1),
    lambda: jnp.int32(2**31),
    lambda: jnp.uint32(2**32),
    lambda: jnp.int4(8),
    lambda: jnp.array([8], jnp.int4),
    lambda: jnp.array([1], jnp.int2) + 2,
    lambda: jnp.array(300, jnp.int8),
    lambda: jnp.asarray(-1, jnp.uint8),
    lambda: jnp.array([[1], [-1]], jnp.uint8),
    lambda: jnp.array([jnp.int8(1), 300]),
    lambda: jnp.array([2**31]),
    lambda: jnp.int8(300.0),
    lambda: jnp.array(1e10, jnp.int32),
    lambda: jnp.array([np.inf], jnp.int32),
    lambda: jnp.full((2,), 300, jnp.int8),
    lambda: jnp.full_like(jnp.asarray(U8), -1),
    lambda: jnp.asarray(U8).at[0].set(300),
    lambda: jnp.asarray(U8).at[0].add(-1),
    lambda: jnp.asarray(U8).at[:2].set([1, 300]),
    lambda: jnp.asarray(I8).at[0].divide(300),
    lambda: jnp.clip(U8, 300, None),
    lambda: jnp.clip(U8, None, -1),
    lambda: jnp.maximum(U8, -1),
    lambda: jnp.where(U8 > 1, U8, 300),
    lambda: jnp.where(I8 > 1, I8, -129),
    lambda: jnp.pad(U8, 1, constant_values=300),
    lambda: jnp.append(U8, 300),
    lambda: jnp.take(U8, 9, mode="fill", fill_value=256),
    lambda: lax.add(jnp.asarray(U8), 300),
]
OPERATORS: list[Callable[[Any, Any], Any]] = [
    lambda x, y: x + y,
    lambda x, y: y - x,
    lambda x, y: x * y,
    lambda x, y: x // y,
    lambda x, y: y % x,
    lambda x, y: x & y,
    lambda x, y: x << y,
]


@pytest.mark.parametrize("call", REFUSED)
def test_out_of_range(call: Callable[[], Any]) -> None:
    with pytest.raises(OverflowError) as info:
        call()
    assert all(part in str(info.value) for part in ("given:", "expected:", "fix:"))


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize(("array", "number"), [(U8, 256), (U8, -1), (I8, 128), (I8, -129)])
def test_operators(operator: Callable[[Any, Any], Any], array: Any, number: int) -> None:
    for apply in (operator, jax.make_jaxpr(lambda x, y=number: operator(x, y))):
        with pytest.raises(OverflowError, match="given:"):
            apply(jnp.asarray(array), number) if apply is operator else apply(array)


def test_other_refusals() -> None:
    with pytest.raises(ValueError, match="integers have no NaN"):
        jnp.array(float("nan"), jnp.int32)
    with pytest.raises(ValueError, match="integers have no NaN"):
        jnp.array([1.0, float("nan")], jnp.int32)
    with pytest.raises(ValueError, match="items of different shapes"):
        jnp.array([[1], [2, 3]], jnp.int32)
    for make in (lambda: jnp.float32(1 + 2j), lambda: jnp.array([1j], jnp.int8)):
        with pytest.raises(TypeError, match="complex number"):
            make()


def test_what_is_in_range() -> None:
    assert jnp.int8(-128).tolist() == -128
    assert jnp.uint32(2**32 - 1).tolist() == 2**32 - 1
    assert jnp.int8(-3.7).tolist() == -3
    assert jnp.bool_(300).tolist() is True
    assert jnp.float32(2**70).tolist() == 2.0**70
    assert (jnp.array([1], jnp.uint32) ^ 0x80000000).tolist() == [2**31 + 1]
    assert jnp.array(np.int64(300), jnp.int8).tolist() == 44, "a conversion between dtypes"


def test_bits_where_a_number_fills() -> None:
    u8 = jnp.asarray(U8)
    assert jnp.where(u8 > 1, u8, -1).tolist() == [255, 255, 200, 255]
    assert jnp.select([u8 > 1], [u8], -1).tolist() == [255, 255, 200, 255]
    assert jnp.where(jnp.asarray(I8) < 0, 255, jnp.asarray(I8)).tolist() == [-1, -1, 0, 127]
    assert jnp.pad(u8, (0, 1), constant_values=-1).tolist() == [0, 1, 200, 255, 255]
    assert jnp.take(u8, 9, mode="fill", fill_value=-2).tolist() == 254


@pytest.mark.parametrize("array", [U8, I8])
def test_comparisons_are_exact(array: np.ndarray[Any, Any]) -> None:
    numbers = (-(2**40), -129, -128, -1, 0, 127, 128, 255, 256, 300, 2**40)

    def all_of(x: Any) -> Any:
        pairs = [(x < n, x <= n, x > n, x >= n, x == n, x != n) for n in numbers]
        return pairs, [(n < x, n <= x, n > x, n >= x) for n in numbers]

    expected = jax.tree.leaves(all_of(array))
    for evaluate in (all_of, jax.jit(all_of)):
        for result, wanted in zip(
            jax.tree.leaves(evaluate(jnp.asarray(array))), expected, strict=True
        ):
            assert result.tolist() == wanted.tolist()


def test_bounds_of_clip_without_effect() -> None:
    for clip in (jnp.clip, jax.jit(jnp.clip, static_argnums=(1, 2))):
        assert clip(jnp.asarray(U8), -1, 300).tolist() == U8.tolist()
        assert clip(jnp.asarray(U8), -1, 200).tolist() == [0, 1, 200, 200]
        assert clip(jnp.asarray(I8), -300, 2**40).tolist() == I8.tolist()


@pytest.mark.parametrize(
    "make",
    [
        lambda: lax.full((2,), 1j, jnp.float32),
        lambda: jnp.full((2,), 1j, jnp.float32),
        lambda: jnp.full_like(jnp.ones(2), 1j),
        lambda: lax.convert_element_type(1j, jnp.float32),
        lambda: lax.reduce(jnp.ones(2), 1j, lax.add, (0,)),
    ],
)
def test_complex_numbers_are_not_taken_for_real_ones(make: Any) -> None:
    with pytest.raises(TypeError, match="real number"):
        make()
    with pytest.raises(TypeError, match="real number"):
        jax.jit(lambda: make())()


def test_complex_numbers_are_truth_values() -> None:
    assert jnp.full((), 1j, bool)
