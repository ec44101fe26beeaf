"""What is done with trees, in terms of flattening, unflattening and structures alone."""

from __future__ import annotations

import builtins
import enum
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..util.messages import described, message
from ._flatten import IsLeaf, flatten, flatten_with_path, says_leaf
from ._keypaths import KeyPath
from ._mismatch import explain, short
from ._one_level import is_tree_node
from ._treedef import PyTreeDef, build_tree, match


class _Unspecified(enum.Enum):
    """The default of a parameter for which None is a value."""

    UNSPECIFIED = enum.auto()

    def __repr__(self) -> str:
        return "<unspecified>"


_UNSPECIFIED = _Unspecified.UNSPECIFIED


def leaves(tree: Any, is_leaf: IsLeaf | None = None) -> list[Any]:
    """The leaves of a tree, from left to right; see `flatten`.

    Example:
        >>> import morphax as jax
        >>> jax.tree.leaves([1, (2, None), {"a": 3}])
        [1, 2, 3]
    """
    return flatten(tree, is_leaf)[0]


def structure(tree: Any, is_leaf: IsLeaf | None = None) -> PyTreeDef:
    """The structure of a tree; see `flatten`.

    Example:
        >>> import morphax as jax
        >>> jax.tree.structure([1, (2, None)])
        PyTreeDef([*, (*, None)])
    """
    return flatten(tree, is_leaf)[1]


def leaves_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> list[tuple[KeyPath, Any]]:
    """The leaves of a tree as `(key path, leaf)` pairs; see `flatten_with_path`.

    Example:
        >>> import morphax as jax
        >>> jax.tree.leaves_with_path({"a": 5})
        [((DictKey(key='a'),), 5)]
    """
    return flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


def unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """The tree with structure `treedef` and these leaves: the inverse of `flatten`.

    Raises:
        ValueError: if the number of leaves is not that of the structure.

    Example:
        >>> import morphax as jax
        >>> jax.tree.unflatten(jax.tree.structure((0, [0])), "ab")
        ('a', ['b'])
    """
    _check_treedef("tree.unflatten, argument treedef", treedef)
    return build_tree(treedef, leaves)


def _check_treedef(where: str, treedef: Any) -> None:
    """Raise `TypeError` unless `treedef` is a structure."""
    if not isinstance(treedef, PyTreeDef):
        raise TypeError(
            message(
                where,
                given=described(treedef),
                expected="a PyTreeDef",
                fix="Make one with jax.tree.structure(tree).",
            )
        )


def map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf | None = None) -> Any:
    """The tree of `f(leaf, ...)` over the leaves of `tree`.

    Args:
        f: takes a leaf of `tree` and the subtrees of each of `rest` at the same place.
        tree: gives the structure of the result.
        *rest: trees of which the structure of `tree` is a prefix.
        is_leaf: as in `flatten`, for `tree`.

    Raises:
        ValueError: if the structure of `tree` is not a prefix of another tree's.

    Example:
        >>> import morphax as jax
        >>> jax.tree.map(lambda x, y: x + y, {"a": 1, "b": (2,)}, {"a": 10, "b": (20,)})
        {'a': 11, 'b': (22,)}
    """
    _check_callable("tree.map", f)
    first, treedef = flatten(tree, is_leaf)
    others = _subtrees_of_rest(treedef, rest, "tree.map")
    return build_tree(treedef, builtins.map(f, first, *others))


