"""Flattening: leaves, order, predicates, errors in users' functions, re-entrancy."""

from __future__ import annotations

import threading
import time
from collections import Counter, OrderedDict, defaultdict, deque
from typing import Any

import pytest

from morphax import tree, tree_util

from .examples import CASES, Broken, Case, Keyed, Layer, Plain, Point

case = pytest.mark.parametrize("case", CASES, ids=lambda c: c.structure)
is_none = lambda x: x is None  # noqa: E731
is_tuple = lambda x: isinstance(x, tuple)  # noqa: E731


@case
def test_leaves(case: Case) -> None:
    assert tree.leaves(case.tree) == case.leaves
    assert tree.flatten(case.tree)[0] == case.leaves
    assert tree.leaves(case.tree, is_leaf=lambda _: False) == case.leaves


@case
def test_paths(case: Case) -> None:
    pairs, treedef = tree.flatten_with_path(case.tree)
    assert [tree_util.keystr(path) for path, _ in pairs] == case.paths
    assert [leaf for _, leaf in pairs] == case.leaves
    assert treedef == tree.structure(case.tree)
    assert tree.leaves_with_path(case.tree) == pairs


class FieldsOnTuple(tuple):
    """A tuple that claims two named fields."""

    __slots__ = ()
    _fields = ("a", "b")


class SubPoint(Point):
    """A subclass of a named tuple."""

    __slots__ = ()


@pytest.mark.parametrize(
    "x",
    [
        type("D", (dict,), {})(a=1),
        type("L", (list,), {})([1]),
        type("T", (tuple,), {})([1]),
        type("O", (OrderedDict,), {})(a=1),
        type("P", (Plain,), {})(1, 2),
        type("Fields", (), {"_fields": ("a",)})(),
        Counter("a"),
        deque([1]),
        {1, 2},
        range(3),
        time.localtime(),
        tree.structure((1, 2)),
    ],
    ids=lambda x: type(x).__name__,
)
def test_other_types_are_leaves(x: Any) -> None:
    (leaf,), treedef = tree.flatten(x)
    assert leaf is x
    assert repr(treedef) == "PyTreeDef(*)"


def test_all_named_tuples_are_nodes() -> None:
    assert tree.map(str, SubPoint(1, 2)) == SubPoint("1", "2")
    text = repr(tree.structure(SubPoint(1, 2)))
    assert text == "PyTreeDef(CustomNode(namedtuple[SubPoint], [*, *]))"
    assert tree.leaves(FieldsOnTuple((1, 2))) == [1, 2]
    with pytest.raises(ValueError, match="one name in _fields for each element"):
        tree.leaves_with_path(FieldsOnTuple((1,)))


@pytest.mark.parametrize("kind", [dict, lambda d: defaultdict(int, d)], ids=["dict", "defaultdict"])
@pytest.mark.parametrize("keys", [{1: 0, "a": 0}, {1j: 0, 2j: 0}, {None: 0, "a": 0}], ids=repr)
@pytest.mark.parametrize("function", [tree.flatten, tree.flatten_with_path])
def test_keys_that_cannot_be_sorted(kind: Any, keys: Any, function: Any) -> None:
    with pytest.raises(ValueError, match="which < does not compare") as info:
        function([{"z": kind(keys)}])
    assert info.value.__notes__ == [
        f"while flattening an object of type {type(kind(keys)).__name__} at key path [0]['z']"
    ]


@pytest.mark.parametrize(
    ("x", "is_leaf", "leaves", "structure"),
    [
        ([(1, 2), [3]], is_tuple, [(1, 2), 3], "[*, [*]]"),
        ((1, 2), is_tuple, [(1, 2)], "*"),
        ([1, None, (None,)], is_none, [1, None, None], "[*, *, (*,)]"),
        ({"b": [None], "a": ()}, is_none, [None], "{'a': (), 'b': [*]}"),
        (Keyed(1, Plain(2, None)), is_none, [1, 2, None],
         "CustomNode(Keyed[None], [*, CustomNode(Plain[aux], [*, *])])"),
        (3, is_none, [3], "*"),
    ],
)  # fmt: skip
def test_is_leaf(x: Any, is_leaf: Any, leaves: list[Any], structure: str) -> None:
    assert tree.leaves(x, is_leaf) == leaves
    assert repr(tree.structure(x, is_leaf)) == f"PyTreeDef({structure})"
    pairs, treedef = tree.flatten_with_path(x, is_leaf)
    assert [leaf for _, leaf in pairs] == leaves
    assert repr(treedef) == f"PyTreeDef({structure})"


def test_is_leaf_is_asked_of_each_node_first() -> None:
    asked: list[Any] = []
    tree.leaves([(1, 2), [3, None]], is_leaf=asked.append)
    assert asked == [[(1, 2), [3, None]], (1, 2), 1, 2, [3, None], 3, None]


