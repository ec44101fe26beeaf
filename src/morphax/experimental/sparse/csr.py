"""CSR and CSC: a matrix by rows, or by columns, each of them a run of elements.

Row i of a CSR matrix has the elements ``indptr[i]`` to ``indptr[i + 1]``, with columns `indices`;
elements behind the last run do not count.  A CSC matrix is held as its transpose is in CSR, and its
operations are those of CSR.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self, final

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
    Shape,
    check_matrix,
    check_operand,
    check_two_axes,
    diagonal,
    elements_of,
    number_of_elements,
)
from .operation import program_jvp


class Runs(MatrixFormat):
    """What CSR and CSC have in common: data, indices and the ends of runs."""

    data: Any
    indices: Any
    indptr: Any

    def __init__(self, args: tuple[Any, Any, Any], *, shape: Sequence[int]) -> None:
        self.data, self.indices, self.indptr = map(jnp.asarray, args)
        super().__init__(args, shape=shape)
        runs = self.shape[self._axis]
        if self.indptr.shape != (runs + 1,) or self.data.shape != self.indices.shape:
            raise ValueError(
                message(
                    f"{type(self).__name__}, argument args",
                    given=f"data, indices and indptr of shapes {self.data.shape}, "
                    f"{self.indices.shape} and {self.indptr.shape} for shape={self.shape}",
                    expected=f"as many indices as data, and {runs + 1} ends of runs in indptr",
                    fix="Begin indptr with 0, and go on with the end of each row or column.",
                )
            )

    # The axis along which the runs lie one after the other.
    _axis = 0

    @property
    def _shape(self) -> Shape:
        """The shape of the matrix whose rows are the runs."""
        rows, columns = self.shape
        return (columns, rows) if self._axis else (rows, columns)

    def tree_flatten(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arrays, and all that is static."""
        return (self.data, self.indices, self.indptr), {"shape": self.shape}

    @classmethod
    def tree_unflatten(cls, aux_data: dict[str, Any], children: Sequence[Any]) -> Self:
        """The matrix that `tree_flatten` took apart, with other leaves."""
        made = object.__new__(cls)
        made.data, made.indices, made.indptr = children
        made.shape = aux_data["shape"]
        return made

    def _times(self, data: Any, other: Any) -> Any:
        where, transpose = f"{type(self).__name__} @", bool(self._axis)
        operands = data, self.indices, self.indptr, other
        return _product(where, operands, self._shape, transpose, other.ndim)

    @classmethod
    def _empty(
        cls, shape: Sequence[int], *, dtype: Any = None, index_dtype: Any = "int32", **kwds: Any
    ) -> Self:
        check_two_axes(cls.__name__, shape)
        ends = jnp.zeros(shape[cls._axis] + 1, index_dtype)
        return cls((jnp.empty(0, dtype), jnp.empty(0, index_dtype), ends), shape=shape)

    @classmethod
    def _eye(
        cls, N: int, M: int, k: int, *, dtype: Any = None, index_dtype: Any = "int32", **kwds: Any
    ) -> Self:
        places = diagonal((N, M), k)
        runs, indices = places[cls._axis], places[1 - cls._axis]
        ends = np.searchsorted(runs, np.arange((N, M)[cls._axis] + 1))
        args = jnp.asarray(indices, index_dtype), jnp.asarray(ends, index_dtype)
        return cls((jnp.ones(runs.size, dtype), *args), shape=(N, M))

    def _refuse_axes(self, axes: Sequence[int] | None) -> None:
        if axes is not None:
            raise NotImplementedError(
                message(
                    f"{type(self).__name__}.transpose, argument axes",
                    given=f"{axes!r}",
                    expected="None: a matrix has one transpose",
                    fix="Leave it out.",
                )
            )


