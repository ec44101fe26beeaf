"""Attention under a mask: softmax(q kᵀ) v over the keys that a query sees.

On TPUs JAX skips the blocks that a mask leaves empty.  Here the mask is an operand of a program
that XLA compiles, on any platform; what is computed is the same.
"""

from __future__ import annotations

import functools
from enum import IntEnum
from typing import Any, Final, NamedTuple, final

import numpy as np

from ...... import numpy as jnp
from ...... import tree_util
from ......ad_checkpoint import checkpoint_name
from ......transforms.vmap import vmap
from ......util.messages import message
from ......util.records import dataclass
from .splash_attention_mask import Mask

# Large enough that exp of it is 0, and finite, so that differences of it are not NaN.
DEFAULT_MASK_VALUE: Final = -0.7 * float(np.finfo(np.float32).max)


class SegmentIds(NamedTuple):
    """Which segment each query and each key belongs to; queries see keys of their own segment.

    Args:
        q: of shape (queries,).
        kv: of shape (keys,).
    """

    q: Any
    kv: Any


class QKVLayout(IntEnum):
    """Which axis of an operand a TPU has innermost."""

    HEAD_DIM_MINOR = 1
    SEQ_MINOR = 2


@final
@dataclass(frozen=True)
class BlockSizes:
    """How a TPU cuts queries and keys; elsewhere the compiler decides."""

    block_q: int
    block_kv: int
    block_kv_compute: int | None = None
    block_q_dkv: int | None = None
    block_kv_dkv: int | None = None
    block_kv_dkv_compute: int | None = None
    block_q_dq: int | None = None
    block_kv_dq: int | None = None
    use_fused_bwd_kernel: bool = False
    q_layout: QKVLayout = QKVLayout.HEAD_DIM_MINOR
    k_layout: QKVLayout = QKVLayout.HEAD_DIM_MINOR
    v_layout: QKVLayout = QKVLayout.HEAD_DIM_MINOR

    @property
    def has_backward_blocks(self) -> bool:
        """Whether the blocks of derivatives are given."""
        backward = [self.block_q_dkv, self.block_kv_dkv, self.block_kv_dkv_compute]
        if not self.use_fused_bwd_kernel:
            backward += [self.block_q_dq, self.block_kv_dq]
        return None not in backward

    @classmethod
    def get_default(cls) -> BlockSizes:
        return cls(128, 128, 128, 128, 128, 128, 128, 128)


def attention_reference(
    mask: Any,
    q: Any,
    k: Any,
    v: Any,
    segment_ids: SegmentIds | None,
    sinks: Any = None,
    *,
    mask_value: float = DEFAULT_MASK_VALUE,
    save_residuals: bool = False,
    attn_logits_soft_cap: float | None = None,
) -> Any:
    """Attention of one head: softmax(q kᵀ) v over the keys that each query sees, in float32.

    Args:
        mask: booleans of shape (queries, keys).
        q: of shape (queries, d), scaled already.
        k: of shape (keys, d).
        v: of shape (keys, width).
        segment_ids: of queries and keys.
        sinks: a logit of rank 0 that takes part in the softmax and has no value.
        mask_value: the logit of a key that is not seen.
        save_residuals: whether the logarithm of the sum of exponentials is a result too.
        attn_logits_soft_cap: c, if logits are to be c tanh(logit / c).

    Returns:
        An array of shape (queries, width) and the dtype of `q`; with residuals a pair of it and
        ``(logsumexp,)`` of shape (queries,).
    """
    wide = [x.astype(jnp.float32) for x in (q, k, v)]
    logits = jnp.einsum("sc,tc->st", wide[0], wide[1])
    if attn_logits_soft_cap is not None:
        logits = attn_logits_soft_cap * jnp.tanh(logits / attn_logits_soft_cap)
    if segment_ids is not None:
        mask = mask & (segment_ids.q[:, None] == segment_ids.kv[None, :])
    logits = jnp.where(mask, logits, mask_value)
    largest = logits.max(-1, keepdims=True)
    if sinks is not None:
        largest = jnp.maximum(largest, sinks)
    weights = jnp.exp(logits - largest)
    total = weights.sum(-1, keepdims=True)
    if sinks is not None:
        total = total + jnp.exp(sinks - largest)
    out = jnp.einsum("st,tc->sc", weights / total, wide[2]).astype(q.dtype)
    return (out, ((largest + jnp.log(total))[:, 0],)) if save_residuals else out


