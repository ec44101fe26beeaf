"""COO: a matrix as a list of elements, each with its row and its column.

`BCOO` does more, and has batches; this format is that of older programs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self, final

import numpy as np

from ... import numpy as jnp
from ... import tree
from ...core import Operand, Param, not_linear
from ...util.messages import message
from .bcoo.layout import index_type
from .matrix_formats import (
    Elements,
    MatrixFormat,
    MatrixOperation,
    check_matrix,
    check_operand,
    check_two_axes,
    diagonal,
    elements_of,
    number_of_elements,
)
from .operation import program_jvp


class COOInfo(NamedTuple):
    """What is static about a COO matrix."""

    shape: tuple[int, int]
    rows_sorted: bool = False
    cols_sorted: bool = False


@final
@tree.register_pytree_node_class
class COO(MatrixFormat):
    """A sparse matrix in coordinate format.

    Args:
        args: data, rows and columns, all of shape ``(nse,)``; rows and columns are integers.
            Elements at one place add up, those out of range do not count.
        shape: of the matrix.
        rows_sorted: promise that the rows are sorted.
        cols_sorted: promise that the columns are sorted.

    Raises:
        ValueError: if `shape` has not two sizes.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental import sparse
        >>> m = sparse.COO.fromdense(jnp.array([[0.0, 2.0], [1.0, 0.0]]))
        >>> m.row, m.col
        (Array([0, 1], dtype=int32), Array([1, 0], dtype=int32))
        >>> m @ jnp.array([1.0, 2.0])
        Array([4., 1.], dtype=float32)
    """

    data: Any
    row: Any
    col: Any

    def __init__(
        self,
        args: tuple[Any, Any, Any],
        *,
        shape: Sequence[int],
        rows_sorted: bool = False,
        cols_sorted: bool = False,
    ) -> None:
        self.data, self.row, self.col = map(jnp.asarray, args)
        super().__init__(args, shape=shape)
        self._rows_sorted, self._cols_sorted = rows_sorted, cols_sorted

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> COO:
        """The elements of a dense matrix that are not zero; as `coo_fromdense`."""
        return coo_fromdense(mat, nse=nse, index_dtype=index_dtype)

    def todense(self) -> Any:
        return coo_todense(self)

    def transpose(self, axes: Sequence[int] | None = None) -> COO:
        """The transposed matrix."""
        if axes is not None:
            raise NotImplementedError(
                message(
                    "COO.transpose, argument axes",
                    given=f"{axes!r}",
                    expected="None: a matrix has one transpose",
                    fix="Leave it out.",
                )
            )
        return COO(
            (self.data, self.col, self.row),
            shape=self.shape[::-1],
            rows_sorted=self._cols_sorted,
            cols_sorted=self._rows_sorted,
        )

    def tree_flatten(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arrays, and all that is static."""
        return (self.data, self.row, self.col), self._info._asdict()

    @classmethod
    def tree_unflatten(cls, aux_data: dict[str, Any], children: Sequence[Any]) -> Self:
        """The matrix that `tree_flatten` took apart, with other leaves."""
        made = object.__new__(cls)
        made.data, made.row, made.col = children
        made.shape = aux_data["shape"]
        made._rows_sorted, made._cols_sorted = aux_data["rows_sorted"], aux_data["cols_sorted"]
        return made

    @property
    def _info(self) -> COOInfo:
        rows, columns = self.shape
        return COOInfo((rows, columns), self._rows_sorted, self._cols_sorted)

    def _times(self, data: Any, other: Any) -> Any:
        operation = coo_matvec_p if other.ndim == 1 else coo_matmat_p
        return _product(operation, "COO @", self, data, other, transpose=False)

    @classmethod
    def _empty(
        cls, shape: Sequence[int], *, dtype: Any = None, index_dtype: Any = "int32", **kwds: Any
    ) -> COO:
        check_two_axes("COO", shape)
        nothing = jnp.empty(0, index_dtype)
        args = jnp.empty(0, dtype), nothing, nothing
        return cls(args, shape=shape, rows_sorted=True, cols_sorted=True)

    @classmethod
    def _eye(
        cls, N: int, M: int, k: int, *, dtype: Any = None, index_dtype: Any = "int32", **kwds: Any
    ) -> COO:
        rows, columns = (jnp.asarray(x, index_dtype) for x in diagonal((N, M), k))
        args = jnp.ones(rows.size, dtype), rows, columns
        return cls(args, shape=(N, M), rows_sorted=True, cols_sorted=True)


@final
class COOToDense(MatrixOperation):
    """The dense matrix.  Operands: data, rows, columns."""

    name = "coo_todense"

    def compute(self, *operands: Operand, spinfo: Any, **_: Param) -> Any:
        return Elements(*operands).dense(spinfo.shape)


