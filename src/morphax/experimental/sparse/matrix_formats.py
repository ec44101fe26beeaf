"""What COO, CSR and CSC have in common: two axes, products with vectors and matrices, and batching.

Their operations are programs (`operation.SparseOperation`) on a list of elements, each with a row
and a column; CSR and CSC know these in another form.  A negative number counts from the end, and an
element out of range does not count.  The formats have no batch axes, so a batch of one of their
operations is the batch of its program.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ... import dtypes
from ... import numpy as jnp
from ...core import BatchAxes, Operand, Param, apply_jaxpr, aval_of, stage_closed
from ...transforms.batching import open_batch
from ...util.messages import message
from .base import JAXSparse
from .bcoo.layout import concrete_number
from .operation import SparseOperation

Shape = tuple[int, int]


class Elements(NamedTuple):
    """Stored elements: their values, and where they stand."""

    data: Any
    row: Any
    col: Any

    def placed(self, shape: Shape) -> Elements:
        """Negative numbers count from the end; what is still out of range is in no row."""
        rows, columns = shape
        row = jnp.where(self.row < 0, self.row + rows, self.row)
        col = jnp.where(self.col < 0, self.col + columns, self.col)
        inside = (row >= 0) & (row < rows) & (col >= 0) & (col < columns)
        return Elements(self.data, jnp.where(inside, row, rows), jnp.where(inside, col, columns))

    def dense(self, shape: Shape) -> Any:
        """The matrix; elements at one place add up."""
        data, row, col = self.placed(shape)
        return jnp.zeros(shape, data.dtype).at[row, col].add(data, mode="drop")

    def product(self, shape: Shape, other: Any, *, transpose: bool) -> Any:
        """The product of the matrix, or its transpose, with a vector or a matrix."""
        data, row, col = self.placed(shape)
        if transpose:
            row, col, shape = col, row, shape[::-1]
        values = data.reshape((-1,) + (1,) * (other.ndim - 1))
        terms = values * other.at[col].get(mode="fill", fill_value=0)
        total = jnp.zeros((shape[0], *other.shape[1:]), terms.dtype)
        return total.at[row].add(terms, mode="drop")


def elements_of(mat: Any, nse: int) -> Elements:
    """The first `nse` elements that are not zero, row by row; zeros at (0, 0) behind the last."""
    row, col = jnp.nonzero(mat, size=nse, fill_value=0)
    exists = jnp.arange(nse) < jnp.sum(mat != 0)
    if 0 in mat.shape:
        return Elements(jnp.zeros(nse, mat.dtype), row, col)
    return Elements(jnp.where(exists, mat[row, col], jnp.zeros((), mat.dtype)), row, col)


class MatrixOperation(SparseOperation):
    """An operation on a format without batch axes."""

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Operand],
        dims: Sequence[int | None],
        **params: Param,
    ) -> tuple[Any, Any]:
        """The program of dense operations, batched."""
        given = zip(map(aval_of, operands), dims, strict=True)
        members = [a if d is None else a.without_axis(d) for a, d in given]

        def program(*values: Operand) -> Sequence[Any]:
            results = self.compute(*values, **params)
            return list(results) if self.multiple_results else [results]

        fragment = open_batch(stage_closed(program, members), tuple(dims), axes)
        results = apply_jaxpr(fragment.jaxpr, *operands)
        if self.multiple_results:
            return results, fragment.out_dims
        return results[0], fragment.out_dims[0]


class MatrixFormat(JAXSparse):
    """A sparse matrix whose only arithmetic is the product with a dense vector or matrix."""

    def __init__(self, args: Any, *, shape: Sequence[int]) -> None:
        super().__init__(args, shape=shape)
        check_two_axes(type(self).__name__, self.shape)

    @property
    def nse(self) -> int:
        """The number of stored elements, padding too."""
        return int(aval_of(self.data).size)

    @property
    def dtype(self) -> Any:
        return aval_of(self.data).dtype

    def __matmul__(self, other: Any) -> Any:
        """The product with a dense vector or matrix, in the dtype of both."""
        name = type(self).__name__
        if isinstance(other, JAXSparse):
            raise _no_product(name, f"an array of the format {type(other).__name__}")
        dense = jnp.asarray(other)
        if dense.ndim not in (1, 2):
            raise _no_product(name, f"an array of shape {dense.shape}")
        dtype = dtypes.result_type(self.data, dense)
        return self._times(self.data.astype(dtype), dense.astype(dtype))

    @abstractmethod
    def _times(self, data: Any, other: Any) -> Any:
        """The product with other data and a dense array of the same dtype."""


def _no_product(name: str, given: str) -> NotImplementedError:
    return NotImplementedError(
        message(
            f"@ of a {name} matrix, operand on the right",
            given=given,
            expected="a dense array with one or two axes",
            fix="Convert both to BCOO, which has products of all kinds.",
        )
    )


def check_two_axes(name: str, shape: Sequence[int]) -> None:
    """Refuse shapes that are no matrix's."""
    if len(shape) != 2:
        raise ValueError(
            message(
                f"{name}, argument shape",
                given=f"{tuple(shape)}",
                expected="two sizes: the format has no other axes",
                fix="Use BCOO, which has any number of axes.",
            )
        )


def check_matrix(where: str, mat: Any) -> None:
    """Refuse dense arrays that are no matrices."""
    check_two_axes(f"{where}, argument mat", mat.shape)


def check_operand(where: str, shape: Shape, other: Any, ndim: int, dtype: Any) -> None:
    """Refuse a dense operand of another shape or dtype than the matrix needs."""
    aval = aval_of(other)
    if aval.ndim != ndim or aval.shape[0] != shape[1]:
        raise ValueError(
            message(
                f"{where}, dense operand",
                given=f"an array of shape {aval.shape} for a matrix of shape {shape}",
                expected=f"{ndim} axes, the first of size {shape[1]}",
                fix="Transpose one of them, or pass transpose=True.",
            )
        )
    if aval.dtype != dtype:
        raise TypeError(
            message(
                f"{where}, dense operand",
                given=f"{aval} for a matrix of dtype {dtype}",
                expected="operands of one dtype",
                fix="Convert one with astype; the operator @ does it by itself.",
            )
        )


def number_of_elements(where: str, mat: Any, nse: int | None) -> int:
    """How many elements to store: as many as are not zero, unless said."""
    return concrete_number(where, jnp.sum(mat != 0) if nse is None else nse)


def diagonal(shape: Shape, k: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Rows and columns of diagonal number k."""
    size = max(min(shape[0] + min(k, 0), shape[1] - max(k, 0)), 0)
    places = np.arange(size)
    return places - min(k, 0), places + max(k, 0)
