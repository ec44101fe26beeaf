"""`scaled_dot` against the product of the numbers that are meant, in float64."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import morphax as jax
from morphax import lax

FLOAT8, SCALE = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e8m0fnu
WRAPS = pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])


def drawn(shape: tuple[int, ...], dtype: Any, seed: int) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def scales(shape: tuple[int, ...], seed: int) -> Any:
    return np.exp2(np.random.default_rng(seed).integers(-3, 4, shape)).astype(SCALE)


def meant(x: Any, scale: Any, axis: int) -> Any:
    wide = np.asarray(x, np.float64)
    if scale is None:
        return wide
    count = x.shape[axis] // scale.shape[axis]
    return wide * np.repeat(np.asarray(scale, np.float64), count, axis)


@WRAPS
@pytest.mark.parametrize("dtype", [FLOAT8, ml_dtypes.float8_e5m2, ml_dtypes.float4_e2m1fn, np.int8])
@pytest.mark.parametrize("scaled", [(True, True), (True, False), (False, True), (False, False)])
def test_values(wrap: Any, dtype: Any, scaled: tuple[bool, bool]) -> None:
    x, y = drawn((2, 4, 64), dtype, 0), drawn((2, 64, 3), dtype, 1)
    left = scales((2, 4, 2), 2) if scaled[0] else None
    right = scales((2, 8, 3), 3) if scaled[1] else None
    truth = meant(x, left, 2) @ meant(y, right, 1)

    def f(x: Any, y: Any) -> Any:
        options = {"lhs_scale": left, "rhs_scale": right}
        return lax.scaled_dot(x, y, **options, preferred_element_type=np.float32)

    np.testing.assert_allclose(wrap(f)(x, y), truth, rtol=1e-5, atol=1e-4)
    default = wrap(lambda x, y: lax.scaled_dot(x, y, lhs_scale=left, rhs_scale=right))(x, y)
    assert default.dtype == ml_dtypes.bfloat16
    np.testing.assert_allclose(np.asarray(default, "f8"), truth, rtol=8e-3, atol=8e-3 * 64)


def test_any_contracting_axis() -> None:
    x, y = drawn((64, 4), FLOAT8, 0), drawn((3, 64), FLOAT8, 1)
    left, right = scales((2, 4), 2), scales((3, 4), 3)
    out = lax.scaled_dot(
        x,
        y,
        lhs_scale=left,
        rhs_scale=right,
        dimension_numbers=(((0,), (1,)), ((), ())),
        preferred_element_type=np.float32,
    )
    np.testing.assert_allclose(out, meant(x, left, 0).T @ meant(y, right, 1).T, rtol=1e-5)


def test_derivatives_and_batches() -> None:
    x, y, s = drawn((5, 4, 8), "f4", 0), drawn((8, 3), "f4", 1), drawn((5, 4, 2), "f4", 2)

    def f(x: Any, s: Any) -> Any:
        return lax.scaled_dot(x, y, lhs_scale=s, preferred_element_type=np.float32)

    batch = jax.vmap(f)(x, s)
    np.testing.assert_allclose(batch, meant(x, s, 2) @ y, rtol=1e-5, atol=1e-5)
    gradient = jax.grad(lambda s: f(x[0], s).sum())(s[0])
    truth = (x[0] * y.sum(1)).reshape(4, 2, 4).sum(2)
    np.testing.assert_allclose(gradient, truth, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [(2, 0, 4), (2, 64, 0), (0, 64, 3)])
def test_no_elements(shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    x, s = np.ones((m, k), "f4"), np.ones((m, k // 32), "f4")
    out = lax.scaled_dot(x, np.ones((k, n), "f4"), lhs_scale=s)
    assert out.shape == (m, n)
    assert not np.asarray(out, "f4").any()


@pytest.mark.parametrize(
    ("x", "y", "scale"),
    [
        ((4, 64), (64, 3), (4, 64)),
        ((4, 64), (64, 3), (4, 3)),
        ((4, 64), (64, 3), (4, 0)),
        ((4, 64), (64, 3), (2, 2)),
        ((4, 64), (64, 3), (1, 2)),
        ((4, 64), (64, 3), (2,)),
        ((4, 64), (3, 3), None),
        ((64,), (64,), None),
        ((1, 4, 64), (64, 3), None),
    ],
)
def test_wrong_shapes(x: Any, y: Any, scale: Any) -> None:
    given = None if scale is None else np.ones(scale, "f4")
    with pytest.raises(TypeError, match=r"(?s)expected:.*fix:"):
        lax.scaled_dot(np.ones(x, "f4"), np.ones(y, "f4"), lhs_scale=given)


def test_wrong_dtypes() -> None:
    x = np.ones((4, 4), "c8")
    with pytest.raises(TypeError, match="real"):
        lax.scaled_dot(x, x)
    with pytest.raises(TypeError, match="floating"):
        lax.scaled_dot(x.real, x.real, preferred_element_type=np.int32)
