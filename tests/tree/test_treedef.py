"""Structures: text, equality, sharing, arithmetic, construction, pickling, depth."""

from __future__ import annotations

import gc
import pickle
import weakref
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

from morphax import tree, tree_util
from morphax.tree_util import PyTreeDef, default_registry

from .examples import CASES, Case, Keyed, Layer, Plain, Point, Static, nested

LEAF = tree.structure(0)
case = pytest.mark.parametrize("case", CASES, ids=lambda c: c.structure)


@case
def test_text(case: Case) -> None:
    treedef = tree.structure(case.tree)
    assert repr(treedef) == str(treedef) == f"PyTreeDef({case.structure})"


@case
def test_counts(case: Case) -> None:
    treedef = tree.structure(case.tree)
    assert treedef.num_leaves == len(case.leaves)
    assert treedef.num_nodes == case.num_nodes
    assert tree_util.treedef_is_leaf(treedef) == (case.num_nodes == 1)


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        (1, None),
        (None, (type(None), None)),
        ((1,), (tuple, None)),
        ([1], (list, None)),
        ({"b": 1, "a": 2}, (dict, ["a", "b"])),
        (Point(1, 2), (Point, None)),
        (OrderedDict(b=1), (OrderedDict, ("b",))),
        (Plain(1, 2, 3), (Plain, 3)),
        (Layer(1, 2, "id"), (Layer, ("id",))),
        (Static(3), (Static, Static(3))),
    ],
)
def test_node_data(x: Any, expected: Any) -> None:
    assert tree.structure(x).node_data() == expected


def test_node_data_are_the_callers_own() -> None:
    treedef = tree.structure({"a": 1})
    treedef.node_data()[1].append("b")
    treedef.children().append(LEAF)
    assert repr(treedef) == "PyTreeDef({'a': *})"


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ((1,), [1]),
        ((1,), (1, 2)),
        ({"a": 1}, {"b": 1}),
        (Point(1, 2), (1, 2)),
        (OrderedDict(a=1), {"a": 1}),
        (OrderedDict(a=1, b=2), OrderedDict(b=2, a=1)),
        (Plain(1, 2, "x"), Plain(1, 2, "y")),
        (Layer(1, 2, "x"), Layer(1, 2, "y")),
        (Static(1), Static(2)),
        ((None,), ((),)),
        ((1, None), (None, 1)),
        (([1], 2), (1, [2])),
        (Plain(0, 0, float("nan")), Plain(0, 0, float("nan"))),
    ],
    ids=repr,
)
def test_different_structures(x: Any, y: Any) -> None:
    assert tree.structure(x) != tree.structure(y)
    assert not tree.structure(x) == tree.structure(y)


def test_equality_with_other_objects() -> None:
    assert tree.structure((1,)) != (1,)
    assert tree.structure((1,)).__eq__(5) is NotImplemented


@pytest.mark.parametrize(
    "x",
    [(1, 2), {"a": [1, {"b": (None, Point(1, [2]))}], "c": {3: 4}}, Keyed(1, [2])],
    ids=repr,
)
def test_a_structure_is_usually_one_object(x: Any) -> None:
    assert tree.structure(x) is tree.structure(tree.map(str, x))
    assert pickle.loads(pickle.dumps(tree.structure(x))) is tree.structure(x)


def test_equal_keys_of_other_types_are_kept_apart() -> None:
    class Name(str):
        __slots__ = ()

    for x in ({"a": 1}, {Name("a"): 1}, {1: 0}, {True: 0}, {1.0: 0}, {(1,): 0}, {(True,): 0}):
        (key,) = tree.map(lambda leaf: leaf, x)
        assert repr(key) == repr(next(iter(x)))
        assert type(key) is type(next(iter(x)))
    one, true = tree.structure({1: 0}), tree.structure({True: 0})
    assert one == true
    assert hash(one) == hash(true)


