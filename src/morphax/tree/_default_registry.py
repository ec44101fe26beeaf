"""`default_registry`: the registry as an object, as libraries written for JAX expect it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

from ._dataclasses import register_dataclass
from ._flatten import flatten, flatten_with_path
from ._keypaths import KeyPath
from ._one_level import flatten_one_level, flatten_one_level_with_keys, is_tree_node
from ._registry import register_pytree_node
from ._treedef import PyTreeDef


@final
class PyTreeRegistry:
    """The types that are nodes of trees; there is one registry, `default_registry`."""

    __slots__ = ()

    def flatten(
        self, tree: Any, leaf_predicate: Callable[[Any], bool] | None = None
    ) -> tuple[list[Any], PyTreeDef]:
        """`tree.flatten`."""
        return flatten(tree, leaf_predicate)

    def flatten_with_path(
        self, tree: Any, leaf_predicate: Callable[[KeyPath, Any], bool] | None = None
    ) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
        """`tree.flatten_with_path`; the predicate takes a path and a node."""
        return flatten_with_path(tree, leaf_predicate, is_leaf_takes_path=True)

    def flatten_one_level(self, tree: Any) -> tuple[Sequence[Any], Any] | None:
        """`tree_util.flatten_one_level`, or None for a leaf."""
        return flatten_one_level(tree) if self.is_node(type(tree)) else None

    def flatten_one_level_with_keys(self, tree: Any) -> tuple[Any, Any] | None:
        """`tree_util.flatten_one_level_with_keys`, or None for a leaf."""
        return flatten_one_level_with_keys(tree) if self.is_node(type(tree)) else None

    def is_node(self, type: type) -> bool:
        """`tree_util.is_tree_node`."""
        return is_tree_node(type)

    def register_node(
        self,
        type: type,
        to_iterable: Callable[[Any], tuple[Any, Any]],
        from_iterable: Callable[[Any, Any], Any],
        to_iterable_with_keys: Callable[[Any], tuple[Any, Any]] | None = None,
    ) -> None:
        """`tree_util.register_pytree_node`."""
        register_pytree_node(type, to_iterable, from_iterable, to_iterable_with_keys)

    def register_dataclass_node(
        self, type: type, data_fields: Sequence[str], meta_fields: Sequence[str], /
    ) -> None:
        """`tree_util.register_dataclass`."""
        register_dataclass(type, data_fields, meta_fields)

    def __reduce__(self) -> str:
        return "default_registry"


default_registry = PyTreeRegistry()


@final
class RegisteredTypes:
    """The types that are nodes of trees, for asking ``type in registered_types``."""

    __slots__ = ()

    def __contains__(self, type: object) -> bool:
        return is_tree_node(type)


registered_types = RegisteredTypes()
