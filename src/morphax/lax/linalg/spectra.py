"""What derivatives of spectral factorisations share: gaps of the spectrum, scaled columns.

Where two eigenvalues or singular values are equal, the vectors that belong to them are any basis of
a space, and have no derivative: the reciprocals of gaps are infinite there, and derivatives of
vectors infinite or NaN.  Those of the values themselves use no gaps and stay finite.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import aval_of
from ...util.messages import message
from ..elementwise.arithmetic import add, div, mul, sub
from ..elementwise.comparison import eq
from ..elementwise.complex import conj, real
from ..elementwise.convert import convert
from ..elementwise.selection import select
from ..ground.linear_structure import reduce_sum, zeros
from ..shape.filling import broadcasted_iota, full
from ..shape.shape_operations import broadcast_in_dim
from ..shape.slicing import slice_in_dim


def reciprocal_gaps(w: Any) -> Any:
    """The matrix 1 / (w[j] − w[i]), 0 on the diagonal."""
    rows, columns = _in_matrix(w)
    return _reciprocals_off_diagonal(sub(columns, rows))


def reciprocal_sums(w: Any) -> Any:
    """The matrix 1 / (w[j] + w[i]), 0 on the diagonal."""
    rows, columns = _in_matrix(w)
    return _reciprocals_off_diagonal(add(columns, rows))


def _in_matrix(w: Any) -> tuple[Any, Any]:
    """The matrices of elements w[i] and w[j]."""
    aval = aval_of(w)
    shape, stack = (*aval.shape, aval.shape[-1]), tuple(range(aval.ndim - 1))
    rows = broadcast_in_dim(w, shape, (*stack, aval.ndim - 1))
    return rows, broadcast_in_dim(w, shape, (*stack, aval.ndim))


def _reciprocals_off_diagonal(x: Any) -> Any:
    aval = aval_of(x)
    ones = full(aval.shape, 1, aval.dtype)
    diagonal = on_diagonal(aval)
    # The diagonal is replaced before the division, so that no derivative of it is infinite.
    return select(diagonal, zeros(aval), div(ones, select(diagonal, ones, x)))


def on_diagonal(aval: Any) -> Any:
    """Of the elements of matrices, whether they are on the diagonal."""
    return eq(*[broadcasted_iota(np.int32, aval.shape, aval.ndim - i) for i in (2, 1)])


def weighted(x: Any, weights: Any) -> Any:
    """`x` times real weights of its shape."""
    return mul(x, convert(weights, aval_of(x).dtype))


def scaled_columns(x: Any, scale: Any) -> Any:
    """Each column of the matrices `x` times its number."""
    aval = aval_of(x)
    axes = (*range(aval.ndim - 2), aval.ndim - 1)
    return mul(x, broadcast_in_dim(convert(scale, aval.dtype), aval.shape, axes))


def column_products(x: Any, y: Any) -> Any:
    """The products xⱼᴴ yⱼ of the columns of two matrices."""
    aval = aval_of(x)
    x = conj(x) if aval.dtype.kind == "c" else x
    return reduce_sum(mul(x, y), (aval.ndim - 2,))


def real_part(x: Any) -> Any:
    """Re x, or x itself if it is real."""
    return real(x) if aval_of(x).dtype.kind == "c" else x


def checked_subset(where: str, subset: Any, size: int) -> tuple[int, int]:
    """The range of places among `size` values; `ValueError` if it is none."""
    try:
        start, stop = subset
        if 0 <= start <= stop <= size:
            return int(start), int(stop)
    except (TypeError, ValueError):
        pass
    raise ValueError(
        message(
            f"{where}, argument subset_by_index",
            given=repr(subset),
            expected=f"a pair (start, stop) with 0 <= start <= stop <= {size}",
            fix="Values from number start up to stop, without it, are returned.",
        )
    )


def part(x: Any, subset: tuple[int, int], axis: int) -> Any:
    """The elements of a range along an axis; `x` itself if they are all."""
    axis %= aval_of(x).ndim
    return x if subset == (0, aval_of(x).shape[axis]) else slice_in_dim(x, *subset, axis=axis)
