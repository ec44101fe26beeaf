"""Patterns: on which inputs each element of a value may depend.

A pattern is a boolean sparse matrix with a row for each element of the value, in row-major order,
and a column for each input.  What is not an entry is no dependence; an entry may turn out to be
none.  So a pattern may always grow, and everything here either keeps to that or is exact.

Elements are numbered from 1 where they are moved about; 0, and whatever is no number of an element,
stands for none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...util.messages import message

Pattern = Any  # a `scipy.sparse.csr_array` of bool
Integers = NDArray[np.int64]

# A pattern of so many entries takes half a gigabyte, and their products take seconds.
LARGEST = 100_000_000


class AxisPair(NamedTuple):
    """An axis of an operand and one of a result that go together.

    Args:
        operand, result: the axes.
        relation: which places along the operand's axis (columns) each place along the result's axis
            (rows) depends on; `None` for the same place.
    """

    operand: int
    result: int
    relation: Pattern | None = None


def check_count(count: float) -> None:
    """Refuse patterns that would fill the memory.

    Raises:
        ValueError: if there would be more than `LARGEST` entries.
    """
    if count > LARGEST:
        raise ValueError(
            message(
                "sparse derivatives, pattern of dependence",
                given=f"a step of the function with {count:.2g} dependences of elements on inputs",
                expected=f"at most {LARGEST:.2g}",
                fix="Use jax.jacfwd or jax.jacrev if the matrix is dense; or differentiate the "
                "sparse part of the function by itself.",
            )
        )


def nothing(size: int, inputs: int) -> Pattern:
    """No dependence."""
    return _matrix(np.zeros(0, np.int64), np.zeros(0, np.int64), (size, inputs))


def identity(size: int, first: int, inputs: int) -> Pattern:
    """Element i depends on the input number ``first + i``."""
    return _matrix(np.arange(size), np.arange(first, first + size), (size, inputs))


def everything(size: int, patterns: Sequence[Pattern]) -> Pattern:
    """Each of `size` elements depends on all that any element of the operands depends on."""
    inputs = patterns[0].shape[1]
    columns = np.unique(np.concatenate([p.indices for p in patterns]))
    row = _matrix(np.zeros(columns.size, np.int64), columns, (1, inputs))
    return chosen_rows(row, np.ones(size, np.int64))


def union(patterns: Sequence[Pattern]) -> Pattern:
    """What any of the patterns says."""
    return reduce(add, patterns)


def stacked(patterns: Sequence[Pattern]) -> Pattern:
    """The elements of one value behind those of another."""
    from scipy.sparse import vstack

    return patterns[0] if len(patterns) == 1 else vstack(patterns, format="csr")


def chosen_rows(pattern: Pattern, numbers: NDArray[Any]) -> Pattern:
    """The pattern of elements that are copies: of the elements with these numbers, or of none."""
    from scipy.sparse import csr_array

    rows, inputs = pattern.shape
    places = np.asarray(numbers).reshape(-1).astype(np.int64) - 1
    inside = (places >= 0) & (places < rows)
    lengths = np.diff(pattern.indptr).astype(np.int64)
    lengths = np.where(inside, np.append(lengths, 0)[np.where(inside, places, rows)], 0)
    total = int(lengths.sum())
    check_count(total)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    begins = pattern.indptr[np.where(inside, places, 0)] if rows else np.zeros(places.size, int)
    within = np.arange(total) - np.repeat(indptr[:-1], lengths)
    indices = pattern.indices[np.repeat(begins, lengths) + within]
    return csr_array((np.ones(total, bool), indices, indptr), shape=(places.size, inputs))


def composed(relation: Pattern, pattern: Pattern) -> Pattern:
    """The pattern of elements of which each depends on some elements of a value."""
    check_count(np.diff(pattern.indptr)[relation.indices].sum(dtype=np.int64))
    return relation @ pattern


def along_axes(
    pattern: Pattern, operand: Sequence[int], result: Sequence[int], pairs: Sequence[AxisPair]
) -> Pattern:
    """Dependence axis by axis: along axes without a pair, all depend on all.

    Args:
        pattern: of the operand.
        operand: its shape.
        result: the shape of the result.
        pairs: the axes that go together.
    """
    own = [p.operand for p in pairs]
    if len(own) < len(operand):
        groups = _group_numbers(operand, own)
        count = math.prod([operand[i] for i in own])
        members = _matrix(groups - 1, np.arange(groups.size), (count, groups.size))
        pattern = composed(members, pattern)
    elif own != sorted(own):
        order = np.arange(1, math.prod(operand) + 1).reshape(operand).transpose(own)
        pattern = chosen_rows(pattern, order)
    if any([p.relation is not None for p in pairs]):
        factors = [
            identity(operand[p.operand], 0, operand[p.operand])
            if p.relation is None
            else p.relation
            for p in pairs
        ]
        pattern = composed(reduce(_kronecker, factors), pattern)
    return chosen_rows(pattern, _group_numbers(result, [p.result for p in pairs]))


def repeated(relation: Pattern, copies: int) -> Pattern:
    """A relation for each slice of a stack."""
    return _kronecker(identity(copies, 0, copies), relation)


def components(relation: Pattern) -> Integers:
    """For each element that a relation connects to others, the number of its component."""
    from scipy.sparse.csgraph import connected_components

    return np.asarray(connected_components(relation, directed=False)[1], np.int64)


def related(rows: NDArray[Any], columns: NDArray[Any], shape: tuple[int, int]) -> Pattern:
    """The relation that holds between `rows` and `columns`."""
    check_count(rows.size)
    return _matrix(rows.reshape(-1), columns.reshape(-1), shape)


def _group_numbers(shape: Sequence[int], axes: Sequence[int]) -> Integers:
    """For each element, the number of its coordinates along `axes`, in the order of these."""
    numbers = np.ones([1] * len(shape), np.int64)
    step = 1
    for axis in reversed(axes):
        places = np.arange(shape[axis]) * step
        numbers = numbers + places.reshape([-1 if i == axis else 1 for i in range(len(shape))])
        step *= shape[axis]
    return np.broadcast_to(numbers, tuple(shape)).reshape(-1)


def _kronecker(x: Pattern, y: Pattern) -> Pattern:
    from scipy.sparse import csr_array, kron

    check_count(float(x.nnz) * y.nnz)
    return csr_array(kron(x, y, format="csr"), dtype=bool)


def _matrix(rows: NDArray[Any], columns: NDArray[Any], shape: tuple[int, int]) -> Pattern:
    """Entries may repeat."""
    from scipy.sparse import csr_array

    made = csr_array((np.ones(rows.size, bool), (rows, columns)), shape=shape)
    made.sum_duplicates()
    return made
