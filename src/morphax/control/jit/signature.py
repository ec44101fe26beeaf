"""What a jitted function is called with, as far as its program depends on it."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple, final

from ... import tree
from ..chosen_arguments import StaticArguments


@final
class Signature(NamedTuple):
    """The signature of a call.

    Args:
        avals: of the leaves.
        args_tree, kwargs_tree: their structures.
        static: the static arguments, if the function has any.
        key: under which the program is kept; `None` if something here cannot be told apart.
        static_key, trace_key: of the static arguments, and of the configuration.
    """

    avals: tuple[Any, ...]
    args_tree: tree.PyTreeDef
    kwargs_tree: tree.PyTreeDef
    static: StaticArguments | None
    key: Hashable
    static_key: tuple[Any, ...] | None
    trace_key: Hashable

    @property
    def in_tree(self) -> tree.PyTreeDef:
        """The structure of ``(args, kwargs)``."""
        return tree.treedef_tuple((self.args_tree, self.kwargs_tree))
