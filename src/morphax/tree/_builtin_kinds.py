"""The kinds of node that Python itself provides: `None`, tuple, list, dict and named tuples.

Dictionaries are flattened in the order of their sorted keys, so that equal dictionaries have equal
structures.  The sorting is done once per tuple of keys: `DictKind` remembers the order, provided
that all keys are of types whose equality distinguishes everything that can be told apart.

Only exact types count: an instance of a subclass of `dict`, `list` or `tuple` is a leaf unless its
class is registered, except that every tuple with `_fields` is a named tuple.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from operator import itemgetter
from typing import Any, final

from ..util.messages import message
from ._keypaths import DictKey, GetAttrKey, SequenceKey
from ._node import Node, NodeKind

# Key types without equal values that differ: `1 == True == 1.0` rules out bool and float, and a
# subclass of str may equal a str.
_EXACT_KEY_TYPES = frozenset({str, int, bytes})
_MAX_REMEMBERED_ORDERS = 4096


@final
class NoneKind(NodeKind):
    """`None`: a node without children."""

    __slots__ = ("_node",)

    def __init__(self) -> None:
        super().__init__(type(None))
        self._node = Node(self, None, canonical=True)

    def expand(self, tree: None) -> tuple[Sequence[Any], Node]:
        return (), self._node

    def build(self, data: None, children: Sequence[Any]) -> None:
        return None

    def node(self, data: None) -> Node:
        return self._node

    def arity(self, data: None) -> int:
        return 0

    def show(self, data: None, children: Sequence[str]) -> str:
        return "None"


@final
class SequenceKind(NodeKind):
    """A tuple or a list."""

    __slots__ = ("_node", "_positions", "_template")

    def __init__(self, type_: type[tuple[Any, ...]] | type[list[Any]]) -> None:
        super().__init__(type_)
        self._node = Node(self, None, canonical=True)
        # Entries of key paths; replaced by a longer tuple when more are needed.
        self._positions: tuple[SequenceKey, ...] = ()
        self._template = "({})" if type_ is tuple else "[{}]"

    def expand(self, tree: Sequence[Any]) -> tuple[Sequence[Any], Node]:
        return tree, self._node

    def build(self, data: None, children: Sequence[Any]) -> Any:
        return self.type(children)

    def node(self, data: None) -> Node:
        return self._node

    def keys(self, data: None, arity: int) -> Sequence[Hashable]:
        if len(self._positions) < arity:
            self._positions = tuple(map(SequenceKey, range(2 * arity)))
        return self._positions[:arity]

    def show(self, data: None, children: Sequence[str]) -> str:
        comma = "," if self.type is tuple and len(children) == 1 else ""
        return self._template.format(", ".join(children) + comma)


@final
class DictKind(NodeKind):
    """A dict; its data are the keys, sorted."""

    __slots__ = ("_empty", "_nodes", "_orders")

    def __init__(self) -> None:
        super().__init__(dict)
        self._empty = Node(self, (), canonical=True)
        self._nodes: dict[tuple[Any, ...], Node] = {}
        # Keys in order of insertion -> (values in order of the sorted keys, node).
        self._orders: dict[tuple[Any, ...], tuple[Callable[[Any], tuple[Any, ...]], Node]] = {}

    def expand(self, tree: dict[Any, Any]) -> tuple[Sequence[Any], Node]:
        if not tree:
            return (), self._empty
        order = self._orders.get(tuple(tree))
        if order is None or not _EXACT_KEY_TYPES.issuperset(map(type, tree)):
            order = self._order(tree)
        values, node = order
        return values(tree), node

    def build(self, data: tuple[Any, ...], children: Sequence[Any]) -> dict[Any, Any]:
        # There are as many children as keys; asking zip to check costs half as much again.
        return dict(zip(data, children))  # noqa: B905

    def _order(self, tree: dict[Any, Any]) -> tuple[Callable[[Any], tuple[Any, ...]], Node]:
        node = self.node(sorted_keys(tree))
        order = values_getter(node.data), node
        if node.canonical:
            if len(self._orders) >= _MAX_REMEMBERED_ORDERS:
                self._orders.clear()
                self._nodes.clear()
            self._orders[tuple(tree)] = order
        return order

    def node(self, data: Iterable[Any]) -> Node:
        keys = tuple(data)
        if not keys:
            return self._empty
        if not _EXACT_KEY_TYPES.issuperset(map(type, keys)):
            return Node(self, keys, canonical=False)
        node = self._nodes.get(keys)
        return node or self._nodes.setdefault(keys, Node(self, keys, canonical=True))

    def arity(self, data: tuple[Any, ...]) -> int:
        return len(data)

    def keys(self, data: tuple[Any, ...], arity: int) -> Sequence[Hashable]:
        return [DictKey(key) for key in data]

    def show(self, data: tuple[Any, ...], children: Sequence[str]) -> str:
        items = (f"{key!r}: {child}" for key, child in zip(data, children, strict=True))
        return f"{{{', '.join(items)}}}"

    def public_data(self, data: tuple[Any, ...]) -> list[Any]:
        return list(data)

    def hash_data(self, data: tuple[Any, ...]) -> int:
        return hash(data)


@final
class NamedTupleKind(NodeKind):
    """One class of named tuples."""

    __slots__ = ("_node",)

    def __init__(self, type_: type) -> None:
        super().__init__(type_)
        self._node = Node(self, None, canonical=True)

    def expand(self, tree: tuple[Any, ...]) -> tuple[Sequence[Any], Node]:
        return tree, self._node

    def build(self, data: None, children: Sequence[Any]) -> Any:
        return self.type(*children)

    def node(self, data: None) -> Node:
        return self._node

    def keys(self, data: None, arity: int) -> Sequence[Hashable]:
        names = tuple(self.type._fields)  # type: ignore[attr-defined]
        if len(names) != arity:
            raise ValueError(
                message(
                    "key paths of a named tuple",
                    given=f"a {self.type.__name__} of {arity} elements with _fields = {names}",
                    expected="one name in _fields for each element",
                    fix="Mend _fields, or register the class with keys.",
                )
            )
        return [GetAttrKey(name) for name in names]

    def show(self, data: None, children: Sequence[str]) -> str:
        return f"CustomNode(namedtuple[{self.type.__name__}], [{', '.join(children)}])"

    def level_data(self, data: None) -> type:
        return self.type


def sorted_keys(tree: dict[Any, Any]) -> tuple[Any, ...]:
    """The keys of a dictionary, sorted, with an explanation if they cannot be."""
    try:
        return tuple(sorted(tree))
    except Exception as error:
        types = sorted({type(key).__name__ for key in tree})
        raise ValueError(
            message(
                "flattening of a dict",
                given=f"keys of types {', '.join(types)}, which < does not compare: {error}",
                expected="keys that can be sorted, since the children are taken in that order",
                fix="Use keys of one sortable type, or an OrderedDict, which keeps its own order.",
            )
        ) from error


def values_getter(keys: Sequence[Any]) -> Callable[[Any], tuple[Any, ...]]:
    """The function from a mapping to the tuple of its values under `keys`, at least one."""
    if len(keys) == 1:
        (key,) = keys
        return lambda tree: (tree[key],)
    return itemgetter(*keys)