@final
@tree.register_pytree_node_class
class CSR(Runs):
    """A sparse matrix in compressed sparse row format.

    Args:
        args: data and indices (columns) of shape ``(nse,)``, row by row, and indptr of shape
            ``(m + 1,)``: row i has the elements ``indptr[i]`` to ``indptr[i + 1]``.
        shape: of the matrix, ``(m, n)``.

    Raises:
        ValueError: if the shapes do not fit together.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental import sparse
        >>> m = sparse.CSR.fromdense(jnp.array([[0.0, 2.0], [1.0, 3.0]]))
        >>> m.indices, m.indptr
        (Array([1, 0, 1], dtype=int32), Array([0, 1, 3], dtype=int32))
        >>> m @ jnp.array([1.0, 2.0])
        Array([4., 7.], dtype=float32)
    """

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> CSR:
        """The elements of a dense matrix that are not zero; as `csr_fromdense`."""
        return csr_fromdense(mat, nse=nse, index_dtype=index_dtype)

    def todense(self) -> Any:
        return csr_todense(self)

    def transpose(self, axes: Sequence[int] | None = None) -> CSC:
        """The transposed matrix, by columns."""
        self._refuse_axes(axes)
        return CSC((self.data, self.indices, self.indptr), shape=self.shape[::-1])


@final
@tree.register_pytree_node_class
class CSC(Runs):
    """A sparse matrix in compressed sparse column format.

    Args:
        args: data and indices (rows) of shape ``(nse,)``, column by column, and indptr of shape
            ``(n + 1,)``: column j has the elements ``indptr[j]`` to ``indptr[j + 1]``.
        shape: of the matrix, ``(m, n)``.

    Raises:
        ValueError: if the shapes do not fit together.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental import sparse
        >>> m = sparse.CSC.fromdense(jnp.array([[0.0, 2.0], [1.0, 3.0]]))
        >>> m.indices, m.indptr
        (Array([1, 0, 1], dtype=int32), Array([0, 1, 3], dtype=int32))
        >>> m @ jnp.array([1.0, 2.0])
        Array([4., 7.], dtype=float32)
    """

    _axis = 1

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> CSC:
        """The first `nse` elements of a dense matrix that are not zero, column by column."""
        dense = jnp.asarray(mat)
        check_matrix("CSC.fromdense", dense)
        return csr_fromdense(dense.T, nse=nse, index_dtype=index_dtype).transpose()

    def todense(self) -> Any:
        return csr_todense(self.transpose()).T

    def transpose(self, axes: Sequence[int] | None = None) -> CSR:
        """The transposed matrix, by rows."""
        self._refuse_axes(axes)
        return CSR((self.data, self.indices, self.indptr), shape=self.shape[::-1])


def elements_of_rows(data: Any, indices: Any, indptr: Any) -> Elements:
    """With the row of each: what lies before the first run or behind the last is out of range."""
    # The row of element k is the last one that begins at k or before.
    begins = jnp.zeros(data.size, _wide(indptr)).at[indptr].add(1, mode="drop")
    begun = jnp.cumsum(begins)
    rows = jnp.where(begun > 0, begun - 1, indptr.size)
    return Elements(data, rows, indices)


def _wide(integers: Any) -> Any:
    """A dtype in which to count."""
    return integers.dtype if integers.dtype.itemsize > 4 else np.dtype(np.int32)


def row_ends(rows: Any, count: int) -> Any:
    """Where rows end, the first of them where it begins, of elements with these row numbers."""
    sizes = jnp.zeros(count, _wide(rows)).at[rows].add(1, mode="drop")
    return jnp.concatenate([jnp.zeros(1, sizes.dtype), jnp.cumsum(sizes)])


@final
class CSRToDense(MatrixOperation):
    """The dense matrix.  Operands: data, indices, ends of rows."""

    name = "csr_todense"

    def compute(self, *operands: Operand, shape: Any, **_: Param) -> Any:
        return elements_of_rows(*operands).dense(shape)


@final
class CSRFromDense(MatrixOperation):
    """The first `nse` elements that are not zero: data, indices, ends of rows."""

    name = "csr_fromdense"
    multiple_results = True

    transpose = not_linear("which elements are stored depends on their values")

    def compute(self, *operands: Operand, nse: Any, index_dtype: Any, **_: Param) -> Any:
        mat: Any = operands[0]
        found = elements_of(mat, nse)
        counts = jnp.cumsum(jnp.sum(mat != 0, axis=1, dtype=np.int32))
        ends = jnp.minimum(jnp.concatenate([jnp.zeros(1, counts.dtype), counts]), nse)
        return [found.data, found.col.astype(index_dtype), ends.astype(index_dtype)]

    def jvp(
        self, primals: Sequence[Operand], tangents: Sequence[Operand], **params: Param
    ) -> tuple[Any, Any]:
        return program_jvp(self, primals, tangents, params)


