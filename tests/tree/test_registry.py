"""Registration of classes, and the registry as an object."""

from __future__ import annotations

import gc
import pickle
import weakref
from collections import OrderedDict, namedtuple
from typing import Any

import pytest

from morphax import tree, tree_util
from morphax.tree._registry import kinds, leaf_types
from morphax.tree_util import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    SequenceKey,
    default_registry,
)

from .examples import Keyed, Plain, Point


def register(flatten: Any, flatten_with_keys: Any = None) -> Any:
    """An instance of a new class with these functions."""
    cls = type("Odd", (), {})
    tree_util.register_pytree_node(cls, flatten, lambda *_: None, flatten_with_keys)
    return cls()


@pytest.mark.parametrize("cls", [Plain, tuple, dict, type(None), OrderedDict, tree_util.Partial])
def test_a_class_is_registered_once(cls: type) -> None:
    with pytest.raises(ValueError, match="which is registered already"):
        tree_util.register_pytree_node(cls, lambda x: ((), x), lambda data, _: data)


def test_registration_overrides_the_treatment_of_named_tuples() -> None:
    Sized = namedtuple("Sized", "value size")
    assert tree.leaves(Sized(1, 2)) == [1, 2]
    tree_util.register_pytree_node(
        Sized, lambda s: ((s.value,), s.size), lambda size, children: Sized(*children, size)
    )
    assert tree.leaves([Sized(1, 2)]) == [1]
    # The node is a tuple: no call of a registered function may spread it over the arguments.
    path = (SequenceKey(0), FlattenedIndexKey(0))
    assert tree.leaves_with_path([Sized((1,), 2)]) == [((*path, SequenceKey(0)), 1)]
    assert tree.map(str, Sized(1, 2)) == Sized("1", 2)
    with pytest.raises(ValueError, match="registered already"):
        tree_util.register_static(Sized)


def test_registration_overrides_a_type_that_was_a_leaf() -> None:
    class Late:
        pass

    assert len(tree.leaves([Late(), Late()])) == 2
    assert Late in leaf_types
    tree_util.register_pytree_node(Late, lambda _: ((1,), None), lambda *_: Late())
    assert tree.leaves([Late(), 2]) == [1, 2]
    assert Late not in leaf_types


@pytest.mark.parametrize("name", ["flatten_func", "unflatten_func"])
def test_functions_must_be_callable(name: str) -> None:
    functions = {"flatten_func": lambda x: ((), None), "unflatten_func": lambda *_: None}
    with pytest.raises(TypeError, match=f"argument {name}"):
        tree_util.register_pytree_node(type("New", (), {}), **functions | {name: None})


@pytest.mark.parametrize(
    "result",
    [None, (1,), ((), 1, 2), [(1,), None], (5, None)],
    ids=["None", "one", "three", "list", "not iterable"],
)
@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: {"a": [x]}], ids=["root", "nested"])
def test_results_of_flatten_functions_are_checked(result: Any, wrap: Any) -> None:
    with pytest.raises(ValueError, match=r"a tuple \(children, auxiliary data\)"):
        tree.leaves(wrap(register(lambda _: result)))


@pytest.mark.parametrize("children", [(1, 2), [1, 2], {1: 0, 2: 0}, range(1, 3)], ids=repr)
def test_any_iterable_of_children(children: Any) -> None:
    odd = register(lambda _: (children, None))
    assert tree.leaves(odd) == [1, 2]
    assert tree.structure(odd).flatten_up_to(odd) == [1, 2]


@pytest.mark.parametrize(
    "pairs", [(1,), (("k", 1, 2),), ([GetAttrKey("k"), 1],)], ids=["no pair", "three", "list"]
)
def test_pairs_of_key_and_child_are_checked(pairs: Any) -> None:
    odd = register(lambda _: ((1,), None), lambda _: (pairs, None))
    assert tree.leaves(odd) == [1]
    with pytest.raises(ValueError, match=r"flatten function with keys .*\n.*\n.*\(key, child\)"):
        tree.leaves_with_path(odd)


def test_any_object_is_a_key() -> None:
    odd = register(lambda _: ((1, 2), None), lambda _: ((("k", 1), (("x", 3), 2)), None))
    assert [path for path, _ in tree.leaves_with_path(odd)] == [("k",), (("x", 3),)]
    assert [tree_util.keystr(path) for path, _ in tree.leaves_with_path(odd)] == ["k", "('x', 3)"]


def test_which_flatten_function_is_called() -> None:
    calls: list[str] = []

    @tree_util.register_pytree_with_keys_class
    class Both:
        def tree_flatten(self) -> Any:
            calls.append("plain")
            return (1,), "plain"

        def tree_flatten_with_keys(self) -> Any:
            calls.append("keys")
            return ((SequenceKey(10), 1),), "keys"

        @classmethod
        def tree_unflatten(cls, data: str, children: Any) -> Any:
            return cls()

    assert repr(tree.structure(Both())) == "PyTreeDef(CustomNode(Both[plain], [*]))"
    pairs, treedef = tree.flatten_with_path(Both())
    assert pairs == [((SequenceKey(10),), 1)]
    assert repr(treedef) == "PyTreeDef(CustomNode(Both[keys], [*]))"
    tree.leaves(Both(), is_leaf=lambda _: False)
    assert calls == ["plain", "keys", "plain"]