@final
class COOFromDense(MatrixOperation):
    """The first `nse` elements that are not zero: data, rows, columns.  Operand: the matrix."""

    name = "coo_fromdense"
    multiple_results = True

    transpose = not_linear("which elements are stored depends on their values")

    def compute(self, *operands: Operand, nse: Any, index_dtype: Any, **_: Param) -> Any:
        found = elements_of(operands[0], nse)
        return [found.data, found.row.astype(index_dtype), found.col.astype(index_dtype)]

    def jvp(
        self, primals: Sequence[Operand], tangents: Sequence[Operand], **params: Param
    ) -> tuple[Any, Any]:
        return program_jvp(self, primals, tangents, params)


@final
class COOMatVec(MatrixOperation):
    """The product with a vector.  Operands: data, rows, columns, vector."""

    name = "coo_matvec"
    linear_in = (0, 3)

    def compute(self, *operands: Operand, spinfo: Any, transpose: Any, **_: Param) -> Any:
        return _computed(operands, spinfo.shape, transpose)


@final
class COOMatMat(MatrixOperation):
    """The product with a dense matrix.  Operands: data, rows, columns, matrix."""

    name = "coo_matmat"
    linear_in = (0, 3)

    def compute(self, *operands: Operand, spinfo: Any, transpose: Any, **_: Param) -> Any:
        return _computed(operands, spinfo.shape, transpose)


def _computed(operands: Sequence[Operand], shape: tuple[int, int], transpose: bool) -> Any:
    *parts, other = operands
    return Elements(*parts).product(shape, other, transpose=transpose)


coo_todense_p = COOToDense()
coo_fromdense_p = COOFromDense()
coo_matvec_p = COOMatVec()
coo_matmat_p = COOMatMat()


def coo_fromdense(mat: Any, *, nse: int | None = None, index_dtype: Any = jnp.int32) -> COO:
    """The COO matrix with the elements of a dense one that are not zero.

    Args:
        mat: of shape ``(m, n)``.
        nse: how many elements to store, the first ones row by row; padded by zeros at (0, 0).  By
            default as many as there are, for which `mat` must be known.
        index_dtype: of rows and columns.

    Raises:
        ValueError: if `mat` has not two axes.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental import sparse
        >>> sparse.coo_fromdense(jnp.eye(3))
        COO(float32[3, 3], nse=3)
    """
    dense = jnp.asarray(mat)
    check_matrix("coo_fromdense", dense)
    count = number_of_elements("coo_fromdense", dense, nse)
    index = index_type("coo_fromdense, argument index_dtype", index_dtype, dense.shape)
    return COO(
        tuple(coo_fromdense_p.bind(dense, nse=count, index_dtype=index)),
        shape=dense.shape,
        rows_sorted=True,
    )


def coo_todense(mat: COO) -> Any:
    """The dense matrix of a COO matrix; elements at one place add up.

    Example:
        >>> from morphax.experimental import sparse
        >>> sparse.coo_todense(sparse.COO(([1.0, 2.0], [0, 0], [1, 1]), shape=(1, 2)))
        Array([[0., 3.]], dtype=float32)
    """
    return coo_todense_p.bind(mat.data, mat.row, mat.col, spinfo=mat._info)


def coo_matvec(mat: COO, v: Any, transpose: bool = False) -> Any:
    """The product of a COO matrix, or its transpose, with a dense vector of its dtype.

    Raises:
        ValueError: if the shapes do not fit.
        TypeError: if the dtypes differ.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental import sparse
        >>> m = sparse.coo_fromdense(jnp.array([[0.0, 2.0], [1.0, 0.0]]))
        >>> sparse.coo_matvec(m, jnp.array([1.0, 3.0]), transpose=True)
        Array([3., 2.], dtype=float32)
    """
    vector = jnp.asarray(v)
    return _product(coo_matvec_p, "coo_matvec", mat, mat.data, vector, transpose=transpose)


def coo_matmat(mat: COO, B: Any, *, transpose: bool = False) -> Any:
    """The product of a COO matrix, or its transpose, with a dense matrix of its dtype.

    Raises:
        ValueError: if the shapes do not fit.
        TypeError: if the dtypes differ.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental import sparse
        >>> m = sparse.coo_fromdense(jnp.array([[0.0, 2.0], [1.0, 0.0]]))
        >>> sparse.coo_matmat(m, jnp.eye(2))
        Array([[0., 2.],
               [1., 0.]], dtype=float32)
    """
    dense = jnp.asarray(B)
    return _product(coo_matmat_p, "coo_matmat", mat, mat.data, dense, transpose=transpose)


def _product(
    operation: MatrixOperation, where: str, mat: COO, data: Any, other: Any, *, transpose: bool
) -> Any:
    info = mat._info
    shape = info.shape[::-1] if transpose else info.shape
    check_operand(where, shape, other, 1 if operation is coo_matvec_p else 2, data.dtype)
    return operation.bind(data, mat.row, mat.col, other, spinfo=info, transpose=bool(transpose))
