"""Sizes of axes: numbers, or expressions in symbols that stand for numbers.

A program may be traced for all sizes at once.  Then a size is a `SymbolicDim`, and shape rules ask
only what has one answer for all sizes: sums, products and equality, by Python's operators, and the
questions below.  Two sizes are equal if they always are.  A question whose answer depends on the
sizes raises `InconclusiveDimensionOperation`, and so does whoever needs a number.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from operator import index
from typing import TYPE_CHECKING, Any, NoReturn, final

from ..errors import InconclusiveDimensionOperation
from ..util.messages import message

Product = tuple[str, ...]
"""The symbols of a product, in order, as often as they occur; none for the number 1."""


@final
@dataclass(frozen=True, slots=True)
class SymbolicDim:
    """A sum of products of symbols, each of which stands for any size from 1 on.

    Args:
        terms: products with their coefficients, in order.

    Example:
        >>> from morphax.core.dims import symbol
        >>> n, m = symbol("n"), symbol("m")
        >>> (n + 1) * (n - 1), 2 * n == n + n, n == m, n + 1 > 1
        (n^2 - 1, True, False, True)
    """

    terms: tuple[tuple[Product, int], ...]

    def __add__(self, other: Dim) -> Dim:
        if not _is_dim(other):
            return NotImplemented
        sums = Counter(dict(self.terms))
        for product, count in _terms(other):
            sums[product] += count
        return _normal(sums)

    def __mul__(self, other: Dim) -> Dim:
        if not _is_dim(other):
            return NotImplemented
        sums: Counter[Product] = Counter()
        for p, m in self.terms:
            for q, n in _terms(other):
                sums[tuple(sorted(p + q))] += m * n
        return _normal(sums)

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> Dim:
        return self * -1

    def __sub__(self, other: Dim) -> Dim:
        return self + -other

    def __rsub__(self, other: Dim) -> Dim:
        return -self + other

    def __ge__(self, other: Dim) -> bool:
        return self._is_positive(1 + self - other, f">= {other}")

    def __gt__(self, other: Dim) -> bool:
        return self._is_positive(self - other, f"> {other}")

    def __le__(self, other: Dim) -> bool:
        return not self._is_positive(self - other, f"<= {other}")

    def __lt__(self, other: Dim) -> bool:
        return not self._is_positive(1 + self - other, f"< {other}")

    def _is_positive(self, difference: Dim, question: str) -> bool:
        lower, upper = _bounds(difference)
        if lower > 0 or upper <= 0:
            return lower > 0
        self._refuse(f"the question whether it is {question}", "one answer for all sizes")

    def __bool__(self) -> bool:
        return self._is_positive(self, "> 0")

    def __index__(self) -> int:
        self._refuse("its use as a number", "a size that is known")

    def evaluate(self, sizes: Mapping[str, int]) -> int:
        """The number that it is where symbols stand for `sizes`."""
        return sum([n * math.prod([sizes[name] for name in p]) for p, n in self.terms])

    def _refuse(self, given: str, expected: str) -> NoReturn:
        raise InconclusiveDimensionOperation(
            message(
                f"the symbolic size {self}",
                given=given,
                expected=expected,
                fix="Trace the program for sizes that are numbers.",
            )
        )

    def __repr__(self) -> str:
        signs = ["-" if n < 0 else "+" for _, n in self.terms]
        texts = [f"{sign} {_text(*term)}" for sign, term in zip(signs, self.terms, strict=True)]
        return " ".join(texts).removeprefix("+ ")


if TYPE_CHECKING:
    # Most code takes either for an int, and so shall type checkers.
    Dim = Any
else:
    Dim = int | SymbolicDim
Shape = tuple[Dim, ...]


def symbol(name: str) -> SymbolicDim:
    """The size called `name`."""
    return SymbolicDim((((name,), 1),))


def dims(sizes: Iterable[Any]) -> Shape:
    """Sizes that may be symbolic; `TypeError` unless the others are integers."""
    given = tuple(sizes)
    try:
        return tuple(map(index, given))
    except InconclusiveDimensionOperation:
        return tuple([n if type(n) is SymbolicDim else index(n) for n in given])


def is_negative(size: Dim) -> bool:
    """Whether it is less than 0 for some sizes."""
    return size < 0 if type(size) is int else _bounds(size)[0] < 0


def divides(parts: int, size: Dim) -> bool:
    """Whether `size` is a multiple of `parts`, always."""
    return all([n % parts == 0 for _, n in _terms(size)])


def broadcast_shapes(shapes: Sequence[Shape]) -> Shape:
    """The shape of arrays that are broadcast against each other, counting axes from the last.

    Raises:
        ValueError: if sizes differ and neither is 1.
    """
    columns = zip_longest(*[reversed(shape) for shape in shapes], fillvalue=1)
    return tuple([_common(column) for column in columns])[::-1]


def _common(sizes: Iterable[Dim]) -> Dim:
    others = {n for n in sizes if n != 1}
    if len(others) > 1:
        raise ValueError(f"sizes differ: {others}")
    return others.pop() if others else 1


def _is_dim(x: Any) -> bool:
    return isinstance(x, (int, SymbolicDim))


def _terms(size: Dim) -> Sequence[tuple[Product, int]]:
    return size.terms if type(size) is SymbolicDim else (((), index(size)),)


def _normal(sums: Mapping[Product, int]) -> Dim:
    terms = [(product, n) for product, n in sums.items() if n]
    if all([product == () for product, _ in terms]):
        return sum([n for _, n in terms])
    return SymbolicDim(tuple(sorted(terms, key=lambda t: (len(t[0]), t[0]), reverse=True)))


def _bounds(size: Dim) -> tuple[float, float]:
    """What it is never below and never above: products are 1 at least, and have no limit."""
    factors = [n for product, n in _terms(size) if product]
    total = sum([n for _, n in _terms(size)])
    lower = total if all([n > 0 for n in factors]) else -math.inf
    upper = total if all([n < 0 for n in factors]) else math.inf
    return lower, upper


def _text(product: Product, count: int) -> str:
    powers = [name if times == 1 else f"{name}^{times}" for name, times in Counter(product).items()]
    return "*".join([str(abs(count))] * (abs(count) != 1 or not product) + powers)
