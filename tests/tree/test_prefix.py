"""Prefixes: broadcasting, and the errors of trees that do not match."""

from __future__ import annotations

import re
from collections import OrderedDict, defaultdict
from typing import Any, NamedTuple

import pytest

from morphax import tree, tree_util

from .examples import Keyed, Layer, Plain, Point, Static

is_none = lambda x: x is None  # noqa: E731


@pytest.mark.parametrize(
    ("prefix", "full", "is_leaf", "expected"),
    [
        (1, (1, 2, {"a": 3}), None, (1, 1, {"a": 1})),
        ((1, 2), (1, {"a": 3, "b": [4]}), None, (1, {"a": 2, "b": [2]})),
        ((1, None), (5, None), None, (1, None)),
        ((1, 2), (5, (None, 3)), None, (1, (None, 2))),
        ((1, None), (5, {"a": 3, "b": [4]}), is_none, (1, {"a": None, "b": [None]})),
        ((1, 2), (5, (3, 4)), lambda x: x == (3, 4), (1, (2, 2))),
        (((1, 2), 3), ((1, (5, 6)), 4), lambda x: x == (1, 2), (((1, 2), ((1, 2), (1, 2))), 3)),
        (1, (), None, ()),
    ],
)
def test_broadcast(prefix: Any, full: Any, is_leaf: Any, expected: Any) -> None:
    assert tree.broadcast(prefix, full, is_leaf) == expected
    assert (
        tree.broadcast_prefix(prefix, full, is_leaf)
        == tree.leaves(expected, is_leaf=lambda x: is_leaf is not None and is_leaf(x))
        or is_leaf is is_none
    )


def test_is_leaf_is_asked_of_the_prefix_alone() -> None:
    asked: list[Any] = []
    tree.broadcast((1, 2), (3, (4, 5)), is_leaf=asked.append)
    assert asked == [(1, 2), 1, 2]


def test_axes_of_a_structure() -> None:
    treedef = tree.structure((1, {"a": [2, 3], "b": Plain(4, 5)}))
    assert tree.flatten_axes("f", treedef, None) == [None] * 5
    assert tree.flatten_axes("f", treedef, (0, None)) == [0] + [None] * 4
    axes = (0, {"a": 1, "b": Plain(2, None)})
    assert tree.flatten_axes("f", treedef, axes) == [0, 1, 1, 2, None]


class Mismatch(NamedTuple):
    """A structure, a tree it is no prefix of, and the error."""

    first: Any
    second: Any
    place: str
    given: str
    expected: str
    fix: str = ""


TYPE = "Put the same type of container there"
SIZE = "Give both the same number of children."
DATA = "Give both the same auxiliary data"
NONE = "Put None there too, or treat None as a leaf with is_leaf=lambda x: x is None."

MISMATCHES = (
    Mismatch((1, 2), (1, 2, 3), "", "a tuple of length 3", "a tuple of length 2", SIZE),
    Mismatch([1, 2], [1], "", "a list of length 1", "a list of length 2", SIZE),
    Mismatch((1, 2), [1, 2], "", "a list of length 2", "a tuple of length 2", TYPE),
    Mismatch((1, 2), 3, "", "a leaf of type int: 3", "a tuple of length 2", TYPE),
    Mismatch([1, [2]], [1, "x"], "[1]", "a leaf of type str: 'x'", "a list of length 1", TYPE),
    Mismatch({"a": (1, 2)}, {"a": 1}, "['a']", "a leaf of type int: 1", "a tuple of length 2"),
    Mismatch(
        {"a": 1}, {"b": 1}, "", "a dict with keys ['b']", "a dict with keys ['a']",
        "Add the keys 'a' and remove the keys 'b'.",
    ),
    Mismatch(
        ({"a": 1, "b": 2},), ({"a": 1},), "[0]", "a dict with keys ['a']",
        "a dict with keys ['a', 'b']", "Add the keys 'b'.",
    ),
    Mismatch({}, {"a": 1}, "", "a dict with keys ['a']", "a dict with keys []",
             "Remove the keys 'a'."),
    Mismatch({"a": 1}, OrderedDict(a=1), "",
             "an OrderedDict with 1 child and auxiliary data ('a',)", "a dict with keys ['a']"),
    Mismatch(OrderedDict(a=1, b=1), OrderedDict(b=1, a=1), "",
             "an OrderedDict with 2 children and auxiliary data ('b', 'a')",
             "an OrderedDict with 2 children and auxiliary data ('a', 'b')", DATA),
    Mismatch(defaultdict(int, a=1), defaultdict(list, a=1), "",
             "a defaultdict with 1 child and auxiliary data (<class 'list'>, ('a',))",
             "a defaultdict with 1 child and auxiliary data (<class 'int'>, ('a',))", DATA),
    Mismatch(None, 3, "", "a leaf of type int: 3", "None", NONE),
    Mismatch({"a": None}, {"a": (1, 2)}, "['a']", "a tuple of length 2", "None", NONE),
    Mismatch([(1,)], [None], "[0]", "None", "a tuple of length 1", TYPE),
    Mismatch(Point(1, 2), (1, 2), "", "a tuple of length 2", "a Point of length 2", TYPE),
    Mismatch({"z": [Point((1,), 2)]}, {"z": [Point((1, 2), 2)]}, "['z'][0].x",
             "a tuple of length 2", "a tuple of length 1", SIZE),
    Mismatch([1, Plain(1, 2, "p")], [1, Plain(1, 2, "q")], "[1]",
             "a Plain with 2 children and auxiliary data 'q'",
             "a Plain with 2 children and auxiliary data 'p'", DATA),
    Mismatch(Plain(1, (2,)), Plain(1, 2), "[<flat index 1>]", "a leaf of type int: 2",
             "a tuple of length 1"),
    Mismatch(Keyed(1, 2), Keyed(1), "", "a Keyed with 1 child and auxiliary data None",
             "a Keyed with 2 children and auxiliary data None", SIZE),
    Mismatch(Keyed(1, (2,)), Keyed(1, (2, 3)), ".c1", "a tuple of length 2",
             "a tuple of length 1"),
    Mismatch(Layer(1, {"k": [1]}), Layer(1, {"k": ()}), ".bias['k']", "a tuple of length 0",
             "a list of length 1"),
    Mismatch(Static(1), Static(2), "", "a Static with 0 children and auxiliary data Static(n=2)",
             "a Static with 0 children and auxiliary data Static(n=1)", DATA),
)  # fmt: skip


