"""Products of BCOO and dense arrays: `bcoo_dot_general` and `bcoo_dot_general_sampled`.

An element at place (i, k) of the sparse operand contributes its product with row k of the dense one
to row i of the result: rows are gathered, multiplied and scattered, at the cost of what is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, final

import numpy as np

from .... import dtypes, lax
from .... import numpy as jnp
from ....array import Array
from ....core import BatchAxes, Operand, Param, aval_of
from ....lax.ground.narrow import COMPUTED_IN
from ....util.compiled import part
from ..operation import SparseOperation, in_front, without_padding
from .dot_numbers import DotNumbers, dot_numbers, dot_shape, result_dtype
from .layout import (
    batch_places,
    columns,
    layout_of,
    masked,
    scatter_sum,
    with_batch,
)

native: Any = part("kernels")


class _Roles(NamedTuple):
    """What becomes of the axes of a sparse operand: the axis of the dense one that each meets."""

    met: dict[int, int]
    kept_batch: list[int]  # batch axes of the result, in their order in the operand
    free_sparse: list[int]


def _roles(numbers: DotNumbers, n_batch: int, n_sparse: int) -> _Roles:
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = numbers
    met = dict(zip((*lhs_contract, *lhs_batch), (*rhs_contract, *rhs_batch), strict=True))
    kept = [axis for axis in range(n_batch) if axis not in lhs_contract]
    free = [axis for axis in range(n_batch, n_batch + n_sparse) if axis not in met]
    return _Roles(met, kept, free)


@final
class BCOODotGeneral(SparseOperation):
    """The product of a sparse and a dense array over some of their axes; the result is dense.

    Operands: data and indices of the sparse array, the dense one.

    Params:
        dimension_numbers: as those of `lax.dot_general`.
        preferred_element_type: the dtype of the result.
        lhs_spinfo: what is static of the sparse operand.
    """

    name = "bcoo_dot_general"
    linear_in = (0, 2)

    def compute(
        self,
        *operands: Operand,
        dimension_numbers: Any,
        preferred_element_type: Any,
        lhs_spinfo: Any,
        **_: Param,
    ) -> Any:
        data, indices, rhs = operands
        shape, rank = lhs_spinfo.shape, aval_of(rhs).ndim
        layout = layout_of(data, indices, shape)
        n_batch, batch = layout.n_batch, layout.batch(shape)
        roles = _roles(dimension_numbers, n_batch, layout.n_sparse)
        dtype = result_dtype(data, rhs, preferred_element_type)
        wide = COMPUTED_IN.get(dtype, dtype)
        found, inside = columns(indices, layout.sparse(shape))
        data = with_batch(masked(data, inside), batch).astype(wide)
        places = [*batch_places(batch), *found]
        rows = _gathered(rhs, [(roles.met[a], places[a]) for a in sorted(roles.met)])
        # Axes of the product: batch, stored elements, dense ones of the left, others of the right.
        rows = _padded(rows, n_batch + 1, len(roles.met), rank).astype(wide)
        rest = rows.shape[n_batch + 1 :]
        dense = range(n_batch + 1, n_batch + 1 + layout.n_dense)
        product = lax.expand_dims(data, range(data.ndim, data.ndim + len(rest))) * lax.expand_dims(
            rows, dense
        )
        # Once more, for what a masked element is multiplied by may be infinite.
        product = masked(product, inside)
        kept = [shape[a] for a in roles.kept_batch]
        free = [shape[a] for a in roles.free_sparse]
        whole = (*kept, *free, *layout.dense(shape), *rest)
        if free:
            index = [places[a] for a in (*roles.kept_batch, *roles.free_sparse)]
            total = scatter_sum(whole, index, product)
        else:
            gone = [a for a in range(n_batch) if a not in roles.kept_batch]
            total = _summed(product, (*gone, n_batch))
        # Batch axes of the product come first, in its order.
        first = [roles.kept_batch.index(a) for a in dimension_numbers[1][0]]
        others = [a for a in range(len(whole)) if a not in first]
        return lax.transpose(total, (*first, *others)).astype(dtype)

    def execute(self, *operands: Any, **params: Any) -> Any:
        if any([x._committed for x in operands]) or not _is_matrix_product(*operands, **params):
            return super().execute(*operands, **params)
        data, indices, rhs = [x.to_host() for x in operands]
        rows = np.ascontiguousarray(rhs[:, None] if rhs.ndim == 1 else rhs)
        out = np.zeros((params["lhs_spinfo"].shape[0], rows.shape[1]), data.dtype)
        native.sparse_product(*map(np.ascontiguousarray, (data, indices)), rows, out)
        return Array.from_host(out[:, 0] if rhs.ndim == 1 else out)

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Operand],
        dims: Sequence[int | None],
        **params: Param,
    ) -> tuple[Any, Any]:
        data, indices, rhs = operands
        of_lhs, of_rhs = dims[0] is not None or dims[1] is not None, dims[2] is not None
        if of_lhs:
            data, indices = in_front(data, dims[0]), in_front(indices, dims[1])
        if of_rhs:
            rhs = in_front(rhs, dims[2])
        changed, out_dim = moved_product(axes, params, of_lhs=of_lhs, of_rhs=of_rhs)
        return self.bind(data, indices, rhs, **params | changed), out_dim


def _is_matrix_product(
    data: Array,
    indices: Array,
    rhs: Array,
    *,
    dimension_numbers: Any,
    lhs_spinfo: Any,
    **params: Any,
) -> bool:
    """Whether the compiled kernel can take a product: of a matrix, and a vector or a matrix."""
    dtype = data.aval.dtype
    return (
        native is not None
        and dimension_numbers == (((1,), (0,)), ((), ()))
        and len(lhs_spinfo.shape) == indices.aval.ndim == 2
        and indices.aval.shape[1] == 2
        and data.aval.ndim == 1
        and rhs.aval.ndim in (1, 2)
        and rhs.aval.dtype == dtype
        and indices.aval.dtype == np.int32
        and str(dtype) in ("float32", "float64")
        and params["preferred_element_type"] in (None, dtype)
    )


def moved_product(
    axes: BatchAxes, params: dict[str, Param], *, of_lhs: bool, of_rhs: bool
) -> tuple[dict[str, Any], int]:
    """The parameters of a product whose operands have a mapped axis in front, and its new place."""
    numbers: Any = params["dimension_numbers"]
    info: Any = params["lhs_spinfo"]
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = numbers
    if of_lhs:
        lhs_contract, lhs_batch = _moved_on(lhs_contract), _moved_on(lhs_batch)
        info = info.batched(axes.size)
    if of_rhs:
        rhs_contract, rhs_batch = _moved_on(rhs_contract), _moved_on(rhs_batch)
    out_dim = len(lhs_batch)
    if of_lhs and of_rhs:
        lhs_batch, rhs_batch, out_dim = (0, *lhs_batch), (0, *rhs_batch), 0
    elif of_rhs:
        out_dim = len(info.shape) - len(lhs_contract)
    moved = ((lhs_contract, rhs_contract), (lhs_batch, rhs_batch))
    return {"dimension_numbers": moved, "lhs_spinfo": info}, out_dim


def _moved_on(axes: Sequence[int]) -> tuple[int, ...]:
    return tuple([axis + 1 for axis in axes])


def _summed(x: Any, axes: Sequence[int]) -> Any:
    if x.dtype == np.bool_:
        return jnp.any(x, tuple(axes))
    return jnp.sum(x, tuple(axes), dtype=x.dtype)


def _gathered(x: Any, chosen: Sequence[tuple[int, Any]]) -> Any:
    """`x` at places along some of its axes, which one set of axes in front replaces."""
    if not chosen:
        return x
    axes = [axis for axis, _ in chosen]
    shape = aval_of(x).shape
    others = [axis for axis in range(len(shape)) if axis not in axes]
    lead = np.broadcast_shapes(*[aval_of(place).shape for _, place in chosen])
    if any(shape[axis] == 0 for axis in axes):
        # All is padding, and there is nothing to read instead.
        return jnp.zeros((*lead, *[shape[axis] for axis in others]), aval_of(x).dtype)
    return lax.transpose(x, (*axes, *others))[tuple([place for _, place in chosen])]


def _padded(x: Any, lead: int, chosen: int, rank: int) -> Any:
    """What `_gathered` gave, with `lead` axes in front even if nothing was chosen."""
    return x if chosen else lax.expand_dims(x, range(lead))


@final
class BCOODotGeneralSampled(SparseOperation):
    """The product of two dense arrays, computed at given places of the result alone.

    Operands: the arrays, indices.

    Params:
        dimension_numbers: as those of `lax.dot_general`.
    """

    name = "bcoo_dot_general_sampled"
    linear_in = (0, 1)

    def compute(self, *operands: Operand, dimension_numbers: Any, **_: Param) -> Any:
        lhs, rhs, indices = operands
        (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
        shape, places = dot_shape(lhs, rhs, dimension_numbers), aval_of(indices)
        end = places.ndim - 2 + places.shape[-1]
        batch = shape[: places.ndim - 2]
        found, inside = columns(indices, shape[len(batch) : end])
        place = [*batch_places(batch), *found]
        whole = (*batch, places.shape[-2])
        # Which axis of the result each axis of an operand becomes.
        ranks = [aval_of(x).ndim for x in (lhs, rhs)]
        lhs_free = [a for a in range(ranks[0]) if a not in (*lhs_contract, *lhs_batch)]
        rhs_free = [a for a in range(ranks[1]) if a not in (*rhs_contract, *rhs_batch)]
        n_first = len(lhs_batch)
        lhs_axes = {a: i for i, a in enumerate((*lhs_batch, *lhs_free))}
        rhs_axes = {a: i for i, a in enumerate(rhs_batch)}
        rhs_axes |= {a: n_first + len(lhs_free) + i for i, a in enumerate(rhs_free)}

        def prepared(x: Any, axes: dict[int, int], contract: Sequence[int]) -> tuple[Any, Any]:
            """The rows that are needed, and which axis of them each remaining axis is."""
            chosen = [(a, place[i]) for a, i in axes.items() if i < end]
            rows = _padded(_gathered(x, chosen), len(whole), len(chosen), aval_of(x).ndim)
            # Masked, lest an infinite row that is not asked for gets into derivatives.
            rows = jnp.broadcast_to(rows, (*whole, *rows.shape[len(whole) :]))
            rows = masked(rows, jnp.broadcast_to(inside, whole))
            gone = {a for a, _ in chosen}
            left = [a for a in range(aval_of(x).ndim) if a not in gone]
            return rows, {a: len(whole) + i for i, a in enumerate(left)}

        lhs_rows, lhs_left = prepared(lhs, lhs_axes, lhs_contract)
        rhs_rows, rhs_left = prepared(rhs, rhs_axes, rhs_contract)
        lead = tuple(range(len(whole)))
        dense = [(a, b) for a, b in zip(lhs_batch, rhs_batch, strict=True) if a in lhs_left]
        result = lax.dot_general(
            lhs_rows,
            rhs_rows,
            (
                ([lhs_left[a] for a in lhs_contract], [rhs_left[a] for a in rhs_contract]),
                (
                    (*lead, *[lhs_left[a] for a, _ in dense]),
                    (*lead, *[rhs_left[b] for _, b in dense]),
                ),
            ),
        )
        return masked(result, inside)

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Operand],
        dims: Sequence[int | None],
        **params: Param,
    ) -> tuple[Any, Any]:
        lhs, rhs, indices = [in_front(x, d) for x, d in zip(operands, dims, strict=True)]
        (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = params["dimension_numbers"]
        lhs, rhs = [jnp.broadcast_to(x, (axes.size, *x.shape[1:])) for x in (lhs, rhs)]
        numbers = (
            (_moved_on(lhs_contract), _moved_on(rhs_contract)),
            ((0, *_moved_on(lhs_batch)), (0, *_moved_on(rhs_batch))),
        )
        return without_padding(axes, self.bind(lhs, rhs, indices, dimension_numbers=numbers))


bcoo_dot_general_p = BCOODotGeneral()
bcoo_dot_general_sampled_p = BCOODotGeneralSampled()


def sparse_times_dense(
    lhs: Any, rhs: Operand, numbers: DotNumbers, preferred_element_type: Any
) -> Any:
    """`bcoo_dot_general` of a sparse and a dense array."""
    return bcoo_dot_general_p.bind(
        lhs.data,
        lhs.indices,
        rhs,
        dimension_numbers=numbers,
        preferred_element_type=preferred_element_type,
        lhs_spinfo=lhs._info,
    )


def bcoo_dot_general_sampled(A: Any, B: Any, indices: Any, *, dimension_numbers: Any) -> Any:
    """The product of two dense arrays at places of the result: (A B)[indices].

    Only what is asked for is computed.

    Args:
        A, B: dense arrays.
        indices: of shape ``(*batch, nse, n_sparse)``, places in the result as those of `BCOO`.
        dimension_numbers: as those of `lax.dot_general`.

    Returns:
        The data of the `BCOO` with these indices; zero at places out of range.

    Raises:
        TypeError: if axes that meet differ in size.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental import sparse
        >>> x = jnp.arange(6.0).reshape(2, 3)
        >>> places = jnp.array([[0, 1], [1, 1]])
        >>> numbers = (((1,), (1,)), ((), ()))
        >>> sparse.bcoo_dot_general_sampled(x, x, places, dimension_numbers=numbers)
        Array([14., 50.], dtype=float32)
    """
    lhs, rhs, places = jnp.asarray(A), jnp.asarray(B), jnp.asarray(indices)
    numbers = dot_numbers("bcoo_dot_general_sampled", lhs.shape, rhs.shape, dimension_numbers)
    dtype = dtypes.result_type(lhs, rhs)
    lhs, rhs = lax.convert_element_type(lhs, dtype), lax.convert_element_type(rhs, dtype)
    layout_of_places(places, dot_shape(lhs, rhs, numbers))
    return bcoo_dot_general_sampled_p.bind(lhs, rhs, places, dimension_numbers=numbers)


def layout_of_places(indices: Any, shape: Sequence[int]) -> None:
    """Raise what `layout_of` raises unless `indices` are places in an array of `shape`."""
    aval = aval_of(indices)
    n_batch = max(aval.ndim - 2, 0)
    n_sparse = aval.shape[-1] if aval.ndim else 0
    sizes = (*shape[:n_batch], *aval.shape[-2:-1], *shape[n_batch + n_sparse :])
    layout_of(jnp.zeros(sizes, np.bool_), indices, shape)