@final
class SplashAttentionKernel:
    """Attention of several heads under a mask, a tree whose leaf is the mask.

    Called with `q` of shape (heads, queries, d), `k` and `v` of shape (kv_heads, keys, ·), or
    (keys, ·) if all heads share them; kv_heads must divide heads.
    """

    def __init__(self, mask: Any, **kwargs: Any) -> None:
        self.mask, self.kwargs = mask, kwargs

    def __call__(
        self, q: Any, k: Any, v: Any, segment_ids: SegmentIds | None = None, sinks: Any = None
    ) -> Any:
        options = dict(self.kwargs)
        shared = options.pop("is_mqa")
        name = options.pop("residual_checkpoint_name")
        if not shared:
            if q.shape[0] % k.shape[0]:
                raise ValueError(
                    message(
                        "splash attention, argument k",
                        given=f"{k.shape[0]} heads of keys for {q.shape[0]} of queries",
                        expected="a number that divides that of the queries",
                        fix="Repeat the keys and values, or choose another number of heads.",
                    )
                )
            k, v = [jnp.repeat(x, q.shape[0] // x.shape[0], 0) for x in (k, v)]
        mask_axis = 0 if self.mask.ndim == 3 else None
        sink_axis = None if sinks is None else 0
        each = 0 if not shared else None

        def of_head(mask: Any, q: Any, k: Any, v: Any, sink: Any) -> Any:
            return attention_reference(
                mask, q, k, v, segment_ids=segment_ids, sinks=sink, **options
            )

        out = vmap(of_head, in_axes=(mask_axis, 0, each, each, sink_axis))(
            self.mask, q, k, v, sinks
        )
        return out if name is None else tree_util.tree_map(lambda x: checkpoint_name(x, name), out)


tree_util.register_pytree_node(
    SplashAttentionKernel,
    lambda kernel: ((kernel.mask,), tuple(kernel.kwargs.items())),
    lambda options, children: SplashAttentionKernel(*children, **dict(options)),
)


def _make_splash_attention(
    mask: Any,
    *,
    block_sizes: BlockSizes | None = None,
    is_mqa: bool,
    save_residuals: bool = False,
    mask_value: float = DEFAULT_MASK_VALUE,
    attn_logits_soft_cap: float | None = None,
    downcast_smem_data: bool = True,
    head_shards: int,
    q_seq_shards: int,
    residual_checkpoint_name: str | None = None,
    interpret: bool = False,
) -> SplashAttentionKernel:
    """Attention of several heads under a mask.

    Args:
        mask: a `MultiHeadMask`, or booleans of shape (heads, queries, keys) or (queries, keys).
        is_mqa: whether all heads share keys and values.
        save_residuals: whether the logarithms of the sums of exponentials are results too.
        mask_value: the logit of a key that is not seen.
        attn_logits_soft_cap: c, if logits are to be c tanh(logit / c).
        residual_checkpoint_name: a name for the results, by which policies of checkpoint keep them.
        block_sizes, downcast_smem_data, head_shards, q_seq_shards, interpret: how TPUs are to do
            it; here the compiler finds out.
    """
    array = mask[(slice(None),) * len(mask.shape)] if isinstance(mask, Mask) else mask
    return SplashAttentionKernel(
        jnp.asarray(array, bool),
        is_mqa=is_mqa,
        save_residuals=save_residuals,
        mask_value=mask_value,
        attn_logits_soft_cap=attn_logits_soft_cap,
        residual_checkpoint_name=residual_checkpoint_name,
    )


make_splash_mha = functools.partial(_make_splash_attention, is_mqa=False)
make_splash_mqa = functools.partial(_make_splash_attention, is_mqa=True)
_alone = {"head_shards": 1, "q_seq_shards": 1}
make_splash_mha_single_device = functools.partial(make_splash_mha, **_alone)
make_splash_mqa_single_device = functools.partial(make_splash_mqa, **_alone)
