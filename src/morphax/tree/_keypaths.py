"""Key paths: the way from the root of a tree to one of its nodes.

A path is a tuple of entries, one per level; an entry says how the parent is accessed: by index,
by dictionary key, by attribute, or (for a class that gave no keys) by position among the children
it was flattened to.  A class may also supply objects of its own as entries; any object serves.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias, final

from ..util.records import dataclass

KeyEntry: TypeAlias = Any
KeyPath: TypeAlias = tuple[KeyEntry, ...]


@final
@dataclass(frozen=True, slots=True)
class SequenceKey:
    """The element of a tuple or a list at position `idx`.

    Example:
        >>> import morphax as jax
        >>> [(path, _)] = jax.tree_util.tree_leaves_with_path([1])
        >>> path, str(path[0])
        ((SequenceKey(idx=0),), '[0]')
    """

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"


@final
@dataclass(frozen=True, slots=True)
class DictKey:
    """The value of a dictionary under `key`.

    Example:
        >>> import morphax as jax
        >>> [(path, _)] = jax.tree_util.tree_leaves_with_path({"a": 1})
        >>> path, str(path[0])
        ((DictKey(key='a'),), "['a']")
    """

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"


@final
@dataclass(frozen=True, slots=True)
class GetAttrKey:
    """The attribute `name` of a named tuple, a dataclass or another object.

    Example:
        >>> import collections
        >>> import morphax as jax
        >>> Point = collections.namedtuple("Point", "x")
        >>> [(path, _)] = jax.tree_util.tree_leaves_with_path(Point(1))
        >>> path, str(path[0])
        ((GetAttrKey(name='x'),), '.x')
    """

    name: str

    def __str__(self) -> str:
        return f".{self.name}"


@final
@dataclass(frozen=True, slots=True)
class FlattenedIndexKey:
    """Child number `key` of a node whose class was registered without keys."""

    key: int

    def __str__(self) -> str:
        return f"[<flat index {self.key}>]"


def _simple(entry: Any) -> str:
    match entry:
        case SequenceKey(inner) | DictKey(inner) | GetAttrKey(inner) | FlattenedIndexKey(inner):
            return str(inner)
        case _:
            return str(entry)


def keystr(keys: Iterable[Any], *, simple: bool = False, separator: str = "") -> str:
    """Text of a key path, by default as the Python expression that leads to the node.

    Args:
        keys: a key path, as in the pairs of `tree.leaves_with_path`.
        simple: leave out brackets, dots and quotes.
        separator: put between two entries.

    Example:
        >>> import morphax as jax
        >>> ((path, _),) = jax.tree.leaves_with_path({"layers": [(5,)]})
        >>> jax.tree_util.keystr(path)
        "['layers'][0][0]"
        >>> jax.tree_util.keystr(path, simple=True, separator="/")
        'layers/0/0'
    """
    return separator.join(map(_simple if simple else str, keys))
