"""Keys of structures (see `util.parameter_keys`): they tell apart data that are merely equal.

Structures are equal if the data of their nodes are, so ``{1: *}`` equals ``{True: *}``, and a
registered class with the data ``0.0`` one with ``-0.0``.  A function that is traced with one of
them may do something else with the other.
"""

from __future__ import annotations

from typing import Any

from ..util.parameter_keys import declare_kind, key_of, of_kind
from ._core import compiled
from ._treedef import PyTreeDef
from ._unflatten import post_order

_MAX_DEPTH = 32


def _key_of_structure(treedef: PyTreeDef) -> Any:
    """The key of a structure; every structure has one."""
    if treedef._shared:
        return treedef
    nodes = [here._node for here in post_order(treedef, lambda here: here._defs)]
    data = [data_key(node.data) for node in nodes if node is not None and not node.canonical]
    return of_kind(PyTreeDef, treedef, *data)


def data_key(data: Any, depth: int = 0) -> Any:
    """What tells the data of a node from data that equal them, as far as that can be told.

    Lists and dictionaries count by what they hold now.  Other data that have no key count by their
    type, beside their own `==`.
    """
    key = key_of(data)
    if key is not None:
        return key
    if depth < _MAX_DEPTH:
        if type(data) is list or type(data) is tuple:
            return type(data), *[data_key(x, depth + 1) for x in data]
        if type(data) is dict:
            return dict, *[(key_of(k), data_key(v, depth + 1)) for k, v in data.items()]
    return type(data)


declare_kind(PyTreeDef, _key_of_structure)
if compiled is not None:
    compiled.install_data_key(data_key)
