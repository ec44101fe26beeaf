"""What a node of a tree is apart from its children: `Node`, and `NodeKind`, which makes nodes.

A kind belongs to one Python type and knows how to take its instances apart.  A node is a kind plus
the data of one instance that are not children (the keys of a dictionary, the auxiliary data of a
registered class); it can build an instance from new children.

Invariant: for a *canonical* node, equal kind and data mean the same object (as long as no cache was
emptied), so that tree definitions over it can be shared.  Data whose equality hides differences
(`1 == True`) never make a canonical node: building a tree must give back the very keys and data it
was taken apart into.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from typing import Any

from ..util.messages import message
from ._keypaths import FlattenedIndexKey

# Shared by all nodes that are not canonical; stays empty.
_NOTHING_KNOWN: dict[Hashable, Any] = {}


class Node:
    """A container without its children.

    `known` holds the tree definitions made over a canonical node, by the identities of the
    children's definitions, and by their number if all are leaves.
    """

    __slots__ = ("_keys", "canonical", "data", "kind", "known")

    def __init__(self, kind: NodeKind, data: Any, *, canonical: bool) -> None:
        self.kind = kind
        self.data = data
        self.canonical = canonical
        self._keys: Sequence[Hashable] | None = None
        self.known: dict[Hashable, Any] = {} if canonical else _NOTHING_KNOWN

    def build(self, children: Sequence[Any]) -> Any:
        """An instance with these children."""
        return self.kind.build(self.data, children)

    def keys(self, arity: int) -> Sequence[Hashable]:
        """`kind.keys`, computed once as long as the arity stays the same."""
        keys = self._keys
        if keys is None or len(keys) != arity:
            keys = self._keys = self.kind.keys(self.data, arity)
        return keys

    def same(self, other: Node) -> bool:
        """Whether both stand for the same container, up to equality of the data."""
        return self is other or (self.kind is other.kind and same_data(self.data, other.data))


class NodeKind(ABC):
    """How instances of one Python type are taken apart and put together."""

    __slots__ = ("type",)

    def __init__(self, type_: type) -> None:
        self.type = type_

    @abstractmethod
    def expand(self, tree: Any) -> tuple[Sequence[Any], Node]:
        """The children of `tree`, in order, and the rest of it."""

    @abstractmethod
    def build(self, data: Any, children: Sequence[Any]) -> Any:
        """The instance that `expand` takes apart into `children` and a node with these data."""

    @abstractmethod
    def node(self, data: Any) -> Node:
        """The node with these data, as `expand` would return it."""

    def functions(self) -> tuple[Any, ...]:
        """What takes instances apart and builds them, if it is not methods of the class."""
        return ()

    @abstractmethod
    def show(self, data: Any, children: Sequence[str]) -> str:
        """Text of a node whose children have the texts `children`."""

    def arity(self, data: Any) -> int | None:
        """The number of children, if the data determine it."""
        return None

    def keys(self, data: Any, arity: int) -> Sequence[Hashable]:
        """The entries of key paths that lead to the children."""
        return [FlattenedIndexKey(i) for i in range(arity)]

    def expand_with_keys(self, tree: Any) -> tuple[Sequence[Hashable], Sequence[Any], Node]:
        """`expand`, with the keys of the children before."""
        children, node = self.expand(tree)
        return node.keys(len(children)), children, node

    def public_data(self, data: Any) -> Any:
        """`data` as `PyTreeDef.node_data` shows them."""
        return data

    def level_data(self, data: Any) -> Any:
        """`data` as `flatten_one_level` and `PyTreeDef.walk` show them."""
        return data

    def hash_data(self, data: Any) -> int:
        """A number that equal data share; data of registered classes need not be hashable."""
        return 0


def same_data(left: Any, right: Any) -> bool:
    """Whether the data of two nodes are equal, with an explanation if `==` fails."""
    if left is right:
        return True
    try:
        return bool(left == right)
    except Exception as error:
        raise ValueError(
            message(
                "comparison of tree structures",
                given=f"auxiliary data of types {type(left).__name__} and {type(right).__name__} "
                f"whose == raised {type(error).__name__}: {error}",
                expected="auxiliary data (static fields) with a plain == that returns a bool",
                fix="Make arrays children of the node (data fields) instead of auxiliary data.",
            )
        ) from error
