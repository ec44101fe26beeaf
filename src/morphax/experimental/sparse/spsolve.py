"""`spsolve`: systems with a sparse matrix, by a sparse LU decomposition.

The work is done by SuperLU (Demmel et al., "A supernodal approach to sparse partial pivoting",
1999) through SciPy, on the host.  With A x = b,

    dx = A⁻¹ (db − dA x),    and the cotangent of b is A⁻ᵀ that of x:

derivatives are systems with the same matrix or its transpose, to any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from operator import index
from typing import Any, final

import numpy as np

from ... import dtypes, lax
from ... import numpy as jnp
from ...control.callbacks.pure_callback import pure_callback
from ...control.loops.scans import map as map_members
from ...core import (
    BatchAxes,
    Operand,
    Param,
    ShapeDtypeStruct,
    Zero,
    aval_of,
    is_undefined_primal,
    is_zero,
)
from ...engines.reference.eager import as_array
from ...lax.ground.families import sum_of_tangents
from ...lax.ground.linear_structure import moved_axis
from ...util.messages import message
from ...util.scipy_libraries import sparse_systems
from .csr import csr_matvec_p, elements_of_rows, row_ends
from .matrix_formats import MatrixOperation

# What SciPy calls the orders of columns that `reorder` chooses from.  The first that is one suits
# whatever rows pivots are found in, and takes a small share of the time also where rows are full.
_ORDERS = ("NATURAL", "COLAMD", "MMD_AT_PLUS_A", "MMD_ATA")
_IN_ROWS = 0  # 1 is for matrices in columns.


@final
class SparseSolve(MatrixOperation):
    """The solution of a system.  Operands: data, indices, ends of rows, right-hand side.

    Params:
        tol: for solvers that decide by it whether the matrix is singular; ours looks for zeros.
        reorder: the number of an order of columns.
    """

    name = "spsolve"
    linear_in = (3,)

    def compute(self, *operands: Operand, reorder: Any, **_: Param) -> Any:
        b = aval_of(operands[3])
        solve = partial(_solved, order=_ORDERS[reorder])
        return pure_callback(solve, ShapeDtypeStruct(b.shape, b.dtype), *operands)

    def execute(self, *operands: Operand, reorder: Any, **_: Param) -> Any:
        """The solver itself: eager numbers are with the host already."""
        given = [as_array(x).to_host() for x in operands]
        return as_array(_solved(*given, order=_ORDERS[reorder]))

    def jvp(
        self, primals: Sequence[Operand], tangents: Sequence[Operand], **params: Param
    ) -> tuple[Any, Any]:
        """dx = A⁻¹ (db − dA x)."""
        _, indices, indptr, b = primals
        x = self.bind(*primals, **params)
        changes = [] if is_zero(tangents[3]) else [tangents[3]]
        if not is_zero(tangents[0]):
            size = aval_of(b).shape[0]
            moved = csr_matvec_p.bind(
                tangents[0], indices, indptr, x, shape=(size, size), transpose=False
            )
            changes.append(lax.neg(moved))
        if not changes:
            return x, Zero(aval_of(x).to_tangent_aval())
        total = sum_of_tangents(changes, aval_of(b))
        return x, self.bind(*primals[:3], total, **params)

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Operand],
        dims: Sequence[int | None],
        **params: Param,
    ) -> tuple[Any, int]:
        """One system after the other, each an operation that has derivatives."""
        pairs = list(zip(operands, dims, strict=True))
        mapped = [moved_axis(x, dim, 0) for x, dim in pairs if dim is not None]

        def member(own: Sequence[Any]) -> Any:
            given = iter(own)
            values = [x if dim is None else next(given) for x, dim in pairs]
            return self.bind(*values, **params)

        return map_members(member, mapped), 0

    def transpose(self, ct: Any, *operands: Any, **params: Param) -> list[Any]:
        """The system with the transposed matrix."""
        assert not any(map(is_undefined_primal, operands[:3])), "it is linear in b alone"
        given = _transposed(*operands[:3])
        return [None, None, None, self.bind(*given, ct, **params)]


spsolve_p = SparseSolve()


def spsolve(
    data: Any, indices: Any, indptr: Any, b: Any, tol: float = 1e-6, reorder: int = 1
) -> Any:
    """The solution x of A x = b, for a sparse square matrix A in CSR format.

    Args:
        data: the stored elements, of shape ``(nse,)``.
        indices: their columns.
        indptr: where the rows begin and end, of shape ``(n + 1,)``; see `CSR`.
        b: the right-hand side, of shape ``(n,)`` and the dtype of `data`.
        tol: for solvers on other platforms, to decide whether A is singular.
        reorder: the order in which columns are eliminated: as they are (0), or chosen for little
            fill-in (1, 2, 3).

    Returns:
        An array like `b`; NaN if A is singular.  Half precisions are computed in float32.

    Raises:
        ValueError: if shapes or dtypes do not fit, or `reorder` is unknown; and, when the program
            runs, if indices are out of range.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental import sparse
        >>> from morphax.experimental.sparse.linalg import spsolve
        >>> a = sparse.CSR.fromdense(jnp.array([[2.0, 0.0], [1.0, 4.0]]))
        >>> spsolve(a.data, a.indices, a.indptr, jnp.array([2.0, 5.0]))
        Array([1., 1.], dtype=float32)
    """
    operands = [jnp.asarray(x) for x in (data, indices, indptr, b)]
    _check(operands, reorder)
    return spsolve_p.bind(*operands, tol=float(tol), reorder=index(reorder))


def _check(operands: Sequence[Any], reorder: object) -> None:
    data, indices, indptr, b = operands
    shapes = [x.shape for x in operands]
    fit = [len(shape) for shape in shapes] == [1] * 4
    if not fit or data.size != indices.size or indptr.size != b.size + 1:
        raise ValueError(
            message(
                "spsolve",
                given="data, indices, indptr and b of shapes {}, {}, {} and {}".format(*shapes),
                expected="shapes (nse,), (nse,), (n + 1,) and (n,)",
                fix="Solve for several right-hand sides with jax.vmap.",
            )
        )
    integers = [dtypes.issubdtype(x.dtype, np.integer) for x in (indices, indptr)]
    if data.dtype != b.dtype or not dtypes.issubdtype(b.dtype, np.inexact) or not all(integers):
        raise ValueError(
            message(
                "spsolve",
                given="data, indices, indptr and b of dtypes "
                + ", ".join([str(x.dtype) for x in operands]),
                expected="integers in indices and indptr; data and b of one floating or complex "
                "dtype",
                fix="Convert with astype.",
            )
        )
    if reorder not in range(len(_ORDERS)):
        raise ValueError(
            message(
                "spsolve, argument reorder",
                given=f"{reorder!r}",
                expected="0, 1, 2 or 3",
                fix="Leave it out.",
            )
        )


def _transposed(data: Any, indices: Any, indptr: Any) -> tuple[Any, Any, Any]:
    """The transposed matrix in CSR format; elements that do not count stay behind the others."""
    size = aval_of(indptr).shape[0] - 1
    elements = elements_of_rows(data, indices, indptr)
    columns = jnp.where(elements.row < size, indices, size)
    order = jnp.argsort(columns, stable=True)
    ends = row_ends(columns, size).astype(indptr.dtype)
    return data[order], elements.row[order].astype(indices.dtype), ends


def _solved(data: Any, indices: Any, indptr: Any, b: Any, *, order: str) -> Any:
    """Solve by SuperLU, in a dtype that it has; NaN if the matrix is singular."""
    data, indices, indptr, b = map(np.asarray, (data, indices, indptr, b))
    size = b.size
    if not size:
        return b
    _check_places(indices, indptr, size)
    wide = np.result_type(b.dtype, np.float32) if b.dtype.itemsize > 2 else np.dtype(np.float32)
    count = int(indptr[-1])
    rows = _summed(data[:count].astype(wide), indices[:count], indptr)
    solve, options = sparse_systems().gssv, {"ColPerm": order}
    x, failed = solve(size, rows[0].size, *rows, b.astype(wide), _IN_ROWS, options=options)
    return np.full_like(b, np.nan) if failed else x.astype(b.dtype)


def _summed(data: Any, indices: Any, indptr: Any) -> tuple[Any, Any, Any]:
    """The matrix with columns in order, each once: of several elements the library takes one."""
    size = indptr.size - 1
    places = np.repeat(np.arange(size), np.diff(indptr)) * size + indices
    if (np.diff(places) <= 0).any():
        places, which = np.unique(places, return_inverse=True)
        data, given = np.zeros(places.size, data.dtype), data
        np.add.at(data, which, given)
        indices, indptr = places % size, np.searchsorted(places, np.arange(size + 1) * size)
    return data, indices.astype(np.int32), indptr.astype(np.int32)


def _check_places(indices: Any, indptr: Any, size: int) -> None:
    """The library would read whatever memory wrong places name."""
    count = int(indptr[-1])
    ends_fit = indptr[0] == 0 and (np.diff(indptr) >= 0).all() and count <= indices.size
    stored = indices[: count if ends_fit else 0]
    if not ends_fit or (stored < 0).any() or (stored >= size).any():
        raise ValueError(
            message(
                "spsolve, arguments indices and indptr",
                given=f"indices from {indices.min(initial=0)} to {indices.max(initial=0)}, and "
                f"rows from {indptr[0]} to {count}, for {indices.size} elements",
                expected=f"columns from 0 to {size - 1}, and rows that do not overlap",
                fix="Check the matrix: CSR.fromdense makes such arrays.",
            )
        )
