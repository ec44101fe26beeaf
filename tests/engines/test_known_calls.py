"""Calls that are known, of single operations and with lists of arrays, and what is not known."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.config import override
from morphax.engines.reference.eager import EvalTrace
from tests.tracing import calls_of

X = jnp.arange(4.0)


def test_members_of_a_list_are_read_at_each_call() -> None:
    members = [X, X + 1]
    for _ in range(3):
        np.testing.assert_array_equal(jnp.block(members), np.r_[members[0], members[1]])
        members[0] = members[0] * 2
    members.append(jnp.ones(1))
    assert jnp.block(members).shape == (9,)
    members[:] = [jnp.ones(2, jnp.int32), jnp.ones(3, jnp.int8)]
    assert jnp.block(members).dtype == jnp.int32
    with pytest.raises(ValueError, match=r"jnp\.block"):
        jnp.block([[X], X])


def test_numbers_in_a_list_are_operands() -> None:
    for number in (1.0, -0.0, 2.5, np.inf):
        joined = jnp.block([X, number])
        assert np.asarray(joined)[4].tobytes() == np.float32(number).tobytes()
    assert jnp.block([X, 300]).dtype == jnp.float32
    assert jnp.block([X.astype(jnp.int8), True]).dtype == jnp.int8


def test_tuples_and_lists_are_told_apart() -> None:
    assert jnp.lexsort((X, -X)).tolist() == jnp.lexsort([X, -X]).tolist() == [3, 2, 1, 0]
    for _ in range(2):
        with pytest.raises(TypeError, match="tuple"):
            jnp.block((X, X))
        assert jnp.block([X, X]).shape == (8,)


def test_a_parameter_is_an_operand_where_it_is_an_array() -> None:
    weights = [jnp.array([1.0, 0, 0, 1]), jnp.array([0.0, 1, 0, 0])]
    assert [float(jnp.average(X, weights=w)) for w in weights] == [1.5, 1.0]
    assert float(jnp.average(X, None, weights[0])) == 1.5
    assert float(jnp.average(X, weights=None)) == 1.5
    with pytest.raises(TypeError, match="lists"):
        jnp.average(X, weights=[1, 0, 0, 0])
    for shift in (1, 2, jnp.array(1), jnp.array(2), jnp.array(-3), np.int32(1)):
        np.testing.assert_array_equal(jnp.roll(X, shift), np.roll(X, int(shift)))


def test_what_looks_at_numbers_does_so_at_each_call() -> None:
    for first in ([1.0, 2.0], [0.0, 2.0], [3.0, 2.0]):
        a = jnp.array(first)
        found = jnp.polymul(a, jnp.ones(2), trim_leading_zeros=True)
        np.testing.assert_array_equal(found, np.polymul(first, np.ones(2)))
    with pytest.raises(ValueError, match="ravel_multi_index"):
        jnp.ravel_multi_index((jnp.array([7]),), (3,))
    assert jnp.ravel_multi_index((jnp.array([2]),), (3,)).tolist() == [2]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("function", [jnp.gcd, jnp.lcm, jnp.power])
def test_loops_of_numpy_are_those_of_the_function(function: Any, dtype: str) -> None:
    limits = np.iinfo(dtype)
    points = [0, 1, 2, 3, -1, -6, 12, limits.max, limits.min, limits.min + 1, 64, 100]
    some = np.array([p for p in points if limits.min <= p <= limits.max], dtype)
    x, y = np.repeat(some, len(some)), np.tile(some, len(some))
    with jax.enable_x64(True):
        eager = function(jnp.asarray(x), jnp.asarray(y))
        compiled = jax.jit(function)(x, y)
    assert eager.dtype == compiled.dtype == dtype
    np.testing.assert_array_equal(eager, compiled)


def test_an_operation_that_is_known_is_not_prepared_again() -> None:
    x = jnp.ones(5)
    lax.sin(x)
    assert calls_of(EvalTrace.compute.__code__, lambda: lax.sin(x)) == 0
    assert calls_of(EvalTrace.compute.__code__, lambda: lax.sin(np.ones(5, np.float32))) == 1


def test_known_operations_obey_the_configuration() -> None:
    zero = jnp.zeros(3)
    lax.log(lax.neg(lax.abs(zero)))
    lax.div(zero, zero)
    with jax.debug_nans(True), pytest.raises(FloatingPointError):
        lax.div(zero, zero)
    with override(no_execution=True), pytest.raises(RuntimeError, match="no_execution"):
        lax.div(zero, zero)
    assert np.isnan(np.asarray(lax.div(zero, zero))).all()


def test_known_operations_go_where_their_operands_are() -> None:
    x = jnp.ones(3)
    lax.cos(x)
    committed = jax.device_put(x, jax.devices()[0])
    assert lax.cos(committed).committed
    assert not lax.cos(x).committed


def test_deleted_operands_are_refused() -> None:
    x = jnp.ones(3)
    lax.tan(x)
    gone = x + 0
    gone.delete()
    with pytest.raises(RuntimeError, match="delete"):
        lax.tan(gone)


def test_types_that_differ_in_weakness_are_two() -> None:
    weak = jnp.asarray(1.0) if jnp.asarray(1.0).aval.weak_type else jnp.add(1.0, 0.0)
    for _ in range(2):
        assert lax.neg(weak).aval.weak_type == weak.aval.weak_type
        assert not lax.neg(jnp.float32(1.0)).aval.weak_type


def test_errors_of_floats_stay_as_the_user_set_them() -> None:
    zero = jnp.zeros(2)
    with np.errstate(all="raise"):
        for _ in range(2):
            assert np.isnan(np.asarray(lax.div(zero, zero))).all()
            assert np.isinf(np.asarray(jnp.reciprocal(zero))).all()
        with pytest.raises(FloatingPointError):
            np.divide(1.0, np.zeros(1))
    small = jnp.full(3, 1e-30)
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(jnp.nanvar(small * small), 0)
        np.add(1.0, 2.0)


def test_threads_share_what_is_known() -> None:
    arrays = [jnp.full(n, float(n)) for n in range(1, 9)]

    def work(i: int) -> list[float]:
        x = arrays[i % 8]
        return [float(jnp.sum(lax.neg(x))), float(jnp.average(x, weights=x)), float(jnp.var(x))]

    expected = [work(i) for i in range(8)] * 20
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(160))) == expected
