"""`rng_uniform`: range, dtype, and other numbers at each call."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import morphax as jax
from morphax import lax

WRAPS = pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
BOUNDS = {
    np.float32: (-1.5, 2.5),
    np.float64: (0.0, 1.0),
    np.float16: (-4.0, 4.0),
    ml_dtypes.bfloat16: (1.0, 2.0),
    np.int32: (-7, 9),
    np.int64: (-(2**62), 2**62),
    np.uint32: (2**31, 2**32 - 1),
    np.uint64: (0, 2**64 - 1),
}


@WRAPS
@pytest.mark.parametrize("dtype", BOUNDS)
def test_range_and_dtype(wrap: Any, dtype: Any) -> None:
    low, high = map(dtype, BOUNDS[dtype])
    with jax.enable_x64(True):
        drawn = wrap(lambda a, b: lax.rng_uniform(a, b, (50, 100)))(low, high)
    assert (drawn.shape, drawn.dtype) == ((50, 100), np.dtype(dtype))
    values = np.asarray(drawn, object if drawn.dtype.kind in "iu" else np.float64)
    assert (values >= low).all()
    last = int(high) - 1 if drawn.dtype.kind in "iu" else high
    assert (values <= last).all()
    # The mean of n numbers is off by 1 / √(12 n) of the range.
    middle = (float(values.mean()) - float(low)) / (float(last) - float(low))
    assert abs(middle - 0.5) < 0.02


@WRAPS
def test_each_call_draws_anew(wrap: Any) -> None:
    f = wrap(lambda a: lax.rng_uniform(a, 1.0, (8,)))
    assert not np.array_equal(f(0.0), f(0.0))


@WRAPS
def test_shapes(wrap: Any) -> None:
    for shape in ((), (0,), (2, 0)):
        assert wrap(lambda a, shape=shape: lax.rng_uniform(a, 1.0, shape))(0.0).shape == shape


def test_the_equation() -> None:
    jaxpr = jax.make_jaxpr(lambda a, b: lax.rng_uniform(a, b, (3, 2)))(0.0, 1.0)
    assert "= rng_uniform[shape=(3, 2)] a b" in str(jaxpr)


@pytest.mark.parametrize(
    ("a", "b"),
    [(0.0, 1), (np.zeros(3, "f4"), np.ones(3, "f4")), (np.uint8(0), np.uint8(9)), (False, True)],
)
def test_wrong_bounds(a: Any, b: Any) -> None:
    with pytest.raises(ValueError, match=r"(?s)rng_uniform.*expected:.*fix:"):
        lax.rng_uniform(a, b, (3,))


def test_no_derivative_and_no_batch() -> None:
    with pytest.raises(NotImplementedError, match="no function of the bounds"):
        jax.grad(lambda a: lax.rng_uniform(a, 1.0, ()))(0.0)
    with pytest.raises(NotImplementedError, match="members"):
        jax.vmap(lambda a: lax.rng_uniform(a, 1.0, ()))(np.zeros(3, "f4"))
