"""Functions whose intermediate values half precision cannot hold."""

from __future__ import annotations

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp


@pytest.mark.parametrize("engine", ["eager", "native", "xla"])
@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_whole_quotients_are_the_ones_below(name: str, engine: str) -> None:
    """Numbers of few digits have quotients of many: −32.75 is −211 times 0.155, and a rest."""
    dtype, rng = np.dtype(getattr(ml_dtypes, name, name)), np.random.default_rng(0)
    x, y = ((rng.normal(size=500) * scale).astype(dtype) for scale in (30, 1))
    pairs = [(Fraction(float(a)), Fraction(float(b))) for a, b in zip(x, y, strict=True)]
    expected = [math.floor(a / b) for a, b in pairs]
    left = [float(a - n * b) for (a, b), n in zip(pairs, expected, strict=True)]
    divided = jnp.divmod
    if engine != "eager":
        divided = jax.jit(jnp.divmod, compiler_options={"jax_cpu_engine": engine})
    quotient, rest = divided(x, y)
    assert quotient.dtype == rest.dtype == dtype
    np.testing.assert_array_equal(quotient, np.array(expected, float).astype(dtype))
    np.testing.assert_array_equal(rest, np.array(left).astype(dtype))
    np.testing.assert_array_equal(jnp.asarray(x) // y, quotient)
