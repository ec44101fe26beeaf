"""`gmm`: rows of a matrix in groups, each group times a matrix of its own."""

from __future__ import annotations

from typing import Any

from ...... import lax
from ...... import numpy as jnp


def gmm(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    preferred_element_type: Any = jnp.float32,
    tiling: Any = (128, 128, 128),
    group_offset: Any = None,
    existing_out: Any = None,
    transpose_rhs: bool = False,
    interpret: bool = False,
) -> Any:
    """Products of groups of rows: row i of the result is ``lhs[i] @ rhs[group of i]``.

    Args:
        lhs: of shape (m, k).
        rhs: of shape (groups, k, n), or (groups, n, k) if `transpose_rhs`.
        group_sizes: how many rows each group has, one after the other; int32.
        preferred_element_type: dtype of the result.
        tiling, interpret: how a TPU is to do it; here the compiler finds out.
        group_offset: the group that ``rhs[0]`` belongs to, the first one if left out.
        existing_out: what the result is in rows of groups for which there is no matrix; 0 if
            left out.
        transpose_rhs: whether the matrices are transposed.

    Returns:
        An array of shape (m, n).

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental.pallas.ops.tpu.megablox import gmm
        >>> gmm(jnp.ones((3, 1)), jnp.array([[[1.0]], [[2.0]]]), jnp.array([1, 2]))
        Array([[1.],
               [2.],
               [2.]], dtype=float32)
    """
    if transpose_rhs:
        rhs = jnp.swapaxes(rhs, 1, 2)
    count, rows = rhs.shape[0], jnp.arange(lhs.shape[0])
    ends = jnp.cumsum(group_sizes)
    first = 0 if group_offset is None else jnp.reshape(group_offset, ())
    sizes = lax.dynamic_slice_in_dim(group_sizes, first, count)
    end = lax.dynamic_index_in_dim(ends, first + count - 1, keepdims=False)
    start = end - jnp.sum(sizes)
    given = lhs if group_offset is None else jnp.roll(lhs, -start, 0)
    out = lax.ragged_dot(given, rhs, sizes, preferred_element_type=preferred_element_type)
    if group_offset is not None:
        out = jnp.roll(out, start, 0)
    if existing_out is None:
        return out
    return jnp.where(((rows >= start) & (rows < end))[:, None], out, existing_out)
