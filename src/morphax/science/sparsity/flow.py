"""What is known of a value while a program is read for its pattern."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from numpy.typing import NDArray

from ...core import Atom, Equation
from .patterns import Pattern, nothing


class Flow(NamedTuple):
    """What is known of a value.

    Args:
        known: the value itself, if it follows from constants alone.
        pattern: which inputs its elements depend on; `None` if on none.
    """

    known: NDArray[Any] | None = None
    pattern: Pattern | None = None


def active_patterns(flows: Sequence[Flow]) -> list[Pattern]:
    """The patterns of the values that depend on inputs."""
    return [flow.pattern for flow in flows if flow.pattern is not None]


def filled(flow: Flow, size: int, inputs: int) -> Pattern:
    """The pattern of a value of `size` elements, without entries if it depends on nothing."""
    return nothing(size, inputs) if flow.pattern is None else flow.pattern


def sizes_of_results(eqn: Equation) -> list[int]:
    """How many elements each result has."""
    return [size_of(v) for v in eqn.outvars]


def shape_of(atom: Atom) -> tuple[int, ...]:
    """The shape of an operand or result, an array."""
    aval: Any = atom.aval
    shape: tuple[int, ...] = aval.shape
    return shape


def size_of(atom: Atom) -> int:
    """How many elements it has."""
    return math.prod(shape_of(atom))
