"""The primitives of BCSR, and the functions that bind them.

Each is the operation of BCOO on the same elements; see there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, final

from .... import lax
from .... import numpy as jnp
from ....core import BatchAxes, Operand, Param, aval_of, not_linear
from ....util.messages import message
from ..base import JAXSparse
from ..bcoo.contraction import bcoo_dot_general_p, moved_product
from ..bcoo.dense import bcoo_extract_p, bcoo_fromdense_p, bcoo_todense_p
from ..bcoo.dot_numbers import dot_numbers
from ..bcoo.layout import SparseInfo, columns, concrete_number
from ..bcoo.order import bcoo_sum_duplicates_p
from ..operation import SparseOperation, in_front, program_jvp
from .rows import compressed, coordinates

if TYPE_CHECKING:
    from .array import BCSR


@final
class BCSRToDense(SparseOperation):
    """The dense array.

    Operands: data, indices, indptr.
    """

    name = "bcsr_todense"

    def compute(self, *operands: Operand, spinfo: Any, **_: Param) -> Any:
        data, indices, indptr = operands
        return bcoo_todense_p.bind(data, coordinates(indices, indptr), spinfo=_unsorted(spinfo))

    def batched_params(self, size: int, params: dict[str, Param]) -> dict[str, Any]:
        return {"spinfo": params["spinfo"].batched(size)}


def _unsorted(info: Any) -> SparseInfo:
    return SparseInfo(info.shape)


@final
class BCSRExtract(SparseOperation):
    """The elements of a dense array at all places.

    Operands: indices, indptr, array.
    """

    name = "bcsr_extract"
    linear_in = (2,)

    def compute(self, *operands: Operand, **_: Param) -> Any:
        indices, indptr, dense = operands
        return bcoo_extract_p.bind(coordinates(indices, indptr), dense, assume_unique=True)

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Operand],
        dims: Sequence[int | None],
        **params: Param,
    ) -> tuple[Any, Any]:
        indices, indptr, dense = [in_front(x, d) for x, d in zip(operands, dims, strict=True)]
        dense = jnp.broadcast_to(dense, (axes.size, *aval_of(dense).shape[1:]))
        return self.bind(indices, indptr, dense), 0


@final
class BCSRFromDense(SparseOperation):
    """Data, indices and indptr of the elements that are not zero.

    Params:
        nse, n_batch, n_dense, index_dtype: as those of `bcoo_fromdense`.
    """

    name = "bcsr_fromdense"
    multiple_results = True
    transpose = not_linear("which elements are stored depends on the operand")

    def compute(self, *operands: Operand, **params: Any) -> Any:
        (dense,) = operands
        data, indices = bcoo_fromdense_p.bind(dense, **params)
        rows = aval_of(dense).shape[params["n_batch"]]
        return data, *compressed(indices, rows, params["index_dtype"])

    def jvp(
        self, primals: Sequence[Operand], tangents: Sequence[Operand], **params: Param
    ) -> tuple[Any, Any]:
        """Places do not move."""
        return program_jvp(self, primals, tangents, params)

    def batched_params(self, size: int, params: dict[str, Param]) -> dict[str, Any]:
        n_batch: Any = params["n_batch"]
        return params | {"n_batch": n_batch + 1}


@final
class BCSRSumDuplicates(SparseOperation):
    """Elements at equal places added up.

    Operands: data, indices, indptr.

    Params:
        nse: how many elements the result holds.
    """

    name = "bcsr_sum_duplicates"
    multiple_results = True

    def compute(self, *operands: Operand, spinfo: Any, nse: Any, **_: Param) -> Any:
        data, indices, indptr = operands
        data, places = bcoo_sum_duplicates_p.bind(
            data, coordinates(indices, indptr), spinfo=_unsorted(spinfo), nse=nse
        )
        rows = spinfo.shape[aval_of(places).ndim - 2]
        return data, *compressed(places, rows, aval_of(indices).dtype)

    def batched_params(self, size: int, params: dict[str, Param]) -> dict[str, Any]:
        return params | {"spinfo": params["spinfo"].batched(size)}


@final
class BCSRDotGeneral(SparseOperation):
    """The product of a sparse and a dense array over some of their axes; the result is dense.

    Operands: data, indices and indptr of the sparse array, the dense one.

    Params:
        dimension_numbers, preferred_element_type, lhs_spinfo: as those of `bcoo_dot_general`.
    """

    name = "bcsr_dot_general"
    linear_in = (0, 3)

    def compute(self, *operands: Operand, lhs_spinfo: Any, **params: Any) -> Any:
        data, indices, indptr, rhs = operands
        places = coordinates(indices, indptr)
        info = _unsorted(lhs_spinfo)
        return bcoo_dot_general_p.bind(data, places, rhs, lhs_spinfo=info, **params)

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Operand],
        dims: Sequence[int | None],
        **params: Param,
    ) -> tuple[Any, Any]:
        of_lhs, of_rhs = any(d is not None for d in dims[:3]), dims[3] is not None
        lhs, rhs = list(operands[:3]), operands[3]
        if of_lhs:
            lhs = [in_front(x, d) for x, d in zip(lhs, dims, strict=False)]
        if of_rhs:
            rhs = in_front(rhs, dims[3])
        changed, out_dim = moved_product(axes, params, of_lhs=of_lhs, of_rhs=of_rhs)
        return self.bind(*lhs, rhs, **params | changed), out_dim


bcsr_todense_p = BCSRToDense()
bcsr_extract_p = BCSRExtract()
bcsr_fromdense_p = BCSRFromDense()
bcsr_sum_duplicates_p = BCSRSumDuplicates()
bcsr_dot_general_p = BCSRDotGeneral()


def bcsr_todense(mat: BCSR) -> Any:
    """The same numbers as a dense array.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental import sparse
        >>> sparse.bcsr_todense(sparse.BCSR.fromdense(jnp.eye(2)))
        Array([[1., 0.],
               [0., 1.]], dtype=float32)
    """
    return bcsr_todense_p.bind(mat.data, mat.indices, mat.indptr, spinfo=mat._info)


def bcsr_extract(indices: Any, indptr: Any, mat: Any) -> Any:
    """The data of the BCSR array with these places whose elements are those of a dense array.

    Args:
        indices, indptr: places, as those of `BCSR`.
        mat: dense array.

    Raises:
        ValueError: the array has other rows than the pointers.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental import sparse
        >>> x = sparse.BCSR.fromdense(jnp.eye(2))
        >>> sparse.bcsr_extract(x.indices, x.indptr, jnp.array([[1.0, 2.0], [3.0, 4.0]]))
        Array([1., 4.], dtype=float32)
    """
    indices, indptr, mat = jnp.asarray(indices), jnp.asarray(indptr), jnp.asarray(mat)
    rows, batch = aval_of(indptr).shape[-1] - 1, aval_of(indptr).ndim - 1
    if aval_of(mat).shape[batch : batch + 1] != (rows,) or aval_of(mat).ndim < batch + 2:
        raise ValueError(
            message(
                "bcsr_extract, argument mat",
                given=f"{aval_of(mat)} for pointers {aval_of(indptr)}",
                expected=f"a matrix of {rows} rows, behind the batch axes",
                fix="Pass the array that the places belong to.",
            )
        )
    return bcsr_extract_p.bind(indices, indptr, mat)


def bcsr_sum_duplicates(mat: BCSR, nse: int | None = None) -> BCSR:
    """Elements at equal places added up, sorted by place; arguments of `bcoo_sum_duplicates`.

    Raises:
        ValueError: if `nse` is left out and the array is traced.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental import sparse
        >>> twice = jnp.array([1.0, 2.0]), jnp.array([0, 0]), jnp.array([0, 2])
        >>> sparse.bcsr_sum_duplicates(sparse.BCSR(twice, shape=(1, 2))).data
        Array([3.], dtype=float32)
    """
    count = mat.nse if nse is None else nse
    if nse is None:
        places = coordinates(mat.indices, mat.indptr)
        data, places = bcoo_sum_duplicates_p.bind(
            mat.data, places, spinfo=_unsorted(mat._info), nse=count
        )
        inside = columns(places, mat._sparse_shape)[1]
        used = jnp.max(jnp.sum(inside, -1, dtype="int32"), initial=0)
        count = concrete_number("bcsr_sum_duplicates", used, ValueError)
    data, indices, indptr = bcsr_sum_duplicates_p.bind(
        mat.data, mat.indices, mat.indptr, spinfo=mat._info, nse=count
    )
    return mat.replaced(data, indices, indptr, indices_sorted=True, unique_indices=True)


def bcsr_dot_general(
    lhs: BCSR | Any,
    rhs: Any,
    *,
    dimension_numbers: Any,
    precision: None = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """The product of a BCSR and a dense array, or of dense ones; see `bcoo_dot_general`.

    Args:
        lhs: BCSR or dense array.
        rhs: dense array.
        dimension_numbers: as those of `lax.dot_general`.
        precision: not used.
        preferred_element_type: the dtype of the result.
        out_sharding: not used.

    Raises:
        NotImplementedError: if `rhs` is sparse, a batch axis of the product is none of `lhs`, or
            dense axes are contracted.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental import sparse
        >>> x = sparse.BCSR.fromdense(jnp.array([[0.0, 2.0], [3.0, 0.0]]))
        >>> sparse.bcsr_dot_general(
        ...     x, jnp.array([1.0, 10.0]), dimension_numbers=(([1], [0]), ([], []))
        ... )
        Array([20.,  3.], dtype=float32)
    """
    where = "bcsr_dot_general"
    if not isinstance(lhs, JAXSparse) and not isinstance(rhs, JAXSparse):
        left, right = jnp.asarray(lhs), jnp.asarray(rhs)
        return lax.dot_general(
            left, right, dimension_numbers, preferred_element_type=preferred_element_type
        )
    left = lhs
    if isinstance(rhs, JAXSparse) or not hasattr(left, "indptr"):
        raise _refused(f"{lhs!r} and {rhs!r}", "a BCSR array to the left of a dense one")
    right = jnp.asarray(rhs)
    numbers = dot_numbers(where, left.shape, right.shape, dimension_numbers)
    if any(axis >= left.n_batch for axis in numbers[1][0]):
        raise _refused(f"batch axes {numbers[1][0]} of {left!r}", "batch axes of the format")
    if any(axis >= left.n_batch + 2 for axis in numbers[0][0]):
        raise _refused(f"axes {numbers[0][0]} of {left!r} to contract", "no dense axes")
    return bcsr_dot_general_p.bind(
        left.data,
        left.indices,
        left.indptr,
        right,
        dimension_numbers=numbers,
        preferred_element_type=preferred_element_type,
        lhs_spinfo=left._info,
    )


def _refused(given: str, expected: str) -> NotImplementedError:
    return NotImplementedError(
        message(
            "bcsr_dot_general",
            given=given,
            expected=expected,
            fix="Convert the array with to_bcoo().",
        )
    )
