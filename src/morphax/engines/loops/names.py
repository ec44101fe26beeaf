"""What statements of loop programs are made of: names, constants and indices.

There are thousands of them in a program, and nobody changes them.  A dataclass that sees to that
takes three times as long to be made.
"""

from __future__ import annotations

from typing import Any, NamedTuple, final

import numpy as np

DType = np.dtype[Any]
INDEX: DType = np.dtype(np.int64)
BOOL: DType = np.dtype(np.bool_)


@final
class Name:
    """A scalar that is assigned once.

    Args:
        number: tells names of one program apart.
        dtype: of the scalar.
        low, high: bounds of its values, for integers that may index; both inclusive.
        ceiling: a closer upper bound, for counters of loops in triangles.
    """

    __slots__ = ("ceiling", "dtype", "high", "low", "number")

    def __init__(
        self,
        number: int,
        dtype: DType,
        low: int | None = None,
        high: int | None = None,
        ceiling: Index | None = None,
    ) -> None:
        self.number = number
        self.dtype = dtype
        self.low, self.high = low, high
        self.ceiling = ceiling

    def __repr__(self) -> str:
        return f"t{self.number}"


@final
class Const:
    """A number that is known.

    Args:
        value: a NumPy scalar of its dtype.

    Attributes:
        key: what tells constants apart: bits, for −0 is not 0.
    """

    __slots__ = ("dtype", "key", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.dtype: DType = value.dtype
        self.key = type(value), value.tobytes()

    def __repr__(self) -> str:
        return f"{self.value!r}"


Operand = Name | Const


@final
class Index(NamedTuple):
    """The integer ``offset + Σ factor · name``; the factors are not 0, the names differ."""

    terms: tuple[tuple[Name, int], ...] = ()
    offset: int = 0

    @staticmethod
    def of(x: Name | int) -> Index:
        return Index((), x) if isinstance(x, int) else Index(((x, 1),))

    def plus(self, other: Index | int) -> Index:
        if isinstance(other, int):
            return Index(self.terms, self.offset + other) if other else self
        if not other.terms:
            return self.plus(other.offset)
        if not self.terms:
            return other.plus(self.offset)
        factors = dict(self.terms)
        for name, factor in other.terms:
            factors[name] = factors.get(name, 0) + factor
        ordered = sorted(
            [(name, factor) for name, factor in factors.items() if factor],
            key=lambda term: term[0].number,
        )
        return Index(tuple(ordered), self.offset + other.offset)

    def times(self, factor: int) -> Index:
        if factor == 1:
            return self
        if not factor:
            return Index()
        return Index(tuple([(name, f * factor) for name, f in self.terms]), self.offset * factor)

    @property
    def bounds(self) -> tuple[int, int]:
        """The least and the greatest value."""
        return self._extreme(is_upper=False), self._extreme(is_upper=True)

    def _extreme(self, *, is_upper: bool) -> int:
        """One of the bounds: each name, from the innermost one, takes the value at its end."""
        index = self
        while index.terms:
            name, factor = index.terms[-1]
            end: Index | int | None = name.low
            if (factor > 0) == is_upper:
                end = name.high if name.ceiling is None else name.ceiling
            assert end is not None, f"{name} indexes and has no bounds"
            value = Index((), end) if isinstance(end, int) else end
            index = Index(index.terms[:-1], index.offset).plus(value.times(factor))
        return index.offset


ORIGIN = Index()
"""The index of the first element."""
