"""Attention against its formula in NumPy's float64, for all that restricts who attends to whom."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
from morphax.test_util import check_grads

jnp = jax.numpy
attention = jax.nn.dot_product_attention
B, T, S, K, G, H = 2, 4, 5, 2, 3, 4
RNG = np.random.default_rng(0)
Q = RNG.normal(size=(B, T, K * G, H))
KEYS, VALUES = RNG.normal(size=(2, B, S, K, H))
BIAS = RNG.normal(size=(B, 1, T, S))
MASK = RNG.random((1, K * G, T, S)) > 0.3
MASK[0, 1, 2] = False
LENGTHS = {"query_seq_lengths": np.array([3, 0]), "key_value_seq_lengths": np.array([5, 2])}
CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "scale": {"scale": 0.3},
    "bias and mask": {"bias": BIAS, "mask": MASK},
    "causal": {"is_causal": True},
    "window": {"local_window_size": 1},
    "window of two sides": {"local_window_size": (2, 0), "implementation": "xla"},
    "lengths": LENGTHS,
    "all": {"bias": BIAS, "mask": MASK, "is_causal": True, "local_window_size": (2, 1), **LENGTHS},
}


def by_formula(
    bias: Any = 0.0,
    mask: Any = True,
    scale: float = 0.5,
    is_causal: bool = False,
    local_window_size: Any = (S + T, S + T),
    query_seq_lengths: Any = (T,) * B,
    key_value_seq_lengths: Any = (S,) * B,
    implementation: Any = None,
) -> tuple[Any, Any]:
    """The result, and the logarithms of sums of exponentials."""
    keys, values = [x.repeat(G, 2) for x in (KEYS, VALUES)]
    logits = np.einsum("btnh,bsnh->bnts", Q, keys) * scale + bias
    size = local_window_size
    left, right = (size, size) if isinstance(size, int) else size
    seen = np.broadcast_to(mask, logits.shape).copy()
    for b, _, t, s in np.ndindex(seen.shape):
        is_near = t - left <= s <= t + right
        is_inside = t < query_seq_lengths[b] and s < key_value_seq_lengths[b]
        seen[b, :, t, s] &= is_near and is_inside and not (is_causal and s > t)
    logits = np.where(seen, logits, -0.7 * float(np.finfo(np.float32).max))
    shift = logits.max(-1, keepdims=True)
    powers = np.exp(logits - shift)
    total = powers.sum(-1, keepdims=True)
    out = np.einsum("bnts,bsnh->btnh", powers / total, values)
    for b, length in enumerate(query_seq_lengths):
        out[b, length:] = 0
    return out, np.moveaxis((np.log(total) + shift)[..., 0], 1, 2)


@pytest.mark.parametrize("options", CASES.values(), ids=CASES)
@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float16"])
def test_values(options: dict[str, Any], dtype: str) -> None:
    expected, sums = by_formula(**options)
    tolerance = {"float64": 1e-13, "float32": 2e-6, "bfloat16": 4e-2, "float16": 4e-3}[dtype]
    with jax.enable_x64(dtype == "float64"):
        operands = [jnp.asarray(x, dtype) for x in (Q, KEYS, VALUES)]

        def attend(*x: Any) -> Any:
            return attention(*x, **options, return_residual=True)

        for run in (attend, jax.jit(attend)):
            out, residual = run(*operands)
            assert out.dtype == residual.dtype == dtype
            np.testing.assert_allclose(out.astype(float), expected, tolerance, tolerance)
            finite = np.isfinite(np.asarray(residual, np.float64))
            given = np.asarray(residual, np.float64)[finite]
            np.testing.assert_allclose(given, sums[finite], tolerance, tolerance)
    # A row that is masked whole overflows in float16 alone.
    assert finite.all() or dtype == "float16"


def test_derivatives() -> None:
    with jax.enable_x64(True):
        operands = Q[:, :2], KEYS[:, :3], VALUES[:, :3], BIAS[..., :2, :3]
        mask = MASK[..., :2, :3]
        check_grads(lambda *x: attention(*x, mask, is_causal=True), operands, order=2)
    residual = jax.grad(lambda q: attention(q, q, q, return_residual=True)[1].sum())
    assert not residual(jnp.ones((3, 2, 4))).any()


def test_batches() -> None:
    operands = [jnp.asarray(x, "float32") for x in (Q, KEYS, VALUES)]
    whole = attention(*operands, is_causal=True)
    single = attention(*[x[1] for x in operands], is_causal=True)
    np.testing.assert_allclose(single, whole[1], rtol=1e-6, atol=1e-6)
    mapped = jax.vmap(lambda *x: attention(*x, is_causal=True))(*operands)
    np.testing.assert_allclose(mapped, whole, rtol=1e-6, atol=1e-6)


def test_empty() -> None:
    x = jnp.ones((2, 3, 2, 4))
    assert attention(x[:0], x[:0], x[:0]).shape == (0, 3, 2, 4)
    assert attention(x[:, :0], x, x).shape == (2, 0, 2, 4)
    np.testing.assert_array_equal(attention(x, x[:, :0], x[:, :0]), np.zeros(x.shape))
    assert attention(x[..., :0], x[..., :0], x[..., :0]).shape == (2, 3, 2, 0)


def test_errors() -> None:
    q, k = jnp.ones((2, 5, 4, 8)), jnp.ones((2, 6, 2, 8))
    for key, value in ((k, k[:, :3]), (k[:1], k[:1]), (k[0], k[0]), (k[..., :4], k[..., :4])):
        with pytest.raises(ValueError, match="all without B"):
            attention(q, key, value)
    with pytest.raises(ValueError, match="must be a multiple"):
        attention(q[:, :, :3], k, k)
    with pytest.raises(ValueError, match="equal dtypes"):
        attention(q, k, k.astype("bfloat16"))
    with pytest.raises(TypeError, match="floating dtypes"):
        attention(*[x.astype(int) for x in (q, k, k)])
    bad: list[tuple[dict[str, Any], type[Exception]]] = [
        ({"bias": jnp.ones((2, 2, 5, 6))}, ValueError),
        ({"bias": jnp.ones((1, 1, 5, 6), "complex64")}, TypeError),
        ({"mask": jnp.ones((5, 6))}, ValueError),
        ({"query_seq_lengths": jnp.array([1.0, 2.0])}, ValueError),
        ({"key_value_seq_lengths": jnp.array([1])}, ValueError),
        ({"local_window_size": (1,)}, ValueError),
        ({"local_window_size": 1.5}, TypeError),
        ({"scale": "a"}, ValueError),
        ({"implementation": "other"}, ValueError),
        ({"implementation": "cudnn"}, RuntimeError),
    ]
    for options, error in bad:
        with pytest.raises(error, match=f"argument {next(iter(options))}"):
            attention(q, k, k, **options)
