"""Sums and extremes: numbers, booleans, axes of the operand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax

X = np.arange(12.0, dtype=np.float32).reshape(4, 3)
PAIRS = [[0, 1], [2, 3]]


def of_members(f: Any) -> Any:
    return jax.vmap(f, axis_name="i", out_axes=None)(X)


@pytest.mark.parametrize(
    ("number", "expected"), [(1, 4), (2.5, 10.0), (True, 4), (1j, 4j), (np.float32(2), 8.0)]
)
def test_sums_of_numbers_are_numbers(number: Any, expected: Any) -> None:
    found = []
    jax.vmap(lambda x: found.append(lax.psum(number, "i")) or x, axis_name="i")(X)
    assert found == [expected]
    assert isinstance(found[0], (int, float, complex, np.generic))


def test_numbers_in_groups() -> None:
    def f(x: Any) -> Any:
        assert lax.psum(1, "i", axis_index_groups=PAIRS) == 2
        assert lax.pmean(1, "i", axis_index_groups=PAIRS) == 1.0
        return x

    jax.vmap(f, axis_name="i")(X)


def test_extremes_of_numbers_are_arrays() -> None:
    out = of_members(lambda x: lax.pmax(2, "i"))
    assert (out, out.dtype) == (2, np.int32)


def test_booleans_are_counted() -> None:
    out = of_members(lambda x: lax.psum(x > 4, "i"))
    np.testing.assert_array_equal(out, (X > 4).sum(0))
    assert out.dtype == np.int32
    mean = of_members(lambda x: lax.pmean(x > 4, "i"))
    np.testing.assert_allclose(mean, (X > 4).mean(0))
    assert of_members(lambda x: lax.pmax(x > 4, "i")).tolist() == [True, True, True]


def test_means_of_integers_are_floats() -> None:
    out = jax.vmap(lambda x: lax.pmean(x, "i"), axis_name="i", out_axes=None)(np.arange(4))
    assert (out, out.dtype) == (1.5, np.float32)


@pytest.mark.parametrize(
    ("call", "reduce"),
    [(lax.psum, np.sum), (lax.pmax, np.max), (lax.pmin, np.min), (lax.pmean, np.mean)],
)
def test_axes_of_the_operand(call: Any, reduce: Any) -> None:
    np.testing.assert_allclose(of_members(lambda x: call(x, ("i", 0))), reduce(X), rtol=1e-6)
    np.testing.assert_allclose(call(X, 1), reduce(X, axis=1), rtol=1e-6)
    with pytest.raises(ValueError, match="axis 2"):
        call(X, 2)


def test_no_axes() -> None:
    assert lax.psum(X, ()) is X


def test_derivative_inside() -> None:
    inside = jax.vmap(jax.grad(lambda x: lax.psum(x**2, "i").sum()), axis_name="i")
    np.testing.assert_allclose(inside(X), 2 * 4 * X, rtol=1e-6)


def test_what_is_no_array() -> None:
    with pytest.raises(TypeError, match=r"lax.psum, argument x\['a'\]"):
        jax.vmap(lambda x: lax.psum({"a": "text"}, "i"), axis_name="i")(X)


def test_random_keys_are_no_numbers() -> None:
    keys = jax.random.split(jax.random.key(0), 3)
    with pytest.raises(TypeError):
        jax.vmap(lambda k: lax.psum(k, "i"), axis_name="i")(keys)
    gathered = jax.vmap(lambda k: lax.all_gather(k, "i"), axis_name="i", out_axes=None)(keys)
    assert jnp.array_equal(jax.random.key_data(gathered), jax.random.key_data(keys))
