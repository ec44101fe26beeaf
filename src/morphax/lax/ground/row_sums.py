"""Sums over rows of memory by NumPy: with few roundings, and no slower where rows are short.

`np.add.reduce` adds in pairs only along the axis whose elements lie side by side.  Over any other
one it adds row after row to one total, so the error grows with the number of rows, and a row of
three numbers costs as much as one of thirty.

Here short rows lie side by side as one wide row, and rows are summed in blocks, as are the sums of
blocks: the bound of the error grows with the logarithm of their number (N. J. Higham, *Accuracy and
Stability of Numerical Algorithms*, 2nd ed., SIAM 2002, section 4.2).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any, Final, cast

import numpy as np

from ...util.threads import shared_rows

_MOST_ROWS: Final = 256
"""Rows that NumPy may add one by one."""

_LONG: Final = 1024
"""Numbers side by side that NumPy sums quickly also where axes before them are summed as well."""

_BLOCK: Final = 32
_WIDTH: Final = 128
"""Numbers in a row whose sum takes longer than its call."""


def accumulator(dtype: Any) -> Any:
    """Small floats are summed in float32, as XLA does; the rest in their own dtype."""
    return np.float32 if dtype.itemsize < 4 and dtype.kind not in "biu" else dtype


def summation(x: Any, axes: Sequence[int]) -> Callable[[Any], Any]:
    """How to sum arrays of the shape and dtype of `x` over `axes`."""
    axes, dtype, wide = tuple(axes), x.dtype, accumulator(x.dtype)
    if wide != dtype:
        return lambda v: np.add.reduce(v, axes, wide).astype(dtype)
    by_rows = _by_rows(x.shape, axes) if dtype.kind in "fc" and x.size else None
    if by_rows is not None:
        return by_rows
    return shared_rows("add", x, axes, lambda v: np.add.reduce(v, axes, dtype))


def _by_rows(shape: Sequence[int], axes: tuple[int, ...]) -> Callable[[Any], Any] | None:
    """The sum in blocks of rows; None where NumPy's own is as good."""
    groups = groupby([(n, i in axes) for i, n in enumerate(shape) if n > 1], lambda axis: axis[1])
    runs = [(is_summed, math.prod([n for n, _ in run])) for is_summed, run in groups]
    rows = math.prod([n for is_summed, n in runs[:-1] if is_summed])
    apart = sum([is_summed for is_summed, _ in runs]) > 1
    if rows <= _MOST_ROWS and not (apart and runs[-1][1] < _LONG < math.prod(shape)):
        return None
    kept = [n for i, n in enumerate(shape) if i not in axes]

    def summed(v: Any) -> Any:
        if not v.flags.c_contiguous:
            return np.add.reduce(v, axes)
        before = 1
        for is_summed, n in runs:
            if is_summed:
                v = _sum(v.reshape(before, n, -1))
            else:
                before *= n
        return v.reshape(kept)

    return summed


def _sum(v: Any) -> Any:
    """The sum over the middle one of three axes."""
    before, count, width = v.shape
    if width == 1:
        return np.add.reduce(v.reshape(before, count), 1)
    beside = _WIDTH // width
    if beside < 2 or count < _MOST_ROWS:
        return _sum_of_blocks(v)
    whole = count // beside * beside
    total = _sum_of_blocks(v[:, :whole].reshape(before, whole // beside, beside * width))
    total = np.add.reduce(total.reshape(before, beside, width), 1)
    return total + np.add.reduce(v[:, whole:], 1) if whole < count else total


def _sum_of_blocks(v: Any) -> Any:
    before, count, width = v.shape
    if count <= 2 * _BLOCK:
        return np.add.reduce(v, 1)
    whole = count // _BLOCK * _BLOCK
    blocks = v[:, :whole].reshape(before, whole // _BLOCK, _BLOCK, width)
    total = _sum_of_blocks(cast(Any, np.add.reduce(blocks, 2)))
    return total + np.add.reduce(v[:, whole:], 1) if whole < count else total


def by_wide_rows(function: np.ufunc, x: Any, axes: Sequence[int]) -> Any:
    """``function.reduce`` of arrays as `x` over `axes`; of what may be combined in any order.

    Many short rows lie side by side as few wide ones: NumPy takes as long for one as for the other.
    Products of floats keep their order.
    """
    reduce: Any = function.reduce
    count, kept = math.prod(x.shape[: len(axes)]), x.shape[len(axes) :]
    width = math.prod(kept)
    together = _LONG // width
    has_order = function is np.multiply and x.dtype.kind in "fc"
    is_in_front = sorted(axes) == list(range(len(axes)))
    if has_order or not is_in_front or together < 2 or count < max(_MOST_ROWS, 2 * together):
        return reduce
    whole = count // together

    def reduced(v: Any, axes: Sequence[int], dtype: Any) -> Any:
        rows = v.reshape(count, width)
        wide = rows[: whole * together].reshape(whole, together * width)
        few = reduce(wide, 0, dtype).reshape(together, width)
        return reduce(np.concatenate([few, rows[whole * together :]]), 0, dtype).reshape(kept)

    return reduced
