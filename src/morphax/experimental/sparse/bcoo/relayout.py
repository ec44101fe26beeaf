"""`bcoo_update_layout`: the same array with other numbers of batch and dense axes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .... import lax
from .... import numpy as jnp
from ....core import aval_of
from ....util.messages import message
from ..base import SparseEfficiencyError, SparseEfficiencyWarning
from .layout import batch_places, check_layout, columns, masked, with_batch

if TYPE_CHECKING:
    from .array import BCOO


def bcoo_update_layout(
    mat: BCOO,
    *,
    n_batch: int | None = None,
    n_dense: int | None = None,
    on_inefficient: str | None = "error",
) -> BCOO:
    """The same array with other numbers of batch and dense axes.

    A sparse axis that becomes a batch or a dense one stores zeros for each of its members, so the
    memory grows with its size.

    Args:
        mat: the array.
        n_batch, n_dense: numbers of axes of the result; those of `mat` if left out.
        on_inefficient: what to do where memory grows: ``"error"``, ``"warn"`` or ``None``.

    Raises:
        ValueError: if there are not so many axes, or `on_inefficient` is none of these.
        SparseEfficiencyError: if memory grows.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental import sparse
        >>> x = sparse.BCOO.fromdense(jnp.eye(3))
        >>> y = sparse.bcoo_update_layout(x, n_batch=1, on_inefficient=None)
        >>> x.n_batch, x.data.shape, y.n_batch, y.data.shape
        (0, (3,), 1, (3, 3))
    """
    n_batch = mat.n_batch if n_batch is None else n_batch
    n_dense = mat.n_dense if n_dense is None else n_dense
    check_layout("bcoo_update_layout", mat.ndim, n_batch, n_dense)
    _check_efficiency(mat, n_batch, n_dense, on_inefficient)
    # First all that makes axes sparse, so that there are enough to make others of them.
    for _ in range(mat.n_batch - n_batch):
        mat = _last_batch_to_sparse(mat)
    for _ in range(mat.n_dense - n_dense):
        mat = _first_dense_to_sparse(mat)
    for _ in range(n_dense - mat.n_dense):
        mat = _last_sparse_to_dense(mat)
    for _ in range(n_batch - mat.n_batch):
        mat = _first_sparse_to_batch(mat)
    return mat


def _check_efficiency(mat: BCOO, n_batch: int, n_dense: int, on_inefficient: Any) -> None:
    if on_inefficient not in ("error", "warn", None):
        raise ValueError(
            message(
                "bcoo_update_layout, argument on_inefficient",
                given=repr(on_inefficient),
                expected="'error', 'warn' or None",
                fix="Leave it out to be told of wasted memory by an error.",
            )
        )
    batch = mat.shape[mat.n_batch : n_batch]
    dense = mat.shape[mat.ndim - n_dense : mat.ndim - mat.n_dense]
    if on_inefficient is None or all(size <= 1 for size in (*batch, *dense)):
        return
    text = message(
        "bcoo_update_layout",
        given=f"n_batch={n_batch} and n_dense={n_dense} for {mat!r}",
        expected="no new batch or dense axis of a size above 1, for which zeros are stored",
        fix="Pass on_inefficient=None if that is what you want.",
    )
    if on_inefficient == "error":
        raise SparseEfficiencyError(text)
    warnings.warn(text, SparseEfficiencyWarning, stacklevel=3)


def _last_batch_to_sparse(mat: BCOO) -> BCOO:
    """Stored elements of all members in one row, each with the number of its member."""
    n_batch = mat.n_batch
    batch = mat.shape[:n_batch]
    data, indices = with_batch(mat.data, batch), with_batch(mat.indices, batch)
    dtype = aval_of(indices).dtype
    member = lax.broadcasted_iota(dtype, (*aval_of(indices).shape[:-1], 1), n_batch - 1)
    indices = lax.concatenate([member, indices], n_batch + 1)
    return mat.replaced(data=_merged(data, n_batch - 1), indices=_merged(indices, n_batch - 1))


def _merged(x: Any, axis: int) -> Any:
    """Two axes next to each other as one."""
    shape: Sequence[int] = aval_of(x).shape
    return lax.reshape(x, (*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :]))


def _first_dense_to_sparse(mat: BCOO) -> BCOO:
    """Each element of a block with its number in it."""
    n_batch, size = mat.n_batch, mat.shape[mat.ndim - mat.n_dense]
    data, indices = mat.data, mat.indices
    shape = aval_of(indices).shape
    whole = (*shape[: n_batch + 1], size, shape[-1])
    indices = jnp.broadcast_to(jnp.expand_dims(indices, -2), whole)
    number = lax.broadcasted_iota(aval_of(indices).dtype, (*whole[:-1], 1), n_batch + 1)
    indices = lax.concatenate([indices, number], n_batch + 2)
    return mat.replaced(data=_merged(data, n_batch), indices=_merged(indices, n_batch))


def _parts(mat: BCOO) -> tuple[Any, list[Any], Any]:
    """Data without padding, indices along each sparse axis, and where they are in range."""
    layout = mat.layout
    batch = layout.batch(mat.shape)
    indices = with_batch(mat.indices, batch)
    found, inside = columns(indices, layout.sparse(mat.shape))
    return masked(with_batch(mat.data, batch), inside), found, indices


def _last_sparse_to_dense(mat: BCOO) -> BCOO:
    """Each element in a block of zeros, at its index along the axis."""
    data, found, indices = _parts(mat)
    n_batch, size = mat.n_batch, mat.shape[mat.n_batch + mat.n_sparse - 1]
    shape = aval_of(data).shape
    numbers = lax.iota(np.int32, size)
    here = jnp.expand_dims(found[-1], -1) == numbers
    kept = lax.expand_dims(here, range(n_batch + 2, n_batch + 2 + len(shape) - n_batch - 1))
    blocks = jnp.where(kept, jnp.expand_dims(data, n_batch + 1), jnp.zeros((), data.dtype))
    return mat.replaced(data=blocks, indices=indices[..., :-1])


def _first_sparse_to_batch(mat: BCOO) -> BCOO:
    """For each member all stored elements, zero where they belong to another."""
    data, found, indices = _parts(mat)
    n_batch, size = mat.n_batch, mat.shape[mat.n_batch]
    batch = mat.shape[:n_batch]
    member = lax.expand_dims(found[0], (n_batch,))
    here = member == batch_places((*batch, size))[-1]
    data = jnp.expand_dims(data, n_batch)
    kept = lax.expand_dims(here, range(n_batch + 2, aval_of(data).ndim))
    data = jnp.where(kept, data, jnp.zeros((), aval_of(data).dtype))
    rest = jnp.expand_dims(indices[..., 1:], n_batch)
    whole = aval_of(rest).shape
    rest = jnp.broadcast_to(rest, (*batch, size, *whole[n_batch + 1 :]))
    return mat.replaced(data=data, indices=rest)