@final
class CSRMatVec(MatrixOperation):
    """The product with a vector.  Operands: data, indices, ends of rows, vector."""

    name = "csr_matvec"
    linear_in = (0, 3)

    def compute(self, *operands: Operand, shape: Any, transpose: Any, **_: Param) -> Any:
        return _computed(operands, shape, transpose)


@final
class CSRMatMat(MatrixOperation):
    """The product with a dense matrix.  Operands: data, indices, ends of rows, matrix."""

    name = "csr_matmat"
    linear_in = (0, 3)

    def compute(self, *operands: Operand, shape: Any, transpose: Any, **_: Param) -> Any:
        return _computed(operands, shape, transpose)


def _computed(operands: Sequence[Operand], shape: Shape, transpose: bool) -> Any:
    *parts, other = operands
    return elements_of_rows(*parts).product(shape, other, transpose=transpose)


csr_todense_p = CSRToDense()
csr_fromdense_p = CSRFromDense()
csr_matvec_p = CSRMatVec()
csr_matmat_p = CSRMatMat()


def csr_fromdense(mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32) -> CSR:
    """The CSR matrix with the elements of a dense one that are not zero.

    Args:
        mat: of shape ``(m, n)``.
        nse: how many elements to store, the first ones row by row; padded by zeros behind the last
            row.  By default as many as there are, for which `mat` must be known.
        index_dtype: of indices and indptr.

    Raises:
        ValueError: if `mat` has not two axes, or the dtype cannot hold the numbers.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental import sparse
        >>> sparse.csr_fromdense(jnp.eye(3))
        CSR(float32[3, 3], nse=3)
    """
    dense = jnp.asarray(mat)
    check_matrix("csr_fromdense", dense)
    count = number_of_elements("csr_fromdense", dense, nse)
    sizes = (*dense.shape, count)
    index = index_type("csr_fromdense, argument index_dtype", index_dtype, sizes)
    parts = csr_fromdense_p.bind(dense, nse=count, index_dtype=index)
    return CSR(tuple(parts), shape=dense.shape)


def csr_todense(mat: CSR) -> Any:
    """The dense matrix of a CSR matrix; elements at one place add up.

    Example:
        >>> from morphax.experimental import sparse
        >>> sparse.csr_todense(sparse.CSR(([1.0, 2.0], [1, 0], [0, 1, 2]), shape=(2, 2)))
        Array([[0., 1.],
               [2., 0.]], dtype=float32)
    """
    return csr_todense_p.bind(mat.data, mat.indices, mat.indptr, shape=mat._shape)


def csr_matvec(mat: CSR, v: Any, transpose: bool = False) -> Any:
    """The product of a CSR matrix, or its transpose, with a dense vector of its dtype.

    Raises:
        ValueError: if the shapes do not fit.
        TypeError: if the dtypes differ.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental import sparse
        >>> m = sparse.csr_fromdense(jnp.array([[0.0, 2.0], [1.0, 0.0]]))
        >>> sparse.csr_matvec(m, jnp.array([1.0, 3.0]), transpose=True)
        Array([3., 2.], dtype=float32)
    """
    operands = mat.data, mat.indices, mat.indptr, jnp.asarray(v)
    return _product("csr_matvec", operands, mat._shape, transpose, 1)


def csr_matmat(mat: CSR, B: Any, *, transpose: bool = False) -> Any:
    """The product of a CSR matrix, or its transpose, with a dense matrix of its dtype.

    Raises:
        ValueError: if the shapes do not fit.
        TypeError: if the dtypes differ.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental import sparse
        >>> m = sparse.csr_fromdense(jnp.array([[0.0, 2.0], [1.0, 0.0]]))
        >>> sparse.csr_matmat(m, jnp.eye(2))
        Array([[0., 2.],
               [1., 0.]], dtype=float32)
    """
    operands = mat.data, mat.indices, mat.indptr, jnp.asarray(B)
    return _product("csr_matmat", operands, mat._shape, transpose, 2)


def _product(where: str, operands: Sequence[Any], shape: Shape, transpose: bool, ndim: int) -> Any:
    data, *_, other = operands
    check_operand(where, shape[::-1] if transpose else shape, other, ndim, data.dtype)
    operation = csr_matvec_p if ndim == 1 else csr_matmat_p
    return operation.bind(*operands, shape=shape, transpose=bool(transpose))
