"""Upper triangular matrices, one diagonal after the other from the main one on.

What is made of a triangular matrix by a recurrence mostly knows an element once those nearer to the
diagonal are known: xᵢⱼ follows from sums over i < k < j.  All elements of one diagonal are found at
once then, in as many steps as there are columns, and no system is solved in any.

Reference: G. H. Golub and C. F. Van Loan, "Matrix Computations", 4th edition, section 9.1.4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, final

import numpy as np

from ... import lax
from ... import numpy as jnp


@final
class Diagonals(NamedTuple):
    """The diagonals of a triangular matrix above the main one, which is taken for zeros.

    Args:
        by_row: `(n, n)`; row k holds aᵢ,ᵢ₊ₖ at place i.
        by_column: `(2 n, 2 n)`; row n − 1 − k holds aⱼ₋ₖ,ⱼ at place j.  The rest is zeros.
    """

    by_row: Any
    by_column: Any

    @classmethod
    def of(cls, t: Any) -> Diagonals:
        """Those of an upper triangular matrix `(n, n)`."""
        size = t.aval.shape[-1]
        # In rows of one element more, each diagonal is a column.
        longer = jnp.pad(jnp.ravel(t), (0, size)).reshape(size, size + 1)
        by_row = jnp.pad(longer[:, 1:size].T, ((1, 0), (0, 0)))
        later = jnp.ravel(jnp.pad(by_row, ((0, 0), (0, size + 1))))[: 2 * size * size]
        by_column = later.reshape(size, 2 * size)[::-1]
        return cls(by_row, jnp.pad(by_column, ((0, size), (0, 0))))

    @classmethod
    def none(cls, like: Any) -> Diagonals:
        """Zeros, for a matrix of this shape and dtype."""
        size = like.aval.shape[-1]
        return cls(jnp.zeros_like(like), jnp.zeros((2 * size, 2 * size), like.aval.dtype))

    def with_diagonal(self, k: Any, values: Any) -> Diagonals:
        """The same with the k-th diagonal in place of zeros."""
        size = values.aval.shape[-1]
        return Diagonals(
            lax.dynamic_update_slice(self.by_row, values[None], (k, 0)),
            lax.dynamic_update_slice(self.by_column, values[None], (size - 1 - k, k)),
        )

    def as_matrix(self, diagonal: Any) -> Any:
        """The matrix, with this main diagonal."""
        size = diagonal.aval.shape[-1]
        # Row i of the matrix begins i places later.
        flat = jnp.ravel(jnp.pad(self.by_row.at[0].set(diagonal).T, ((0, 0), (0, 1))))
        return flat[: size * size].reshape(size, size)


def inner(a: Diagonals, b: Diagonals, k: Any) -> Any:
    """Σₗ aᵢₗ bₗⱼ over i < l < j for all elements (i, j) of the k-th diagonal, by row."""
    size = a.by_row.aval.shape[-1]
    place = (size - 1 - k, k)
    return jnp.sum(a.by_row * lax.dynamic_slice(b.by_column, place, (size, size)), axis=0)


Element = Callable[[Any, Any, tuple[Any, Any], tuple[Any, Any], Diagonals, Diagonals], Any]


def by_diagonals(element: Element, diagonal: Any, t: Any) -> Any:
    """The upper triangular X of which xᵢⱼ follows from what is nearer to the diagonal.

    Args:
        element: function (k, tᵢⱼ, (xᵢᵢ, xⱼⱼ), (tᵢᵢ, tⱼⱼ), X, T) → xᵢⱼ, of vectors along the k-th
            diagonal; of X there is what is nearer.
        diagonal: that of X `(n,)`.
        t: upper triangular matrix T `(n, n)`, of the dtype of X.
    """
    size = t.aval.shape[-1]
    own, places = Diagonals.of(t), np.arange(size)
    ends = [(x, jnp.pad(x, (0, size))) for x in (diagonal, jnp.diagonal(t))]

    def step(k: Any, found: Diagonals) -> Diagonals:
        of_x, of_t = [(x, lax.dynamic_slice(padded, (k,), (size,))) for x, padded in ends]
        here = lax.dynamic_index_in_dim(own.by_row, k, keepdims=False)
        values = element(k, here, of_x, of_t, found, own)
        # Behind the end of the diagonal is whatever came of zeros.
        return found.with_diagonal(k, jnp.where(places < size - k, values, 0))

    return lax.fori_loop(1, size, step, Diagonals.none(t)).as_matrix(diagonal)
