"""Trees for the tests: registered classes, a table of golden cases, and random trees."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict, namedtuple
from collections.abc import Iterable
from typing import Any, NamedTuple

from hypothesis import strategies as st

from morphax import tree, tree_util

Point = namedtuple("Point", "x y")


class Plain:
    """A class registered without keys; equal if its parts are."""

    def __init__(self, first: Any, second: Any, data: Any = "aux") -> None:
        self.parts = first, second, data

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plain) and self.parts == other.parts

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return f"Plain{self.parts}"


tree_util.register_pytree_node(
    Plain, lambda p: (p.parts[:2], p.parts[2]), lambda data, children: Plain(*children, data)
)


@tree_util.register_pytree_with_keys_class
class Keyed:
    """A class registered with keys: any number of children, named `c0`, `c1` ..."""

    def __init__(self, *children: Any) -> None:
        self.children = children

    def tree_flatten_with_keys(self) -> tuple[Iterable[tuple[Any, Any]], None]:
        keys = [tree_util.GetAttrKey(f"c{i}") for i in range(len(self.children))]
        return list(zip(keys, self.children, strict=True)), None

    @classmethod
    def tree_unflatten(cls, _: None, children: Iterable[Any]) -> Keyed:
        return cls(*children)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Keyed) and self.children == other.children

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return f"Keyed{self.children}"


@tree_util.register_dataclass
@dataclasses.dataclass
class Layer:
    """A dataclass with two children and a static field."""

    weight: Any
    bias: Any
    name: Any = tree.static(default="relu")  # noqa: RUF009


@tree_util.register_dataclass
@dataclasses.dataclass
class Pair:
    """A dataclass without static fields."""

    left: Any
    right: Any


@tree_util.register_static
@dataclasses.dataclass(frozen=True)
class Static:
    """A node without children."""

    n: int


class Broken:
    """A class whose flatten function raises."""

    def __repr__(self) -> str:
        return "Broken()"


def _raise(_: Broken) -> Any:
    raise ZeroDivisionError("flatten of Broken")


tree_util.register_pytree_node(Broken, _raise, lambda _, children: Broken())


class Case(NamedTuple):
    """A tree, and what is known of it: text of its structure, leaves, key paths, nodes."""

    tree: Any
    structure: str
    leaves: list[Any]
    paths: list[str]
    num_nodes: int


CASES = (
    Case(1, "*", [1], [""], 1),
    Case("text", "*", ["text"], [""], 1),
    Case(None, "None", [], [], 1),
    Case((), "()", [], [], 1),
    Case((1,), "(*,)", [1], ["[0]"], 2),
    Case((1, 2), "(*, *)", [1, 2], ["[0]", "[1]"], 3),
    Case([], "[]", [], [], 1),
    Case([1], "[*]", [1], ["[0]"], 2),
    Case({}, "{}", [], [], 1),
    Case({"b": 1, "a": 2}, "{'a': *, 'b': *}", [2, 1], ["['a']", "['b']"], 3),
    Case({1: 2, 3: (4, None)}, "{1: *, 3: (*, None)}", [2, 4], ["[1]", "[3][0]"], 5),
    Case({True: 1, 2: 3}, "{True: *, 2: *}", [1, 3], ["[True]", "[2]"], 3),
    Case({("b", 1): 1}, "{('b', 1): *}", [1], ["[('b', 1)]"], 2),
    Case({1j: 5}, "{1j: *}", [5], ["[1j]"], 2),
    Case(Point(1, 2), "CustomNode(namedtuple[Point], [*, *])", [1, 2], [".x", ".y"], 3),
    Case(
        OrderedDict(b=1, a=2),
        "CustomNode(OrderedDict[('b', 'a')], [*, *])",
        [1, 2],
        ["['b']", "['a']"],
        3,
    ),
    Case(
        defaultdict(int, b=1, a=2),
        "CustomNode(defaultdict[(<class 'int'>, ('a', 'b'))], [*, *])",
        [2, 1],
        ["['a']", "['b']"],
        3,
    ),
    Case(
        Plain(1, [2]),
        "CustomNode(Plain[aux], [*, [*]])",
        [1, 2],
        ["[<flat index 0>]", "[<flat index 1>][0]"],
        4,
    ),
    Case(Keyed(1, (2,)), "CustomNode(Keyed[None], [*, (*,)])", [1, 2], [".c0", ".c1[0]"], 4),
    Case(Layer(1, 2), "CustomNode(Layer[('relu',)], [*, *])", [1, 2], [".weight", ".bias"], 3),
    Case(Pair(1, 2), "CustomNode(Pair[()], [*, *])", [1, 2], [".left", ".right"], 3),
    Case((Static(1),), "(CustomNode(Static[Static(n=1)], []),)", [], [], 2),
    Case(
        tree_util.Partial(print, 1, k=2),
        "CustomNode(Partial[<built-in function print>], [(*,), {'k': *}])",
        [1, 2],
        ["[<flat index 0>][0]", "[<flat index 1>]['k']"],
        5,
    ),
    Case(
        {"a": {"b": [1, (2,)]}},
        "{'a': {'b': [*, (*,)]}}",
        [1, 2],
        ["['a']['b'][0]", "['a']['b'][1][0]"],
        6,
    ),
)


def nested(depth: int, wrap: Any) -> Any:
    """One leaf inside `depth` containers."""
    result: Any = 0
    for _ in range(depth):
        result = wrap(result)
    return result


_keys = st.text("abcd", max_size=2) | st.integers(-2, 2)
_names = st.text("abcd", max_size=2)
_aux = st.sampled_from([None, 1, True, "aux", (), (1, 2), [3]])


def _containers(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    pairs = st.tuples(children, children)
    return st.one_of(
        st.lists(children, max_size=4),
        st.lists(children, max_size=4).map(tuple),
        st.dictionaries(_names, children, max_size=4),
        st.dictionaries(st.integers(-2, 2), children, max_size=3),
        st.dictionaries(_keys, children, max_size=3).map(OrderedDict),
        st.dictionaries(_names, children, max_size=3).map(lambda d: defaultdict(list, d)),
        pairs.map(lambda p: Point(*p)),
        pairs.map(lambda p: Pair(*p)),
        st.builds(Plain, children, children, _aux),
        st.builds(Layer, children, children, _aux),
        st.lists(children, max_size=3).map(lambda c: Keyed(*c)),
    )


leaves = st.integers(0, 9) | st.booleans() | st.sampled_from(["x", 1.5, frozenset()])
trees = st.recursive(leaves | st.none() | st.builds(Static, st.integers(0, 2)), _containers)
