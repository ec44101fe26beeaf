"""vmap: axes as trees, placement of results, sizes, errors that name the argument."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp

A = np.arange(6.0, dtype=np.float32).reshape(2, 3)


def test_in_axes_and_out_axes() -> None:
    f = lambda x, y: x + y  # noqa: E731
    np.testing.assert_array_equal(jax.vmap(f)(A, A), A + A)
    np.testing.assert_array_equal(jax.vmap(f, (1, None))(A, 1.0), A.T + 1)
    np.testing.assert_array_equal(jax.vmap(f, (-1, None), 1)(A, 1.0), A + 1)
    np.testing.assert_array_equal(jax.vmap(lambda x: x, 1, -1)(A), A)
    np.testing.assert_array_equal(jax.vmap(f, [0, None])(A, 2.0), A + 2)


def test_axes_as_trees() -> None:
    tree = {"a": A, "b": (A.T, 1.0)}
    out = jax.vmap(
        lambda t, x: {"sum": t["a"] + t["b"][0] + t["b"][1], "x": x},
        in_axes=({"a": 0, "b": (1, None)}, None),
        out_axes={"sum": 1, "x": None},
    )(tree, 5.0)
    np.testing.assert_array_equal(out["sum"], (2 * A + 1).T)
    assert out["x"] == 5.0


def test_keyword_arguments_are_mapped_over_axis_zero() -> None:
    np.testing.assert_array_equal(jax.vmap(lambda x, y: x + y)(A, y=A), 2 * A)


def test_axis_size_and_unmapped_results() -> None:
    np.testing.assert_array_equal(jax.vmap(lambda: 1.0, axis_size=3)(), np.ones(3))
    np.testing.assert_array_equal(jax.vmap(lambda x: 2.0)(A), np.full(2, 2.0))


def test_nested_in_any_order() -> None:
    outer = jax.vmap(jax.vmap(jnp.multiply, (None, 0)), (0, None))
    np.testing.assert_array_equal(outer(A[0], A[1]), np.outer(A[0], A[1]))
    np.testing.assert_array_equal(jax.jit(outer)(A[0], A[1]), np.outer(A[0], A[1]))


def test_empty_batches() -> None:
    assert jax.vmap(jnp.sin)(jnp.zeros((0, 3))).shape == (0, 3)
    assert jax.vmap(jax.grad(jnp.sin))(jnp.zeros(0)).shape == (0,)


ERRORS = [
    pytest.param(
        lambda: jax.vmap(lambda x, y: x)(A, A.T),
        r"x has size 2, y has size 3",
        id="sizes",
    ),
    pytest.param(
        lambda: jax.vmap(lambda p: p)({"w": A, "b": 1.0}), r"argument p\['b'\]", id="scalar"
    ),
    pytest.param(lambda: jax.vmap(lambda x: x, 2)(A), "mapped over axis 2", id="axis"),
    pytest.param(lambda: jax.vmap(lambda x: x, (0, 0))(A), "2 axes", id="number of axes"),
    pytest.param(lambda: jax.vmap(lambda x: x, None)(A), "no argument", id="none mapped"),
    pytest.param(
        lambda: jax.vmap(lambda x: x, ({"a": 0},))({"b": A}), "argument in_axes", id="prefix"
    ),
    pytest.param(lambda: jax.vmap(lambda x: x, out_axes=None)(A), "out_axes", id="out None"),
    pytest.param(lambda: jax.vmap(lambda x: x, out_axes=5)(A), "out_axes", id="out axis"),
    pytest.param(
        lambda: jax.vmap(lambda x: x, out_axes=(0, 0))(A), "argument out_axes", id="out prefix"
    ),
]


@pytest.mark.parametrize(("call", "text"), ERRORS)
def test_errors(call: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text) as caught:
        call()
    assert "fix:" in str(caught.value)
    assert __file__ in str(caught.value)


def test_axes_of_the_wrong_kind() -> None:
    with pytest.raises(TypeError, match="argument in_axes"):
        jax.vmap(lambda x: x, "a")
