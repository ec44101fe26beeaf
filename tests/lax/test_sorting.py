"""Edges of sorting: NaN, signed zeros, stability, integer extremes, kinds of keys; error texts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from morphax import grad, jit, lax
from morphax.lax.ordering.sorting import sort, sort_key_val, top_k
from tests.lax.engines import array, check_all_agree, complex_array

FLOATS = ("float32", "float64", "float16", "bfloat16")
EDGES = (3.0, np.nan, -0.0, 0.0, -np.inf, np.inf, -np.nan, 0.0, -0.0, 1.0)


def both(function: Any, *operands: Any) -> list[Any]:
    """The results on the reference engine, after comparison with the compiled ones."""
    count = len(function(*operands))
    parts = {str(i): lambda *xs, i=i: function(*xs)[i] for i in range(count)}
    return list(check_all_agree(parts, *operands).values())


@pytest.mark.parametrize("dtype", FLOATS)
def test_nan_comes_last_and_zeros_keep_their_order(dtype: str) -> None:
    x = array(EDGES, dtype)
    values, places = both(lambda v, i: sort((v, i)), x, np.arange(10))
    assert places.tolist() == [4, 2, 3, 7, 8, 9, 0, 5, 1, 6]
    (alone,) = both(lambda v: [sort(v)], x)
    for result in (values.astype(float), alone.astype(float)):
        assert np.signbit(result[1:5]).tolist() == [True, False, False, True]
        assert np.isnan(result[8:]).all()


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint32", "uint64", "bool"])
def test_ends_of_integers(dtype: str) -> None:
    if dtype == "bool":
        ends = [True, False]
    else:
        info = np.iinfo(dtype)
        ends = [info.max, info.min, info.max - 1, info.min + 1, info.max // 2, info.max // 2 + 1]
    x = np.array(ends * 2, dtype)
    values, places = both(lambda v, i: sort((v, i)), x, np.arange(len(x)))
    assert values.tolist() == sorted(x.tolist())
    assert places.tolist() == np.argsort(x, kind="stable").tolist()
    (alone,) = both(lambda v: [sort(v)], x)
    assert alone.tolist() == sorted(x.tolist())


def test_complex_numbers_go_by_real_then_imaginary_part() -> None:
    x = complex_array((0.0, 1.0, -1.0, np.inf, np.nan))
    (values,) = both(lambda v: [sort(v)], x)
    key = [(np.isnan(v.real), np.nan_to_num(v.real), np.isnan(v.imag), v.imag) for v in values]
    finite = [k[:3] for k in key]
    assert finite == sorted(finite)


def test_second_key_decides_among_nan_and_zeros() -> None:
    for first in ([np.nan, 1, np.nan, -np.nan], [0.0, -0.0, 0.0, -0.0]):
        keys = np.array(first, np.float32)
        order = np.array([4, 2, 3, 1], np.float32)
        _, second = both(lambda x, y: sort((x, y), num_keys=2), keys, order)
        tail = second[1:] if np.isnan(first[0]) else second
        assert tail.tolist() == sorted(tail.tolist())


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "int64"])
def test_many_rows_are_stable(dtype: str) -> None:
    x = np.random.default_rng(0).integers(-3, 4, (5, 1000)).astype(dtype)
    _, places = both(lambda v, i: sort((v, i), 1), x, np.broadcast_to(np.arange(1000), x.shape))
    np.testing.assert_array_equal(places, np.argsort(x, 1, kind="stable"))


def test_values_of_any_dtype_follow_the_key() -> None:
    key = np.array([2, 0, 1], np.int32)
    for dtype in ("complex64", "bfloat16", "bool", "int8", "float64"):
        value = array([1, 0, 1], dtype)
        assert both(sort_key_val, key, value)[1].tolist() == value[[1, 2, 0]].tolist()


@pytest.mark.parametrize("dtype", FLOATS)
def test_largest_go_by_the_total_order(dtype: str) -> None:
    values, places = both(lambda v: top_k(v, 10), array(EDGES, dtype))
    assert places.tolist() == [1, 5, 0, 9, 3, 7, 2, 8, 4, 6]
    assert np.isnan(values.astype(float)[[0, -1]]).all()


def test_first_of_equal_elements_comes_first() -> None:
    x = np.array([[1, 3, 3, 2, 3], [5, 5, 5, 5, 5]], np.int32)
    values, places = both(lambda v: top_k(v, 4), x)
    assert places.tolist() == [[1, 2, 4, 3], [0, 1, 2, 3]]
    assert values.tolist() == [[3, 3, 3, 2], [5, 5, 5, 5]]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "bool"])
def test_largest_integers(dtype: str) -> None:
    x = np.array([-128, 127, 0, 1], "int8").astype(dtype)
    values, _ = both(lambda v: top_k(v, 3), x)
    assert values.tolist() == sorted(x.tolist(), reverse=True)[:3]


def test_derivative_follows_the_elements() -> None:
    x = np.array([1, 1, 0, 2], np.float32)
    weights = np.arange(4, dtype=np.float32)

    def loss(v: Any) -> Any:
        return lax.reduce_sum(lax.mul(sort(v), weights), (0,))

    for function in (grad(loss), jit(grad(loss))):
        assert function(x).to_host().tolist() == [1, 2, 0, 3]


def test_sequences_give_tuples() -> None:
    x = np.arange(3)
    assert type(sort([x, x])) is tuple
    assert len(sort((x,))) == 1


@pytest.mark.parametrize("num_keys", [0, 3])
def test_wrong_number_of_keys_is_refused(num_keys: int) -> None:
    with pytest.raises(ValueError, match=r"lax\.sort, argument num_keys"):
        sort((np.arange(3), np.arange(3)), num_keys=num_keys)


def test_wrong_operands_are_refused() -> None:
    with pytest.raises(TypeError, match="at least one array"):
        sort(())
    with pytest.raises(TypeError, match=r"lax\.sort, argument operand.*\n.*\[3\] and int32\[2\]"):
        sort((np.arange(3), np.arange(2)))
    with pytest.raises(ValueError, match=r"lax\.sort, argument dimension"):
        sort(np.arange(3), 1)
    with pytest.raises(ValueError, match=r"lax\.sort, argument dimension"):
        sort(np.float32(3))


@pytest.mark.parametrize("k", [-1, 4])
def test_wrong_k_is_refused(k: int) -> None:
    with pytest.raises(ValueError, match=r"lax\.top_k, argument k"):
        top_k(np.arange(3), k)


def test_wrong_operands_of_top_k_are_refused() -> None:
    with pytest.raises(ValueError, match=r"lax\.top_k, argument axis"):
        top_k(np.arange(3), 1, axis=1)
    with pytest.raises(TypeError, match=r"lax\.top_k, operand 0"):
        top_k(np.ones(3, np.complex64), 1)


@pytest.mark.parametrize("shape", [(4, 2), (2, 3, 5), (1, 7), (0, 3), (3, 0)])
@pytest.mark.parametrize("dtype", ["float32", "int32", "bool"])
def test_what_goes_along_with_few_lines_of_keys_is_taken_in_their_order(
    shape: tuple[int, ...], dtype: str
) -> None:
    rng = np.random.default_rng(0)
    keys, others = rng.integers(0, 3, shape).astype(dtype), rng.normal(size=shape)
    if dtype == "float32" and keys.size:
        keys.flat[0], keys.flat[-1] = np.nan, -0.0
    for axis in range(len(shape)):
        drawn = lax.sort((keys, others * 1j), dimension=axis, num_keys=1)
        order = np.argsort(keys, axis, kind="stable")
        np.testing.assert_array_equal(drawn[0], np.take_along_axis(keys, order, axis))
        expected = np.take_along_axis(others, order, axis)
        np.testing.assert_array_equal(drawn[1].imag, expected.astype(drawn[1].imag.dtype))
