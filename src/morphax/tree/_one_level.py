"""One step into a tree: is this a node, and what are its children?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..util.messages import message
from ._node import NodeKind
from ._registry import kinds


def is_tree_node(typ: Any) -> bool:
    """Whether instances of the type `typ` are nodes of trees, rather than leaves.

    Example:
        >>> import morphax as jax
        >>> jax.tree_util.is_tree_node(dict), jax.tree_util.is_tree_node(set)
        (True, False)
    """
    return isinstance(typ, type) and kinds[typ] is not None


def _kind_of_node(tree: Any, where: str) -> NodeKind:
    kind = kinds[type(tree)]
    if kind is None:
        raise ValueError(
            message(
                where,
                given=f"a leaf of type {type(tree).__name__}",
                expected="a node: a container, None, or an instance of a registered class",
                fix="Ask is_tree_node(type(tree)) first, or register the class.",
            )
        )
    return kind


def flatten_one_level(tree: Any) -> tuple[Sequence[Any], Any]:
    """The children of the root of a tree, and its auxiliary data.

    Raises:
        ValueError: if `tree` is a leaf.

    Example:
        >>> import morphax as jax
        >>> jax.tree_util.flatten_one_level({"b": 1, "a": (2, 3)})
        (((2, 3), 1), ('a', 'b'))
    """
    kind = _kind_of_node(tree, "flatten_one_level")
    children, node = kind.expand(tree)
    return children, kind.level_data(node.data)


def flatten_one_level_with_keys(tree: Any) -> tuple[Iterable[tuple[Any, Any]], Any]:
    """The children of the root of a tree as `(key, child)` pairs, and its auxiliary data.

    Raises:
        ValueError: if `tree` is a leaf.

    Example:
        >>> import morphax as jax
        >>> jax.tree_util.flatten_one_level_with_keys([5])
        (((SequenceKey(idx=0), 5),), None)
    """
    kind = _kind_of_node(tree, "flatten_one_level_with_keys")
    keys, children, node = kind.expand_with_keys(tree)
    return tuple(zip(keys, children, strict=True)), kind.level_data(node.data)
