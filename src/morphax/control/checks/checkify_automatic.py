"""The checks that `checkify` adds to operations: NaN results, zero divisors, indices outside.

Which operations get which checks is a table of this module.  It is not a rule of the primitives:
that an operation may give a NaN is true of most, and worth reporting only of those that compute,
not of those that move or choose what others computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ... import dtypes
from ...core import Equation, Operand, Param, aval_of
from ...lax.elementwise.arithmetic import rem
from ...lax.elementwise.bitwise import bitwise_or
from ...lax.elementwise.comparison import eq, gt, lt, ne
from ...lax.elementwise.convert import convert_element_type
from ...lax.elementwise.selection import scalar_like
from ...lax.ground.dimension_numbers import slice_sizes_of_updates
from ...lax.indexing.dynamic_slicing import dynamic_index_in_dim
from ...lax.reduction.argreductions import argmax
from ...lax.reduction.reductions import reduce_or
from ...lax.shape.joining import concatenate
from ...lax.shape.shape_operations import broadcast, reshape
from .check_sites import DivisionByZeroError, JaxException, NaNError, OOBError, Site


class Finding(NamedTuple):
    """One check of an equation: whether it failed, and what its text tells."""

    failed: Any
    detail: Any
    values: tuple[Any, ...] = ()


Errors = frozenset[type[JaxException]]
# (equation, operands, results) → the checks of the equation
AutomaticCheck = Callable[[Equation, Sequence[Any], Sequence[Any]], Iterator[Finding]]

# They move or choose values, or round exactly: a NaN that they give has been given to them.
_GIVE_NO_NAN = frozenset(
    "abs all_gather all_to_all bitcast_convert_type broadcast_in_dim ceil clamp complex concatenate"
    " conj convert_element_type copy cummax cummin device_put dynamic_slice dynamic_update_slice"
    " empty floor gather get imag io_callback max min neg nextafter optimization_barrier pad pmax"
    " pmin ppermute pure_callback real reduce_max reduce_min reduce_precision reduce_window_max"
    " reduce_window_min reshape rev round scatter scatter-max scatter-min select_and_gather_add"
    " select_n sign slice sort split squeeze stack stop_gradient swap tile top_k transpose"
    " unstack".split()
)


def nan_check(
    eqn: Equation, operands: Sequence[Operand], results: Sequence[Any]
) -> Iterator[Finding]:
    """Results that are not equal to themselves."""
    if eqn.primitive.name not in _GIVE_NO_NAN:
        for out in results:
            if dtypes.issubdtype(aval_of(out).dtype, np.inexact):
                yield Finding(_anywhere(ne(out, out)), eqn.primitive.name)


def division_check(
    eqn: Equation, operands: Sequence[Operand], results: Sequence[Any]
) -> Iterator[Finding]:
    """Divisors that are zero."""
    if eqn.primitive.name == "div":
        divisor = operands[1]
        yield Finding(_anywhere(eq(divisor, scalar_like(0, divisor))), None)


def index_check(
    eqn: Equation, operands: Sequence[Operand], results: Sequence[Any]
) -> Iterator[Finding]:
    """Windows that do not lie in the array, whatever the operation then does about them."""
    windows_of = _WINDOWS.get(eqn.primitive.name)
    if windows_of is not None:
        windows = windows_of(eqn.params, operands)
        count, rank = windows.starts.aval.shape
        if count and rank:
            yield _first_outside(aval_of(operands[0]).shape, windows)


class Windows(NamedTuple):
    """Parts of an array that an operation reads or writes.

    Args:
        starts: one row for each window, one column for each axis in `axes`.
        axes: of the array, along which the places of windows vary.
        sizes: of a window along all axes of the array.
    """

    starts: Any
    axes: Sequence[int]
    sizes: Sequence[int]


def _first_outside(shape: tuple[int, ...], windows: Windows) -> Finding:
    count, rank = windows.starts.aval.shape
    starts = reshape(windows.starts, (count * rank,))
    limits = np.array([shape[d] - windows.sizes[d] for d in windows.axes], starts.dtype)
    limits = reshape(broadcast(limits, (count,)), (count * rank,))
    outside = bitwise_or(lt(starts, scalar_like(0, starts)), gt(starts, limits))
    first = argmax(outside, 0, np.int32)
    values = (dynamic_index_in_dim(starts, first, keepdims=False), rem(first, np.int32(rank)))
    return Finding(reduce_or(outside, (0,)), (shape, tuple(windows.axes)), values)


def _rows(indices: Operand) -> Any:
    """Indices as a matrix, in the widest integers there are."""
    *batch, rank = aval_of(indices).shape
    wide = dtypes.canonicalize(np.dtype(np.int64))
    return convert_element_type(reshape(indices, (math.prod(batch), rank)), wide)


def _of_gather(params: dict[str, Param], operands: Sequence[Operand]) -> Windows:
    axes = params["dimension_numbers"].start_index_map
    return Windows(_rows(operands[1]), axes, params["slice_sizes"])


def _of_scatter(params: dict[str, Param], operands: Sequence[Operand]) -> Windows:
    x, indices, updates = operands
    numbers = params["dimension_numbers"]
    sizes = slice_sizes_of_updates(aval_of(x).shape, aval_of(updates).shape, numbers)
    return Windows(_rows(indices), numbers.scatter_dims_to_operand_dims, sizes)


def _of_block(sizes: Sequence[int], starts: Sequence[Any]) -> Windows:
    rows = [_rows(reshape(i, (1, 1))) for i in starts]
    return Windows(concatenate(rows or [np.zeros((1, 0))], 1), range(len(starts)), sizes)


_WINDOWS: dict[str, Callable[[dict[str, Any], Sequence[Any]], Windows]] = {
    "gather": _of_gather,
    **dict.fromkeys(
        ("scatter", "scatter-add", "scatter-sub", "scatter-mul", "scatter-min", "scatter-max"),
        _of_scatter,
    ),
    "dynamic_slice": lambda params, operands: _of_block(params["slice_sizes"], operands[1:]),
    "dynamic_update_slice": lambda params, operands: _of_block(
        aval_of(operands[1]).shape, operands[2:]
    ),
}


def _anywhere(x: Operand) -> Any:
    """Whether any element is true."""
    return reduce_or(x, tuple(range(x.aval.ndim)))


# In the order in which the failures of one equation are told.
AUTOMATIC_CHECKS: dict[type[JaxException], AutomaticCheck] = {
    OOBError: index_check,
    DivisionByZeroError: division_check,
    NaNError: nan_check,
}


def automatic_sites(
    eqn: Equation, operands: Sequence[Operand], results: Sequence[Any], errors: Errors
) -> Iterator[tuple[Any, Site, tuple[Any, ...]]]:
    """For each check that an equation gets: whether it failed, its site, and the site's values."""
    for category, automatic_check in AUTOMATIC_CHECKS.items():
        if category in errors:
            for failed, detail, values in automatic_check(eqn, operands, results):
                signature = tuple(map(aval_of, values))
                yield failed, Site(category, detail, eqn.source, signature), values
