"""Reading and changing a part of a reference that a user names by an index."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from ... import dtypes
from ...core import aval_of, is_value
from ...util.messages import described, message
from ..elementwise.convert import convert
from .ref_binding import Reference, get_p, swap_p
from .ref_indexing import Index, Indexer, parse_index
from .ref_primitives import addupdate_p

# An indexer and its operands.
Transform = tuple[Indexer, tuple[Any, ...]]


class Part(Protocol):
    """A reference, or a reference to a part of one."""

    @property
    def ref(self) -> Reference:
        """The whole reference."""

    @property
    def transforms(self) -> tuple[Transform, ...]:
        """Which part: each entry names a part of the part that the one before names."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes of the part."""

    @property
    def dtype(self) -> Any:
        """The dtype of the elements."""


def look_up(part: Part, index: Index) -> Any:
    """``part[index]``."""
    indexers, operands = _located("ref[index]", part, index)
    return get_p.bind(part.ref, *operands, indexers=indexers)


def replace(part: Part, index: Index, value: Any) -> Any:
    """``part[index] = value``; the result is what was there before."""
    indexers, operands = _located("ref[index] = value", part, index)
    return swap_p.bind(part.ref, _converted(part, value), *operands, indexers=indexers)


def add_to(part: Part, index: Index, x: Any) -> None:
    """``part[index] += x``; a place that the index names twice is added to twice."""
    indexers, operands = _located("addupdate", part, index)
    addupdate_p.bind(part.ref, _converted(part, x), *operands, indexers=indexers)


def _located(where: str, part: Part, index: Index) -> tuple[tuple[Indexer, ...], list[Any]]:
    """The indexers of the part of a part, and their operands."""
    indexer, own = parse_index(where, part.shape, index)
    indexers = [t for t, _ in part.transforms] + ([] if indexer.is_whole else [indexer])
    before = [x for _, operands in part.transforms for x in operands]
    return tuple(indexers), [*before, *own]


def _converted(part: Part, value: Any) -> Any:
    """A value as the reference holds it: numbers take its dtype if they are of the same kind."""
    if isinstance(value, Reference) or not is_value(value):
        raise TypeError(
            message(
                "assignment to a reference",
                given=described(value),
                expected="an array or a number",
                fix="Convert the value with jnp.asarray; read a reference with ref[...].",
            )
        )
    aval = aval_of(value)
    if not aval.weak_type or _kind(aval) is not _kind(part):
        return value
    # A number stays a literal of the program.
    is_number = type(value) in (bool, int, float, complex)
    return np.asarray(value, part.dtype)[()] if is_number else convert(value, part.dtype)


def _kind(typed: Any) -> type:
    return dtypes.scalar_type_of(typed.dtype)
