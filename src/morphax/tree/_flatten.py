"""Flattening: from a tree to its leaves and its structure.

The walks keep their own stack, so that depth costs memory and not Python frames; a limit on the
depth turns a container that contains itself into an error.  Of each container they ask whether all
its children are of known leaf types (one call that runs in C): if so these are taken together, and
the structure is looked up by their number.

With key paths, classes registered with keys are flattened by their function with keys instead; the
path of the open node is kept as one list, and copied for leaves alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from ..util.messages import message
from ._core import twin
from ._keypaths import KeyPath
from ._mismatch import add_path_note, short
from ._node import Node
from ._registry import are_leaf_types, kinds
from ._treedef import LEAF, PyTreeDef, flat_treedef, treedef_of

MAX_DEPTH = 100_000

IsLeaf = Callable[[Any], bool]
# A node that is being flattened: itself, its children, an iterator over those that are left, and
# the definitions of those that are done.
_Open = tuple[Node, Sequence[Any], Iterator[Any], list[PyTreeDef]]


def flatten(tree: Any, is_leaf: IsLeaf | None = None) -> tuple[list[Any], PyTreeDef]:
    """Leaves of a tree, from left to right, and its structure.

    Args:
        tree: any object; containers and instances of registered classes are nodes, all others
            leaves.  `None` is a node without children.
        is_leaf: asked of each node, before its children; true makes it a leaf.

    Returns:
        `(leaves, treedef)`, from which `tree.unflatten(treedef, leaves)` rebuilds the tree.

    Example:
        >>> import morphax as jax
        >>> jax.tree.flatten({"b": 1, "a": (2, None)})
        ([2, 1], PyTreeDef({'a': (*, None), 'b': *}))
    """
    return _flatten(tree, is_leaf)


@twin
def _flatten(tree: Any, is_leaf: IsLeaf | None) -> tuple[list[Any], PyTreeDef]:
    if is_leaf is not None and says_leaf(is_leaf(tree)):
        return [tree], LEAF
    kind = kinds[type(tree)]
    if kind is None:
        return [tree], LEAF
    try:
        children, node = kind.expand(tree)
    except Exception as error:
        add_path_note(error, (), tree)
        raise
    if is_leaf is None and are_leaf_types(map(type, children)):
        leaves = list(children)
        return leaves, node.known.get(len(leaves)) or flat_treedef(node, len(leaves))
    return _flatten_children(children, node, is_leaf)


def _flatten_children(
    siblings: Sequence[Any], node: Node, is_leaf: IsLeaf | None
) -> tuple[list[Any], PyTreeDef]:
    """`flatten` of a tree whose root was taken apart into children and node."""
    leaves: list[Any] = []
    stack: list[_Open] = []
    rest, defs = iter(siblings), []
    try:
        while True:
            for child in rest:
                if is_leaf is not None and says_leaf(is_leaf(child)):
                    kind = None
                else:
                    kind = kinds[type(child)]
                if kind is None:
                    leaves.append(child)
                    defs.append(LEAF)
                    continue
                children, below = kind.expand(child)
                if is_leaf is None and are_leaf_types(map(type, children)):
                    leaves.extend(children)
                    arity = len(children)
                    defs.append(below.known.get(arity) or flat_treedef(below, arity))
                    continue
                stack.append((node, siblings, rest, defs))
                node, siblings, rest, defs = below, children, iter(children), []
                _check_depth(stack)
                break
            else:
                treedef = treedef_of(node, defs)
                if not stack:
                    return leaves, treedef
                node, siblings, rest, defs = stack.pop()
                defs.append(treedef)
    except Exception as error:
        opened = [*stack, (node, siblings, rest, defs)]
        note_place(error, [(node, siblings, len(defs)) for node, siblings, _, defs in opened])
        raise


def flatten_with_path(
    tree: Any,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
    """Like `flatten`, with the key path of each leaf.

    Args:
        tree: any object.
        is_leaf: asked of each node, before its children; true makes it a leaf.
        is_leaf_takes_path: call `is_leaf(path, node)` instead of `is_leaf(node)`.

    Returns:
        `([(path, leaf), ...], treedef)`.

    Example:
        >>> import morphax as jax
        >>> pairs, _ = jax.tree.flatten_with_path({"a": [5]})
        >>> pairs
        [((DictKey(key='a'), SequenceKey(idx=0)), 5)]
    """
    return _flatten_with_path(tree, is_leaf, is_leaf_takes_path)


@twin
def _flatten_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None, takes_path: bool
) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
    ask = is_leaf if is_leaf is None or takes_path else lambda _, node: is_leaf(node)
    leaves: list[tuple[KeyPath, Any]] = []
    # The definition of the tree is the only element of the outermost list of definitions.
    root: list[PyTreeDef] = []
    prefix: list[Any] = []
    opened = _take(prefix, iter([((), tree)]), root, leaves, ask)
    stack: list[_Open] = [] if opened is None else [opened]
    while stack:
        node, _, rest, defs = stack[-1]
        opened = _take(prefix, rest, defs, leaves, ask)
        if opened is not None:
            stack.append(opened)
            _check_depth(stack)
            continue
        stack.pop()
        del prefix[-1:]
        (stack[-1][3] if stack else root).append(treedef_of(node, defs))
    return leaves, root[0]


def _take(
    prefix: list[Any],
    rest: Iterator[tuple[KeyPath, Any]],
    defs: list[PyTreeDef],
    leaves: list[tuple[KeyPath, Any]],
    is_leaf: Callable[[KeyPath, Any], bool] | None,
) -> _Open | None:
    """Take leaves, and nodes all of whose children are leaves; open the next other node.

    Children come with the last step of their path; `prefix` has the steps before.  The step to the
    node that is opened joins it.
    """
    base = tuple(prefix)
    for step, child in rest:
        path = base + step
        try:
            stop = is_leaf is not None and says_leaf(is_leaf(path, child))
            kind = None if stop else kinds[type(child)]
            if kind is None:
                leaves.append((path, child))
                defs.append(LEAF)
                continue
            keys, children, node = kind.expand_with_keys(child)
        except Exception as error:
            add_path_note(error, path, child)
            raise
        if is_leaf is not None or not are_leaf_types(map(type, children)):
            prefix.extend(step)
            return node, children, zip(zip(keys), children, strict=True), []
        leaves.extend(zip([(*path, key) for key in keys], children, strict=True))
        defs.append(flat_treedef(node, len(children)))
    return None


def says_leaf(answer: object) -> bool:
    """The answer of an `is_leaf` function, checked: True, False, or None for False."""
    if answer is True:
        return True
    if answer is False or answer is None:
        return False
    raise ValueError(
        message(
            "flattening of a tree, argument is_leaf",
            given=f"a function that returned {short(answer)}",
            expected="a function that returns True or False",
            fix="Convert its result with bool().",
        )
    )


def _check_depth(stack: Sequence[_Open]) -> None:
    if len(stack) > MAX_DEPTH:
        raise too_deep()


def too_deep() -> RecursionError:
    """The error of a tree without end."""
    return RecursionError(
        message(
            "flattening of a tree",
            given=f"containers nested more than {MAX_DEPTH} deep",
            expected="a tree, in which no container contains itself",
            fix="Break the cycle, or nest less deeply.",
        )
    )


def note_place(error: Exception, opened: Sequence[tuple[Node, Sequence[Any], int]]) -> None:
    """Add to `error` the key path of the child at which the walk stopped.

    Args:
        error: what a user's function raised.
        opened: the open nodes from the root down, each with its children and the number of those
            that are done.
    """
    # Keys may be wrong, as those of a named tuple without matching names; the error comes first.
    with suppress(Exception):
        path = [node.keys(len(siblings))[done] for node, siblings, done in opened]
        _, siblings, done = opened[-1]
        add_path_note(error, tuple(path), siblings[done])
