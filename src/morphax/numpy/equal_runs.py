"""Equal elements, or rows, in runs: neighbours once they are sorted.

How many runs there are depends on numbers; what comes before that is known, and what comes after,
is replayed in eager mode.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes, lax
from ..core import aval_of
from ..engines.reference.replay import replayed
from ..lax.ordering.sorting import sort as lax_sort
from ..lax.reduction.cumulative import cumsum
from .at import At
from .indexing import getitem
from .joining import concatenate
from .operands import as_array
from .selection import where
from .shaping import moveaxis, reshape


def index_dtype() -> Any:
    """The dtype of places."""
    return dtypes.python_scalar_dtype(int)


def starts_run(columns: Sequence[Any], equal_nan: bool) -> Any:
    """Where sorted rows, given by columns, differ from the row before; the first always does."""
    count = aval_of(columns[0]).shape[0]
    differs: Any = None
    for column in columns:
        after, before = lax.slice_in_dim(column, 1, count), lax.slice_in_dim(column, 0, count - 1)
        unequal = lax.ne(after, before)
        if equal_nan:
            both = lax.bitwise_and(lax.ne(after, after), lax.ne(before, before))
            unequal = lax.bitwise_and(unequal, lax.bitwise_not(both))
        differs = unequal if differs is None else lax.bitwise_or(differs, unequal)
    return lax.concatenate([lax.full((1,), True), differs], 0)


@replayed(1)
def in_runs(rows: Any, equal_nan: bool) -> tuple[Any, Any]:
    """The places that sorted rows came from, and which of these begin a run of equal ones."""
    count = aval_of(rows).shape[0]
    flat = reshape(rows, (count, math.prod(aval_of(rows).shape[1:])))
    columns = [lax.index_in_dim(flat, i, 1, keepdims=False) for i in range(aval_of(flat).shape[1])]
    if not columns:
        columns = [lax.full((count,), 0)]
    if dtypes.issubdtype(aval_of(rows).dtype, np.complexfloating):  # NaN comes last, together
        columns = [where(lax.ne(x, x), aval_of(x).dtype.type(np.nan), x) for x in columns]
    places = lax.iota(index_dtype(), count)
    *columns, order = lax_sort((*columns, places), 0, num_keys=len(columns))
    return order, starts_run(columns, equal_nan)


@replayed(1)
def sorted_runs(elements: Any, equal_nan: bool) -> tuple[Any, Any]:
    """Real elements, sorted, and which of these begin a run of equal ones.

    Whoever asks for no places has no order to be sorted along with them, which takes most of the
    time.
    """
    ordered = lax_sort(elements, 0)
    return ordered, starts_run([ordered], equal_nan)


@replayed(4, arrays=("fill_value",))
def of_runs(
    rows: Any,
    order: Any | None,
    first: Any,
    starts: Any,
    fill_value: Any,
    are_all: bool,
    axis: int,
    shape: tuple[int, ...],
    wanted: tuple[bool, bool, bool],
) -> tuple[Any, ...]:
    """The results of `unique`.

    Args:
        rows: the elements, or slices.
        order, first: what `in_runs` says of them; without an order they are sorted.
        starts: where runs begin.
        fill_value: what stands for runs that are missing, if it is not the first row.
        are_all: whether the end of the last run is still to be added to `starts`.
        axis: where slices are in the result.
        shape: of the places of elements.
        wanted: whether to return where each comes first, the place of each element, the counts.
    """
    count = aval_of(rows).shape[0]
    if are_all:
        starts = concatenate([starts, lax.full((1,), count, aval_of(starts).dtype)])
    number = aval_of(starts).shape[0] - 1
    starts, ends = getitem(starts, slice(None, -1)), getitem(starts, slice(1, None))
    missing = lax.eq(starts, lax.full_like(starts, count))
    index = where(missing, 0, starts)
    index = index if order is None else getitem(order, index)
    values = getitem(rows, index)
    if fill_value is not None:
        by_rows = (number,) + (1,) * (aval_of(values).ndim - 1)
        fill = lax.convert_element_type(as_array("unique", fill_value), aval_of(rows).dtype)
        values = where(reshape(missing, by_rows), fill, values)
    results = [moveaxis(values, 0, axis) if axis else values]
    if wanted[0]:
        results.append(index)
    if wanted[1]:
        assert order is not None, "places of elements are asked for with their order"
        numbers = lax.sub(cumsum(lax.convert_element_type(first, index_dtype())), 1)
        inverse = At(lax.full_like(order, 0))[order].set(numbers, unique_indices=True)
        results.append(reshape(inverse, shape))
    if wanted[2]:
        results.append(lax.sub(ends, starts))
    return tuple(results)
