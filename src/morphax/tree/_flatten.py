"""Flattening: from a tree to its leaves and its structure.

The walk keeps its own stack, so that depth costs memory and not Python frames; a limit on the depth
turns a container that contains itself into an error.  Each container is first asked whether all
its children are of known leaf types (one call that runs in C): if so they are taken together, and
the structure is looked up by their number.

With key paths, classes registered with keys are flattened by their function with keys instead; the
path of the open node is kept as one list, and copied for leaves alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from ..util.messages import message
from ._keypaths import KeyPath
from ._mismatch import add_path_note, short
from ._node import Node
from ._registry import expanders, kind_of, leaf_types
from ._treedef import LEAF, PyTreeDef, flat_treedef, treedef_of

MAX_DEPTH = 100_000

IsLeaf = Callable[[Any], bool]
# A node that is being flattened: itself, its children, an iterator over those that are left (with
# the step that leads to them, if paths are wanted), and the definitions of those that are done.
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
    if is_leaf is not None and says_leaf(is_leaf(tree)):
        return [tree], LEAF
    expand = expanders[type(tree)]
    if expand is None:
        return [tree], LEAF
    try:
        children, node = expand(tree)
    except Exception as error:
        add_path_note(error, (), tree)
        raise
    if is_leaf is None and leaf_types.issuperset(map(type, children)):
        leaves = list(children)
        return leaves, node.known.get(len(leaves)) or flat_treedef(node, len(leaves))
    return _flatten_children(children, node, is_leaf)


def _flatten_children(
    children: Sequence[Any], node: Node, is_leaf: IsLeaf | None
) -> tuple[list[Any], PyTreeDef]:
    """`flatten` of a tree whose root was taken apart into `children` and `node`."""
    leaves: list[Any] = []
    stack: list[_Open] = [(node, children, iter(children), [])]
    try:
        while True:
            node, _, rest, defs = stack[-1]
            opened = _take(rest, defs, leaves, is_leaf)
            if opened is not None:
                stack.append(opened)
                _check_depth(stack)
                continue
            treedef = treedef_of(node, defs)
            stack.pop()
            if not stack:
                return leaves, treedef
            stack[-1][3].append(treedef)
    except Exception as error:
        _note_place(error, stack)
        raise


def _take(
    rest: Iterator[Any], defs: list[PyTreeDef], leaves: list[Any], is_leaf: IsLeaf | None
) -> _Open | None:
    """Take leaves, and nodes all of whose children are leaves; open the next other node."""
    for child in rest:
        if is_leaf is not None and says_leaf(is_leaf(child)):
            expand = None
        else:
            expand = expanders[type(child)]
        if expand is None:
            leaves.append(child)
            defs.append(LEAF)
            continue
        children, node = expand(child)
        if is_leaf is not None or not leaf_types.issuperset(map(type, children)):
            return node, children, iter(children), []
        leaves.extend(children)
        arity = len(children)
        defs.append(node.known.get(arity) or flat_treedef(node, arity))
    return None


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
    stop = is_leaf if is_leaf is None or is_leaf_takes_path else lambda _, node: is_leaf(node)
    leaves: list[tuple[KeyPath, Any]] = []
    # The definition of the tree is the only element of the outermost list of definitions.
    root: list[PyTreeDef] = []
    prefix: list[Any] = []
    opened = _take_with_path(prefix, iter([((), tree)]), root, leaves, stop)
    stack: list[_Open] = [] if opened is None else [opened]
    while stack:
        node, _, rest, defs = stack[-1]
        opened = _take_with_path(prefix, rest, defs, leaves, stop)
        if opened is not None:
            stack.append(opened)
            _check_depth(stack)
            continue
        stack.pop()
        del prefix[-1:]
        (stack[-1][3] if stack else root).append(treedef_of(node, defs))
    return leaves, root[0]


def _take_with_path(
    prefix: list[Any],
    rest: Iterator[tuple[KeyPath, Any]],
    defs: list[PyTreeDef],
    leaves: list[tuple[KeyPath, Any]],
    is_leaf: Callable[[KeyPath, Any], bool] | None,
) -> _Open | None:
    """`_take` for children that come with the last step of their path; `prefix` is the rest.

    The step to the node that is opened joins the prefix.
    """
    base = tuple(prefix)
    for step, child in rest:
        path = base + step
        try:
            stop = is_leaf is not None and says_leaf(is_leaf(path, child))
            kind = None if stop else kind_of(type(child))
            if kind is None:
                leaves.append((path, child))
                defs.append(LEAF)
                continue
            keys, children, node = kind.expand_with_keys(child)
        except Exception as error:
            add_path_note(error, path, child)
            raise
        if is_leaf is not None or not leaf_types.issuperset(map(type, children)):
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
        raise RecursionError(
            message(
                "flattening of a tree",
                given=f"containers nested more than {MAX_DEPTH} deep",
                expected="a tree, in which no container contains itself",
                fix="Break the cycle, or nest less deeply.",
            )
        )


def _note_place(error: Exception, stack: Sequence[_Open]) -> None:
    """Add to `error` the key path of the child at which the walk stopped."""
    # Keys may be wrong, as those of a named tuple without matching names; the error comes first.
    with suppress(Exception):
        path = [
            node.kind.keys(node.data, len(children))[len(defs)] for node, children, _, defs in stack
        ]
        _, children, _, defs = stack[-1]
        add_path_note(error, tuple(path), children[len(defs)])
