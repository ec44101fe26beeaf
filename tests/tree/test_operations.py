"""Mapping, reducing, transposing."""

from __future__ import annotations

from typing import Any

import pytest

from morphax import tree, tree_util

from .examples import Keyed, Plain, Point

S = tree.structure
is_none = lambda x: x is None  # noqa: E731


def join(left: Any, right: Any) -> str:
    return f"({left}{right})"


@pytest.mark.parametrize(
    ("trees", "is_leaf", "expected"),
    [
        (((1, 2),), None, ((1,), (2,))),
        (((1, 2), (3, 4), (5, (6,))), None, ((1, 3, 5), (2, 4, (6,)))),
        (({"b": 1, "a": 2}, {"a": 3, "b": 4}), None, {"a": (2, 3), "b": (1, 4)}),
        (({"a": None, "b": 1}, {"a": None, "b": 3}), None, {"a": None, "b": (1, 3)}),
        (({"a": 3}, {"a": None}), None, {"a": (3, None)}),
        (({"a": None}, {"a": 1}), is_none, {"a": (None, 1)}),
        (((),), None, ()),
    ],
)
def test_map(trees: Any, is_leaf: Any, expected: Any) -> None:
    assert tree.map(lambda *leaves: leaves, *trees, is_leaf=is_leaf) == expected


def test_map_passes_errors_on() -> None:
    with pytest.raises(ZeroDivisionError):
        tree.map(lambda x: 1 / x, {"a": 0})
    with pytest.raises(TypeError, match="argument f"):
        tree.map(3, (1,))


def test_the_order_of_keys_after_map() -> None:
    assert list(tree.map(abs, {"b": 1, "a": 2})) == ["a", "b"]


def test_map_with_path() -> None:
    describe = lambda path, *leaves: (tree_util.keystr(path), *leaves)  # noqa: E731
    assert tree.map_with_path(describe, {"a": [1]}, {"a": [2]}) == {"a": [("['a'][0]", 1, 2)]}
    assert tree.map_with_path(describe, Keyed(1)) == Keyed((".c0", 1))
    cut = tree.map_with_path(
        describe,
        {"a": (1, 2), "b": [3]},
        is_leaf=lambda path, node: isinstance(node, tuple),
        is_leaf_takes_path=True,
    )
    assert cut == {"a": ("['a']", (1, 2)), "b": [("['b'][0]", 3)]}


def test_reduce() -> None:
    assert tree.reduce(join, list("abc")) == "((ab)c)"
    assert tree.reduce(join, list("abc"), "z") == "(((za)b)c)"
    assert tree.reduce(join, list("ab"), None) == "((Nonea)b)"
    assert tree.reduce(join, [(1,), 2], "z", lambda x: isinstance(x, tuple)) == "((z(1,))2)"
    assert tree.reduce(join, (), 0) == 0
    with pytest.raises(TypeError, match="initial value"):
        tree.reduce(join, ())


@pytest.mark.parametrize(
    ("leaves", "expected"),
    [
        ("a", "a"),
        ("ab", "(ab)"),
        ("abc", "(a(bc))"),
        ("abcd", "((ab)(cd))"),
        ("abcde", "((ab)(c(de)))"),
        ("abcdef", "((a(bc))(d(ef)))"),
        ("abcdefg", "((a(bc))((de)(fg)))"),
        ("abcdefgh", "(((ab)(cd))((ef)(gh)))"),
        ("abcdefghi", "(((ab)(cd))((ef)(g(hi))))"),
    ],
)
def test_reduce_associative(leaves: str, expected: str) -> None:
    assert tree.reduce_associative(join, list(leaves)) == expected
    assert tree.reduce_associative(join, list(leaves), identity="unused") == expected


def test_reduce_associative_of_nothing() -> None:
    assert tree.reduce_associative(join, {}, identity="I") == "I"
    with pytest.raises(TypeError, match="Pass identity="):
        tree.reduce_associative(join, {})


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        ((), True),
        ((1,), True),
        ((0, 1), False),
        ([None], True),
        ({"a": [False]}, False),
        ("", False),
    ],
)
def test_all(x: Any, expected: bool) -> None:
    assert tree.all(x) is expected


def test_all_with_is_leaf() -> None:
    assert tree.all(((), 1))
    assert not tree.all(((), 1), is_leaf=lambda x: x == ())


@pytest.mark.parametrize(
    ("items", "is_leaf", "expected"),
    [
        ([1, 2], None, True),
        ([1, (2,)], None, False),
        ([1, None], None, False),
        ([1, None], is_none, True),
        ([1, (2,)], is_none, False),
        ([Plain(1, 2)], None, False),
        ([], None, True),
        (iter(range(2)), None, True),
    ],
)
def test_all_leaves(items: Any, is_leaf: Any, expected: bool) -> None:
    assert tree_util.all_leaves(items, is_leaf) is expected


@pytest.mark.parametrize(
    ("outer", "inner", "x", "expected"),
    [
        (
            [0, 0],
            {"a": 0, "b": 0},
            [{"a": 1, "b": 2}, {"a": 3, "b": 4}],
            {"a": [1, 3], "b": [2, 4]},
        ),
        ([0, [0]], (0, 0), [(1, 2), [(3, 4)]], ([1, [3]], [2, [4]])),
        ([0, None], (0, 0), [(1, 2), None], ([1, None], [2, None])),
        ([0, 0], (), [(), ()], ()),
        ([0, 0], (0, 0), [(1, 2, 3, 4)], ([1, 3], [2, 4])),
    ],
)
def test_transpose(outer: Any, inner: Any, x: Any, expected: Any) -> None:
    assert tree.transpose(S(outer), S(inner), x) == expected


def test_transpose_reads_the_inner_structure() -> None:
    assert tree.transpose(S((0, 0)), None, (Point(1, 2), Point(3, 4))) == Point((1, 3), (2, 4))
    with pytest.raises(ValueError, match="no inner tree to read it from"):
        tree.transpose(S(()), None, ())
    with pytest.raises(ValueError, match=r"PyTreeDef\.flatten_up_to, at the root"):
        tree.transpose(S([0]), None, 3)


@pytest.mark.parametrize("inner", [None, S({"a": 0, "b": 0})], ids=["None", "given"])
def test_transpose_of_different_trees(inner: Any) -> None:
    with pytest.raises(TypeError, match=r"given: +a tree of 3 leaves.*\n +expected: 4 leaves"):
        tree.transpose(S([0, 0]), inner, [{"a": 1, "b": 2}, {"a": 3}])
