"""Which structures equality describes in full."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

import morphax as jax
from morphax.tree import nodes_of_users, number_of_registrations


class Pair(NamedTuple):
    a: Any
    b: Any


class Node:
    pass


@pytest.mark.parametrize("tree", [1, None, (), [1, (2, {"a": None, "b": [3]})], {1: 2}])
def test_plain_structures(tree: Any) -> None:
    for _ in range(2):
        assert nodes_of_users(jax.tree.structure(tree)) == []


@pytest.mark.parametrize("tree", [Pair(1, 2), [Pair(1, 2)], {1.0: 2}, {True: 1}, {(1,): 2}])
def test_structures_with_nodes_of_users(tree: Any) -> None:
    structure = jax.tree.structure(tree)
    nodes = nodes_of_users(structure)
    assert len(nodes) == structure.num_nodes
    assert nodes[-1][0] == len(structure.children())


def test_registering_counts() -> None:
    before = number_of_registrations()
    jax.tree_util.register_pytree_node(Node, lambda n: ((), None), lambda data, _: Node())
    assert number_of_registrations() == before + 1