def expect(case: Mismatch, where: str, first: str, second: str) -> Any:
    """`pytest.raises` with the whole error."""
    place = f"at key path {case.place}" if case.place else "at the root"
    pattern = (
        f"^{re.escape(f'{where}, {place}')} "
        rf"\(at .*\)\n  given:    [A-Z][A-Za-z ]+: "
        f"{re.escape(f'{second}{case.place} is {case.given}')}"
        rf"\n  expected: {re.escape(f'{case.expected}, like {first}{case.place}')}"
        rf"\n  fix:      {re.escape(case.fix)}"
    )
    return pytest.raises(ValueError, match=pattern)


mismatch = pytest.mark.parametrize("case", MISMATCHES, ids=lambda c: f"{c.first} {c.second}")


@mismatch
def test_mismatch_in_flatten_up_to(case: Mismatch) -> None:
    with expect(case, "PyTreeDef.flatten_up_to", "the structure", "the tree"):
        tree.structure(case.first).flatten_up_to(case.second)


@mismatch
def test_mismatch_in_map(case: Mismatch) -> None:
    with expect(case, "tree.map, argument rest[1]", "tree", "rest[1]"):
        tree.map(lambda *leaves: leaves, case.first, case.first, case.second)
    with expect(case, "tree.map_with_path, argument rest[0]", "tree", "rest[0]"):
        tree.map_with_path(lambda *leaves: leaves, case.first, case.second)


@mismatch
def test_mismatch_in_broadcast(case: Mismatch) -> None:
    with expect(case, "tree.broadcast", "prefix_tree", "full_tree"):
        tree.broadcast(case.first, case.second)
    with expect(case, "vmap", "in_axes", "the arguments"):
        tree.broadcast_prefix(
            case.first,
            case.second,
            where="vmap",
            prefix_name="in_axes",
            full_name="the arguments",
        )


def test_mismatch_of_axes() -> None:
    treedef = tree.structure({"a": (1, [2]), "b": Keyed(3)})
    with pytest.raises(ValueError, match=r"vmap, at key path \['a'\]") as info:
        tree.flatten_axes("vmap", treedef, {"a": (0,), "b": 0}, "in_axes")
    assert "the tree it is for['a'] is a tuple of length 2" in str(info.value)
    assert "a tuple of length 1, like in_axes['a']" in str(info.value)
    with pytest.raises(ValueError, match=r"\['b'\]\.c0 is a leaf of type _Leaf: \*"):
        tree.flatten_axes("vmap", treedef, {"a": 0, "b": Keyed((0,))})


def test_a_subtree_may_stand_for_a_leaf() -> None:
    treedef = tree.structure((1, {"a": 2}))
    assert treedef.flatten_up_to(((5, 6), {"a": None})) == [(5, 6), None]
    assert tree.structure({"a": 1, "b": 2}).flatten_up_to({"b": 5, "a": 6}) == [6, 5]
    assert tree.structure({1: 1}).flatten_up_to({True: 5}) == [5]
    assert tree.structure(None).flatten_up_to(None) == []


def test_functions_of_a_class_that_disagree() -> None:
    class Fickle:
        calls = 0

    def flatten(fickle: Fickle) -> Any:
        Fickle.calls += 1
        return (0,) * (2 if Fickle.calls == 2 else 1), None

    tree_util.register_pytree_node(Fickle, flatten, lambda *_: None)
    treedef = tree.structure(Fickle())
    with pytest.raises(ValueError, match="whose children differ from one call to the next"):
        treedef.flatten_up_to(Fickle())
