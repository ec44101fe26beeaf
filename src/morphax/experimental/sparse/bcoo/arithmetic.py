"""Sums along axes and products element by element."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from .... import lax
from .... import numpy as jnp
from ....core import aval_of
from ....util.messages import message
from .layout import batch_places, columns, masked, padding_place, taken, with_batch
from .relayout import bcoo_update_layout

if TYPE_CHECKING:
    from .array import BCOO


def bcoo_reduce_sum(mat: BCOO, *, axes: Sequence[int]) -> BCOO:
    """The sum along axes.

    Of sparse axes the indices are left out, of batch axes the elements of all members are put in
    one row; nothing is added up before it is asked for.

    Args:
        mat: the array.
        axes: the axes, counted from the front.

    Raises:
        ValueError: if an axis does not exist.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental import sparse
        >>> sparse.bcoo_reduce_sum(sparse.eye(3), axes=(0,)).todense()
        Array([1., 1., 1.], dtype=float32)
    """
    gone = {index(axis) for axis in axes}
    if any(not 0 <= axis < mat.ndim for axis in gone):
        raise ValueError(
            message(
                "bcoo_reduce_sum, argument axes",
                given=f"{tuple(axes)} for an array of {mat.ndim} axes",
                expected="axes counted from the front",
                fix=f"Give numbers from 0 to {mat.ndim - 1}.",
            )
        )
    if not gone:
        return mat
    n_batch, end = mat.n_batch, mat.n_batch + mat.n_sparse
    data, indices = mat.data, mat.indices
    if any(n_batch <= axis < end for axis in gone):
        inside = columns(indices, mat.layout.sparse(mat.shape))[1]
        data = masked(data, inside)
        kept = [axis - n_batch for axis in range(n_batch, end) if axis not in gone]
        indices = jnp.take(indices, np.array(kept, np.int32), -1)
    dense = tuple([axis - end + n_batch + 1 for axis in gone if axis >= end])
    if dense:
        data = jnp.sum(data, dense, dtype=aval_of(data).dtype)
    batch = [axis for axis in range(n_batch) if axis in gone]
    if batch:
        data, indices = [_members_merged(x, mat.shape[:n_batch], batch) for x in (data, indices)]
    shape = [size for axis, size in enumerate(mat.shape) if axis not in gone]
    same = all(axis >= end for axis in gone)
    return mat.replaced(
        data=data,
        indices=indices,
        shape=shape,
        indices_sorted=mat.indices_sorted and same,
        unique_indices=mat.unique_indices and same,
    )


def _members_merged(x: Any, batch: Sequence[int], gone: Sequence[int]) -> Any:
    """Stored elements of all members along some batch axes in one row."""
    x = with_batch(x, batch)
    shape = aval_of(x).shape
    kept = [axis for axis in range(len(batch)) if axis not in gone]
    rest = range(len(batch) + 1, len(shape))
    x = lax.transpose(x, (*kept, *gone, len(batch), *rest))
    count = math.prod([batch[axis] for axis in gone]) * shape[len(batch)]
    return lax.reshape(x, (*[batch[a] for a in kept], count, *[shape[a] for a in rest]))


def bcoo_multiply_dense(sp_mat: BCOO, v: Any) -> Any:
    """The data of the product, element by element, of a sparse and a dense array.

    Args:
        sp_mat: the sparse array.
        v: dense array that broadcasts to the shape of `sp_mat`, of the same dtype.

    Returns:
        The data of the `BCOO` that has the places of `sp_mat`.

    Raises:
        ValueError: if the shapes do not broadcast.
        NotImplementedError: if the result has another shape than `sp_mat`.
        TypeError: if the dtypes differ.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental import sparse
        >>> sparse.bcoo_multiply_dense(sparse.eye(3), jnp.arange(3.0))
        Array([0., 1., 2.], dtype=float32)
    """
    dense = jnp.asarray(v)
    sizes, given = sp_mat.shape, dense.shape
    if jnp.broadcast_shapes(sizes, given) != sizes:
        raise NotImplementedError(
            message(
                "bcoo_multiply_dense, argument v",
                given=f"shape {given} for a sparse array of shape {sizes}",
                expected="a shape that broadcasts to that of the sparse array",
                fix="Broadcast the sparse array first with bcoo_broadcast_in_dim.",
            )
        )
    return lax.mul(sp_mat.data, read_at_places(sp_mat, dense))


def read_at_places(mat: BCOO, dense: Any) -> Any:
    """The elements of a dense array that meet those of `mat`: of the shape of its data, or one."""
    if not aval_of(dense).ndim:
        return dense
    dense = lax.expand_dims(dense, range(mat.ndim - dense.ndim))
    layout, n_batch = mat.layout, mat.n_batch
    given = dense.shape
    batch = layout.batch(mat.shape)
    found, inside = columns(mat.indices, layout.sparse(mat.shape))
    if 0 in layout.sparse(mat.shape):
        return jnp.zeros(aval_of(mat.data).shape, dense.dtype)
    # Along an axis of size 1 there is one element for all.
    places = [
        place if size != 1 else jnp.zeros_like(place)
        for place, size in zip((*batch_places(batch), *found), given, strict=False)
    ]
    rows = dense[tuple(places)] if places else dense[None]
    if found:
        # Of padding nothing is read, lest what stands there gets into derivatives.
        kept = lax.expand_dims(inside, range(inside.ndim, rows.ndim))
        rows = jnp.where(kept, rows, jnp.ones((), rows.dtype))
    lead = [
        max(a, b)
        for a, b in zip(rows.shape[:n_batch], aval_of(mat.data).shape[:n_batch], strict=True)
    ]
    return jnp.broadcast_to(rows, (*lead, layout.nse, *layout.dense(mat.shape)))


def bcoo_multiply_sparse(lhs: BCOO, rhs: BCOO) -> BCOO:
    """The product, element by element, of sparse arrays.

    Every pair of stored elements is looked at: the result stores as many as the product of the
    numbers of both, first those that meet and then padding.

    Args:
        lhs, rhs: arrays with the same numbers of axes, whose shapes broadcast.

    Raises:
        TypeError: if they have different numbers of axes.
        ValueError: if the shapes do not broadcast.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental import sparse
        >>> x = sparse.BCOO.fromdense(jnp.array([0.0, 2.0, 3.0]))
        >>> sparse.bcoo_multiply_sparse(x, x).todense()
        Array([0., 4., 9.], dtype=float32)
    """
    lhs, rhs = _alike(lhs, rhs)
    shape = jnp.broadcast_shapes(lhs.shape, rhs.shape)
    n_batch, n_dense = lhs.n_batch, lhs.n_dense
    n_sparse = len(shape) - n_batch - n_dense
    batch, sparse = shape[:n_batch], shape[n_batch : n_batch + n_sparse]
    dtype = jnp.promote_types(lhs.dtype, rhs.dtype)
    kind = jnp.promote_types(aval_of(lhs.indices).dtype, aval_of(rhs.indices).dtype)
    parts = []
    for mat, axis in ((lhs, n_batch + 1), (rhs, n_batch)):
        own = mat.shape[n_batch : n_batch + n_sparse]
        found, inside = columns(with_batch(mat.indices, batch), own)
        data = masked(with_batch(mat.data, batch), inside).astype(dtype)
        parts.append([jnp.expand_dims(x, axis) for x in (data, inside, *found)])
    (x, x_inside, *x_found), (y, y_inside, *y_found) = parts
    product, inside = x * y, x_inside & y_inside
    meeting = []
    sizes = zip(lhs.shape[n_batch:], rhs.shape[n_batch:], strict=True)
    for a, b, (size, other) in zip(x_found, y_found, sizes, strict=False):
        if size == other:
            inside = inside & (a == b)
        meeting.append(jnp.broadcast_to(b if size == 1 else a, inside.shape))
    pairs = lhs.nse * rhs.nse
    inside = inside.reshape((*batch, pairs))
    data = masked(product.reshape((*batch, pairs, *product.shape[n_batch + 2 :])), inside)
    ends = padding_place(sparse, kind)
    indices = jnp.broadcast_to(ends, (*batch, pairs, n_sparse))
    if meeting:
        joined = jnp.stack(meeting, -1).reshape((*batch, pairs, n_sparse)).astype(kind)
        indices = jnp.where(inside[..., None], joined, ends)
    order = jnp.argsort(~inside, -1, stable=True).astype(np.int32)
    unique = lhs.unique_indices and rhs.unique_indices
    return lhs.replaced(
        data=taken(data, order),
        indices=taken(indices, order),
        shape=shape,
        unique_indices=unique,
    )


def _alike(lhs: BCOO, rhs: BCOO) -> tuple[BCOO, BCOO]:
    """Both in the layout with as many batch and dense axes as both have."""
    if lhs.ndim != rhs.ndim:
        raise TypeError(
            message(
                "bcoo_multiply_sparse",
                given=f"{lhs!r} and {rhs!r}",
                expected="arrays with the same numbers of axes",
                fix="Add axes of size 1 with bcoo_broadcast_in_dim or bcoo_reshape.",
            )
        )
    n_batch, n_dense = min(lhs.n_batch, rhs.n_batch), min(lhs.n_dense, rhs.n_dense)
    return (
        bcoo_update_layout(lhs, n_batch=n_batch, n_dense=n_dense),
        bcoo_update_layout(rhs, n_batch=n_batch, n_dense=n_dense),
    )