def test_keys_may_stand_alone() -> None:
    class Box:
        def __init__(self, *items: Any) -> None:
            self.items = items

    tree_util.register_pytree_with_keys(
        Box,
        lambda box: (((DictKey(i), x) for i, x in enumerate(box.items)), 3),
        lambda _, children: Box(*children),
    )
    assert tree.leaves(Box(1, (2,))) == [1, 2]
    assert [tree_util.keystr(p) for p, _ in tree.leaves_with_path(Box(1, (2,)))] == [
        "[0]",
        "[1][0]",
    ]


def test_class_decorators_need_the_methods() -> None:
    with pytest.raises(AttributeError, match="tree_"):
        tree_util.register_pytree_node_class(type("New", (), {}))
    with pytest.raises(AttributeError, match="tree_flatten_with_keys"):
        tree_util.register_pytree_with_keys_class(type("New", (), {}))


def test_subclasses_are_not_included() -> None:
    class Sub(Keyed):
        pass

    assert tree_util.is_tree_node(Keyed)
    assert not tree_util.is_tree_node(Sub)


def test_static_objects_belong_to_the_structure() -> None:
    class Size:
        def __init__(self, n: int) -> None:
            self.n = n

        def __eq__(self, other: Any) -> bool:
            return self.n == other.n

        __hash__ = None

    assert tree_util.register_static(Size) is Size
    treedef = tree.structure((Size(3), 1))
    assert treedef == tree.structure((Size(3), 2))
    assert treedef != tree.structure((Size(4), 2))
    assert treedef.unflatten([5])[0].n == 3
    assert hash(treedef) == hash(tree.structure((Size(3), 2)))


@pytest.mark.parametrize(
    ("typ", "expected"),
    [(tuple, True), (list, True), (dict, True), (type(None), True), (Point, True), (Keyed, True),
     (OrderedDict, True), (int, False), (object, False), (type, False), (3, False)],
)  # fmt: skip
def test_is_tree_node(typ: Any, expected: bool) -> None:
    assert tree_util.is_tree_node(typ) is expected


@pytest.mark.parametrize(
    ("x", "children", "data", "keys"),
    [
        (None, [], None, []),
        ((1, (2,)), [1, (2,)], None, [SequenceKey(0), SequenceKey(1)]),
        ({"b": 1, "a": 2}, [2, 1], ("a", "b"), [DictKey("a"), DictKey("b")]),
        (Point(1, 2), [1, 2], Point, [GetAttrKey("x"), GetAttrKey("y")]),
        (Keyed(5), [5], None, [GetAttrKey("c0")]),
    ],
)
def test_flatten_one_level(x: Any, children: Any, data: Any, keys: Any) -> None:
    found, found_data = tree_util.flatten_one_level(x)
    assert (list(found), found_data) == (children, data)
    pairs, found_data = tree_util.flatten_one_level_with_keys(x)
    assert (list(pairs), found_data) == (list(zip(keys, children, strict=True)), data)
    assert default_registry.flatten_one_level(x) == (found, data)
    assert default_registry.flatten_one_level_with_keys(x) == (pairs, data)


@pytest.mark.parametrize(
    "function", [tree_util.flatten_one_level, tree_util.flatten_one_level_with_keys]
)
def test_a_leaf_has_no_children(function: Any) -> None:
    with pytest.raises(ValueError, match="a leaf of type int"):
        function(1)


def test_the_registry_as_an_object() -> None:
    assert default_registry.flatten((1, [2])) == tree.flatten((1, [2]))
    assert default_registry.flatten_with_path((1, [2])) == tree.flatten_with_path((1, [2]))
    assert default_registry.flatten_one_level(1) is None
    assert default_registry.flatten_one_level_with_keys(1) is None
    assert default_registry.is_node(tuple)
    assert not default_registry.is_node(int)
    assert pickle.loads(pickle.dumps(default_registry)) is default_registry

    class Node:
        def __init__(self, x: Any, y: Any = 0) -> None:
            self.x, self.y = x, y

    class Data(Node):
        pass

    default_registry.register_node(Node, lambda n: ((n.x,), None), lambda _, c: Node(*c))
    default_registry.register_dataclass_node(Data, ["x"], ["y"])
    assert tree.leaves([Node(1), Data(2, 3)]) == [1, 2]


def test_remembered_leaf_types_are_bounded() -> None:
    reference = None
    for i in range(2000):
        cls = type(f"Leaf{i}", (), {})
        tree.leaves([cls()])
        reference = reference or weakref.ref(cls)
    del cls
    gc.collect()
    assert len(leaf_types) <= 1024
    assert leaf_types <= kinds.keys()
    assert reference() is None
