"""Dataclasses as nodes of trees."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from morphax import tree, tree_util

from .examples import Layer


def make(*fields: Any, **options: Any) -> Any:
    """A new dataclass."""
    return dataclasses.make_dataclass("Made", fields, **options)


def with_default(name: str, **options: Any) -> tuple[str, type, Any]:
    return name, int, dataclasses.field(default=7, **options)


def test_fields_marked_in_the_class() -> None:
    assert tree.leaves(Layer(1, [2], "tanh")) == [1, 2]
    assert tree.map(str, Layer(1, [2], "tanh")) == Layer("1", ["2"], "tanh")


@pytest.mark.parametrize(
    ("cls", "arguments", "x", "leaves", "mapped"),
    [
        (make("x", "y"), {}, (1, 2), [1, 2], (-1, -2)),
        (make("x", "y"), {"data_fields": ["x"], "meta_fields": ["y"]}, (1, 2), [1], (-1, 2)),
        (make("x", "y"), {"data_fields": "x", "meta_fields": "y"}, (1, 2), [1], (-1, 2)),
        (make("x", "y"), {"data_fields": ["y", "x"], "meta_fields": []}, (1, 2), [2, 1], (-1, -2)),
        (make("x", with_default("z")),
         {"data_fields": ["x"], "meta_fields": [], "drop_fields": ["z"]}, (1, 2), [1], (-1, 7)),
        (make("x", with_default("z", init=False)),
         {"data_fields": ["x"], "meta_fields": []}, (1,), [1], (-1, 7)),
    ],
)  # fmt: skip
def test_field_lists(cls: Any, arguments: Any, x: Any, leaves: list[Any], mapped: Any) -> None:
    assert tree_util.register_dataclass(cls, **arguments) is cls
    assert tree.leaves(cls(*x)) == leaves
    assert dataclasses.astuple(tree.map(lambda leaf: -leaf, cls(*x))) == mapped


def test_keyword_only_fields_and_post_init() -> None:
    created = []
    cls = make(
        "x", "y", kw_only=True, namespace={"__post_init__": lambda self: created.append(self)}
    )
    tree_util.register_dataclass(cls)
    assert tree.map(str, cls(x=1, y=2)) == cls(x="1", y="2")
    assert len(created) == 3


def test_a_class_that_is_no_dataclass() -> None:
    class Plain:
        def __init__(self, a: Any, b: Any) -> None:
            self.a, self.b = a, b

    tree_util.register_dataclass(Plain, ["a"], ["b"])
    result = tree.map(str, Plain(1, 2))
    assert (result.a, result.b) == ("1", 2)


def test_a_missing_attribute_is_an_error() -> None:
    layer = Layer(1, 2)
    del layer.bias
    with pytest.raises(AttributeError, match="bias") as info:
        tree.leaves({"q": layer})
    assert "at key path ['q']" in info.value.__notes__[0]


@pytest.mark.parametrize(
    ("cls", "arguments", "error", "match"),
    [
        (make("x", "y"), {"data_fields": ["x"]}, TypeError, "both lists of fields"),
        (make("x", "y"), {"meta_fields": ["x"]}, TypeError, "both lists of fields"),
        (type("Other", (), {}), {}, TypeError, "which is not a dataclass"),
        (make("x", "y"), {"data_fields": ["x"], "meta_fields": []}, ValueError,
         r"missing: \['y'\], unexpected: \[\]"),
        (make("x"), {"data_fields": ["x", "q"], "meta_fields": []}, ValueError,
         r"missing: \[\], unexpected: \['q'\]"),
        (make("x", "y"), {"data_fields": ["x", "y"], "meta_fields": ["y"]}, ValueError,
         r"fields \['y'\] both in"),
        (make("x", "y"), {"data_fields": ["x"], "meta_fields": ["y"], "drop_fields": ["y"]},
         ValueError, r"unexpected: \['y'\]"),
        (make("x", with_default("y", init=False)), {}, ValueError, r"unexpected: \['y'\]"),
        (Layer, {}, ValueError, "registered already"),
    ],
)  # fmt: skip
def test_wrong_lists(cls: Any, arguments: Any, error: Any, match: str) -> None:
    with pytest.raises(error, match=match):
        tree_util.register_dataclass(cls, **arguments)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, {"static": True}),
        ({"metadata": {"x": 1}}, {"static": True, "x": 1}),
        ({"metadata": None}, {"static": True}),
        ({"metadata": {"static": False}}, {"static": False}),
    ],
)
def test_static_fields(arguments: Any, expected: Any) -> None:
    assert dict(tree.static(**arguments).metadata) == expected
    assert tree.static(default=3).default == 3
