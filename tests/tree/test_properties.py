"""Laws that hold for all trees."""

from __future__ import annotations

import copy
import pickle
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from morphax import tree, tree_util

from .examples import trees

reproducible = settings(deadline=None, derandomize=True, max_examples=100)


@reproducible
@given(trees)
def test_unflatten_inverts_flatten(x: Any) -> None:
    leaves, treedef = tree.flatten(x)
    rebuilt = tree.unflatten(treedef, leaves)
    assert rebuilt == x
    # Text tells 1 from True in keys and data; sorted, since dicts come back in order of keys.
    assert sorted(repr(rebuilt)) == sorted(repr(x))
    again, treedef_again = tree.flatten(rebuilt)
    assert repr(again) == repr(leaves)
    assert treedef_again == treedef
    assert repr(treedef_again) == repr(treedef)


@reproducible
@given(trees)
def test_flatten_inverts_unflatten(x: Any) -> None:
    treedef = tree.structure(x)
    leaves = [object() for _ in range(treedef.num_leaves)]
    again, treedef_again = tree.flatten(tree.unflatten(treedef, iter(leaves)))
    assert again == leaves
    assert treedef_again == treedef


@reproducible
@given(trees)
def test_map_of_the_identity(x: Any) -> None:
    assert tree.map(lambda leaf: leaf, x) == x
    assert tree.map(lambda leaf, other: other, x, x) == x


@reproducible
@given(trees)
def test_equal_trees_have_equal_structures(x: Any) -> None:
    treedef, other = tree.structure(x), tree.structure(copy.deepcopy(x))
    assert treedef == other
    assert hash(treedef) == hash(other)
    assert not treedef != other
    assert str(treedef) == repr(other)


@reproducible
@given(trees, trees)
def test_structures_are_equal_iff_all_parts_are(x: Any, y: Any) -> None:
    left, right = tree.structure(x), tree.structure(y)
    parts_equal = left.node_data() == right.node_data() and left.children() == right.children()
    assert (left == right) == parts_equal
    if left == right:
        assert hash(left) == hash(right)


@reproducible
@given(trees)
def test_pickle_and_copy(x: Any) -> None:
    treedef = tree.structure(x)
    restored = pickle.loads(pickle.dumps(treedef))
    assert restored == treedef
    assert hash(restored) == hash(treedef)
    assert repr(restored) == repr(treedef)
    assert copy.copy(treedef) is treedef
    assert copy.deepcopy(treedef) is treedef


@reproducible
@given(trees)
def test_parts_make_the_whole(x: Any) -> None:
    treedef = tree.structure(x)
    children = treedef.children()
    registry = tree_util.default_registry
    rebuilt = tree_util.PyTreeDef.from_node_data_and_children(
        registry, treedef.node_data(), children
    )
    assert rebuilt == treedef
    is_leaf = treedef.node_data() is None
    assert treedef.num_leaves == sum(c.num_leaves for c in children) + is_leaf
    assert treedef.num_nodes == sum(c.num_nodes for c in children) + 1


@reproducible
@given(trees)
def test_key_paths_agree_with_leaves(x: Any) -> None:
    pairs, treedef = tree.flatten_with_path(x)
    leaves, expected = tree.flatten(x)
    assert [leaf for _, leaf in pairs] == leaves
    assert treedef == expected
    assert len({path for path, _ in pairs}) == len(pairs)
    for path, leaf in pairs:
        assert follow(x, path) is leaf


def follow(x: Any, path: tuple[Any, ...]) -> Any:
    """The node of `x` at a key path, found with one step at a time."""
    for key in path:
        children, _ = tree_util.flatten_one_level_with_keys(x)
        (x,) = [child for entry, child in children if entry == key]
    return x


@reproducible
@given(trees)
def test_leaves_decided_by_a_function(x: Any) -> None:
    cut = lambda node: isinstance(node, tuple | dict)  # noqa: E731
    leaves, treedef = tree.flatten(x, cut)
    assert tree.unflatten(treedef, leaves) == x
    assert [leaf for _, leaf in tree.leaves_with_path(x, cut)] == leaves
    assert treedef.flatten_up_to(x) == leaves
    by_path = tree.leaves_with_path(x, lambda path, _: len(path) == 1, is_leaf_takes_path=True)
    assert all(len(path) <= 1 for path, _ in by_path)


@reproducible
@given(trees, st.data())
def test_a_prefix_broadcasts(x: Any, data: st.DataObject) -> None:
    cuts = data.draw(st.sets(st.integers(0, 20)))
    seen = iter(range(10**6))
    prefix_leaves, prefix = tree.flatten(x, lambda node: next(seen) in cuts)
    labels = [object() for _ in prefix_leaves]
    broadcast = tree.broadcast_prefix(prefix.unflatten(labels), x)
    expected = [
        label
        for label, subtree in zip(labels, prefix.flatten_up_to(x), strict=True)
        for _ in tree.leaves(subtree)
    ]
    assert broadcast == expected
    assert tree.flatten_axes("test", tree.structure(x), prefix.unflatten(labels)) == expected
    assert tree.structure(tree.broadcast(prefix.unflatten(labels), x)) == tree.structure(x)


@reproducible
@given(trees, trees)
def test_composition(x: Any, y: Any) -> None:
    outer, inner = tree.structure(x), tree.structure(y)
    composed = outer.compose(inner)
    assert composed == tree.structure(outer.unflatten([y] * outer.num_leaves))
    assert composed.num_leaves == outer.num_leaves * inner.num_leaves


@reproducible
@given(trees)
def test_walk_visits_leaves_in_order(x: Any) -> None:
    leaves, treedef = tree.flatten(x)
    visited: list[Any] = []
    treedef.walk(lambda results, data: None, visited.append, leaves)
    assert visited == leaves
