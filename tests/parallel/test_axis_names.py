"""Names of axes: scope, several names, shadowing, and what is no name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
from morphax import lax

X = np.arange(6.0, dtype=np.float32).reshape(2, 3)

CALLS = {
    "psum": lax.psum,
    "pmean": lax.pmean,
    "pmax": lax.pmax,
    "pmin": lax.pmin,
    "all_gather": lax.all_gather,
    "psum_scatter": lax.psum_scatter,
    "all_to_all": lambda x, name: lax.all_to_all(x, name, 0, 0),
    "pswapaxes": lambda x, name: lax.pswapaxes(x, name, 0),
    "ppermute": lambda x, name: lax.ppermute(x, name, [(0, 1)]),
    "pshuffle": lambda x, name: lax.pshuffle(x, name, [0]),
    "pbroadcast": lambda x, name: lax.pbroadcast(x, name, 0),
    "pcast": lambda x, name: lax.pcast(x, name, to="varying"),
    "axis_index": lambda x, name: lax.axis_index(name),
    "axis_size": lambda x, name: lax.axis_size(name),
}
calls = pytest.mark.parametrize("call", list(CALLS.values()), ids=list(CALLS))


@calls
def test_an_axis_out_of_scope_is_named(call: Any) -> None:
    with pytest.raises(NameError, match=r"the axis name 'k'(.|\n)*there are none"):
        call(1.0, "k")
    with pytest.raises(NameError, match=r"the axis name 'k'(.|\n)*in scope: i"):
        jax.vmap(lambda x: call(x, ("i", "k")), axis_name="i")(X)


@pytest.mark.parametrize("name", [n for n in CALLS if n not in ("psum", "pmean", "pmax", "pmin")])
def test_axes_of_the_operand_are_for_reductions(name: str) -> None:
    with pytest.raises(ValueError, match="names of mapped axes"):
        jax.vmap(lambda x: CALLS[name](x, ("i", 0)), axis_name="i")(X)


def test_names_are_any_hashable_values() -> None:
    key = object()
    out = jax.vmap(lambda x: lax.psum(x, [key]), axis_name=key)(X)
    np.testing.assert_array_equal(out[0], X.sum(0))
    with pytest.raises(TypeError, match=r"argument axis_name(.|\n)*hashed"):
        jax.vmap(lambda x: x, axis_name=["i"])


def test_the_innermost_axis_of_a_name_counts() -> None:
    inner = jax.vmap(lambda x: lax.psum(x, "i"), axis_name="i")
    expected = np.broadcast_to(X.sum(1, keepdims=True), (2, 3))
    np.testing.assert_array_equal(jax.vmap(inner, axis_name="i")(X), expected)
    np.testing.assert_array_equal(jax.vmap(jax.jit(inner), axis_name="i")(X), expected)


def test_a_name_ends_with_its_vmap() -> None:
    jax.vmap(lambda x: lax.psum(x, "i"), axis_name="i")(X)
    with pytest.raises(NameError):
        lax.psum(X, "i")
    with pytest.raises(NameError):
        jax.jit(lambda x: lax.psum(x, "i"))(X)
