"""Attention: means of values, weighted by how well their keys match queries.

Heads are independent.  With fewer heads of keys and values than of queries, each of the former
serves a group of the latter.  What a query may not attend to has a logit so low that its weight is
0, unless all are so low: then the weights are equal, rather than NaN.

References: Vaswani et al., "Attention is all you need", NeurIPS 2017; Ainslie et al., "GQA:
training generalized multi-query transformer models from multi-head checkpoints", EMNLP 2023.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from .. import dtypes, lax
from .. import numpy as jnp
from ..numpy.operands import as_array
from ..util.messages import message
from .normalization import logsumexp, softmax

# What a masked logit becomes: its exponential is 0, and one can still be subtracted from another.
_MASKED = -0.7 * float(np.finfo(np.float32).max)


def dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    bias: Any = None,
    mask: Any = None,
    *,
    scale: Any = None,
    is_causal: bool = False,
    query_seq_lengths: Any = None,
    key_value_seq_lengths: Any = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: str | None = None,
    return_residual: bool = False,
) -> Any:
    """softmax(scale · Q Kᵀ + bias) V for each head, over the keys that a query may attend to.

    Logits are summed, and their softmax is taken, in float32 at least.

    Args:
        query: floating array Q (B, T, N, H) or (T, N, H): batch, queries, heads, features.
        key: K (B, S, K, H) or (S, K, H), of the same dtype, where N is a multiple of K.
        value: V, of the shape and dtype of `key`.
        bias: real array that can be broadcast to (B, N, T, S).
        mask: booleans that can be broadcast to (B, N, T, S); where they are false, a query does not
            attend to a key.  Without any to attend to, its result is the mean of all values.
        scale: a number, 1/√H if `None`.
        is_causal: whether query t attends to keys 0, …, t only.
        query_seq_lengths: integers (B,); the result is 0 for queries at or beyond this number.
        key_value_seq_lengths: integers (B,): keys at or beyond this number are not attended to.
        local_window_size: (l, r), for query t to attend to keys t − l, …, t + r only; or one number
            for both.
        implementation: ``"xla"`` or `None`.
        return_residual: whether to return the logarithms of the sums of exponentials too.

    Returns:
        Array of the shape and dtype of `query`; with `return_residual`, this and an array (B, T, N)
        or (T, N), which is a constant to differentiation.

    Raises:
        ValueError: shapes do not fit, dtypes differ, or there is no such implementation.
        TypeError: an operand is not of the kind named above.
        RuntimeError: the implementation ``"cudnn"``, which runs on a GPU only.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> x = jnp.array([[[1.0, 0.0]], [[0.0, 1.0]]])
        >>> jax.nn.dot_product_attention(x, x, x, is_causal=True)[0, 0]
        Array([1., 0.], dtype=float32)
    """
    _check_implementation(implementation)
    q, k, v = [as_array("nn.dot_product_attention", x) for x in (query, key, value)]
    _check_operands(q, k, v)
    has_batch = q.ndim == 4
    if not has_batch:
        q, k, v = q[None], k[None], v[None]
    batch, length, heads, _ = q.shape
    logits_shape = batch, heads, length, k.shape[1]
    if bias is not None:
        bias = _fitted("bias", bias, logits_shape)
    lengths = [
        None if n is None else _checked_lengths(name, n, batch)
        for name, n in (
            ("query_seq_lengths", query_seq_lengths),
            ("key_value_seq_lengths", key_value_seq_lengths),
        )
    ]
    masks = [] if mask is None else [_fitted("mask", mask, logits_shape)]
    masks += _positional_masks(logits_shape, is_causal, local_window_size, *lengths)
    out, residual = _attend(q, k, v, bias, masks, _checked_scale(scale, q), return_residual)
    if lengths[0] is not None:
        inside = jnp.arange(length) < lengths[0][:, None]
        out = jnp.where(inside[:, :, None, None], out, 0)
    out = out if has_batch else out[0]
    if not return_residual:
        return out
    return out, residual if has_batch else residual[0]


def _attend(
    q: Any, k: Any, v: Any, bias: Any, masks: list[Any], scale: Any, with_residual: bool
) -> tuple[Any, Any]:
    """The result (B, T, N, H) and, on request, the residual (B, T, N)."""
    batch, length, heads, features = q.shape
    groups = heads // k.shape[2]
    wide = jnp.promote_types(q.dtype, np.float32)
    q = jnp.reshape(q, (batch, length, k.shape[2], groups, features))
    logits = jnp.einsum("btkgh,bskh->bkgts", q, k, preferred_element_type=wide)
    logits = logits * lax.convert_element_type(scale, wide)
    if bias is not None:
        logits = logits + lax.convert_element_type(_grouped(bias, groups), wide)
    if masks:
        seen = functools.reduce(jnp.logical_and, masks)
        logits = jnp.where(_grouped(seen, groups), logits, _MASKED)
    weights = lax.convert_element_type(softmax(logits), q.dtype)
    out = jnp.einsum("bkgts,bskh->btkgh", weights, v)
    out = jnp.reshape(out, (batch, length, heads, features))
    if not with_residual:
        return out, None
    sums = jnp.moveaxis(logsumexp(lax.stop_gradient(logits), -1), 3, 1)
    sums = jnp.reshape(sums, (batch, length, heads))
    return out, lax.convert_element_type(sums, q.dtype)


def _grouped(x: Any, groups: int) -> Any:
    """The axis of heads in two: heads of keys, and the queries' heads of each; or 1 and 1."""
    batch, heads, *rest = x.shape
    shape = (1, 1) if heads == 1 else (heads // groups, groups)
    return jnp.reshape(x, (batch, *shape, *rest))


def _positional_masks(
    shape: tuple[int, ...], is_causal: bool, window: Any, query_lengths: Any, key_lengths: Any
) -> list[Any]:
    """Arrays of rank 4 that say which keys a query may attend to, by their places."""
    t = jnp.arange(shape[2])[:, None]
    s = jnp.arange(shape[3])
    masks = [t >= s] if is_causal else []
    if window is not None:
        left, right = _checked_window(window)
        masks.append((s >= t - left) & (s <= t + right))
    masks = [m[None, None] for m in masks]
    if query_lengths is not None:
        masks.append(t < query_lengths[:, None, None, None])
    if key_lengths is not None:
        masks.append(s < key_lengths[:, None, None, None])
    return masks


def _refused(
    argument: str, given: str, expected: str, fix: str, error: type[Exception] = ValueError
) -> Exception:
    where = f"nn.dot_product_attention, argument {argument}"
    return error(message(where, given=given, expected=expected, fix=fix))


def _check_implementation(implementation: Any) -> None:
    if implementation is None or implementation == "xla":
        return
    error = RuntimeError if implementation == "cudnn" else ValueError
    fix = "Leave the argument out."
    raise _refused("implementation", f"{implementation!r}", '"xla" or None', fix, error)


def _check_operands(q: Any, k: Any, v: Any) -> None:
    given = ", ".join(f"{x.dtype}{x.shape}" for x in (q, k, v))
    if not dtypes.issubdtype(q.dtype, np.floating):
        fix = "Convert query, key and value to a floating dtype."
        raise _refused("query", given, "floating dtypes", fix, TypeError)
    if not q.dtype == k.dtype == v.dtype:
        raise _refused("key", given, "equal dtypes", "Convert all three to one dtype.")
    fits = q.ndim in (3, 4) and q.ndim == k.ndim and k.shape == v.shape
    if not fits or q.shape[:-3] != k.shape[:-3] or q.shape[-1] != k.shape[-1]:
        expected = "shapes (B, T, N, H), (B, S, K, H), (B, S, K, H), or all without B"
        raise _refused("query", given, expected, "Transpose or reshape the operands.")
    if not k.shape[-2] or not q.shape[-2] or q.shape[-2] % k.shape[-2]:
        expected = "a number of heads of queries that must be a multiple of that of keys"
        raise _refused("query", given, expected, "Repeat or leave out heads.")


def _fitted(name: str, x: Any, shape: tuple[int, ...]) -> Any:
    """A bias or mask with four axes, each of the size of the logits' or 1."""
    x = as_array("nn.dot_product_attention", x)
    given = f"{x.dtype}{x.shape}"
    if name == "mask" and x.dtype != np.bool_:
        raise _refused(name, given, "booleans", "Pass numbers that are added as bias.")
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        raise _refused(name, given, "real numbers", "Take the real part.", TypeError)
    sizes = (1,) * (4 - x.ndim) + x.shape
    if len(sizes) > 4 or any(n not in (1, m) for n, m in zip(sizes, shape, strict=True)):
        fix = "Give it the axes of batch, heads, queries and keys, each of full size or 1."
        raise _refused(name, given, f"a shape that can be broadcast to {shape}", fix)
    return jnp.reshape(x, sizes)


def _checked_lengths(name: str, x: Any, batch: int) -> Any:
    x = jnp.asarray(x)
    if x.shape != (batch,) or not dtypes.issubdtype(x.dtype, np.integer):
        expected = f"integers of shape ({batch},)"
        raise _refused(name, f"{x.dtype}{x.shape}", expected, "Pass one length per sequence.")
    return x


def _checked_window(window: Any) -> tuple[int, int]:
    sides = (window, window) if isinstance(window, int) else window
    if isinstance(sides, (tuple, list)) and [isinstance(n, int) for n in sides] == [True, True]:
        return sides[0], sides[1]
    expected, fix = "an int, or a tuple of two", "Say how many keys to the left and to the right."
    error = ValueError if isinstance(window, (tuple, list)) else TypeError
    raise _refused("local_window_size", f"{window!r}", expected, fix, error)


def _checked_scale(scale: Any, q: Any) -> Any:
    if scale is None:
        return max(q.shape[-1], 1) ** -0.5
    if not np.ndim(scale) and not isinstance(scale, str):
        return scale
    raise _refused("scale", f"{scale!r:.80}", "a number", "Multiply the query by an array.")
