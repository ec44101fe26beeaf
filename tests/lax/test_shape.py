"""Edges of operations on shapes and of filled arrays: weak types, conversions, error texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from morphax import jit, lax, make_jaxpr
from morphax.array import Array
from morphax.core import ShapedArray
from morphax.dtypes import KeyType
from tests.lax.engines import array, check_engines_agree

X = np.arange(12, dtype=np.float32).reshape(3, 4)
WEAK = lax.full((3, 4), 1.0)
KEYS = Array(ShapedArray((3,), KeyType("fry", (2,), np.uint64)), np.array([1, 2, 2**63], np.uint64))

SAME = [
    lambda x: lax.reshape(x, (3, 4)),
    lambda x: lax.reshape(x, (3, 4), dimensions=(0, 1)),
    lambda x: lax.squeeze(x, ()),
    lambda x: lax.expand_dims(x, ()),
    lambda x: lax.transpose(x, (0, 1)),
    lambda x: lax.collapse(x, 1),
    lambda x: lax.broadcast(x, ()),
    lambda x: lax.broadcast_in_dim(x, (3, 4), (0, 1)),
    lambda x: lax.broadcast_to_rank(x, 1),
    lambda x: lax.concatenate([x], 0),
]


@pytest.mark.parametrize("function", SAME)
def test_what_changes_nothing_writes_nothing(function: Callable[[Any], Any]) -> None:
    assert not make_jaxpr(function)(X).eqns
    assert function(WEAK) is WEAK


@pytest.mark.parametrize("function", SAME)
def test_what_changes_nothing_is_another_array_than_numpys(function: Callable[[Any], Any]) -> None:
    mine = X.copy()
    result = function(mine)
    mine[...] = 0
    assert isinstance(result, Array)
    assert result.tolist() == X.tolist()


KEEPS_WEAK_TYPE = [
    lambda x: lax.reshape(x, 12),
    lambda x: lax.squeeze(lax.expand_dims(x, (0,)), (0,)),
    lambda x: lax.rev(x, (0,)),
    lambda x: lax.transpose(x, (1, 0)),
    lambda x: lax.broadcast(x, (2,)),
    lambda x: lax.full_like(x, 2),
    lax.copy_p.bind,
]


@pytest.mark.parametrize("function", KEEPS_WEAK_TYPE)
def test_weak_types_are_kept(function: Callable[[Any], Any]) -> None:
    assert function(WEAK).aval.weak_type
    assert not function(X).aval.weak_type


@pytest.mark.parametrize(
    "function",
    [
        lambda x: lax.reshape(x, (3, 1)),
        lambda x: lax.rev(x, (0,)),
        lambda x: lax.transpose(lax.broadcast(x, (2,)), (1, 0)),
        lax.copy_p.bind,
    ],
)
def test_random_keys_are_moved(function: Callable[[Any], Any]) -> None:
    eager, compiled = function(KEYS), jit(function)(KEYS)
    assert eager.aval is compiled.aval
    assert eager.aval.dtype is KEYS.aval.dtype
    np.testing.assert_array_equal(eager.to_host(), compiled.to_host())


def test_results_are_not_views_of_what_the_user_owns() -> None:
    mine = np.zeros((2, 3), np.float32)
    result = lax.reshape(mine, (3, 2))
    mine[:] = 1
    assert not result.to_host().any()


def test_order_of_memory_does_not_matter() -> None:
    assert check_engines_agree(lambda x: lax.reshape(x, (12,)), np.asfortranarray(X)).tolist() == [
        float(i) for i in range(12)
    ]


def test_broadcast_shapes() -> None:
    assert lax.broadcast_shapes((2, 1), (3,), ()) == (2, 3)
    assert lax.broadcast_shapes((0,), (1,)) == (0,)
    assert lax.broadcast_shapes() == ()


FILLED = [
    (300, "int8", 44),
    (2.7, "int8", 2),
    (1e10, "int32", 2147483647),
    (np.nan, "int32", 0),
    (-1, "uint8", 255),
    (2, "bool", True),
    (1.0, "bfloat16", 1),
]


@pytest.mark.parametrize(("value", "dtype", "expected"), FILLED)
def test_full_converts_as_xla_does(value: Any, dtype: str, expected: Any) -> None:
    result = lax.full((2,), value, array(0, dtype).dtype)
    assert result.aval.dtype == array(0, dtype).dtype
    assert result.to_host().tolist() == [expected] * 2


def test_weak_type_of_filled_arrays() -> None:
    assert lax.full((2,), 1).aval.weak_type
    assert not lax.full((2,), 1, np.int32).aval.weak_type
    assert not lax.full((2,), np.float32(1)).aval.weak_type
    assert lax.full_like(2.0, 1).aval.weak_type
    assert lax.full((), 1).aval is ShapedArray((), np.int32, weak_type=True)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "float16", "bfloat16", "int4"])
def test_iota_wraps_and_rounds(dtype: str) -> None:
    check_engines_agree(lambda: lax.iota(array(0, dtype).dtype, 300))


REFUSED = [
    (lambda: lax.reshape(X, (5, 2)), ValueError, r"lax\.reshape, argument new_sizes[\s\S]*12 el"),
    (lambda: lax.reshape(X, (4, -1)), ValueError, r"lax\.reshape[\s\S]*non-negative"),
    (lambda: lax.reshape(X, (3.0, 4)), TypeError, r"lax\.reshape[\s\S]*non-negative integer"),
    (lambda: lax.reshape(X, 12, (0, 0)), ValueError, r"dimensions[\s\S]*a permutation of the 2"),
    (lambda: lax.squeeze(X, (0,)), ValueError, r"lax\.squeeze[\s\S]*axes of size 1"),
    (lambda: lax.squeeze(X, (2,)), ValueError, r"lax\.squeeze[\s\S]*an axis in \[-2, 2\)"),
    (lambda: lax.squeeze(X[None], (0, -3)), ValueError, r"lax\.squeeze[\s\S]*all differ"),
    (lambda: lax.expand_dims(X, (0, 0)), ValueError, r"lax\.expand_dims[\s\S]*all differ"),
    (lambda: lax.expand_dims(X, (5,)), ValueError, r"lax\.expand_dims[\s\S]*an axis in"),
    (lambda: lax.rev(X, (0, 0)), ValueError, r"lax\.rev[\s\S]*different axes"),
    (lambda: lax.rev(X, (-1,)), ValueError, r"lax\.rev[\s\S]*jnp\.flip"),
    (lambda: lax.transpose(X, (0,)), ValueError, r"lax\.transpose[\s\S]*each of the axes"),
    (lambda: lax.collapse(X, 1, 0), ValueError, r"lax\.collapse[\s\S]*does not end before"),
    (lambda: lax.broadcast_in_dim(X, (3, 5), (0, 1)), ValueError, r"lax\.broadcast_in_dim"),
    (lambda: lax.broadcast_shapes((2,), (3,)), ValueError, r"lax\.broadcast_shapes[\s\S]*agree"),
    (lambda: lax.full((2,), X), ValueError, r"lax\.full, argument fill_value[\s\S]*a scalar"),
    (lambda: lax.full((-1,), 0), ValueError, r"lax\.full, argument shape[\s\S]*non-negative"),
    (lambda: lax.iota(bool, 2), TypeError, r"lax\.iota, argument dtype[\s\S]*integer"),
    (lambda: lax.broadcasted_iota(int, (2,), 1), ValueError, r"lax\.iota, argument dimension"),
]


@pytest.mark.parametrize("dtype", ["float32", "int32", "float16", "uint8"])
@pytest.mark.parametrize("size", [4095, 4096, 4097, 8193, 100_003, 2**24 - 1, 2**24 + 3])
def test_iota_of_many_counts_each(dtype: str, size: int) -> None:
    if size > 2**20 and dtype not in ("float32", "int32"):
        size >>= 8
    with np.errstate(over="ignore"):
        expected = np.arange(size).astype(dtype)
    np.testing.assert_array_equal(np.asarray(lax.iota(np.dtype(dtype), size)), expected)


@pytest.mark.parametrize(("call", "error", "text"), REFUSED)
def test_wrong_calls_are_refused(
    call: Callable[[], Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        call()
