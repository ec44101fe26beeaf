"""Reading and changing the part of an array that an index of a reference names.

Windows and places make a *block*, which is cut out and put back as a whole.  Strides and arrays of
places then choose among the members of the block, with NumPy's meaning.

Traced starts below 0 count from the end, and a block that would leave the array is moved inside.
Places named by arrays are clamped when read, and dropped when written to, if they are outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...core import aval_of
from ..elementwise.convert import convert_element_type
from ..indexing.dynamic_slicing import dynamic_slice, dynamic_update_slice
from ..shape.shape_operations import reshape
from ..shape.slicing import slice as static_slice
from .ref_indexing import Indexer, Window


class Block(NamedTuple):
    """A contiguous part of an array, and what is chosen of it.

    Args:
        starts: an int, or a traced integer, per axis.
        sizes: per axis.
        chosen: an index with NumPy's meaning, `None` if all members are.
    """

    starts: list[Any]
    sizes: list[int]
    chosen: tuple[Any, ...] | None


def read(x: Any, indexers: Sequence[Indexer], operands: Sequence[Any]) -> Any:
    """The part of `x` that the last of several nested indexers names."""
    for indexer, own in _with_operands(indexers, operands):
        x = _read(x, indexer, own)
    return x


def written(x: Any, indexers: Sequence[Indexer], operands: Sequence[Any], part: Any) -> Any:
    """`x` with a part replaced."""
    return _changed(x, _with_operands(indexers, operands), part, adds=False)


def added(x: Any, indexers: Sequence[Indexer], operands: Sequence[Any], part: Any) -> Any:
    """`x` with something added to a part; places that are named twice count twice."""
    return _changed(x, _with_operands(indexers, operands), part, adds=True)


def _with_operands(
    indexers: Sequence[Indexer], operands: Sequence[Any]
) -> list[tuple[Indexer, list[Any]]]:
    given = iter(operands)
    return [(i, [next(given) for _ in range(i.num_operands)]) for i in indexers]


def _changed(x: Any, places: Sequence[tuple[Indexer, list[Any]]], part: Any, *, adds: bool) -> Any:
    if not places:
        return x + part if adds else part
    (indexer, operands), *inner = places
    if inner:
        part = _changed(_read(x, indexer, operands), inner, part, adds=adds)
        adds = False
    if indexer.is_whole:
        return x + part if adds else part
    block = _block(indexer, operands)
    if block.chosen is None:
        part = reshape(part, block.sizes)
        return _put(x, block, _cut(x, block) + part if adds else part)
    members = _cut(x, block).at[block.chosen]
    return _put(x, block, members.add(part) if adds else members.set(part))


def _read(x: Any, indexer: Indexer, operands: Sequence[Any]) -> Any:
    if indexer.is_whole:
        return x
    block = _block(indexer, operands)
    members = _cut(x, block)
    if block.chosen is not None:
        return members[block.chosen]
    return reshape(members, indexer.result_shape([aval_of(i) for i in operands]))


def _block(indexer: Indexer, operands: Sequence[Any]) -> Block:
    """Places are part of the block, unless arrays of places are broadcast against them."""
    given = iter(operands)
    block = Block([], [], ())
    members: list[Any] = []
    for axis, length in zip(indexer.axes, indexer.shape, strict=True):
        place = next(given) if axis.is_dynamic else axis.start
        in_block = isinstance(axis, Window) or not indexer.has_arrays
        block.starts.append(place if in_block else 0)
        block.sizes.append(axis.span if in_block else length)
        if in_block:
            members.append(slice(None, None, axis.stride) if isinstance(axis, Window) else 0)
        else:
            members.append(place)
    is_chosen_of = indexer.has_arrays or any(axis.stride != 1 for axis in indexer.axes)
    return block._replace(chosen=tuple(members) if is_chosen_of else None)


def _cut(x: Any, block: Block) -> Any:
    if block.sizes == list(aval_of(x).shape):
        return x
    starts, traced = _starts(block)
    if not any(traced):
        limits = [start + size for start, size in zip(starts, block.sizes, strict=True)]
        return static_slice(x, starts, limits)
    return dynamic_slice(x, starts, block.sizes, allow_negative_indices=traced)


def _put(x: Any, block: Block, part: Any) -> Any:
    if block.sizes == list(aval_of(x).shape):
        return part
    starts, traced = _starts(block)
    return dynamic_update_slice(x, part, starts, allow_negative_indices=traced)


def _starts(block: Block) -> tuple[list[Any], list[bool]]:
    """Where the block starts, in one dtype if any start is traced; and which starts are."""
    traced = [type(start) is not int for start in block.starts]
    if not any(traced):
        return block.starts, traced
    return [convert_element_type(start, np.int32) for start in block.starts], traced
