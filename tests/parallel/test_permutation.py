"""Permutations and broadcasts: arguments that are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
from morphax import lax

X = np.arange(4.0, dtype=np.float32)

ERRORS = [
    pytest.param(
        lambda x: lax.ppermute(x, "i", [(0, 1), (2, 1)]), "the destinations", id="receives twice"
    ),
    pytest.param(lambda x: lax.ppermute(x, "i", [(0, 1), (0, 2)]), "the sources", id="sends twice"),
    pytest.param(lambda x: lax.ppermute(x, "i", [(0, 4)]), r"\[4\]", id="no member"),
    pytest.param(lambda x: lax.ppermute(x, "i", [(-1, 0)]), r"\[-1\]", id="negative"),
    pytest.param(lambda x: lax.pshuffle(x, "i", [0, 1]), "each of 0 … 3 once", id="too few"),
    pytest.param(lambda x: lax.pshuffle(x, "i", [0, 1, 2, 2]), "each of 0 … 3 once", id="twice"),
    pytest.param(lambda x: lax.pbroadcast(x, "i", 4), r"a position in \[0, 4\)", id="source"),
]


@pytest.mark.parametrize(("function", "text"), ERRORS)
def test_errors(function: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text) as caught:
        jax.vmap(function, axis_name="i")(X)
    assert "fix:" in str(caught.value)
    assert __file__ in str(caught.value)


def test_pairs_are_pairs() -> None:
    with pytest.raises(TypeError, match=r"lax\.ppermute, argument perm"):
        jax.vmap(lambda x: lax.ppermute(x, "i", [0, 1]), axis_name="i")(X)


def test_pairs_may_be_an_array() -> None:
    pairs = np.array([[0, 1], [1, 0]])
    out = jax.vmap(lambda x: lax.ppermute(x, "i", pairs), axis_name="i")(X)
    np.testing.assert_array_equal(out, [1.0, 0.0, 0.0, 0.0])


def test_integers_and_booleans_are_passed_on_too() -> None:
    out = jax.vmap(lambda x: lax.ppermute(x > 1, "i", [(3, 0)]), axis_name="i")(X)
    assert out.tolist() == [True, False, False, False]


def test_a_broadcast_sends_cotangents_to_its_source() -> None:
    grad = jax.vmap(jax.grad(lambda x: lax.pbroadcast(x, "i", 1) ** 2), axis_name="i")
    np.testing.assert_array_equal(grad(X), [0.0, 8.0, 0.0, 0.0])
