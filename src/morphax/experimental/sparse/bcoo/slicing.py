"""Parts of BCOO arrays: `bcoo_slice`, `bcoo_dynamic_slice` and `bcoo_gather`.

Along a sparse axis an element is kept if its index is in the slice; others become padding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from .... import dtypes, lax
from .... import numpy as jnp
from ....core import aval_of
from ....lax.ground.dimension_numbers import GatherDimensionNumbers
from ....transforms.vmap import vmap
from ....util.messages import message
from .layout import columns, masked, padding_place, with_batch
from .order import bcoo_sum_duplicates
from .permutation import bcoo_transpose
from .relayout import bcoo_update_layout
from .shape_operations import bcoo_squeeze

if TYPE_CHECKING:
    from .array import BCOO


def bcoo_slice(
    mat: BCOO,
    *,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> BCOO:
    """The elements from a start up to a limit along each axis.

    Args:
        mat: the array.
        start_indices, limit_indices, strides: one number for each axis; as those of `lax.slice`.

    Raises:
        ValueError: if there are not so many numbers, or they do not lie in the array.

    Example:
        >>> from morphax.experimental import sparse
        >>> part = sparse.bcoo_slice(sparse.eye(3), start_indices=(0, 1), limit_indices=(2, 3))
        >>> part.todense()
        Array([[0., 0.],
               [1., 0.]], dtype=float32)
    """
    starts, limits = [[index(n) for n in part] for part in (start_indices, limit_indices)]
    steps = [1] * mat.ndim if strides is None else [index(n) for n in strides]
    _check_slice(mat, starts, limits, steps)
    spans = list(zip(starts, limits, steps, strict=True))
    shape = tuple([len(range(*span)) for span in spans])
    n_batch, end = mat.n_batch, mat.n_batch + mat.n_sparse
    data, indices = mat.data, mat.indices
    for axis, span in enumerate(spans):
        if axis < n_batch:
            data, indices = [_cut(x, axis, mat.shape[axis], span) for x in (data, indices)]
        elif axis >= end:
            data = _cut(data, axis - end + n_batch + 1, mat.shape[axis], span)
    return _within(mat, data, indices, shape, spans[n_batch:end])


def _cut(x: Any, axis: int, whole: int, span: tuple[int, int, int]) -> Any:
    """A slice along an axis, that may have size 1 for all members."""
    start, limit, step = span
    if aval_of(x).shape[axis] != whole:
        return lax.slice_in_dim(x, 0, min(1, len(range(*span))), axis=axis)
    return lax.slice_in_dim(x, start, limit, step, axis)


def _check_slice(
    mat: BCOO, starts: Sequence[int], limits: Sequence[int], steps: Sequence[int]
) -> None:
    if {len(starts), len(limits), len(steps)} == {mat.ndim} and all(
        0 <= start <= limit <= size and step > 0
        for start, limit, step, size in zip(starts, limits, steps, mat.shape, strict=True)
    ):
        return
    raise ValueError(
        message(
            "bcoo_slice",
            given=f"start_indices={tuple(starts)}, limit_indices={tuple(limits)}, "
            f"strides={tuple(steps)} for shape {mat.shape}",
            expected="for each axis 0 <= start <= limit <= size, and a positive stride",
            fix="Index the array, mat[start:limit], which takes any bounds.",
        )
    )


def _within(
    mat: BCOO, data: Any, indices: Any, shape: tuple[int, ...], spans: Sequence[Sequence[Any]]
) -> BCOO:
    """The array of `shape` with those elements whose indices are in the spans of sparse axes."""
    whole = mat.layout.sparse(mat.shape)
    n_batch = mat.n_batch
    sparse = shape[n_batch : n_batch + mat.n_sparse]
    pairs = list(zip(spans, whole, strict=True))
    if all(type(span[0]) is int and tuple(span) == (0, n, 1) for span, n in pairs):
        return mat.replaced(
            data=data,
            indices=indices,
            shape=shape,
            indices_sorted=mat.indices_sorted,
            unique_indices=mat.unique_indices,
        )
    found, inside = columns(indices, whole)
    places = []
    for column, (start, limit, step) in zip(found, spans, strict=True):
        moved = column - start
        inside = inside & (moved >= 0) & (column < limit)
        if step != 1:
            width = moved.dtype.type(step)
            inside, moved = inside & (lax.rem(moved, width) == 0), lax.div(moved, width)
        places.append(moved)
    dtype = aval_of(indices).dtype
    ends = padding_place(sparse, dtype)
    indices = jnp.where(inside[..., None], jnp.stack(places, -1).astype(dtype), ends)
    lead = [max(a, b) for a, b in zip(inside.shape[:n_batch], data.shape[:n_batch], strict=True)]
    kept = masked(with_batch(data, lead), with_batch(inside, lead))
    result = mat.replaced(
        data=kept, indices=indices, shape=shape, unique_indices=mat.unique_indices
    )
    # There are not so many places as elements.
    count = math.prod(sparse)
    return bcoo_sum_duplicates(result, nse=count) if count < mat.nse else result


def bcoo_dynamic_slice(mat: BCOO, start_indices: Sequence[Any], slice_sizes: Sequence[int]) -> BCOO:
    """A part of a static size that begins at computed indices.

    Args:
        mat: the array.
        start_indices: one integer for each axis, negative ones counted from the end; the part is
            moved so that it lies in the array, as by `lax.dynamic_slice`.
        slice_sizes: the size along each axis.

    Raises:
        ValueError: if there are not as many starts as axes.
        TypeError: if they are no integers, or sizes do not fit.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental import sparse
        >>> x = sparse.BCOO.fromdense(jnp.array([0.0, 5.0, 0.0, 7.0]))
        >>> sparse.bcoo_dynamic_slice(x, (2,), slice_sizes=(2,)).todense()
        Array([0., 7.], dtype=float32)
    """
    sizes = tuple([index(n) for n in slice_sizes])
    starts = [jnp.asarray(start) for start in start_indices]
    if len(starts) != mat.ndim:
        raise ValueError(_wrong_part(mat, starts, sizes, f"{mat.ndim} indices, one for each axis"))
    if any(not dtypes.issubdtype(start.dtype, np.integer) or start.ndim for start in starts):
        raise TypeError(_wrong_part(mat, starts, sizes, "integers without axes"))
    if len(sizes) != mat.ndim or any(
        not 0 <= n <= size for n, size in zip(sizes, mat.shape, strict=False)
    ):
        raise TypeError(_wrong_part(mat, starts, sizes, "sizes up to those of the array"))
    n_batch, end = mat.n_batch, mat.n_batch + mat.n_sparse
    data, indices = mat.data, mat.indices
    clipped = []
    for start, n, size in zip(starts, sizes, mat.shape, strict=True):
        start = jnp.where(start < 0, start + size, start).astype(np.int32)
        clipped.append(jnp.clip(start, 0, size - n))

    def cut(x: Any, axis: int, number: int) -> Any:
        if aval_of(x).shape[axis] != mat.shape[number]:
            return lax.slice_in_dim(x, 0, min(1, sizes[number]), axis=axis)
        return lax.dynamic_slice_in_dim(x, clipped[number], sizes[number], axis)

    for axis in range(n_batch):
        data, indices = cut(data, axis, axis), cut(indices, axis, axis)
    for axis in range(end, mat.ndim):
        data = cut(data, axis - end + n_batch + 1, axis)
    spans = [
        (clipped[axis], clipped[axis] + sizes[axis], 1)
        if sizes[axis] != mat.shape[axis]
        else (0, sizes[axis], 1)
        for axis in range(n_batch, end)
    ]
    return _within(mat, data, indices, sizes, spans)


def _wrong_part(mat: BCOO, starts: Sequence[Any], sizes: Sequence[int], expected: str) -> str:
    return message(
        "bcoo_dynamic_slice",
        given=f"start_indices {[str(aval_of(s)) for s in starts]} and slice_sizes {sizes} "
        f"for an array of shape {mat.shape}",
        expected=expected,
        fix="Give an integer start and a size for each axis.",
    )


def bcoo_gather(
    operand: BCOO,
    start_indices: Any,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: Any = None,
    fill_value: Any = None,
) -> BCOO:
    """Parts of a static size, one for each index vector; as `lax.gather`.

    Each part is moved so that it lies in the array, whatever `mode` says.  The axes of index
    vectors are batch axes of the result where they come first.

    Args:
        operand: the array.
        start_indices: index vectors, of shape `(..., k)`.
        dimension_numbers: as those of `lax.gather`.
        slice_sizes: the size of a part along each axis.
        unique_indices, indices_are_sorted, mode, fill_value: not used.

    Raises:
        NotImplementedError: if there are operand batching dimensions.
    """
    numbers = dimension_numbers
    if numbers.operand_batching_dims or numbers.start_indices_batching_dims:
        raise NotImplementedError(
            message(
                "bcoo_gather, argument dimension_numbers",
                given=f"operand_batching_dims={numbers.operand_batching_dims}",
                expected="none",
                fix="Use vmap over a batch axis of the array.",
            )
        )
    places = jnp.asarray(start_indices)

    def part(vector: Any) -> BCOO:
        starts = [np.int32(0)] * operand.ndim
        for position, axis in enumerate(numbers.start_index_map):
            starts[axis] = vector[position]
        cut = bcoo_dynamic_slice(operand, starts, slice_sizes)
        return bcoo_squeeze(cut, dimensions=numbers.collapsed_slice_dims)

    function, lead = part, places.ndim - 1
    for _ in range(lead):
        function = vmap(function)
    result = function(places)
    offsets = list(numbers.offset_dims)
    firsts = [axis for axis in range(result.ndim) if axis not in offsets]
    source = dict(zip([*firsts, *offsets], range(result.ndim), strict=True))
    order = [source[axis] for axis in range(result.ndim)]
    if order == sorted(order):
        return result
    return bcoo_transpose(bcoo_update_layout(result, n_batch=0), permutation=order)
