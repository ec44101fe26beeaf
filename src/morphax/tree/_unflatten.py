"""Building trees from leaves, and the order in which that is done.

A program is the list of a structure's nodes in post-order, worked off with a stack of finished
subtrees.  A node whose children are all leaves takes those in one step; that is where most leaves
of real trees are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ._node import Node

T = TypeVar("T")

# (number of children, are all of them leaves, node or None for a leaf)
Program = list[tuple[int, bool, Node | None]]


def post_order(root: T, children: Callable[[T], Sequence[T]]) -> list[T]:
    """All that is reached from `root`, children before their parent, left before right."""
    order: list[T] = []
    stack = [root]
    while stack:
        here = stack.pop()
        order.append(here)
        stack.extend(children(here))
    order.reverse()
    return order


def build(program: Program, leaves: Sequence[Any]) -> Any:
    """The tree that `program` makes of exactly as many leaves as it needs."""
    finished: list[Any] = []
    start = 0
    for arity, flat, node in program:
        if node is None:
            finished.append(leaves[start])
            start += 1
        elif flat:
            end = start + arity
            finished.append(node.build(leaves[start:end]))
            start = end
        else:
            children = finished[-arity:]
            del finished[-arity:]
            finished.append(node.build(children))
    return finished[0]
