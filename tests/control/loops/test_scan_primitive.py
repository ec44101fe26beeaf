"""The transpose of a scan that is linear in a part of its carry, by ⟨Ax, y⟩ = ⟨x, Aᵀy⟩."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax


def counted(x: Any, xs: Any, w: Any, reverse: bool) -> Any:
    """Linear in the arguments; the carry also holds a counter and a sum of it."""

    def step(carry: Any, x: Any) -> Any:
        i, y, k = carry
        return (i + 1, 2.0 * y + x * i + w.sum() * k, k + i), (y * k, x)

    carry, ys = lax.scan(step, (0, x, 1.0), xs, reverse=reverse)
    return carry[1], ys


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit])
@pytest.mark.parametrize("reverse", [False, True])
def test_dot_product_identity(wrap: Any, reverse: bool) -> None:
    rng = np.random.default_rng(0)
    x = tuple(rng.normal(size=s).astype(np.float32) for s in ((), (4,), (2,)))

    def f(*x: Any) -> Any:
        return counted(*x, reverse)

    y = f(*x)
    ct = jax.tree.map(lambda leaf: rng.normal(size=leaf.shape).astype(np.float32), y)
    back = wrap(jax.linear_transpose(f, *x))(ct)
    left, right = (
        sum(jnp.vdot(a, b) for a, b in zip(jax.tree.leaves(p), jax.tree.leaves(q), strict=True))
        for p, q in ((y, ct), (x, back))
    )
    np.testing.assert_allclose(left, right, rtol=1e-5)


def test_loops_that_count() -> None:
    transposed = jax.linear_transpose(
        lambda x: lax.fori_loop(0, 4, lambda i, y: y * (i + 1.0), x), 1.0
    )
    assert transposed(1.0) == (24.0,)
    assert jax.linear_transpose(lambda x: lax.map(lambda y: 2 * y, x), jnp.ones(2))(jnp.ones(2))[
        0
    ].tolist() == [2.0, 2.0]
