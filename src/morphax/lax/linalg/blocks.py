"""Parts of matrices, for the derivatives of factorisations: blocks, and rows or columns by number.

They are applied to each matrix of a stack.
"""

from __future__ import annotations

from typing import Any

from ...core import aval_of
from ..ground.dimension_numbers import GatherDimensionNumbers
from ..indexing.gather import gather
from ..shape.joining import concatenate
from ..shape.shape_operations import expand_dims
from ..shape.slicing import slice as slice_


def block(x: Any, rows: tuple[int, int], columns: tuple[int, int]) -> Any:
    """The rows and columns of two ranges (start, stop)."""
    shape = aval_of(x).shape
    if (rows, columns) == ((0, shape[-2]), (0, shape[-1])):
        return x
    starts = [0] * (len(shape) - 2)
    return slice_(x, [*starts, rows[0], columns[0]], [*shape[:-2], rows[1], columns[1]])


def beside(left: Any, right: Any) -> Any:
    """One matrix of the columns of both."""
    return concatenate([left, right], aval_of(left).ndim - 1)


def above(upper: Any, lower: Any) -> Any:
    """One matrix of the rows of both."""
    return concatenate([upper, lower], aval_of(upper).ndim - 2)


def rows_at(x: Any, places: Any) -> Any:
    """The rows permuted: row i of the result is row ``places[i]``, for each matrix its own."""
    return _taken(x, places, aval_of(x).ndim - 2)


def columns_at(x: Any, places: Any) -> Any:
    """The columns permuted: column i of the result is column ``places[i]``."""
    return _taken(x, places, aval_of(x).ndim - 1)


def _taken(x: Any, places: Any, axis: int) -> Any:
    shape = aval_of(x).shape
    if not aval_of(x).size:
        return x
    stack = tuple(range(len(shape) - 2))
    other = 2 * len(shape) - 3 - axis  # of the two axes of a matrix
    numbers = GatherDimensionNumbers(
        offset_dims=(other,),
        collapsed_slice_dims=(axis,),
        start_index_map=(axis,),
        operand_batching_dims=stack,
        start_indices_batching_dims=stack,
    )
    sizes = [*[1 for _ in stack], 1, 1]
    sizes[other] = shape[other]
    return gather(x, expand_dims(places, (len(stack) + 1,)), numbers, sizes, unique_indices=True)
