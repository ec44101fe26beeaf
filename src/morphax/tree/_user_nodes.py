"""What of a tree structure users brought: classes they registered, and data that may hide things.

Structures compare data by `==`.  Who must know that two structures are one and the same, because
the code of their classes runs or their data are read, looks at these nodes one by one.
"""

from __future__ import annotations

from weakref import WeakSet

from ._builtin_kinds import DictKind, NoneKind, SequenceKind
from ._node import Node
from ._treedef import PyTreeDef
from ._unflatten import post_order

_PLAIN_KINDS = (NoneKind, SequenceKind, DictKind)
# Structures found to have no such nodes.  Equal structures of canonical nodes have the same kinds.
_plain: WeakSet[PyTreeDef] = WeakSet()


def nodes_of_users(treedef: PyTreeDef) -> list[tuple[int, Node | None]]:
    """All nodes with their numbers of children, children first, `None` for a leaf.

    Empty if the structure is one of tuples, lists, `None` and dicts with plain keys, which its
    equality describes in full.

    Example:
        >>> import morphax as jax
        >>> from morphax.tree import nodes_of_users
        >>> nodes_of_users(jax.tree.structure({"a": (1, [2, None])}))
        []
        >>> len(nodes_of_users(jax.tree.structure({1.0: 2})))
        2
    """
    if treedef._shared and treedef in _plain:
        return []
    order = post_order(treedef, lambda here: here._defs)
    nodes = [(len(here._defs), here._node) for here in order]
    if all([n is None or (n.canonical and isinstance(n.kind, _PLAIN_KINDS)) for _, n in nodes]):
        _plain.add(treedef)
        return []
    return nodes