def test_auxiliary_data_are_not_kept_alive() -> None:
    class Data:
        pass

    data = Data()
    tree.structure((Plain(1, 2, data), [Plain(3, 4, data)]))
    reference = weakref.ref(data)
    del data
    gc.collect()
    assert reference() is None


def test_unhashable_auxiliary_data() -> None:
    treedef = tree.structure(Plain(1, 2, [3]))
    assert hash(treedef) == hash(tree.structure(Plain(1, 2, [3])))


def test_auxiliary_data_that_cannot_be_compared() -> None:
    one, other = (tree.structure(Plain(1, 2, np.ones(2))) for _ in range(2))
    with pytest.raises(ValueError, match=r"auxiliary data of types ndarray and ndarray whose =="):
        _ = one == other
    assert one == one


def test_tables_of_structures_are_bounded() -> None:
    before = tree.structure(((1,), [2]))
    for i in range(5000):
        tree.structure({f"key {i}": 1})
        tree.structure(({f"key {i}": 1}, [2]))
    after = tree.structure(((1,), [2]))
    assert before == after
    assert hash(before) == hash(after)
    assert len(before._node.known) <= 4096


def test_attributes_cannot_be_set() -> None:
    treedef = tree.structure((1,))
    with pytest.raises(AttributeError):
        treedef.num_leaves = 2
    with pytest.raises(AttributeError):
        treedef.other = 2
    with pytest.raises(TypeError):
        PyTreeDef()


@case
def test_unflatten(case: Case) -> None:
    treedef = tree.structure(case.tree)
    assert repr(treedef.unflatten(case.leaves)) == repr(tree.unflatten(treedef, case.leaves))
    rebuilt = treedef.unflatten(iter(case.leaves))
    assert type(rebuilt) is type(case.tree)
    assert tree.leaves(rebuilt) == case.leaves


def test_unflatten_does_not_return_its_argument() -> None:
    leaves = [1, 2]
    rebuilt = tree.structure([0, 0]).unflatten(leaves)
    assert rebuilt == leaves
    assert rebuilt is not leaves


def test_a_user_gets_children_as_a_tuple() -> None:
    received = []

    class Listed:
        pass

    tree_util.register_pytree_node(
        Listed, lambda _: ([1, [2]], None), lambda _, children: received.append(children)
    )
    tree.map(lambda leaf: leaf, Listed())
    assert received == [(1, [2])]


@pytest.mark.parametrize(("leaves", "given"), [([1], "1 leaf"), ([1, 2, 3], "3 leaves")])
def test_wrong_number_of_leaves(leaves: list[int], given: str) -> None:
    treedef = tree.structure((1, {"a": 2}))
    with pytest.raises(ValueError, match=rf"given: +{given}\n +expected: 2, one for each \*"):
        treedef.unflatten(leaves)


@pytest.mark.parametrize(
    ("outer", "inner", "expected"),
    [
        ((1, 2), [1, 2], "([*, *], [*, *])"),
        ((1, None, {"a": 2}), (1,), "((*,), None, {'a': (*,)})"),
        ((None,), [1], "(None,)"),
        (1, [1], "[*]"),
    ],
)
def test_compose(outer: Any, inner: Any, expected: str) -> None:
    composed = tree.structure(outer).compose(tree.structure(inner))
    assert repr(composed) == f"PyTreeDef({expected})"


def test_trees_are_no_structures() -> None:
    with pytest.raises(
        TypeError, match=r"given: +an object of type tuple\n +expected: a PyTreeDef"
    ):
        LEAF.compose((1,))
    with pytest.raises(TypeError, match="argument children"):
        tree_util.treedef_tuple([(1,)])


def test_walk() -> None:
    seen: list[Any] = []

    def node(results: tuple[Any, ...], data: Any) -> str:
        seen.append((results, data))
        return "N"

    treedef = tree.structure((1, {"a": 2, "b": None}, Point(1, 2)))
    assert treedef.walk(node, lambda leaf: leaf * 10, [1, 2, 3, 4]) == "N"
    assert seen == [
        ((), None),
        ((20, "N"), ("a", "b")),
        ((30, 40), Point),
        ((10, "N", "N"), None),
    ]
    assert LEAF.walk(node, None, [5]) == 5
    with pytest.raises(ValueError, match=r"given: +1 leaf"):
        treedef.walk(node, None, [1])


