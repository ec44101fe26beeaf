"""Other shapes: broadcasting, reshaping, squeezing, reversing and concatenating BCOO arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from .... import lax
from .... import numpy as jnp
from ....core import aval_of
from ....lax.ground.placing import refuse_layout
from ....util.messages import message
from ..base import JAXSparse
from .dense import unravelled
from .layout import columns, padding_place, with_batch
from .permutation import bcoo_transpose

if TYPE_CHECKING:
    from .array import BCOO


def bcoo_broadcast_in_dim(
    mat: BCOO, *, shape: Sequence[int], broadcast_dimensions: Sequence[int], sharding: Any = None
) -> BCOO:
    """The array repeated along new axes.

    New axes in front of the sparse axes are batch axes, those behind the first dense axis are
    dense; between them they are sparse, and must have size 1.

    Args:
        mat: the array.
        shape: of the result.
        broadcast_dimensions: for each axis of `mat` the axis of the result.
        sharding: must be None.

    Raises:
        TypeError: if the axes do not fit.
        NotImplementedError: if stored elements of sparse axes would be repeated.
    """
    if sharding is not None:
        refuse_layout("bcoo_broadcast_in_dim", sharding)
    shape = tuple([index(size) for size in shape])
    axes = [index(axis) for axis in broadcast_dimensions]
    _check_broadcast(mat, shape, axes)
    order = sorted(range(mat.ndim), key=axes.__getitem__)
    if order != list(range(mat.ndim)):
        mat, axes = bcoo_transpose(mat, permutation=order), sorted(axes)
    start, end = mat.n_batch, mat.n_batch + mat.n_sparse
    dense_from = axes[end] if mat.n_dense else len(shape)
    n_batch = axes[start] if mat.n_sparse else dense_from
    sparse = shape[n_batch:dense_from]
    held = {axis: mat.shape[i] for i, axis in enumerate(axes)}
    if any(size not in (1, held.get(n_batch + i)) for i, size in enumerate(sparse)):
        raise NotImplementedError(
            message(
                "bcoo_broadcast_in_dim, argument shape",
                given=f"{shape} for {mat!r}",
                expected="sparse axes of their own sizes, and new ones of size 1",
                fix="Make the axis a batch axis first with update_layout.",
            )
        )
    batch = shape[:n_batch]
    lead = [axes[i] for i in range(start)]
    rest = [axis - dense_from + n_batch + 1 for axis in axes[end:]]
    data = _broadcast(mat.data, (*batch, mat.nse, *shape[dense_from:]), (*lead, n_batch, *rest))
    columns_of = [axis - n_batch for axis in axes[start:end]]
    indices = jnp.zeros((*aval_of(mat.indices).shape[:-1], len(sparse)), aval_of(mat.indices).dtype)
    if columns_of:
        indices = indices.at[..., np.array(columns_of, np.int32)].set(mat.indices)
    indices = _broadcast(indices, (*batch, mat.nse, len(sparse)), (*lead, n_batch, n_batch + 1))
    return mat.replaced(
        data=data,
        indices=indices,
        shape=shape,
        indices_sorted=mat.indices_sorted,
        unique_indices=mat.unique_indices,
    )


def _broadcast(x: Any, shape: Sequence[int], axes: Sequence[int]) -> Any:
    """`lax.broadcast_in_dim`, where axes of size 1 may be repeated."""
    whole = [1] * len(shape)
    for size, axis in zip(aval_of(x).shape, axes, strict=True):
        whole[axis] = size
    return jnp.broadcast_to(lax.reshape(x, whole), shape)


def _check_broadcast(mat: BCOO, shape: Sequence[int], axes: Sequence[int]) -> None:
    if (
        len(axes) == mat.ndim
        and len({*axes}) == len(axes)
        and all(0 <= axis < len(shape) for axis in axes)
    ):
        return
    raise TypeError(
        message(
            "bcoo_broadcast_in_dim, argument broadcast_dimensions",
            given=f"{tuple(axes)} for {mat!r} and the shape {tuple(shape)}",
            expected="a different axis of the result for each axis",
            fix="Give one axis for each axis of the sparse array.",
        )
    )


def bcoo_reshape(
    mat: BCOO,
    *,
    new_sizes: Sequence[int],
    dimensions: Sequence[int] | None = None,
    sharding: Any = None,
) -> BCOO:
    """The same elements in another shape, where batch, sparse and dense axes keep apart.

    Args:
        mat: the array.
        new_sizes: its first axes have the elements of the batch axes, its last ones those of the
            dense axes, and those between them those of the sparse ones.
        dimensions: the order in which axes are read, as the permutation of `bcoo_transpose`.
        sharding: must be None.

    Raises:
        ValueError: if sizes do not fit so.
        NotImplementedError: if `dimensions` mixes axes of different kinds.

    Example:
        >>> from morphax.experimental import sparse
        >>> sparse.bcoo_reshape(sparse.BCOO.fromdense([[0, 1], [2, 0]]), new_sizes=(4,)).todense()
        Array([0, 1, 2, 0], dtype=int32)
    """
    if sharding is not None:
        refuse_layout("bcoo_reshape", sharding)
    if dimensions is not None and tuple(dimensions) != tuple(range(mat.ndim)):
        mat = bcoo_transpose(mat, permutation=dimensions)
    shape = tuple([index(size) for size in new_sizes])
    layout = mat.layout
    old_batch, old_sparse = layout.batch(mat.shape), layout.sparse(mat.shape)
    n_batch = _split(mat, shape, 0, math.prod(old_batch), layout.n_batch)
    whole = math.prod(old_sparse)
    end = _split(mat, shape, n_batch, whole, layout.n_batch + layout.n_sparse)
    dense = shape[end:]
    if math.prod(dense) != math.prod(layout.dense(mat.shape)):
        raise _mixed(mat, shape)
    batch, sparse = shape[:n_batch], shape[n_batch:end]
    data, indices = with_batch(mat.data, old_batch), with_batch(mat.indices, old_batch)
    data = lax.reshape(data, (*batch, mat.nse, *dense))
    indices = lax.reshape(indices, (*batch, mat.nse, layout.n_sparse))
    dtype = aval_of(indices).dtype
    if sparse != old_sparse:
        found, inside = columns(indices, old_sparse)
        flat: Any = jnp.zeros(inside.shape, _flat_type(whole))
        for column, size in zip(found, old_sparse, strict=True):
            flat = flat * size + column.astype(flat.dtype)
        places = unravelled(flat, sparse)
        ends = padding_place(sparse, dtype)
        joined = jnp.stack(places, -1) if places else jnp.zeros((*inside.shape, 0), dtype)
        indices = jnp.where(inside[..., None], joined.astype(dtype), ends)
        if not sparse:
            data = jnp.where(lax.expand_dims(inside, range(inside.ndim, data.ndim)), data, 0)
    return mat.replaced(
        data=data,
        indices=indices,
        shape=shape,
        indices_sorted=mat.indices_sorted,
        unique_indices=mat.unique_indices,
    )


def _flat_type(count: int) -> Any:
    """The dtype of numbers up to `count`.

    Raises:
        OverflowError: if it is not enabled.
    """
    if count <= np.iinfo(np.int32).max:
        return np.int32
    if jnp.zeros(0, int).dtype == np.int64 and count <= np.iinfo(np.int64).max:
        return np.int64
    raise OverflowError(
        message(
            "bcoo_reshape",
            given=f"{count} places along the sparse axes",
            expected="places that an index can count",
            fix="Enable 64-bit integers with jax_enable_x64.",
        )
    )


def _split(mat: BCOO, shape: Sequence[int], start: int, count: int, preferred: int) -> int:
    """The end of those axes from `start` that have `count` elements together.

    Axes of size 1 could belong to either side; they go where as many axes are as before.
    """
    ends = [e for e in range(start, len(shape) + 1) if math.prod(shape[start:e]) == count]
    if not ends:
        raise _mixed(mat, shape)
    return min(ends, key=lambda end: abs(end - preferred))


def _mixed(mat: BCOO, shape: Sequence[int]) -> ValueError:
    return ValueError(
        message(
            "bcoo_reshape, argument new_sizes",
            given=f"{tuple(shape)} for {mat!r}",
            expected="axes with the elements of the batch axes, then of the sparse, then the dense",
            fix="Make axes sparse first with update_layout.",
        )
    )


def bcoo_squeeze(arr: BCOO, *, dimensions: Sequence[int]) -> BCOO:
    """The array without some of its axes of size 1.

    Args:
        arr: the array.
        dimensions: the axes; negative ones count from the end.

    Raises:
        ValueError: if an axis does not exist or has another size.

    Example:
        >>> from morphax.experimental import sparse
        >>> sparse.bcoo_squeeze(sparse.BCOO.fromdense([[0, 3]]), dimensions=(0,)).todense()
        Array([0, 3], dtype=int32)
    """
    given = [index(axis) for axis in dimensions]
    gone = {axis % arr.ndim for axis in given if -arr.ndim <= axis < arr.ndim}
    if len(gone) < len(given) or any(arr.shape[axis] != 1 for axis in gone):
        raise ValueError(
            message(
                "bcoo_squeeze, argument dimensions",
                given=f"{tuple(given)} for an array of shape {arr.shape}",
                expected="different axes of size 1",
                fix="Sum over an axis with bcoo_reduce_sum, or take an element by indexing.",
            )
        )
    n_batch, end = arr.n_batch, arr.n_batch + arr.n_sparse
    batch = tuple([axis for axis in gone if axis < n_batch])
    dense = tuple([axis - end + n_batch + 1 for axis in gone if axis >= end])
    sparse = [axis - n_batch for axis in gone if n_batch <= axis < end]
    data, indices = arr.data, lax.squeeze(arr.indices, batch)
    if sparse:
        inside = columns(arr.indices, arr.layout.sparse(arr.shape))[1]
        data = jnp.where(lax.expand_dims(inside, range(n_batch + 1, data.ndim)), data, 0)
        kept = [i for i in range(arr.n_sparse) if i not in sparse]
        indices = jnp.take(indices, np.array(kept, np.int32), -1)
    return arr.replaced(
        data=lax.squeeze(data, (*batch, *dense)),
        indices=indices,
        shape=[size for axis, size in enumerate(arr.shape) if axis not in gone],
        indices_sorted=arr.indices_sorted,
        unique_indices=arr.unique_indices,
    )


def bcoo_rev(operand: BCOO, dimensions: Sequence[int]) -> BCOO:
    """The array with the order of its elements reversed along some axes.

    Args:
        operand: the array.
        dimensions: the axes, counted from the front.

    Raises:
        TypeError: if an axis does not exist or stands twice.

    Example:
        >>> from morphax.experimental import sparse
        >>> sparse.bcoo_rev(sparse.BCOO.fromdense([0, 1, 2]), (0,)).todense()
        Array([2, 1, 0], dtype=int32)
    """
    axes = [index(axis) for axis in dimensions]
    if len({*axes}) < len(axes) or any(not 0 <= axis < operand.ndim for axis in axes):
        raise TypeError(
            message(
                "bcoo_rev, argument dimensions",
                given=f"{tuple(axes)} for an array of {operand.ndim} axes",
                expected="different axes, counted from the front",
                fix=f"Give numbers below {operand.ndim}.",
            )
        )
    n_batch, end = operand.n_batch, operand.n_batch + operand.n_sparse
    batch = [axis for axis in axes if axis < n_batch]
    dense = [axis - end + n_batch + 1 for axis in axes if axis >= end]
    data, indices = lax.rev(operand.data, (*batch, *dense)), lax.rev(operand.indices, batch)
    sparse = [axis - n_batch for axis in axes if n_batch <= axis < end]
    if sparse:
        sizes = operand.layout.sparse(operand.shape)
        found, inside = columns(indices, sizes)
        found = [sizes[i] - 1 - column if i in sparse else column for i, column in enumerate(found)]
        dtype = aval_of(indices).dtype
        joined = jnp.stack(found, -1).astype(dtype)
        indices = jnp.where(inside[..., None], joined, padding_place(sizes, dtype))
    return operand.replaced(
        data=data,
        indices=indices,
        indices_sorted=operand.indices_sorted and not sparse,
        unique_indices=operand.unique_indices,
    )


def bcoo_concatenate(operands: Sequence[BCOO], *, dimension: int) -> BCOO:
    """Arrays one after the other along a batch or a sparse axis.

    Args:
        operands: arrays of the same layout, whose shapes differ along `dimension` only.
        dimension: the axis, counted from the front.

    Raises:
        ValueError: if there are none, or they are no BCOO arrays.
        TypeError: if their shapes, layouts or dtypes differ.
        NotImplementedError: if the axis is dense.

    Example:
        >>> from morphax.experimental import sparse
        >>> sparse.bcoo_concatenate([sparse.eye(2), sparse.eye(2)], dimension=1).todense()
        Array([[1., 0., 1., 0.],
               [0., 1., 0., 1.]], dtype=float32)
    """
    operands = list(operands)
    axis = index(dimension)
    _check_joinable(operands, axis)
    first = operands[0]
    n_batch = first.n_batch
    sizes = [mat.shape[axis] for mat in operands]
    shape = (*first.shape[:axis], sum(sizes), *first.shape[axis + 1 :])
    if axis < n_batch:
        nse = max(mat.nse for mat in operands)
        parts = [_with_nse(mat, nse) for mat in operands]
        data, indices = [lax.concatenate(list(x), axis) for x in zip(*parts, strict=True)]
        return first.replaced(data=data, indices=indices, shape=shape)
    column = axis - n_batch
    moved, start = [], 0
    sparse = shape[n_batch : n_batch + first.n_sparse]
    for mat, size in zip(operands, sizes, strict=True):
        batch = mat.shape[:n_batch]
        indices = with_batch(mat.indices, batch)
        found, inside = columns(indices, mat.layout.sparse(mat.shape))
        found[column] = found[column] + start
        dtype = aval_of(indices).dtype
        joined = jnp.stack(found, -1).astype(dtype)
        indices = jnp.where(inside[..., None], joined, padding_place(sparse, dtype))
        moved.append((with_batch(mat.data, batch), indices))
        start += size
    data, indices = [lax.concatenate(list(x), n_batch) for x in zip(*moved, strict=True)]
    unique = all(mat.unique_indices for mat in operands)
    return first.replaced(data=data, indices=indices, shape=shape, unique_indices=unique)


def _with_nse(mat: BCOO, nse: int) -> tuple[Any, Any]:
    """Data and indices of the whole batch, with so many stored elements."""
    layout = mat.layout
    batch, more = layout.batch(mat.shape), nse - mat.nse
    data, indices = with_batch(mat.data, batch), with_batch(mat.indices, batch)
    zeros = jnp.zeros((*batch, more, *layout.dense(mat.shape)), data.dtype)
    ends = padding_place(layout.sparse(mat.shape), indices.dtype)
    ends = jnp.broadcast_to(ends, (*batch, more, layout.n_sparse))
    return jnp.concatenate([data, zeros], len(batch)), jnp.concatenate([indices, ends], len(batch))


def _check_joinable(operands: Sequence[Any], axis: int) -> None:
    where = "bcoo_concatenate"
    if not operands or not all(isinstance(mat, JAXSparse) for mat in operands):
        raise ValueError(
            message(
                f"{where}, argument operands",
                given=f"{list(map(type, operands))}",
                expected="one BCOO array at least, and nothing else",
                fix="Make dense arrays sparse with BCOO.fromdense.",
            )
        )
    first = operands[0]
    alike = [
        (mat.n_batch, mat.n_dense, mat.dtype, mat.shape[:axis], mat.shape[axis + 1 :])
        for mat in operands
    ]
    if not 0 <= axis < first.ndim or any(own != alike[0] for own in alike):
        raise TypeError(
            message(
                where,
                given=f"{', '.join(map(repr, operands))} along dimension {axis}",
                expected="an axis that all have, and arrays of the same layout and dtype whose "
                "shapes differ along it only",
                fix="Convert with astype and update_layout first.",
            )
        )
    if axis >= first.n_batch + first.n_sparse:
        raise NotImplementedError(
            message(
                f"{where}, argument dimension",
                given=f"the dense axis {axis} of {first!r}",
                expected="a batch or a sparse axis",
                fix="Make the axis sparse with update_layout.",
            )
        )
