"""Sizes of axes: numbers, or expressions in symbols that stand for numbers.

A program may be traced for all sizes at once.  Then a size is a `SymbolicDim`, and shape rules ask
only what has one answer for all sizes: sums, products, quotients and equality, by Python's
operators, and the questions below.  Two sizes are equal if their normal forms are; then they always
are.  A question whose answer depends on the sizes raises `InconclusiveDimensionOperation`, and so
does whoever needs a number.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from operator import index
from typing import TYPE_CHECKING, Any, NoReturn, final

from ..errors import InconclusiveDimensionOperation
from ..util.messages import message
from .polynomials import (
    Polynomial,
    PositivePart,
    Quotient,
    Symbol,
    atomic,
    constant,
    divided,
    least,
    lowest_terms,
    minus,
    most,
    number_of,
    plus,
    rounded_down,
    symbols_of,
    text,
    times,
    value_of,
)


@final
@dataclass(frozen=True, slots=True)
class SymbolicDim:
    """A polynomial in symbols for sizes, in floor quotients and in maxima.

    A remainder is what a quotient leaves, and a minimum is a sum without its maximum, so they need
    no form of their own.

    Args:
        terms: products with their coefficients, in order.

    Example:
        >>> from morphax.core.dims import max_dim, symbol
        >>> n, m = symbol("n"), symbol("m")
        >>> (n + 1) * (n - 1), 2 * n == n + n, n == m, n + 1 > 1
        (n^2 - 1, True, False, True)
        >>> (2 * n + 5) // 2, n % 2 < 2, max_dim(n, 1), max_dim(n - 3, 0)
        (n + 2, True, n, max(n - 3, 0))
    """

    terms: Polynomial

    def __add__(self, other: Dim) -> Dim:
        return _dim(plus(self.terms, _terms(other))) if _is_dim(other) else NotImplemented

    def __mul__(self, other: Dim) -> Dim:
        return _dim(times(self.terms, _terms(other))) if _is_dim(other) else NotImplemented

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> Dim:
        return self * -1

    def __sub__(self, other: Dim) -> Dim:
        return self + -other

    def __rsub__(self, other: Dim) -> Dim:
        return -self + other

    def __pow__(self, exponent: int) -> Dim:
        return math.prod([self] * index(exponent)) if exponent >= 0 else NotImplemented

    def __floordiv__(self, other: Dim) -> Dim:
        return _quotient(self, other) if _is_dim(other) else NotImplemented

    def __rfloordiv__(self, other: Dim) -> Dim:
        return _quotient(other, self) if _is_dim(other) else NotImplemented

    def __mod__(self, other: Dim) -> Dim:
        return self - self // other * other if _is_dim(other) else NotImplemented

    def __rmod__(self, other: Dim) -> Dim:
        return other - other // self * self if _is_dim(other) else NotImplemented

    def __divmod__(self, other: Dim) -> tuple[Dim, Dim]:
        return self // other, self % other

    def __rdivmod__(self, other: Dim) -> tuple[Dim, Dim]:
        return other // self, other % self

    def __ge__(self, other: Dim) -> bool:
        return self._is_positive(1 + self - other, f">= {other}")

    def __gt__(self, other: Dim) -> bool:
        return self._is_positive(self - other, f"> {other}")

    def __le__(self, other: Dim) -> bool:
        return not self._is_positive(self - other, f"<= {other}")

    def __lt__(self, other: Dim) -> bool:
        return not self._is_positive(1 + self - other, f"< {other}")

    def _is_positive(self, difference: Dim, question: str) -> bool:
        answer = _is_positive(difference)
        if answer is None:
            _refuse(self, f"the question whether it is {question}", "one answer for all sizes")
        return answer

    def __bool__(self) -> bool:
        if _is_positive(self) or _is_positive(-self):
            return True
        _refuse(self, "the question whether it is 0", "one answer for all sizes")

    def __index__(self) -> int:
        _refuse(self, "its use as a number", "a size that is known")

    def evaluate(self, sizes: Mapping[str, int]) -> int:
        """The number that it is where symbols stand for `sizes`."""
        return value_of(self.terms, sizes, int, lambda n: max(n, 0))

    def __repr__(self) -> str:
        return text(self.terms)


if TYPE_CHECKING:
    # Most code takes either for an int, and so shall type checkers.
    Dim = Any
else:
    Dim = int | SymbolicDim
Shape = tuple[Dim, ...]


def symbol(name: str, least: int = 1, most: float = math.inf) -> SymbolicDim:
    """The size called `name`: any number from `least` to `most`."""
    return SymbolicDim(atomic(Symbol(name, least, most)))


def dims(sizes: Iterable[Any]) -> Shape:
    """Sizes that may be symbolic; `TypeError` unless the others are integers."""
    given = tuple(sizes)
    try:
        return tuple(map(index, given))
    except InconclusiveDimensionOperation:
        return tuple([n if type(n) is SymbolicDim else index(n) for n in given])


def is_negative(size: Dim) -> bool:
    """Whether it is less than 0 for some sizes."""
    return size < 0 if type(size) is int else least(_terms(size)) < 0


def divides(parts: Dim, size: Dim) -> bool:
    """Whether `size` is a multiple of `parts`, always."""
    return size % parts == 0


def max_dim(d1: Dim, d2: Dim) -> Dim:
    """The larger of two sizes of axes."""
    if type(d1) is not SymbolicDim and type(d2) is not SymbolicDim:
        return max(d1, d2)
    return d2 + _positive_part(d1 - d2)


def min_dim(d1: Dim, d2: Dim) -> Dim:
    """The smaller of two sizes of axes."""
    if type(d1) is not SymbolicDim and type(d2) is not SymbolicDim:
        return min(d1, d2)
    return d1 - _positive_part(d1 - d2)


def upper_bound(size: Dim) -> float:
    """A number that it is never above; infinity if none is known."""
    return most(size.terms) if type(size) is SymbolicDim else size


def clamp_dim(low: Dim, size: Dim, high: Dim) -> Dim:
    """`size`, but not below `low`, and not above `high`."""
    return min_dim(max_dim(size, low), high)


def symbols_in(sizes: Iterable[Dim]) -> dict[str, Symbol]:
    """The symbols that sizes depend on, by name, in order of their names."""
    found = {
        s.name: s for size in sizes if type(size) is SymbolicDim for s in symbols_of(size.terms)
    }
    return dict(sorted(found.items()))


def solved(size: Dim, unknown: Symbol, value: Dim) -> Dim | None:
    """What a symbol is where `size` has a value; `None` unless that is linear in the symbol."""
    rest = [(product, n) for product, n in _terms(size) if product != (unknown,)]
    counts = [n for product, n in _terms(size) if product == (unknown,)]
    others = _dim(tuple(rest))
    if len(counts) != 1 or unknown.name in symbols_in([others]):
        return None
    return (value - others) // counts[0]


def is_static(sizes: Iterable[Dim]) -> bool:
    """Whether all are numbers."""
    return SymbolicDim not in map(type, sizes)


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


def _is_dim(x: object) -> bool:
    return isinstance(x, (int, SymbolicDim))


def _terms(size: Dim) -> Polynomial:
    return size.terms if type(size) is SymbolicDim else constant(index(size))


def _dim(terms: Polynomial) -> Dim:
    """What is a number is an int."""
    number = number_of(terms)
    return SymbolicDim(terms) if number is None else number


def _is_positive(size: Dim) -> bool | None:
    """Whether it is more than 0; `None` if that depends on the sizes."""
    terms = _terms(size)
    return True if least(terms) > 0 else False if most(terms) <= 0 else None


def _quotient(size: Dim, parts: Dim) -> Dim:
    """``size // parts`` in normal form."""
    if parts == 0:
        raise ZeroDivisionError(f"{size} divided by 0")
    if not _is_positive(parts):
        if not _is_positive(-parts):
            _refuse(parts, f"the quotient {size} // {parts}", "a divisor of one sign for all sizes")
        size, parts = -size, -parts
    whole, rest = divided(_terms(size), _terms(parts))
    lowest, highest = _quotient_bounds(rest, _terms(parts))
    if lowest == highest:
        return _dim(whole) + int(lowest)
    reduced = lowest_terms(rest, _terms(parts))
    if reduced != (rest, _terms(parts)):
        return _dim(whole) + _quotient(*map(_dim, reduced))
    return _dim(whole) + _proper_quotient(rest, _terms(parts))


