"""Between BCOO and dense arrays: `bcoo_fromdense`, `bcoo_todense` and `bcoo_extract`.

To store is to gather the elements that are not zero; to make dense is to scatter them, and the
transpose of that is to gather at given places, `bcoo_extract`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, final

import numpy as np

from .... import lax
from .... import numpy as jnp
from ....core import (
    BatchAxes,
    Operand,
    Param,
    aval_of,
    not_linear,
)
from ....core.dims import max_dim
from ....lax.shape.filling import size_value
from ....util.messages import message
from ..operation import SparseOperation, in_front, program_jvp
from .layout import (
    SparseInfo,
    batch_places,
    check_layout,
    columns,
    concrete_number,
    index_type,
    layout_of,
    masked,
    padding_place,
    scatter_sum,
)
from .order import is_first

if TYPE_CHECKING:
    from .array import BCOO


@final
class BCOOToDense(SparseOperation):
    """The dense array with the stored elements at their places, all others zero.

    Operands: data, indices.
    """

    name = "bcoo_todense"

    def compute(self, *operands: Operand, spinfo: Any, **_: Param) -> Any:
        data, indices = operands
        shape = spinfo.shape
        layout = layout_of(data, indices, shape)
        batch = layout.batch(shape)
        found, inside = columns(indices, layout.sparse(shape))
        kept = masked(data, inside)
        whole = (*batch, layout.nse, *layout.dense(shape))
        return scatter_sum(shape, [*batch_places(batch), *found], jnp.broadcast_to(kept, whole))

    def transpose(self, ct: Any, *operands: Any, **params: Param) -> list[Any]:
        data, indices = operands
        found = bcoo_extract_p.bind(indices, ct, assume_unique=True)
        return [_summed_to(found, data.aval.shape), None]

    def batched_params(self, size: int, params: dict[str, Param]) -> dict[str, Any]:
        return {"spinfo": params["spinfo"].batched(size)}


def _summed_to(x: Operand, shape: Sequence[int]) -> Any:
    """The cotangent of an operand that had axes of size 1 for a whole batch."""
    pairs = enumerate(zip(aval_of(x).shape, shape, strict=True))
    axes = tuple([axis for axis, (given, size) in pairs if given != size])
    return jnp.sum(x, axes, keepdims=True) if axes else x


@final
class BCOOExtract(SparseOperation):
    """The elements of a dense array at places; zero for padding.

    Operands: indices, array.

    Params:
        assume_unique: whether all elements are read; otherwise an element that stands at the place
            of an earlier one is zero, so that the sum is right.
    """

    name = "bcoo_extract"
    linear_in = (1,)

    def compute(self, *operands: Operand, assume_unique: Any, **_: Param) -> Any:
        indices, dense = operands
        shape, places = aval_of(dense).shape, aval_of(indices)
        n_batch, n_sparse = places.ndim - 2, places.shape[-1]
        batch, sparse = shape[:n_batch], shape[n_batch : n_batch + n_sparse]
        found, inside = columns(indices, sparse)
        if not assume_unique:
            inside = inside & is_first(found, inside)
        whole = (*batch, places.shape[-2])
        if 0 in sparse:
            return jnp.zeros((*whole, *shape[n_batch + n_sparse :]), aval_of(dense).dtype)
        index = [jnp.broadcast_to(x, whole) for x in (*batch_places(batch), *found)]
        elements = dense[tuple(index)] if index else jnp.broadcast_to(dense, (*whole, *shape))
        return masked(elements, inside)

    def transpose(self, ct: Any, *operands: Any, assume_unique: Any, **params: Param) -> list[Any]:
        indices, dense = operands
        if not assume_unique:
            return super().transpose(ct, *operands, assume_unique=assume_unique, **params)
        info = SparseInfo(dense.aval.shape)
        return [None, bcoo_todense_p.bind(ct, indices, spinfo=info)]

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Operand],
        dims: Sequence[int | None],
        **params: Param,
    ) -> tuple[Any, Any]:
        indices, dense = [in_front(x, d) for x, d in zip(operands, dims, strict=True)]
        dense = jnp.broadcast_to(dense, (axes.size, *aval_of(dense).shape[1:]))
        return self.bind(indices, dense, **params), 0


@final
class BCOOFromDense(SparseOperation):
    """The elements that are not zero, and their places; what is left of `nse` is padding.

    Operand: the dense array.

    Params:
        nse: how many elements of each batch are stored, the first ones; a block of the dense axes
            is one element, which is zero if all of it is.
        n_batch, n_dense: the layout.
        index_dtype: of the places.
    """

    name = "bcoo_fromdense"
    multiple_results = True
    transpose = not_linear("which elements are stored depends on the operand")

    def compute(
        self, *operands: Operand, nse: Any, n_batch: Any, n_dense: Any, index_dtype: Any, **_: Param
    ) -> Any:
        (dense,) = operands
        shape = aval_of(dense).shape
        end = len(shape) - n_dense
        batch, sparse = shape[:n_batch], shape[n_batch:end]
        count = math.prod(sparse)
        mask = lax.reshape(_stored(dense, n_dense), (*batch, count))
        # The place of each stored element among those of its batch.
        rank = jnp.cumsum(mask, -1, dtype=np.int32) - 1
        slot = jnp.where(mask & (rank < nse), rank, nse)
        numbers = jnp.broadcast_to(lax.iota(np.int32, count), slot.shape)
        flat = jnp.full((*batch, nse), count, np.int32)
        flat = flat.at[(*batch_places(batch), slot)].set(numbers, mode="drop")
        inside = flat < count
        found = unravelled(flat, sparse)
        if count and nse:
            index = (*batch_places(batch), *[jnp.where(inside, x, 0) for x in found])
            whole = jnp.broadcast_to(dense, (nse, *shape)) if not index else dense[index]
            data = jnp.broadcast_to(whole, (*batch, nse, *shape[end:]))
        else:
            data = jnp.zeros((*batch, nse, *shape[end:]), aval_of(dense).dtype)
        indices = jnp.stack(found, -1) if found else jnp.zeros((*batch, nse, 0), np.int32)
        ends = padding_place(sparse, index_dtype)
        indices = jnp.where(inside[..., None], lax.convert_element_type(indices, index_dtype), ends)
        return masked(data, inside), indices

    def jvp(
        self, primals: Sequence[Operand], tangents: Sequence[Operand], **params: Param
    ) -> tuple[Any, Any]:
        """Places do not move: what is stored is gathered from the tangent too."""
        return program_jvp(self, primals, tangents, params)

    def batched_params(self, size: int, params: dict[str, Param]) -> dict[str, Any]:
        n_batch: Any = params["n_batch"]
        return params | {"n_batch": n_batch + 1}


def _stored(dense: Operand, n_dense: int) -> Any:
    """Where a block of the dense axes has an element that is not zero."""
    rank = aval_of(dense).ndim
    return jnp.any(jnp.not_equal(dense, 0), tuple(range(rank - n_dense, rank)))


def unravelled(flat: Operand, sizes: Sequence[int]) -> list[Any]:
    """For each axis of these sizes the index that a row-major position stands for."""
    found = []
    step = math.prod(sizes)
    for size in sizes:
        step = step // size if size else 0
        stride, extent = (size_value(max_dim(n, 1), np.dtype(np.int32)) for n in (step, size))
        found.append(lax.rem(lax.div(flat, stride), extent))
    return found


bcoo_todense_p = BCOOToDense()
bcoo_extract_p = BCOOExtract()
bcoo_fromdense_p = BCOOFromDense()


def bcoo_todense(mat: BCOO) -> Any:
    """The same numbers as a dense array, of the same shape and dtype.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental import sparse
        >>> sparse.bcoo_todense(sparse.BCOO.fromdense(jnp.array([0.0, 2.0])))
        Array([0., 2.], dtype=float32)
    """
    return bcoo_todense_p.bind(mat.data, mat.indices, spinfo=mat._info)


def fromdense_options(
    where: str, dense: Any, nse: int | None, n_batch: int, n_dense: int, index_dtype: Any
) -> dict[str, Any]:
    """The parameters with which a dense array is made sparse, checked."""
    rank = aval_of(dense).ndim
    check_layout(where, rank, n_batch, n_dense)
    kind = index_type(where, index_dtype, dense.shape[n_batch : rank - n_dense])
    if nse is None:
        nse = _count(where, dense, n_batch, n_dense)
    if nse < 0:
        raise TypeError(
            message(
                f"{where}, argument nse",
                given=f"{nse}",
                expected="a number of elements",
                fix="Leave it out to store all elements that are not zero.",
            )
        )
    return {"nse": nse, "n_batch": n_batch, "n_dense": n_dense, "index_dtype": kind}


def _count(where: str, dense: Any, n_batch: int, n_dense: int) -> int:
    """The most elements that a batch has; `ConcretizationTypeError` if that is traced."""
    mask = _stored(dense, n_dense)
    counts = jnp.sum(mask, tuple(range(n_batch, aval_of(mask).ndim)), dtype=np.int32)
    return concrete_number(where, jnp.max(counts, initial=0))


def bcoo_extract(sparr: BCOO, arr: Any, *, assume_unique: bool | None = None) -> BCOO:
    """The elements of a dense array where a sparse one has elements.

    Args:
        sparr: whose places are used.
        arr: array of the shape of `sparr`.
        assume_unique: whether each stored element is read; otherwise of those at equal places only
            the first, so that their sum is right.  ``sparr.unique_indices`` if left out.

    Raises:
        ValueError: if the shapes differ.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental import sparse
        >>> mask = sparse.BCOO.fromdense(jnp.eye(2))
        >>> sparse.bcoo_extract(mask, jnp.array([[1.0, 2.0], [3.0, 4.0]])).data
        Array([1., 4.], dtype=float32)
    """
    dense = jnp.asarray(arr)
    if dense.shape != sparr.shape:
        raise ValueError(
            message(
                "bcoo_extract, argument arr",
                given=f"shape {dense.shape}",
                expected=f"that of the sparse array, {sparr.shape}",
                fix="Broadcast the dense array first.",
            )
        )
    unique = sparr.unique_indices if assume_unique is None else bool(assume_unique)
    return sparr.replaced(data=bcoo_extract_p.bind(sparr.indices, dense, assume_unique=unique))
