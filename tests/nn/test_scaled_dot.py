"""Products of operands that are rounded to narrow dtypes, against NumPy's rounding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import morphax as jax

jnp = jax.numpy
RNG = np.random.default_rng(0)
A = RNG.normal(size=(3, 8, 64)).astype(np.float32) * 2.0 ** RNG.integers(-3, 9, (3, 8, 1))
B = RNG.normal(size=(3, 16, 64)).astype(np.float32)
A = A.astype(np.float32)
BATCHED = (((2,), (2,)), ((0,), (0,)))
SHARED = np.array([0.5], np.float32)


def _configs(mode: str) -> list[Any]:
    return [jax.nn.get_scaled_dot_general_config(mode, SHARED)] * 3


def _rounded(x: Any, mode: str) -> Any:
    """The rows of `x` rounded, by NumPy in float64; blocks may not be short."""
    shared, size = (0.5, 16) if mode == "nvfp4" else (1.0, 32)
    blocks = x.astype(np.float64).reshape(*x.shape[:-1], -1, size) / shared
    largest = np.abs(blocks).max(-1, keepdims=True)
    if mode == "mxfp8":
        scale, kind = 2.0 ** np.ceil(np.log2(largest / 448)), ml_dtypes.float8_e4m3fn
    else:
        scale = np.minimum(largest / 6, 448).astype(ml_dtypes.float8_e4m3fn).astype(np.float64)
        kind = ml_dtypes.float4_e2m1fn
        blocks = np.clip(blocks, -6 * scale, 6 * scale)
    narrow = (blocks / scale).astype(np.float32).astype(kind).astype(np.float64)
    return (narrow * scale * shared).reshape(x.shape)


@pytest.mark.parametrize("mode", ["mxfp8", "nvfp4"])
def test_values(mode: str) -> None:
    expected = np.einsum("bmk,bnk->bmn", _rounded(A, mode), _rounded(B, mode))

    def call(a: Any, b: Any) -> Any:
        return jax.nn.scaled_dot_general(a, b, BATCHED, configs=_configs(mode))

    for run in (call, jax.jit(call), lambda a, b: jax.vmap(call)(a[None], b[None])[0]):
        bound = 1e-5 * np.abs(expected).max()
        np.testing.assert_allclose(run(A, B), expected, rtol=1e-4, atol=bound)


@pytest.mark.parametrize("mode", ["mxfp8", "nvfp4"])
def test_derivatives_are_rounded_products(mode: str) -> None:
    ct = RNG.normal(size=(3, 32, 32)).astype(np.float32)
    a, b = [RNG.normal(size=(3, 32, 64)).astype(np.float32) for _ in range(2)]
    _, pull = jax.vjp(
        lambda a, b: jax.nn.scaled_dot_general(a, b, BATCHED, configs=_configs(mode)), a, b
    )
    turned = [np.swapaxes(x, 1, 2) for x in (a, b, ct)]
    expected = [
        np.einsum("bmn,bkn->bmk", _rounded(ct, mode), _rounded(turned[1], mode)),
        np.einsum("bnm,bkm->bnk", _rounded(turned[2], mode), _rounded(turned[0], mode)),
    ]
    for found, truth in zip(pull(ct), expected, strict=True):
        np.testing.assert_allclose(found, truth, rtol=1e-4, atol=1e-4)


def test_axes_in_any_order() -> None:
    configs = _configs("mxfp8")
    plain = jax.nn.scaled_dot_general(A, B, BATCHED, configs=configs)
    numbers = (((0,), (1,)), ((2,), (0,)))
    turned = jax.nn.scaled_dot_general(A.T, np.swapaxes(B, 1, 2), numbers, configs=configs)
    np.testing.assert_allclose(turned, plain, rtol=1e-5, atol=1e-3)
    exact = jax.nn.scaled_dot_general(A, B, BATCHED)
    np.testing.assert_array_equal(exact, jax.lax.dot_general(A, B, BATCHED))
    half = jax.nn.scaled_dot_general(A, B, BATCHED, jnp.bfloat16, configs)
    assert half.dtype == jnp.bfloat16


@pytest.mark.parametrize("mode", ["mxfp8", "nvfp4"])
def test_zeros_and_what_is_not_finite(mode: str) -> None:
    numbers = (((1,), (1,)), ((), ()))
    a = np.zeros((3, 32), np.float32)
    a[1, 3], a[2, 3] = np.nan, np.inf
    found = jax.nn.scaled_dot_general(a, np.ones_like(a), numbers, configs=_configs(mode))
    np.testing.assert_array_equal(found[0], 0)
    assert np.isnan(found[1:]).all()


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda: jax.nn.get_scaled_dot_general_config("fp8"), ValueError, "'mxfp8'"),
        (lambda: _product(A[..., :48], B[..., :48]), ValueError, "block sizes"),
        (lambda: _product(A, B[:2]), TypeError, "dot_general"),
        (lambda: _product(A, B, jnp.int8), TypeError, "bfloat16"),
        (lambda: _product(A, B, count=2), ValueError, "three"),
    ],
)
def test_misuse_is_refused(call: Callable[[], Any], error: type, told: str) -> None:
    with pytest.raises(error) as caught:
        call()
    assert told in str(caught.value)


def _product(a: Any, b: Any, dtype: Any = np.float32, count: int = 3) -> Any:
    return jax.nn.scaled_dot_general(a, b, BATCHED, dtype, _configs("mxfp8")[:count])