def test_from_iterable_tree() -> None:
    treedef = tree.structure((1, {"a": 2, "b": 3}, None))
    assert treedef.from_iterable_tree([5, (6, 7), ()]) == (5, {"a": 6, "b": 7}, None)
    assert tree.structure(Plain(1, (2, 3))).from_iterable_tree([5, (6, 7)]) == Plain(5, (6, 7))
    with pytest.raises(ValueError, match=r"given: +1 elements for a node"):
        treedef.from_iterable_tree([5])
    with pytest.raises(TypeError):
        treedef.from_iterable_tree([5, (6, 7), None])


@pytest.mark.parametrize(
    ("data", "count", "expected"),
    [
        (None, 0, "*"),
        ((type(None), None), 0, "None"),
        ((tuple, None), 2, "(*, *)"),
        ((list, None), 1, "[*]"),
        ((dict, ["a", "b"]), 2, "{'a': *, 'b': *}"),
        ((dict, ("b", "a")), 2, "{'b': *, 'a': *}"),
        ((Point, None), 2, "CustomNode(namedtuple[Point], [*, *])"),
        ((Plain, "q"), 1, "CustomNode(Plain[q], [*])"),
        ((OrderedDict, ("b",)), 1, "CustomNode(OrderedDict[('b',)], [*])"),
    ],
)
def test_from_node_data(data: Any, count: int, expected: str) -> None:
    treedef = PyTreeDef.from_node_data_and_children(default_registry, data, [LEAF] * count)
    assert repr(treedef) == f"PyTreeDef({expected})"


def test_order_of_keys_that_are_given() -> None:
    data = dict, ["b", "a"]
    treedef = PyTreeDef.from_node_data_and_children(default_registry, data, [LEAF, LEAF])
    assert list(treedef.unflatten([1, 2]).items()) == [("b", 1), ("a", 2)]
    assert treedef != tree.structure({"a": 1, "b": 2})
    assert pickle.loads(pickle.dumps(treedef)) == treedef


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (None, "1 children for a node with data None"),
        ((type(None), None), "none for a leaf or None"),
        ((dict, ["a", "b"]), "one child for each key"),
        ((int, None), "a node of type <class 'int'>, which is not registered"),
    ],
)
def test_wrong_node_data(data: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        PyTreeDef.from_node_data_and_children(default_registry, data, [LEAF])


def test_small_functions() -> None:
    assert repr(tree_util.treedef_tuple([LEAF, tree.structure([1])])) == "PyTreeDef((*, [*]))"
    assert tree_util.treedef_tuple([]) == tree.structure(())
    assert tree_util.treedef_children(tree.structure({"a": (1,), "b": 3})) == [
        tree.structure((1,)),
        LEAF,
    ]


@pytest.mark.parametrize("wrap", [lambda x: (x,), lambda x: {"a": x}, Keyed])
def test_deep_trees(wrap: Any) -> None:
    x = nested(10_000, wrap)
    leaves, treedef = tree.flatten(x)
    assert tree.leaves(treedef.unflatten(leaves)) == leaves
    assert treedef == tree.structure(x)
    assert treedef.flatten_up_to(x) == leaves
    assert hash(pickle.loads(pickle.dumps(treedef))) == hash(treedef)
    assert len(repr(treedef)) > 20_000
    (path, _), *_ = tree.leaves_with_path(x)
    assert len(path) == 10_000
    assert treedef.compose(treedef).num_nodes > 19_000


def test_a_tree_that_contains_itself() -> None:
    cycle: list[Any] = []
    cycle.append([cycle])
    with pytest.raises(RecursionError, match="no container contains itself"):
        tree.flatten(cycle)
