"""Colouring: columns of a sparse matrix that one product with a vector can tell apart.

Columns that have no row in common may share a colour: the product of the matrix with the sum of
their unit vectors has each of their entries in a row of its own (Curtis, Powell & Reid, "On the
estimation of sparse Jacobian matrices", 1974; as a problem of colouring, Coleman & Moré, 1983).
The colours are handed out greedily.  A row with k entries needs k colours, so a colouring that has
as many as the longest row is the best; banded matrices get it in their natural order.

Of a symmetric matrix, an entry can be read from its column or from its mirror image's.  It is
enough then that the long columns, of an arrow for example, have colours of their own, and the
others are told apart without their rows: one of the direct methods of Powell & Toint ("On the
estimation of sparse Hessian matrices", 1979), and a star colouring in the words of Gebremedhin,
Manne & Pothen ("What color is your Jacobian?", SIAM Review 47, 2005).

No colouring is trusted: `read_entries` finds for each entry where it can be read, by counting.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .patterns import Integers, Pattern


class Reading(NamedTuple):
    """Where the entries of a matrix stand in its products with the sums of each colour's columns.

    Args:
        colours: of the columns.
        num_colours: how many there are.
        rows, columns: the entries, row by row.
        from_rows, from_colours: the row and the colour at which each entry is read.
    """

    colours: Integers
    num_colours: int
    rows: Integers
    columns: Integers
    from_rows: Integers
    from_colours: Integers


def column_reading(pattern: Pattern) -> Reading:
    """Read each entry from its own column."""
    return _reading(pattern, column_colours(pattern), symmetric=False)


def symmetric_reading(pattern: Pattern) -> Reading:
    """Read each entry from its own column or its mirror image's; the pattern is symmetric."""
    return _reading(pattern, _symmetric_colours(pattern), symmetric=True)


def column_colours(pattern: Pattern) -> Integers:
    """Colours, from 0, such that columns with a row in common differ."""
    rows, columns = pattern.shape
    longest = int(np.diff(pattern.indptr).max()) if rows else 0
    if longest == columns:
        return np.arange(columns)
    lists = pattern.tocsc()
    natural = _greedy(lists, np.arange(columns), rows)
    if _count(natural) <= longest:
        return natural
    lengths = np.diff(lists.indptr)
    other = _greedy(lists, np.argsort(-lengths, kind="stable"), rows)
    return min(natural, other, key=_count)


def _greedy(lists: Pattern, order: NDArray[np.intp], rows: int) -> Integers:
    """The least colour for each column that none of its rows has met; linear in the entries.

    The colours that a row has met are the bits of one number.
    """
    met = [0] * rows
    ends, indices = lists.indptr.tolist(), lists.indices.tolist()
    colours = np.zeros(order.size, np.int64)
    for column in order.tolist():
        own = indices[ends[column] : ends[column + 1]]
        used = 0
        for row in own:
            used |= met[row]
        bit = ~used & (used + 1)
        for row in own:
            met[row] |= bit
        colours[column] = bit.bit_length() - 1
    return colours


def _symmetric_colours(pattern: Pattern) -> Integers:
    """Own colours for some of the longest columns, and the rest told apart without their rows."""
    lengths = np.diff(pattern.indptr)
    order = np.argsort(-lengths, kind="stable")
    # With k long columns set apart, the rest needs about as many colours as its longest row has.
    own = int(np.argmin(np.arange(order.size + 1) + np.append(lengths[order], 0)))
    rest = np.sort(order[own:])
    colours = np.zeros(order.size, np.int64)
    colours[order[:own]] = np.arange(own)
    if rest.size:
        colours[rest] = own + column_colours(pattern[rest][:, rest])
    return colours


def _reading(pattern: Pattern, colours: Integers, *, symmetric: bool) -> Reading:
    count = _count(colours)
    entries = pattern.tocoo()
    order = np.lexsort((entries.col, entries.row))
    rows, columns = entries.row[order].astype(np.int64), entries.col[order].astype(np.int64)
    own = _is_alone(rows, colours[columns], rows, count)
    from_rows = np.where(own, rows, columns)
    from_colours = np.where(own, colours[columns], colours[rows] if symmetric else -1)
    mirrored = ~own
    if mirrored.any():
        # The mirror image of (i, j) stands in row j, in the colour of i.
        assert symmetric, "columns of one colour have a row in common"
        mirror = _is_alone(rows, colours[columns], from_rows, count, from_colours)
        assert (own | mirror).all(), "an entry can be read from neither of its columns"
    return Reading(colours, count, rows, columns, from_rows, from_colours)


def _is_alone(
    rows: Integers,
    colours: Integers,
    at_rows: Integers,
    count: int,
    at_colours: Integers | None = None,
) -> NDArray[np.bool_]:
    """Whether exactly one entry has the given row and colour, for each of the given pairs."""
    keys = rows * count + colours
    distinct, sizes = np.unique(keys, return_counts=True)
    asked = at_rows * count + (colours if at_colours is None else at_colours)
    places = np.searchsorted(distinct, asked).clip(max=max(distinct.size - 1, 0))
    alone: NDArray[np.bool_] = (distinct[places] == asked) & (sizes[places] == 1)
    return alone


def _count(colours: Integers) -> int:
    return int(colours.max()) + 1 if colours.size else 0
