"""Trees where memory is at stake: references, garbage, re-entrancy, threads, depth.

The tests say nothing of C++, and hold for the twin too.
"""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from morphax import tree, tree_util

from ..tree.examples import Layer, Pair, Plain, Point, nested


class Leaf:
    """A leaf whose references are counted."""


class Calls:
    """A node whose functions run code of the test."""

    def __init__(self, child: Any, on_flatten: Any = None, data: Any = None) -> None:
        self.child, self.on_flatten, self.data = child, on_flatten, data


def _flatten(node: Calls) -> Any:
    if node.on_flatten is not None:
        node.on_flatten()
    return (node.child,), node.data


def _unflatten(data: Any, children: Any) -> Any:
    if callable(data):
        data()
    return Calls(*children, data=data)


tree_util.register_pytree_node(Calls, _flatten, _unflatten)


def fails() -> None:
    raise ZeroDivisionError("in a user's function")


def containers(leaf: Any) -> list[Any]:
    return [
        leaf,
        (leaf, leaf),
        [leaf, [leaf], ()],
        {"b": leaf, "a": {"c": (leaf, None)}},
        {1: leaf, 2.5: leaf},
        Point(leaf, [leaf]),
        Pair(leaf, (leaf, leaf)),
        Layer(leaf, [leaf], "name"),
        Plain(leaf, {"k": leaf}, ("data",)),
        [Calls(leaf), Calls([leaf], data=3)],
    ]


def attempts(x: Any) -> list[Callable[[], Any]]:
    """What may be done with a tree, failures included."""
    leaves, treedef = tree.flatten(x)
    other = tree.structure([x, [x]])
    return [
        lambda: tree.flatten(x),
        lambda: tree.flatten(x, lambda node: isinstance(node, tuple)),
        lambda: tree.flatten_with_path(x),
        lambda: treedef.unflatten(leaves),
        lambda: treedef.unflatten(tuple(leaves)),
        lambda: treedef.unflatten(leaves[1:]),
        lambda: treedef.flatten_up_to(x),
        lambda: other.flatten_up_to(x),
        lambda: tree.map(lambda leaf, _: leaf, x, x),
        lambda: tree.flatten([x, [x, Calls(1, fails)]]),
        lambda: tree.flatten_with_path([x, [x, Calls(1, fails)]]),
        lambda: tree.flatten((x, {1: x, "a": x})),
        lambda: tree.flatten([x, x], lambda node: fails()),
        lambda: tree.structure([0, Calls(0, data=fails)]).unflatten([leaves, leaves]),
        lambda: (hash(treedef), treedef == other, treedef == tree.structure(x)),
    ]


@pytest.fixture
def _little_to_collect() -> Iterator[None]:
    """What other tests keep alive is not gone through at each collection."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("_little_to_collect")
@pytest.mark.parametrize("number", range(len(containers(None))))
def test_references_are_returned(number: int) -> None:
    leaf = Leaf()
    x = containers(leaf)[number]
    for attempt in attempts(x):
        counts = []
        for _ in range(5):
            for _ in range(3):
                try:
                    attempt()
                except (ValueError, ZeroDivisionError):
                    pass
            gc.collect()
            counts.append((sys.getrefcount(leaf), sys.getrefcount(tree.structure(0))))
        assert len(set(counts[1:])) == 1, counts


def test_structures_are_collected() -> None:
    class Data:
        pass

    data = Data()
    # The structure is reached from its own auxiliary data.
    data.treedef = tree.structure([Plain(1, 2, data)])  # type: ignore[attr-defined]
    data.treedef.unflatten([1, 2])  # type: ignore[attr-defined]
    reference = weakref.ref(data)
    del data
    gc.collect()
    assert reference() is None


def test_a_function_that_flattens() -> None:
    inner = [0, {"a": 1}]
    seen = []
    node = Calls([2, 3], lambda: seen.append(tree.flatten(inner)))
    assert tree.leaves([1, node, (node, [inner])]) == [1, 2, 3, 2, 3, 0, 1]
    treedef = tree.structure([Calls(1, data=lambda: seen.append(tree.map(str, inner)))])
    treedef.unflatten([5])
    assert seen == [tree.flatten(inner)] * 2 + [["0", {"a": "1"}]]


def test_a_list_of_leaves_may_change_while_a_tree_is_built() -> None:
    leaves: list[Any] = [1, 2]
    treedef = tree.structure([Calls(1, data=leaves.clear), 0])
    first, second = treedef.unflatten(leaves)
    assert (first.child, second) == (1, 2)


@pytest.mark.parametrize("change", ["clear", "append"])
def test_a_list_may_change_while_its_types_are_judged(change: str) -> None:
    items: list[Any] = []

    class Judged(type):
        def __getattribute__(cls, name: str) -> Any:
            if name == "_fields":
                getattr(items, change)(*[Leaf()] * (change == "append"))
            return super().__getattribute__(name)

    kind = Judged("Kind", (tuple,), {})
    items += [1, kind(), 2, kind()]
    leaves = tree.leaves(items)
    assert leaves[:1] == [1]
    assert len(leaves) == {"clear": 2, "append": 5}[change]


def test_a_dictionary_may_change_while_it_is_flattened() -> None:
    table: dict[Any, Any] = {}
    table["a"] = Calls(1, lambda: table.update({f"new {len(table)}": 2}))
    table["b"] = [3]
    for count in range(3):
        assert tree.leaves(table)[:2] == [1, 3]
        assert len(table) == count + 3


def test_keys_that_are_equal_but_not_the_same() -> None:
    first = {f"key {i}": i for i in range(5)}
    second = {f"key {i}"[:]: i for i in reversed(range(5))}
    assert tree.structure(first) is tree.structure(second)
    assert tree.leaves(second) == [0, 1, 2, 3, 4]


def test_exceptions_that_are_no_errors_pass_without_a_note() -> None:
    def interrupts() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as info:
        tree.leaves([1, Calls(1, interrupts)])
    assert not hasattr(info.value, "__notes__")


def test_threads_flatten_build_and_register() -> None:
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for i in range(200):
                cls = type(f"Local{number}_{i}", (), {})
                tree_util.register_pytree_node(cls, lambda _: ((1, 2), None), lambda *_: None)
                x = {f"k{i % 7}": [cls(), number], "t": (Point(i, None), {number: i})}
                leaves, treedef = tree.flatten(x)
                assert leaves == [1, 2, number, i, i]
                assert treedef == tree.structure(treedef.unflatten(leaves) and x)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not failures


@pytest.mark.parametrize("function", [tree.flatten, tree.flatten_with_path])
def test_depth_is_limited(function: Any) -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    if function is tree.flatten:
        with pytest.raises(RecursionError, match="no container contains itself"):
            function(cycle)
    deep = nested(3000, lambda x: [x])
    leaves, treedef = function(deep)
    assert len(leaves) == 1
    del deep, leaves
    gc.collect()
    assert treedef.num_nodes == 3001