def map_with_path(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> Any:
    """Like `map`, with the key path of the leaf as first argument of `f`.

    Example:
        >>> import morphax as jax
        >>> jax.tree.map_with_path(lambda path, x: (jax.tree_util.keystr(path), x), {"a": [5]})
        {'a': [("['a'][0]", 5)]}
    """
    pairs, treedef = flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    paths = [path for path, _ in pairs]
    first = [leaf for _, leaf in pairs]
    others = _subtrees_of_rest(treedef, rest, "tree.map_with_path")
    return build_tree(treedef, builtins.map(f, paths, first, *others))


def _subtrees_of_rest(treedef: PyTreeDef, rest: Sequence[Any], where: str) -> list[list[Any]]:
    others = []
    for i, tree in enumerate(rest):
        subtrees = match(treedef, tree)
        if subtrees is None:
            raise explain(treedef, tree, f"{where}, argument rest[{i}]", "tree", f"rest[{i}]")
        others.append(subtrees)
    return others


def reduce(
    function: Callable[[Any, Any], Any],
    tree: Any,
    initializer: Any = _UNSPECIFIED,
    is_leaf: IsLeaf | None = None,
) -> Any:
    """The leaves combined from left to right: `function(function(leaf 0, leaf 1), leaf 2)` ...

    Args:
        function: combines the result so far with the next leaf.
        tree: any object.
        initializer: put before the leaves; the result for a tree without leaves.
        is_leaf: as in `flatten`.

    Example:
        >>> import morphax as jax
        >>> jax.tree.reduce(lambda a, b: a - b, (10, [3, 2]))
        5
    """
    if initializer is _UNSPECIFIED:
        return functools.reduce(function, leaves(tree, is_leaf))
    return functools.reduce(function, leaves(tree, is_leaf), initializer)


def reduce_associative(
    operation: Callable[[Any, Any], Any],
    tree: Any,
    *,
    identity: Any = _UNSPECIFIED,
    is_leaf: IsLeaf | None = None,
) -> Any:
    """The leaves combined as a balanced tree of operations, of logarithmic depth.

    Args:
        operation: an associative function of two values.
        tree: any object.
        identity: the result for a tree without leaves.
        is_leaf: as in `flatten`.

    Raises:
        TypeError: if there are no leaves and no identity.

    Example:
        >>> import morphax as jax
        >>> jax.tree.reduce_associative(lambda a, b: f"({a}{b})", list("abcde"))
        '((ab)(c(de)))'
    """
    values = leaves(tree, is_leaf)
    if values:
        return _reduce_halves(operation, values)
    if identity is _UNSPECIFIED:
        raise TypeError(
            message(
                "tree.reduce_associative",
                given="a tree without leaves, and no identity",
                expected="at least one leaf, or an identity",
                fix="Pass identity=, the value that the operation leaves unchanged.",
            )
        )
    return identity


def _reduce_halves(operation: Callable[[Any, Any], Any], values: list[Any]) -> Any:
    if len(values) == 1:
        return values[0]
    middle = len(values) // 2
    return operation(
        _reduce_halves(operation, values[:middle]), _reduce_halves(operation, values[middle:])
    )


def all(tree: Any, *, is_leaf: IsLeaf | None = None) -> bool:
    """Whether all leaves are true; true for a tree without leaves.

    Example:
        >>> import morphax as jax
        >>> jax.tree.all((True, [True, {"a": False}]))
        False
    """
    return builtins.all(leaves(tree, is_leaf))


def all_leaves(iterable: Iterable[Any], is_leaf: IsLeaf | None = None) -> bool:
    """Whether each element is a leaf; `None` is none unless `is_leaf` says so.

    Example:
        >>> import morphax as jax
        >>> jax.tree_util.all_leaves([1, "a"]), jax.tree_util.all_leaves([1, [2]])
        (True, False)
    """
    return builtins.all(
        (is_leaf is not None and says_leaf(is_leaf(element))) or not is_tree_node(type(element))
        for element in iterable
    )


def transpose(
    outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: Any
) -> Any:
    """Turn a tree of trees inside out.

    Args:
        outer_treedef: the structure whose leaves are the inner trees.
        inner_treedef: their structure; None to read it from the first of them.
        pytree_to_transpose: a tree with as many leaves as `outer_treedef.compose(inner_treedef)`.

    Returns:
        A tree of structure `inner_treedef.compose(outer_treedef)`.

    Raises:
        TypeError: if the number of leaves differs.

    Example:
        >>> import morphax as jax
        >>> outer = jax.tree.structure([0, 0])
        >>> jax.tree.transpose(outer, None, [{"x": 1, "y": 2}, {"x": 3, "y": 4}])
        {'x': [1, 3], 'y': [2, 4]}
    """
    _check_treedef("tree.transpose, argument outer_treedef", outer_treedef)
    values, given = flatten(pytree_to_transpose)
    if inner_treedef is not None:
        _check_treedef("tree.transpose, argument inner_treedef", inner_treedef)
    else:
        inner_treedef = _inner_structure(outer_treedef, pytree_to_transpose)
    expected = outer_treedef.compose(inner_treedef)
    if given.num_leaves != expected.num_leaves:
        raise TypeError(
            message(
                "tree.transpose, argument pytree_to_transpose",
                given=f"a tree of {given.num_leaves} leaves: {short(given)}",
                expected=f"{expected.num_leaves} leaves, as in the composition of the outer and "
                f"the inner structure: {short(expected)}",
                fix="Give all inner trees the same structure.",
            )
        )
    size = inner_treedef.num_leaves
    columns = [outer_treedef.unflatten(values[i::size]) for i in range(size)]
    return inner_treedef.unflatten(columns)


def _inner_structure(outer_treedef: PyTreeDef, tree: Any) -> PyTreeDef:
    inner_trees = outer_treedef.flatten_up_to(tree)
    if not inner_trees:
        raise ValueError(
            message(
                "tree.transpose, argument inner_treedef",
                given="None, with an outer structure that has no leaves",
                expected="an inner structure, since there is no inner tree to read it from",
                fix="Pass tree.structure(...) of an inner tree.",
            )
        )
    return structure(inner_trees[0])


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """The structure of a tuple of trees with these structures.

    Example:
        >>> import morphax as jax
        >>> leaf = jax.tree.structure(0)
        >>> jax.tree_util.treedef_tuple([leaf, leaf])
        PyTreeDef((*, *))
    """
    return PyTreeDef.from_node_data_and_children(None, (tuple, None), treedefs)


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """The structures of the children of the root.

    Example:
        >>> import morphax as jax
        >>> jax.tree_util.treedef_children(jax.tree.structure([0, (1, 2)]))
        [PyTreeDef(*), PyTreeDef((*, *))]
    """
    _check_treedef("treedef_children, argument treedef", treedef)
    return treedef.children()


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Whether the structure has a single node: a leaf, `None` or an empty container.

    Example:
        >>> import morphax as jax
        >>> jax.tree_util.treedef_is_leaf(jax.tree.structure(0))
        True
    """
    _check_treedef("treedef_is_leaf, argument treedef", treedef)
    return treedef.num_nodes == 1


def _check_callable(where: str, f: Any) -> None:
    if not callable(f):
        raise TypeError(
            message(
                f"{where}, argument f",
                given=described(f),
                expected="a function of leaves",
                fix="Pass the function first, then the trees.",
            )
        )
