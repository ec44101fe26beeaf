"""Trees ("pytrees"): containers nested in containers, with arrays or anything else as leaves.

A tree is flattened to its leaves and a structure (`PyTreeDef`), worked on, and built again. `None`,
tuples, lists, dicts, named tuples, `OrderedDict`, `defaultdict` and registered classes are nodes.

A core in C++ can take the place of these, on which mapping, prefixes and error texts are built:

    flatten(tree, is_leaf) -> (leaves, treedef)
    flatten_with_path(tree, is_leaf, is_leaf_takes_path) -> ([(path, leaf), ...], treedef)
    match(treedef, tree) -> subtrees, or None if `treedef` is no prefix of the structure of `tree`
    flatten_one_level(tree), flatten_one_level_with_keys(tree) -> (children, auxiliary data)
    register(kind), kind_of(type) -> the table of node types
    PyTreeDef: num_leaves, num_nodes, children, node_data, unflatten, compose, walk, ==, hash, repr,
        from_iterable_tree, from_node_data_and_children, pickle

Invariants: equal structures have equal hashes and are mostly one object; building a tree gives back
the very keys and auxiliary data it was taken apart into.  Limits: a tree deeper than
`_flatten.MAX_DEPTH` is taken for one that contains itself; the types of leaves must be hashable.
"""

from __future__ import annotations

from . import _installation, _structure_keys
from ._dataclasses import register_dataclass, static
from ._default_registry import PyTreeRegistry, default_registry, registered_types
from ._flatten import flatten, flatten_with_path
from ._keypaths import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    KeyEntry,
    KeyPath,
    SequenceKey,
    keystr,
)
from ._one_level import flatten_one_level, flatten_one_level_with_keys, is_tree_node
from ._operations import (
    all,
    all_leaves,
    leaves,
    leaves_with_path,
    map,
    map_with_path,
    reduce,
    reduce_associative,
    structure,
    transpose,
    treedef_children,
    treedef_is_leaf,
    treedef_tuple,
    unflatten,
)
from ._partial import Partial
from ._prefix import broadcast, broadcast_prefix, flatten_axes
from ._registry import (
    number_of_registrations,
    register_pytree_node,
    register_pytree_node_class,
    register_pytree_with_keys,
    register_pytree_with_keys_class,
    register_static,
)
from ._treedef import PyTreeDef
from ._user_nodes import nodes_of_users

__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "Partial",
    "PyTreeDef",
    "PyTreeRegistry",
    "SequenceKey",
    "all",
    "all_leaves",
    "broadcast",
    "broadcast_prefix",
    "default_registry",
    "flatten",
    "flatten_axes",
    "flatten_one_level",
    "flatten_one_level_with_keys",
    "flatten_with_path",
    "is_tree_node",
    "keystr",
    "leaves",
    "leaves_with_path",
    "map",
    "map_with_path",
    "nodes_of_users",
    "number_of_registrations",
    "reduce",
    "reduce_associative",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "registered_types",
    "static",
    "structure",
    "transpose",
    "treedef_children",
    "treedef_is_leaf",
    "treedef_tuple",
    "unflatten",
]
