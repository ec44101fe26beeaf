"""What there is of `experimental.pallas`: helpers, and kernels as functions that XLA compiles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.experimental import pallas as pl
from morphax.experimental.pallas.ops.tpu import splash_attention as splash
from morphax.experimental.pallas.ops.tpu.megablox import gmm
from morphax.experimental.pallas.ops.tpu.splash_attention import splash_attention_mask as masks
from morphax.test_util import check_grads

RANDOM = np.random.default_rng(0)
ALL = (slice(None), slice(None))


def drawn(*shape: int) -> Any:
    return RANDOM.normal(size=shape).astype(np.float32)


def attention(mask: Any, q: Any, k: Any, v: Any, cap: float | None = None, sink: Any = None) -> Any:
    """One head in float64, as the formula says."""
    logits = q.astype(float) @ k.T.astype(float)
    if cap is not None:
        logits = cap * np.tanh(logits / cap)
    weights = np.where(mask, np.exp(logits), 0.0)
    total = weights.sum(-1, keepdims=True) + (0.0 if sink is None else np.exp(sink))
    return (weights / total) @ v.astype(float), np.log(total)[:, 0]


def test_helpers() -> None:
    assert [pl.cdiv(7, 2), pl.cdiv(-7, 2), pl.cdiv(0, 3)] == [4, -3, 0]
    assert [pl.next_power_of_2(n) for n in (0, 1, 2, 3, 4, 5)] == [1, 1, 2, 4, 4, 8]
    with pytest.raises(ValueError, match="argument x"):
        pl.next_power_of_2(-1)
    assert pl.ds(2, 3) == pl.dslice(2, 3) == pl.Slice(2, 3)
    assert not hasattr(pl, "pallas_call")


def test_when_is_a_branch_for_its_effects() -> None:
    def double_if(x: Any, on: Any) -> Any:
        ref = jax.new_ref(x)

        @pl.when(on)
        def _() -> None:
            ref[...] = 2 * ref[...]

        return ref[...]

    for on in (True, False):
        expected = 6.0 if on else 3.0
        assert double_if(3.0, on) == jax.jit(double_if)(3.0, on) == expected


@pytest.mark.parametrize(
    ("mask", "sees"),
    [
        (masks.CausalMask((5, 7)), lambda q, k: k <= q),
        (masks.CausalMask((5, 7), 2), lambda q, k: k <= q + 2),
        (masks.LocalMask((6, 5), (1, 2), 1), lambda q, k: (q <= k) & (k <= q + 3)),
        (masks.LocalMask((6, 5), (None, 0), 0), lambda q, k: k <= q),
        (masks.ChunkedCausalMask((6, 6), 4), lambda q, k: (k <= q) & (k // 4 == q // 4)),
        (masks.FullMask((3, 4)), lambda q, k: q == q),
        (masks.CausalMask((4, 4)) & masks.LocalMask((4, 4), (1, 1), 0),
         lambda q, k: (k <= q) & (k >= q - 1)),
        (masks.NumpyMask(np.eye(4) > 0) | masks.FullMask((4, 4)), lambda q, k: q == q),
    ],
)  # fmt: skip
def test_masks(mask: Any, sees: Any) -> None:
    q, k = np.indices(mask.shape)
    np.testing.assert_array_equal(mask[ALL], np.broadcast_to(sees(q, k), mask.shape) & (k == k))
    np.testing.assert_array_equal(mask[1:3, 0:2], mask[ALL][1:3, 0:2])
    with pytest.raises(NotImplementedError, match="truth of a mask"):
        bool(mask)


def test_masks_of_wrong_shapes() -> None:
    with pytest.raises(ValueError, match="masks of one shape"):
        masks.FullMask((2, 2)) | masks.FullMask((2, 3))
    with pytest.raises(ValueError, match="NumpyMask, argument array"):
        masks.NumpyMask(np.ones((2, 2)))
    for given in ([], [masks.FullMask((2, 2)), masks.FullMask((3, 2))]):
        with pytest.raises(ValueError, match="MultiHeadMask, argument masks"):
            masks.MultiHeadMask(given)
    several = masks.MultiHeadMask([masks.FullMask((2, 2)), masks.CausalMask((2, 2))])
    np.testing.assert_array_equal(several[1, :, :], [[True, False], [True, True]])
    np.testing.assert_array_equal(masks.make_chunk_attention_mask((3, 3), 1), np.eye(3) > 0)
    assert masks.make_random_mask((3, 4), 0.5, 1).astype(int).tolist() == [
        [0, 1, 0, 0], [0, 0, 0, 0], [0, 1, 0, 1],
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["mha", "mqa", "grouped", "capped", "segments", "sinks"])
def test_attention(kind: str) -> None:
    heads, size, d = 4, 12, 3
    kv = {"mqa": (), "grouped": (2,)}.get(kind, (heads,))
    q, k, v = drawn(heads, size, d), drawn(*kv, size, d), drawn(*kv, size, 5)
    mask = splash.MultiHeadMask([splash.CausalMask((size, size))] * heads)
    cap = 1.5 if kind == "capped" else None
    make = splash.make_splash_mqa if kind == "mqa" else splash.make_splash_mha
    options = {"head_shards": 1, "q_seq_shards": 1, "attn_logits_soft_cap": cap}
    kernel = make(mask, save_residuals=True, **options)
    segments = np.arange(size) // 5
    given = splash.SegmentIds(segments, segments) if kind == "segments" else None
    sinks = np.linspace(-1.0, 1.0, heads, dtype=np.float32) if kind == "sinks" else None
    out, (logsumexp,) = jax.jit(lambda kernel, *x: kernel(*x, segment_ids=given, sinks=sinks))(
        kernel, q, k, v
    )
    for h in range(heads):
        seen = mask[h, :, :] & ((segments[:, None] == segments) | (given is None))
        part = () if kind == "mqa" else (h // 2 if kind == "grouped" else h,)
        expected, total = attention(
            seen, q[h], k[part], v[part], cap, None if sinks is None else sinks[h]
        )
        np.testing.assert_allclose(out[h], expected, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(logsumexp[h], total, rtol=1e-4, atol=1e-5)


def test_attention_in_transformations() -> None:
    q, k, v = (jnp.asarray(drawn(2, 6, 3)) for _ in range(3))
    mask = splash.make_local_attention_mask((6, 6), (2, 0))
    kernel = splash.make_splash_mha_single_device(mask)
    many = jax.vmap(kernel)(q[None], k[None], v[None])
    np.testing.assert_allclose(many[0], kernel(q, k, v), rtol=1e-6)
    low = kernel(*[x.astype(jnp.bfloat16) for x in (q, k, v)])
    assert low.dtype == jnp.bfloat16
    check_grads(lambda q: kernel(q, k, v).sum(), (q,), 1, rtol=1e-2, atol=1e-2)
    with pytest.raises(ValueError, match="splash attention, argument k"):
        kernel(q, jnp.ones((3, 6, 3)), v)


def test_products_by_groups() -> None:
    lhs, rhs, sizes = drawn(9, 4), drawn(3, 4, 2), jnp.array([2, 0, 5], jnp.int32)
    groups = np.repeat([0, 2], [2, 5])
    expected = np.einsum("ik,ikn->in", lhs[:7], rhs[groups])
    np.testing.assert_allclose(gmm(lhs, rhs, sizes)[:7], expected, rtol=1e-5, atol=1e-6)
    turned = gmm(lhs, rhs.swapaxes(1, 2), sizes, transpose_rhs=True)
    np.testing.assert_allclose(turned[:7], expected, rtol=1e-5, atol=1e-6)
    for offset in (1, jnp.array([1])):
        own = jax.jit(gmm)(lhs, rhs[1:], sizes, group_offset=offset, existing_out=jnp.ones((9, 2)))
        np.testing.assert_allclose(own[2:7], expected[2:], rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(own[:2], 1.0)
        np.testing.assert_array_equal(own[7:], 1.0)
    assert gmm(lhs, rhs, sizes, preferred_element_type=jnp.bfloat16).dtype == jnp.bfloat16
