"""The modified Bessel function."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

import morphax as jax
import morphax.numpy as jnp


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_whole_range(dtype: str) -> None:
    with jax.enable_x64(True):
        end = np.log(np.finfo(dtype).max)
        x = np.array([0.0, -0.0, 1e-3, 1, -5, 80, end - 1, end + 1, np.inf, -np.inf, np.nan], dtype)
        wide = np.abs(x.astype("float64"))
        with np.errstate(all="ignore"):
            truth = np.exp(wide / 2) * special.i0e(wide) * np.exp(wide / 2)
        truth[np.isinf(wide)] = np.inf
        for given in (jnp.i0(x), jax.jit(jnp.i0)(x)):
            np.testing.assert_allclose(given, truth, 2e-5 if dtype == "float32" else 1e-12)


def test_its_derivative_and_dtypes() -> None:
    np.testing.assert_allclose(jax.grad(jnp.i0)(1e-3), special.i1(1e-3), rtol=1e-6)
    assert jax.grad(jnp.i0)(0.0) == 0
    assert jax.grad(jax.grad(jnp.i0))(0.0) == 0.5
    assert jnp.i0(3).dtype == jnp.i0(True).dtype == np.float32
    with pytest.raises(ValueError, match="expected: real numbers"):
        jnp.i0(1j)