def test_is_leaf_with_paths() -> None:
    asked: list[Any] = []

    def is_leaf(path: Any, node: Any) -> bool:
        asked.append((tree_util.keystr(path), node))
        return isinstance(node, tuple)

    x = {"a": (1, 2), "b": [3]}
    pairs = tree.leaves_with_path(x, is_leaf, is_leaf_takes_path=True)
    assert asked == [("", x), ("['a']", (1, 2)), ("['b']", [3]), ("['b'][0]", 3)]
    assert [leaf for _, leaf in pairs] == [(1, 2), 3]


@pytest.mark.parametrize("answer", [1, 0, "", "yes", ()], ids=repr)
@pytest.mark.parametrize("function", [tree.flatten, tree.flatten_with_path])
def test_is_leaf_answers_a_bool(answer: Any, function: Any) -> None:
    with pytest.raises(ValueError, match=r"returned .*\n.*returns True or False"):
        function((1,), is_leaf=lambda _: answer)


@pytest.mark.parametrize(
    ("x", "place"),
    [
        (Broken(), "the root of the tree"),
        ((1, Broken()), "key path [1]"),
        ({"a": [(), (1, [2, Broken()], 3)], "b": 1}, "key path ['a'][1][1][1]"),
        ([Point(1, {"k": Broken()})], "key path [0].y['k']"),
        ([Layer(1, Broken())], "key path [0].bias"),
        ([Plain(1, Broken())], "key path [0][<flat index 1>]"),
        ([OrderedDict(b=1, a=[Broken()])], "key path [0][<flat index 1>][0]"),
    ],
    ids=str,
)
def test_a_users_error_tells_its_place(x: Any, place: str) -> None:
    with pytest.raises(ZeroDivisionError, match="flatten of Broken") as info:
        tree.flatten(x)
    assert info.value.__notes__ == [f"while flattening an object of type Broken at {place}"]


@pytest.mark.parametrize("flatten", [tree.flatten_with_path, lambda x: tree.flatten(x, is_none)])
def test_a_users_error_tells_its_place_with_keys(flatten: Any) -> None:
    with pytest.raises(ZeroDivisionError) as info:
        flatten({"a": [1, Point(2, Broken())]})
    assert "at key path ['a'][1].y" in info.value.__notes__[0]


def test_an_error_in_flatten_up_to_tells_its_place() -> None:
    x = {"a": [Keyed(1, 2), Keyed(1, Broken())]}
    treedef = tree.structure({"a": [0, Keyed(0, Keyed())]})
    with pytest.raises(ZeroDivisionError) as info:
        treedef.flatten_up_to(x)
    assert "at key path ['a'][1].c1" in info.value.__notes__[0]


def test_a_deep_place_is_abbreviated() -> None:
    x: Any = Broken()
    for _ in range(100):
        x = [x]
    with pytest.raises(ZeroDivisionError) as info:
        tree.flatten(x)
    assert info.value.__notes__[0].endswith("[0]" * 20 + "...")


def test_a_class_may_be_registered_while_a_tree_is_flattened() -> None:
    class Late:
        pass

    class Registers:
        pass

    def flatten(_: Any) -> Any:
        if not tree_util.is_tree_node(Late):
            tree_util.register_pytree_node(Late, lambda _: ((1, 2), None), lambda *_: Late())
        return (Late(),), None

    tree_util.register_pytree_node(Registers, flatten, lambda *_: Registers())
    leaf, *rest = tree.leaves([Late(), Registers(), Late()])
    assert isinstance(leaf, Late)
    assert rest == [1, 2, 1, 2]


def test_a_container_may_change_while_it_is_flattened() -> None:
    class Clears:
        def __init__(self, target: Any) -> None:
            self.target = target

    def flatten(clears: Clears) -> Any:
        clears.target.clear()
        return (7,), None

    tree_util.register_pytree_node(Clears, flatten, lambda *_: None)
    items: list[Any] = [1, 2]
    items.insert(0, Clears(items))
    assert tree.leaves(items) == [7]
    table: dict[str, Any] = {"b": 2}
    table["a"] = Clears(table)
    assert tree.leaves(table) == [7, 2]


def test_threads() -> None:
    class Shared:
        pass

    results: list[Any] = []
    barrier = threading.Barrier(4)

    def work(i: int) -> None:
        barrier.wait()
        for j in range(300):
            x = {f"k{j}": (Shared(), i), "n": [None, {j: Point(i, j)}]}
            leaves, treedef = tree.flatten(x)
            results.append((j, len(leaves), treedef))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 1200
    by_step = {j: treedef for j, _, treedef in results}
    assert all(count == 4 and treedef == by_step[j] for j, count, treedef in results)
