"""Values of a program that is being translated: scalars, places in memory, and what is still to do.

A value is one of three things:

- *uniform*: a scalar, which all elements are;
- *placed*: elements that lie in a buffer, at strides;
- *pending*: a function from an index to the scalar there, which writes the operations when it is
  asked.  `fusion` decides when, and where the result is stored.

Views (slices, transposed axes, repetition) of placed values are placed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence, Set
from functools import lru_cache
from typing import NamedTuple, final

from ...util.records import dataclass
from .program import ORIGIN, Buffer, DType, Index, Operand

Indices = tuple[Index, ...]
Shape = tuple[int, ...]


@final
@dataclass(frozen=True, slots=True)
class Place:
    """Where elements lie: element i at ``offset + Σ strides · i``."""

    buffer: Buffer
    strides: tuple[int, ...]
    offset: Index = ORIGIN

    @staticmethod
    def whole(buffer: Buffer, shape: Shape | None = None) -> Place:
        """All of a buffer, row-major."""
        return Place(buffer, row_major(buffer.shape if shape is None else shape))

    def at(self, indices: Indices) -> Index:
        """Where an element lies."""
        index = self.offset
        for i, stride in zip(indices, self.strides, strict=True):
            index = index.plus(i.times(stride))
        return index

    def is_apart(self, shape: Shape) -> bool:
        """Whether no two elements of an array of a shape have the same memory.

        They have where an array is repeated, or read by windows that overlap.
        """
        reach = 0
        each = zip(self.strides, shape, strict=True)
        for stride, n in sorted([(abs(stride), n) for stride, n in each if n > 1]):
            if stride <= reach:
                return False
            reach += stride * (n - 1)
        return True

    def lies_whole(self, shape: Shape) -> bool:
        """Whether the elements of an array of that shape lie without gaps, row-major."""
        return are_row_major(self.strides, shape)

    def reshaped(self, shape: Shape) -> Place:
        """The same elements, which lie without gaps, in another shape."""
        return Place(self.buffer, row_major(shape), self.offset)


@lru_cache(1024)
def row_major(shape: Shape) -> tuple[int, ...]:
    """Strides of an array without gaps."""
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def are_row_major(strides: Sequence[int], shape: Shape) -> bool:
    """Whether elements at these strides lie without gaps, row-major."""
    return all(
        n == 1 or stride == expected
        for n, stride, expected in zip(shape, strides, row_major(shape), strict=True)
    )


@final
class Value:
    """An array of the program that is being translated; see the module's text.

    Attributes:
        shape, dtype: of the array.
        scalar: if it is uniform.
        place: if it is placed.
        element: if it is pending.
        cost: about how many operations an element takes, as long as it is pending.
        depth: how many pending values stand above each other.
        made_of: the values that it is made of, as long as it is pending.
        view_of: the value whose elements these are, as long as they are pending.
        is_counted: whether an element follows from its place alone.
        is_alike: whether it is pending, and each element made of those in its place alone.
        is_shared: whether it has several readers.
        holders: how many variables of the program have it, now.
    """

    __slots__ = (
        "cost",
        "depth",
        "dtype",
        "element",
        "holders",
        "is_alike",
        "is_counted",
        "is_shared",
        "made_of",
        "place",
        "scalar",
        "shape",
        "view_of",
    )

    def __init__(
        self,
        shape: Shape,
        dtype: DType,
        *,
        scalar: Operand | None = None,
        place: Place | None = None,
        element: Callable[[Indices], Operand] | None = None,
        cost: int = 0,
        of: Sequence[Value] = (),
    ) -> None:
        self.shape = shape
        self.dtype = dtype
        self.scalar = scalar
        self.place = place
        self.element = element
        self.cost: int = cost
        self.depth = 0
        self.is_shared = False
        self.holders = 0
        self.view_of: View | None = None
        self.made_of = of
        self.is_counted = self.is_alike = False
        for x in of:
            self.is_counted = self.is_counted or x.is_counted
            self.cost += x.cost
            if x.depth > self.depth:
                self.depth = x.depth
        if element is not None:
            self.depth += 1
            if self.is_counted:
                self.is_counted = all([x.is_counted or x.scalar is not None for x in of])

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def is_pending(self) -> bool:
        return self.element is not None

    def settle(self, place: Place) -> None:
        """From now on the elements lie there."""
        self.place, self.element, self.view_of = place, None, None
        self.cost = self.depth = 0
        self.is_counted = self.is_alike = False
        self.made_of = ()

    @property
    def sources(self) -> set[Buffer]:
        """The buffers that its elements are made of, now."""
        return {place.buffer for place in self.places_read()}

    def places_read(self, but: Set[Value] = frozenset()) -> set[Place]:
        """Where its elements lie, or those that it is made of, now; not by way of values `but`.

        What a pending value is made of may be stored after it has come into being, and is read from
        there then.
        """
        if self.place is not None:
            return {self.place}
        found: set[Place] = set()
        seen, rest = {self}, [self]
        while rest:
            for x in rest.pop().made_of:
                if x.place is not None:
                    found.add(x.place)
                elif x not in seen and x not in but:
                    seen.add(x)
                    rest.append(x)
        return found

    def __repr__(self) -> str:
        kind = "uniform" if self.scalar is not None else "placed" if self.place else "pending"
        return f"Value({self.shape}, {self.dtype}, {kind})"


@final
class View(NamedTuple):
    """Elements of a pending value in other places.

    Args:
        of: the value.
        place: where the elements lie, if those of the value lie at a place.
        is_whole: whether they are all of its elements, in the same order.
    """

    of: Value
    place: Callable[[Place], Place]
    is_whole: bool
