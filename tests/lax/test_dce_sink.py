"""Values that are kept although nothing uses them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax

X = np.ones(3, np.float32)


def sunk(x: Any, **options: Any) -> Any:
    lax.dce_sink({"a": jnp.sin(x)}, **options)
    return x * 2


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: f,
        jax.jit,
        jax.vmap,
        lambda f: lambda x: lax.scan(lambda c, a: (c, f(a)), 0.0, x)[1],
        lambda f: lambda x: lax.cond(x[0] > 0, f, f, x),
        lambda f: lambda x: jax.jvp(f, (x,), (x,))[0],
        lambda f: lambda x: jax.vjp(f, x)[0],
    ],
    ids=["none", "jit", "vmap", "scan", "cond", "jvp", "vjp"],
)
def test_it_stays_in_programs_and_changes_nothing(transform: Any) -> None:
    f = transform(sunk)
    assert "dce_sink" in str(jax.make_jaxpr(f)(X))
    np.testing.assert_array_equal(f(X), X * 2)
    np.testing.assert_array_equal(jax.jit(f)(X), X * 2)


def test_the_compiler_is_bound_on_demand() -> None:
    free = jax.jit(sunk).lower(X).compile().as_text()
    bound = jax.jit(lambda x: sunk(x, prevent_mlir_dce=True)).lower(X).compile()
    assert "sine" not in free
    assert "sine" in bound.as_text()
    np.testing.assert_array_equal(bound(X), X * 2)
