"""Prefixes: a tree that stands for a larger one, each of its leaves for a whole subtree.

`in_axes=(0, None)` says something about all leaves of two arguments at once.  Broadcasting such a
prefix gives one value for each leaf of the full tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._flatten import IsLeaf, flatten
from ._mismatch import explain
from ._operations import structure
from ._treedef import PyTreeDef, match


def broadcast(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf | None = None) -> Any:
    """A tree with the structure of `full_tree` and the leaves of `prefix_tree`, repeated.

    Args:
        prefix_tree: a tree whose structure is a prefix of that of `full_tree`.
        full_tree: gives the structure of the result; `None` in it stays.
        is_leaf: as in `flatten`, for `prefix_tree`.

    Raises:
        ValueError: if `prefix_tree` is not a prefix of `full_tree`.

    Example:
        >>> import morphax as jax
        >>> jax.tree.broadcast((0, 1), (5, {"a": 6, "b": [7, 8]}))
        (0, {'a': 1, 'b': [1, 1]})
    """
    repeated = broadcast_prefix(prefix_tree, full_tree, is_leaf)
    return structure(full_tree).unflatten(repeated)


def broadcast_prefix(
    prefix_tree: Any,
    full_tree: Any,
    is_leaf: IsLeaf | None = None,
    *,
    where: str = "tree.broadcast",
    prefix_name: str = "prefix_tree",
    full_name: str = "full_tree",
) -> list[Any]:
    """The leaf of `prefix_tree` that stands for it, for each leaf of `full_tree`.

    Args:
        prefix_tree: a tree whose structure is a prefix of that of `full_tree`.
        full_tree: any object.
        is_leaf: as in `flatten`, for `prefix_tree`; mostly `lambda x: x is None`.
        where: the function in whose name an error speaks.
        prefix_name: what that function calls `prefix_tree`.
        full_name: what that function calls `full_tree`.

    Raises:
        ValueError: if `prefix_tree` is not a prefix of `full_tree`.

    Example:
        >>> from morphax.tree import broadcast_prefix
        >>> broadcast_prefix((0, None), (5, {"a": 6, "b": 7}), lambda x: x is None)
        [0, None, None]
    """
    leaves, prefix = flatten(prefix_tree, is_leaf)
    subtrees = match(prefix, full_tree)
    if subtrees is None:
        raise explain(prefix, full_tree, where, prefix_name, full_name)
    return _repeated(leaves, [structure(subtree) for subtree in subtrees])


def flatten_axes(
    where: str, treedef: PyTreeDef, axis_tree: Any, axis_name: str = "the tree of axes"
) -> list[Any]:
    """One entry of `axis_tree`, where `None` is an entry too, for each leaf of a structure.

    Args:
        where: the function in whose name an error speaks.
        treedef: the structure of the full tree, of which no instance is at hand.
        axis_tree: a tree whose structure is a prefix of `treedef`.
        axis_name: what that function calls `axis_tree`.

    Raises:
        ValueError: if `axis_tree` is not a prefix.

    Example:
        >>> import morphax as jax
        >>> from morphax.tree import flatten_axes
        >>> flatten_axes("f", jax.tree.structure((1, [2, 3])), (0, None))
        [0, None, None]
    """
    leaves, prefix = flatten(axis_tree, lambda x: x is None)
    subtrees = _match_structure(prefix, treedef)
    if subtrees is None:
        full_tree = treedef.unflatten([_Leaf()] * treedef.num_leaves)
        raise explain(prefix, full_tree, where, axis_name, "the tree it is for")
    return _repeated(leaves, subtrees)


class _Leaf:
    """Stands for an unknown leaf in an error."""

    def __repr__(self) -> str:
        return "*"


def _match_structure(prefix: PyTreeDef, full: PyTreeDef) -> list[PyTreeDef] | None:
    """The parts of `full` that stand where `prefix` has leaves, None if it is no prefix."""
    parts: list[PyTreeDef] = []
    stack = [(prefix, full)]
    while stack:
        here, part = stack.pop()
        if here.node_data() is None:
            parts.append(part)
            continue
        below, children = here.children(), part.children()
        if here.node_data() != part.node_data() or len(below) != len(children):
            return None
        stack.extend(zip(reversed(below), reversed(children), strict=True))
    return parts


def _repeated(leaves: Sequence[Any], parts: Sequence[PyTreeDef]) -> list[Any]:
    counts = [part.num_leaves for part in parts]
    return [leaf for leaf, n in zip(leaves, counts, strict=True) for _ in range(n)]