def _quotient_bounds(rest: Polynomial, parts: Polynomial) -> tuple[float, float]:
    """What the floor quotient is never below and above; apart if nothing is known."""
    number = number_of(parts)
    if number is not None:
        return rounded_down(least(rest), number), rounded_down(most(rest), number)
    is_proper = least(rest) >= 0 and least(minus(parts, rest)) > 0
    return (0, 0) if is_proper or not rest else (-math.inf, math.inf)


def _proper_quotient(rest: Polynomial, parts: Polynomial) -> Dim:
    """A quotient that has no whole part, as an atom.

    By floor(a / k) = -floor((k - 1 - a) / k) there are two forms; the simpler one is normal.
    """
    here = _dim(atomic(Quotient(rest, parts)))
    number = number_of(parts)
    if number is None:
        return here
    whole, other = divided(minus(constant(number - 1), rest), parts)
    lowest, highest = _quotient_bounds(other, parts)
    if lowest == highest:
        return -(_dim(whole) + int(lowest))
    if _simplicity(rest) <= _simplicity(other):
        return here
    return -(_dim(whole) + _dim(atomic(Quotient(other, parts))))


def _simplicity(p: Polynomial) -> tuple[int, list[int]]:
    return len(p), [n for _, n in p]


def _positive_part(size: Dim) -> Dim:
    """The larger of a size and 0, in normal form: the leading coefficient within is positive."""
    terms = _terms(size)
    if least(terms) >= 0 or most(terms) <= 0:
        return size if least(terms) >= 0 else 0
    if terms[0][1] < 0:
        return size + _positive_part(-size)
    shared = math.gcd(*[n for _, n in terms])
    of = tuple([(product, n // shared) for product, n in terms])
    return shared * _dim(atomic(PositivePart(of)))


def _refuse(size: Dim, given: str, expected: str) -> NoReturn:
    raise InconclusiveDimensionOperation(
        message(
            f"the symbolic size {size}",
            given=given,
            expected=expected,
            fix="Trace the program for sizes that are numbers.",
        )
    )
