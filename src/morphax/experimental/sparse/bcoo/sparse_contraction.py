"""Products of two sparse arrays; and `bcoo_dot_general`, which chooses between products."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, final

from .... import lax
from .... import numpy as jnp
from ....core import Operand, Param, aval_of
from ....util.messages import message
from ..base import JAXSparse
from ..operation import SparseOperation
from .contraction import sparse_times_dense
from .dot_numbers import DotNumbers, dot_numbers, product_shape, result_dtype
from .layout import SparseInfo, columns, layout_of, masked, padding_place, with_batch
from .order import bcoo_sum_duplicates_p

if TYPE_CHECKING:
    from .array import BCOO


@final
class BCOOSpDotGeneral(SparseOperation):
    """The product of two sparse arrays over sparse axes of both; the result is sparse.

    Every pair of stored elements is looked at, so time and memory go with the product of their
    numbers; pairs at equal places are added up.

    Operands: data and indices of both.

    Params:
        dimension_numbers: as those of `lax.dot_general`; all batch axes are batch axes of both.
        preferred_element_type: the dtype of the result.
        lhs_spinfo, rhs_spinfo: what is static of the operands.
    """

    name = "bcoo_spdot_general"
    multiple_results = True
    linear_in = (0, 2)

    def compute(
        self,
        *operands: Operand,
        dimension_numbers: Any,
        preferred_element_type: Any,
        lhs_spinfo: Any,
        rhs_spinfo: Any,
        **_: Param,
    ) -> Any:
        lhs_data, lhs_indices, rhs_data, rhs_indices = operands
        (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
        dtype = result_dtype(lhs_data, rhs_data, preferred_element_type)
        shape = product_shape(lhs_spinfo.shape, rhs_spinfo.shape, dimension_numbers)
        lhs_free = _free_batch(lhs_indices, lhs_batch)
        rhs_free = _free_batch(rhs_indices, rhs_batch)
        n_batch = len(lhs_batch) + len(lhs_free) + len(rhs_free)
        batch = shape[:n_batch]
        lhs = _stored(lhs_data, lhs_indices, lhs_spinfo.shape, (*lhs_batch, *lhs_free))
        rhs = _stored(rhs_data, rhs_indices, rhs_spinfo.shape, (*rhs_batch, *rhs_free))
        # One set of batch axes, then the elements of the left operand, then those of the right.
        rank = n_batch - len(rhs_free)
        lhs = lhs.spread((*range(rank, n_batch), n_batch + 1))
        rhs = rhs.spread((*range(len(lhs_batch), rank), n_batch))
        inside = lhs.inside & rhs.inside
        for a, b in zip(lhs_contract, rhs_contract, strict=True):
            inside = inside & (lhs.places[a] == rhs.places[b])
        product = lhs.data.astype(dtype) * rhs.data.astype(dtype)
        free = [lhs.places[a] for a in lhs.places if a not in lhs_contract]
        free += [rhs.places[b] for b in rhs.places if b not in rhs_contract]
        pairs = math.prod(aval_of(inside).shape[len(batch) :])
        kind = jnp.promote_types(aval_of(lhs_indices).dtype, aval_of(rhs_indices).dtype)
        sparse = shape[len(batch) :]
        indices = _joined([jnp.broadcast_to(x, inside.shape) for x in free], batch, pairs, kind)
        inside = inside.reshape((*batch, pairs))
        indices = jnp.where(inside[..., None], indices, padding_place(sparse, kind))
        data = masked(product.reshape((*batch, pairs)), inside)
        nse = min(pairs, math.prod(sparse))
        return bcoo_sum_duplicates_p.bind(data, indices, spinfo=SparseInfo(shape), nse=nse)

    def batched_params(self, size: int, params: dict[str, Param]) -> dict[str, Any]:
        numbers: Any = params["dimension_numbers"]
        contract, batch = [[[a + 1 for a in axes] for axes in pair] for pair in numbers]
        moved = (
            (tuple(contract[0]), tuple(contract[1])),
            ((0, *batch[0]), (0, *batch[1])),
        )
        infos: Any = params["lhs_spinfo"], params["rhs_spinfo"]
        return params | {
            "dimension_numbers": moved,
            "lhs_spinfo": infos[0].batched(size),
            "rhs_spinfo": infos[1].batched(size),
        }


def _free_batch(indices: Operand, batch: Sequence[int]) -> tuple[int, ...]:
    """The batch axes that an operand does not share with the other one."""
    return tuple([axis for axis in range(aval_of(indices).ndim - 2) if axis not in batch])


class _Stored(NamedTuple):
    """What an operand stores: data, its places along each sparse axis, and which are in range."""

    data: Any
    places: dict[int, Any]
    inside: Any

    def spread(self, axes: Sequence[int]) -> _Stored:
        """The same with more axes, of size 1."""
        found = {axis: lax.expand_dims(x, axes) for axis, x in self.places.items()}
        return _Stored(lax.expand_dims(self.data, axes), found, lax.expand_dims(self.inside, axes))


def _stored(data: Any, indices: Any, shape: Sequence[int], batch: Sequence[int]) -> _Stored:
    """The parts of an operand, with its batch axes in another order."""
    layout = layout_of(data, indices, shape)
    sizes = layout.batch(shape)
    found, inside = columns(with_batch(indices, sizes), layout.sparse(shape))
    data = masked(with_batch(data, sizes), inside)
    order = (*batch, layout.n_batch)
    places = {layout.n_batch + i: lax.transpose(x, order) for i, x in enumerate(found)}
    return _Stored(lax.transpose(data, order), places, lax.transpose(inside, order))


def _joined(found: Sequence[Any], batch: Sequence[int], pairs: int, dtype: Any) -> Any:
    """Indices of all pairs, one after the other."""
    if not found:
        return jnp.zeros((*batch, pairs, 0), dtype)
    return jnp.stack(found, -1).reshape((*batch, pairs, len(found))).astype(dtype)


bcoo_spdot_general_p = BCOOSpDotGeneral()


def bcoo_dot_general(
    lhs: BCOO | Any,
    rhs: BCOO | Any,
    *,
    dimension_numbers: Any,
    precision: None = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> BCOO | Any:
    """The product of arrays, sparse or dense, over some of their axes.

    Args:
        lhs, rhs: BCOO or dense arrays.
        dimension_numbers: as those of `lax.dot_general`: ``((lhs_contract, rhs_contract),
            (lhs_batch, rhs_batch))``.
        precision: not used.
        preferred_element_type: the dtype of the result; that of both together if left out.
        out_sharding: not used.

    Returns:
        A BCOO array if both operands are sparse, otherwise a dense one.  Its axes are the batch
        axes, then those of `lhs` that are left, then those of `rhs`.

    Raises:
        TypeError: if axes that meet differ in size.
        NotImplementedError: if a batch axis of the product is no batch axis of a sparse operand, if
            dense axes are contracted, or, where both are sparse, axes that are not sparse.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental import sparse
        >>> m = sparse.eye(3)
        >>> sparse.bcoo_dot_general(m, jnp.arange(3.0), dimension_numbers=(((1,), (0,)), ((), ())))
        Array([0., 1., 2.], dtype=float32)
    """
    left: Any = lhs if isinstance(lhs, JAXSparse) else jnp.asarray(lhs)
    right: Any = rhs if isinstance(rhs, JAXSparse) else jnp.asarray(rhs)
    numbers = dot_numbers("bcoo_dot_general", left.shape, right.shape, dimension_numbers)
    kind = preferred_element_type
    if isinstance(left, JAXSparse):
        if isinstance(right, JAXSparse):
            return _both_sparse(left, right, numbers, kind)
        _check_axes(left, numbers[0][0], numbers[1][0])
        return sparse_times_dense(left, right, numbers, kind)
    if isinstance(right, JAXSparse):
        _check_axes(right, numbers[0][1], numbers[1][1])
        swapped = (numbers[0][::-1], numbers[1][::-1])
        result = sparse_times_dense(right, left, swapped, kind)
        n_batch = len(numbers[1][0])
        of_rhs = right.ndim - n_batch - len(numbers[0][1])
        ndim = aval_of(result).ndim
        first, middle = range(n_batch), range(n_batch, n_batch + of_rhs)
        return lax.transpose(result, (*first, *range(n_batch + of_rhs, ndim), *middle))
    return lax.dot_general(left, right, numbers, preferred_element_type=kind)


def _check_axes(mat: Any, contract: Sequence[int], batch: Sequence[int]) -> None:
    if any(axis >= mat.n_batch for axis in batch):
        raise _refused(mat, f"batch axes {batch}", "batch axes among those of the format")
    if any(axis >= mat.n_batch + mat.n_sparse for axis in contract):
        raise _refused(mat, f"axes {contract} to contract", "no dense axes among them")


def _refused(mat: Any, given: str, expected: str) -> NotImplementedError:
    return NotImplementedError(
        message(
            "bcoo_dot_general",
            given=f"{given} of {mat!r}",
            expected=expected,
            fix="Change the layout of the sparse array with update_layout.",
        )
    )


def _both_sparse(lhs: Any, rhs: Any, numbers: DotNumbers, preferred: Any) -> BCOO:
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = numbers
    for mat, contract, batch in (
        (lhs, lhs_contract, lhs_batch),
        (rhs, rhs_contract, rhs_batch),
    ):
        if mat.n_dense:
            raise _refused(mat, "a product of two sparse arrays", "no dense axes")
        _check_axes(mat, contract, batch)
        if any(axis < mat.n_batch for axis in contract):
            raise _refused(mat, f"axes {contract} to contract", "sparse axes")
    if rhs.n_batch > len(rhs_batch) and lhs.n_sparse > len(lhs_contract):
        error = _refused(
            rhs,
            f"batch axes {rhs_batch}, with sparse axes of the left operand in front",
            "all batch axes of the format to be batch axes of the product",
        )
        raise ValueError(str(error))
    data, indices = bcoo_spdot_general_p.bind(
        lhs.data,
        lhs.indices,
        rhs.data,
        rhs.indices,
        dimension_numbers=numbers,
        preferred_element_type=preferred,
        lhs_spinfo=lhs._info,
        rhs_spinfo=rhs._info,
    )
    shape = product_shape(lhs.shape, rhs.shape, numbers)
    found: BCOO = lhs.replaced(
        data=data, indices=indices, shape=shape, indices_sorted=True, unique_indices=True
    )
    return found
