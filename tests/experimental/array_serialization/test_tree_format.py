"""Structures of trees as bytes: ours, those that JAX has written, damaged and hostile ones."""

from __future__ import annotations

import collections
import contextlib
import struct
from typing import Any

import numpy as np
import pytest

import morphax as jax
from morphax import export
from morphax.experimental.array_serialization import pytree_serialization_utils as utils
from morphax.experimental.array_serialization._tree_format import tree_as_bytes, tree_of_bytes

Point = collections.namedtuple("Point", "x y")
export.register_namedtuple_serialization(Point, serialized_name="test_tree_format.Point")
TREES: list[Any] = [
    1,
    None,
    (),
    [],
    {},
    [None, (), {"": 1, "é/..": [2]}],
    {"b": 1, "a": (2, [3, {"c": None}])},
    collections.OrderedDict(b=1, a=[2]),
    Point(1, {"z": Point(None, 2)}),
    [[[[[[[[1]]]]]]]],
]
# Leaf, [leaf], {"b": leaf, "a": leaf}, [[], (), {}], an ordered and a common dictionary.
WRITTEN_BY_JAX = [
    ("080000000400040004000000", 1),
    ("0c00000008000c000b00040008000000080000000000000301000000080000000400040004000000", [1]),
    (
        "1000000000000a0010000f00080004000a0000000c0000002400000000000004020000001000000004000000010000"
        "00620000000100000061000000020000001000000004000000fcffffff0400040004000000",
        {"a": 1, "b": 2},
    ),
    (
        "0c00000008000c000b000400080000000800000000000003030000003c0000002c0000001000000000000a000c000b"
        "00000004000a00000008000000000000040000000000000600060005000600000000020600080007000600000000000003",
        [[], (), {}],
    ),
    (
        "1400000000000e00140013000c000000080004000e000000100000001c00000034000000000000050a0000005b2262"
        "222c202261225d000017000000636f6c6c656374696f6e732e4f726465726564446963740002000000100000000400"
        "0000fcffffff0400040004000000",
        collections.OrderedDict(b=1, a=2),
    ),
]


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_there_and_back(tree: Any) -> None:
    structure = jax.tree.structure(tree)
    assert utils.deserialize_pytreedef(utils.serialize_pytreedef(structure)) == structure


@pytest.mark.parametrize(("written", "tree"), WRITTEN_BY_JAX)
def test_those_of_jax(written: str, tree: Any) -> None:
    assert tree_of_bytes(bytes.fromhex(written)) == jax.tree.structure(tree)


@pytest.mark.parametrize(
    "whole",
    [tree_as_bytes(jax.tree.structure(tree), "test") for tree in TREES]
    + [bytes.fromhex(written) for written, _ in WRITTEN_BY_JAX],
)
def test_damaged(whole: bytes) -> None:
    """Whatever is changed or lacking: another tree, or an error that says so."""
    rng = np.random.default_rng(len(whole))
    damaged = [whole[:n] for n in range(len(whole))]
    for place in range(len(whole)):
        for byte in {0, 255, whole[place] ^ 1, int(rng.integers(256))}:
            damaged.append(whole[:place] + bytes([byte]) + whole[place + 1 :])
    for data in damaged:
        with contextlib.suppress(ValueError):
            tree_of_bytes(data)


def shared_lists(depth: int) -> bytes:
    """A list of two lists that are one, and so on: 2^depth nodes by a few bytes for each level."""
    levels = []
    for level in range(depth):
        # A vtable, a table, and a vector of two offsets to the next level's table.
        vtable = struct.pack("<2xHHHH", 8, 12, 4, 8)
        last = level == depth - 1
        vector = struct.pack("<III", 0 if last else 2, 18, 14)
        levels.append(vtable + struct.pack("<iB3xI", 8, 3, 4) + vector)
    return struct.pack("<I", 14) + b"".join(levels)


def test_hostile() -> None:
    assert tree_of_bytes(shared_lists(3)) == jax.tree.structure([[[], []], [[], []]])
    with pytest.raises(ValueError, match="more nodes"):
        tree_of_bytes(shared_lists(60))
    deep: Any = 1
    for _ in range(201):
        deep = [deep]
    with pytest.raises(ValueError, match="deeper"):
        utils.serialize_pytreedef(jax.tree.structure(deep))


class Unknown(collections.namedtuple("Unknown", "x")):
    """Of a class that nobody has registered."""


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda: utils.serialize_pytreedef({"a": 1}), TypeError, "structure of a tree"),  # type: ignore[arg-type]
        (lambda: utils.serialize_pytreedef(jax.tree.structure({1: 2})), TypeError, "the key 1"),
        (lambda: utils.serialize_pytreedef(jax.tree.structure(Unknown(1))), ValueError, "Unknown"),
        (lambda: utils.deserialize_pytreedef({}), ValueError, "no text"),
        (lambda: utils.deserialize_pytreedef("x"), ValueError, "no text"),  # type: ignore[arg-type]
        (
            lambda: utils.deserialize_pytreedef({"__jax_pytreedef_repr": "€"}),
            ValueError,
            "not base64",
        ),
        (
            lambda: tree_of_bytes(
                tree_as_bytes(jax.tree.structure(Point(1, 2)), "").replace(
                    b"format.Point", b"format.Paint"
                )
            ),
            ValueError,
            "called 'test_tree_format.Paint'",
        ),
    ],
)
def test_refused(call: Any, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        call()
