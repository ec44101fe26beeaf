"""What is known of a value while a program is read for its pattern."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from ...core import Atom, Equation
from .patterns import Pattern, nothing

Numbers = NDArray[Any]


@final
class Known:
    """A value that follows from constants.

    Which of the program's constants decided on a pattern has to be known where patterns are
    remembered.  So the value itself is had from `read` alone, which notes those it follows from;
    its dtype is part of the program.

    Args:
        value: the value.
        sources: the numbers of the constants that it follows from.
        noted: where the numbers of constants are noted that have been read.
    """

    __slots__ = ("_noted", "_sources", "_value")

    def __init__(
        self, value: Numbers, sources: frozenset[int] = frozenset(), noted: set[int] | None = None
    ) -> None:
        self._value = value
        self._sources = sources
        self._noted = set() if noted is None else noted

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._value.dtype

    def read(self) -> Numbers:
        """The value: from now on, what is found depends on its constants."""
        self._noted |= self._sources
        return self._value

    @staticmethod
    def computed(function: Callable[..., Sequence[Any]], operands: Sequence[Known]) -> list[Known]:
        """The results of a function, which follow from what its operands follow from."""
        sources = frozenset().union(*[x._sources for x in operands])
        noted = next((x._noted for x in operands if x._sources), None)
        results = function(*[x._value for x in operands])
        return [Known(np.asarray(value), sources, noted) for value in results]


class Flow(NamedTuple):
    """What is known of a value.

    Args:
        known: the value itself, if it follows from constants alone.
        pattern: which inputs its elements depend on; `None` if on none.
    """

    known: Known | None = None
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
