"""Products of scaled blocks against their formula."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
from morphax.test_util import check_grads

jnp = jax.numpy
RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(2, 3, 8)), RNG.normal(size=(2, 5, 8))


@pytest.mark.parametrize("count", [1, 2, 4, 8])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float8_e4m3fn"])
def test_values(count: int, dtype: str) -> None:
    scales = 2.0 ** RNG.integers(-3, 3, (2, 3, count)), 2.0 ** RNG.integers(-3, 3, (2, 5, count))
    operands = jnp.asarray(A, dtype), jnp.asarray(B, dtype), *map(jnp.asarray, scales)
    exact = [np.asarray(x.astype("float32"), np.float64) for x in operands]
    a, b = [x * s.repeat(8 // count, -1) for x, s in zip(exact[:2], exact[2:], strict=True)]
    expected = np.einsum("bmk,bnk->bmn", a, b)
    for run in (jax.nn.scaled_matmul, jax.jit(jax.nn.scaled_matmul)):
        out = run(*operands)
        assert out.dtype == np.float32
        np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-5)
    half = jax.nn.scaled_matmul(*operands, preferred_element_type="bfloat16")
    assert half.dtype == "bfloat16"
    np.testing.assert_array_equal(half, out.astype("bfloat16"))


def test_derivatives_and_batches() -> None:
    scales = jnp.ones((2, 3, 2)), jnp.full((2, 5, 2), 0.5)
    operands = jnp.asarray(A), jnp.asarray(B), *scales
    check_grads(jax.nn.scaled_matmul, operands, order=2, rtol=2e-2, atol=2e-2)
    mapped = jax.vmap(jax.nn.scaled_matmul)(*[x[None] for x in operands])
    np.testing.assert_allclose(mapped[0], jax.nn.scaled_matmul(*operands), rtol=1e-6)


def test_empty() -> None:
    def shape(*sizes: tuple[int, ...]) -> Any:
        return jax.nn.scaled_matmul(*map(jnp.ones, sizes)).shape

    assert shape((0, 3, 8), (0, 5, 8), (0, 3, 2), (0, 5, 2)) == (0, 3, 5)
    assert shape((2, 3, 0), (2, 5, 0), (2, 3, 0), (2, 5, 0)) == (2, 3, 5)
    assert shape((2, 3, 0), (2, 5, 0), (2, 3, 2), (2, 5, 2)) == (2, 3, 5)


def test_errors() -> None:
    a, b, s, t = (jnp.ones(n) for n in ((2, 3, 8), (2, 5, 8), (2, 3, 2), (2, 5, 2)))
    for operands in ((a[0], b, s, t), (a, b[:1], s, t), (a, b[..., :4], s, t), (a, b, s[:, :2], t)):
        with pytest.raises(ValueError, match="and \\(B, N, S\\)"):
            jax.nn.scaled_matmul(*operands)
    with pytest.raises(ValueError, match="divides K"):
        jax.nn.scaled_matmul(a, b, jnp.ones((2, 3, 3)), jnp.ones((2, 5, 3)))
    with pytest.raises(TypeError, match="floating dtype"):
        jax.nn.scaled_matmul(a, b, s, t, int)
    with pytest.raises(TypeError, match="real numbers"):
        jax.nn.scaled_matmul(a.astype("complex64"), b, s, t)
