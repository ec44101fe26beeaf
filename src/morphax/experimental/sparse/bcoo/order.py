"""The order of what is stored: `bcoo_sort_indices` and `bcoo_sum_duplicates`.

Both sort by the indices along all sparse axes, the first axis first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, final

import numpy as np

from .... import lax
from .... import numpy as jnp
from ....core import Operand, Param, aval_of
from ..operation import SparseOperation
from .layout import (
    batch_places,
    columns,
    concrete_number,
    layout_of,
    padding_place,
    scatter_sum,
    taken,
    with_batch,
)

if TYPE_CHECKING:
    from .array import BCOO


def sorting_order(keys: Sequence[Any], shape: Sequence[int]) -> Any:
    """The order that sorts by `keys`, of shape ``(*batch, nse)``; equal ones keep theirs."""
    numbers = lax.broadcasted_iota(np.int32, shape, len(shape) - 1)
    if not keys:
        return numbers
    return lax.sort((*keys, numbers), dimension=-1, is_stable=True, num_keys=len(keys))[-1]


def starts(keys: Sequence[Any], shape: Sequence[int]) -> Any:
    """Of sorted keys, where one differs from the one before; the first does."""
    found = lax.broadcasted_iota(np.int32, shape, len(shape) - 1) == 0
    for key in keys:
        before = jnp.concatenate([key[..., :1], key[..., :-1]], -1)
        found = found | (key != before)
    return found


def is_first(found: Sequence[Any], inside: Any) -> Any:
    """Where no element in range stands at the same place before, in each batch."""
    shape = aval_of(inside).shape
    # Padding, whose columns are 0, must not come before what stands there.
    keys = [jnp.where(inside, 0, 1), *found]
    order = sorting_order(keys, shape)
    begins = starts([taken(key, order) for key in keys], shape)
    return lax.sort((order, begins), dimension=-1, num_keys=1)[1]


@final
class BCOOSortIndices(SparseOperation):
    """The same elements, sorted by their places.

    Operands: data, indices.
    """

    name = "bcoo_sort_indices"
    multiple_results = True

    def compute(self, *operands: Operand, spinfo: Any, **_: Param) -> Any:
        data, indices = operands
        layout = layout_of(data, indices, spinfo.shape)
        if not layout.n_sparse:
            return data, indices
        batch = np.broadcast_shapes(
            aval_of(data).shape[: layout.n_batch], aval_of(indices).shape[: layout.n_batch]
        )
        indices = with_batch(indices, batch)
        keys = [lax.index_in_dim(indices, i, -1, keepdims=False) for i in range(layout.n_sparse)]
        order = sorting_order(keys, (*batch, layout.nse))
        return taken(with_batch(data, batch), order), taken(indices, order)

    def batched_params(self, size: int, params: dict[str, Param]) -> dict[str, Any]:
        return {"spinfo": params["spinfo"].batched(size)}


@final
class BCOOSumDuplicates(SparseOperation):
    """Elements at equal places added up, sorted by their places; all that is left is padding.

    Operands: data, indices.

    Params:
        nse: how many elements the result holds; if there are more places, the last are dropped.
    """

    name = "bcoo_sum_duplicates"
    multiple_results = True

    def compute(self, *operands: Operand, spinfo: Any, nse: Any, **_: Param) -> Any:
        data, indices = operands
        layout = layout_of(data, indices, spinfo.shape)
        batch, sparse = layout.batch(spinfo.shape), layout.sparse(spinfo.shape)
        indices, data = with_batch(indices, batch), with_batch(data, batch)
        found, inside = columns(indices, sparse)
        keys = [jnp.where(inside, x, size) for x, size in zip(found, sparse, strict=True)]
        whole = (*batch, layout.nse)
        order = sorting_order(keys, whole)
        keys = [taken(key, order) for key in keys]
        group = jnp.cumsum(starts(keys, whole), -1, dtype=np.int32) - 1
        kept = taken(inside, order)
        # Padding goes where it is dropped.
        group = jnp.where(kept, group, nse)
        places = [*batch_places(batch), group]
        rest = layout.dense(spinfo.shape)
        summed = scatter_sum((*batch, nse, *rest), places, taken(data, order))
        dtype = aval_of(indices).dtype
        ends = jnp.broadcast_to(padding_place(sparse, dtype), (*batch, nse, len(sparse)))
        if keys:
            rows = lax.convert_element_type(jnp.stack(keys, -1), dtype)
            ends = ends.at[tuple(places)].set(rows, mode="drop")
        return summed, ends

    def batched_params(self, size: int, params: dict[str, Param]) -> dict[str, Any]:
        return params | {"spinfo": params["spinfo"].batched(size)}


bcoo_sort_indices_p = BCOOSortIndices()
bcoo_sum_duplicates_p = BCOOSumDuplicates()


def bcoo_sort_indices(mat: BCOO) -> BCOO:
    """The same array with what is stored sorted by place.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental import sparse
        >>> x = sparse.BCOO((jnp.array([7.0, 5.0]), jnp.array([[2], [0]])), shape=(3,))
        >>> sparse.bcoo_sort_indices(x).data
        Array([5., 7.], dtype=float32)
    """
    data, indices = bcoo_sort_indices_p.bind(mat.data, mat.indices, spinfo=mat._info)
    return mat.replaced(data=data, indices=indices, indices_sorted=True)


def bcoo_sum_duplicates(mat: BCOO, nse: int | None = None) -> BCOO:
    """Elements at equal places added up, sorted by place.

    Args:
        mat: the array.
        nse: how many elements the result holds; the rest is padding, and what is too much is
            dropped from the end.  If left out, as many as the fullest batch has, which must then
            not be traced.

    Raises:
        ValueError: if `nse` is left out and the array is traced.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental import sparse
        >>> twice = sparse.BCOO((jnp.array([1.0, 2.0]), jnp.array([[3], [3]])), shape=(5,))
        >>> sparse.bcoo_sum_duplicates(twice).data
        Array([3.], dtype=float32)
    """
    info = mat._info
    count = mat.nse if nse is None else nse
    data, indices = bcoo_sum_duplicates_p.bind(mat.data, mat.indices, spinfo=info, nse=count)
    result = mat.replaced(data=data, indices=indices, indices_sorted=True, unique_indices=True)
    if nse is not None:
        return result
    layout = layout_of(data, indices, info.shape)
    if not layout.n_sparse:
        return result.first(min(count, 1))
    inside = columns(indices, layout.sparse(info.shape))[1]
    used = jnp.max(jnp.sum(inside, -1, dtype=np.int32), initial=0)
    return result.first(concrete_number("bcoo_sum_duplicates", used, ValueError))


def without_zeros(mat: BCOO) -> BCOO:
    """Elements that are zero, or blocks of zeros, made padding."""
    layout = layout_of(mat.data, mat.indices, mat.shape)
    rank = aval_of(mat.data).ndim
    is_zero = jnp.all(jnp.equal(mat.data, 0), tuple(range(layout.n_batch + 1, rank)))
    ends = padding_place(layout.sparse(mat.shape), aval_of(mat.indices).dtype)
    return mat.replaced(indices=jnp.where(is_zero[..., None], ends, mat.indices))
