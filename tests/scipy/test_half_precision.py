"""Results of half precision are those of float32, rounded: no step leaves the narrow range."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.scipy import special, stats

POINTS = np.array([-60000, -200, -12, -5.5, -3.25, -1, -0.0, 0.25, 0.75, 2.5, 4, 30, 1000])
FUNCTIONS: list[Any] = [
    special.erfcx,
    special.log_ndtr,
    special.ndtr,
    special.ndtri,
    special.gamma,
    lambda x: special.beta(x, x[::-1]),
    lambda x: special.betaln(x, x[::-1]),
    lambda x: special.kl_div(abs(x), 2),
    lambda x: special.rel_entr(abs(x), 3.0),
    lambda x: stats.norm.logcdf(x, scale=np.array(0.5, x.dtype)),
    stats.norm.pdf,
    stats.cauchy.logpdf,
    lambda x: stats.t.logpdf(x, 3),
    lambda x: stats.gamma.logpdf(abs(x), 7.5),
    lambda x: stats.truncnorm.logpdf(x, -1, 3),
    lambda x: stats.poisson.logpmf(jnp.round(abs(x)), 900),
    lambda x: stats.vonmises.logpdf(x, 40),
    jnp.sinc,
    jnp.std,
    lambda x: jnp.std(x / 60000),
    lambda x: jnp.average(x, weights=jnp.round(abs(x))),
    lambda x: jnp.cov(x / 1000),
    lambda x: jnp.corrcoef(x, x[::-1]),
    lambda x: jnp.unwrap(x / 8),
    jnp.linalg.norm,
    lambda x: jnp.linalg.vector_norm(x / 60000, ord=3),
    lambda x: jnp.linalg.matrix_norm(x[:12].reshape(3, 4)),
    jax.nn.squareplus,
    lambda x: jax.nn.celu(x, np.array(60000, x.dtype)),
    jax.nn.logmeanexp,
]


@pytest.mark.parametrize("dtype", [jnp.float16, jnp.bfloat16])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_rounded_once(function: Any, dtype: Any) -> None:
    narrow = jnp.asarray(POINTS, dtype)
    for run in (function, jax.jit(function)):
        found = run(narrow)
        assert found.dtype == dtype
        expected = function(narrow.astype(jnp.float32)).astype(dtype)
        # Programs of float32 may differ in the last bit, which may decide how a result is rounded.
        tolerance = float(jnp.finfo(dtype).eps)
        np.testing.assert_allclose(np.float32(found), np.float32(expected), rtol=tolerance)


SLOPES: list[Any] = [
    special.i0e,
    special.i1e,
    special.expi,
    lambda x: special.fresnel(x)[0],
    lambda x: special.sici(x)[1],
    lambda x: special.zeta(3.0, x),
    lambda x: special.poch(x, 3.0),
    lambda x: special.owens_t(x, np.array(1000, x.dtype)),
    lambda x: special.multigammaln(x, 5),
    lambda x: special.hyp1f1(2.0, 3.0, x),
    lambda x: special.bessel_jn(x, v=2)[2],
]


@pytest.mark.parametrize("dtype", [jnp.float16, jnp.bfloat16])
@pytest.mark.parametrize("function", SLOPES)
def test_slopes_are_rounded_once(function: Any, dtype: Any) -> None:
    for x in jnp.array([0.25, 2.25, 2.75, 9.5], dtype):
        found = jax.grad(function)(x)
        assert found.dtype == dtype
        expected = jax.grad(function)(x.astype(jnp.float32)).astype(dtype)
        tolerance = float(jnp.finfo(dtype).eps)
        np.testing.assert_allclose(np.float32(found), np.float32(expected), rtol=tolerance)


def test_wider_operands_decide() -> None:
    assert stats.norm.pdf(jnp.ones(2, jnp.float16), jnp.zeros(2)).dtype == jnp.float32


def test_derivatives_of_half_precision() -> None:
    slope = jax.grad(special.erfcx)(jnp.float16(4.0))
    assert slope.dtype == jnp.float16
    np.testing.assert_allclose(slope, jax.grad(special.erfcx)(4.0), rtol=1e-3)
