"""Sizes of axes: numbers, or expressions in symbols that stand for numbers.

A program may be traced for all sizes at once.  Then a size is a `SymbolicDim`, and shape rules ask
only what has one answer for all sizes: sums, products, quotients and equality, by Python's
operators, and the questions below.  Two sizes are equal if their normal forms are; then they always
are.  A question whose answer depends on the sizes raises `InconclusiveDimensionOperation`, and so
does whoever needs a number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from itertools import zip_longest
from operator import index
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, final

import numpy as np

from .. import dtypes
from ..errors import InconclusiveDimensionOperation
from ..util.messages import message
from ..util.records import dataclass
from .bounds import least, most
from .dim_text import dim_text
from .polynomials import (
    Polynomial,
    Scope,
    Symbol,
    atomic,
    constant,
    number_of,
    plus,
    rewritten,
    scope_of,
    symbols_of,
    times,
    value_of,
)
from .quotients import positive_part, quotient

value_operators: dict[str, Callable[[Any, Any], Any]] = {}
"""By the names of Python's methods, what an operator is for a size and what is none: arrays are
computed.  Filled by `numpy`, with the operators of arrays."""


def _of_values(name: str, size: SymbolicDim, other: Any) -> Any:
    return value_operators[name](size, other) if name in value_operators else NotImplemented


def _or_of_values(operator: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """An operator of two sizes that is one of arrays where the other operand is no size."""

    @wraps(operator)
    def applied(size: SymbolicDim, other: Any) -> Any:
        if _is_dim(other):
            return operator(size, other)
        return _of_values(operator.__name__, size, other)

    return applied


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
        >>> (n + 1) * (n - 1), 2 * n == n + n, n == m, n + 1 > 1, n % 3
        (n^2 - 1, True, False, True, mod(n, 3))
        >>> (2 * n + 5) // 2, n % 2 < 2, max_dim(n, 1), max_dim(n - 3, 0)
        (n + 2, True, n, max(n - 3, 0))
    """

    terms: Polynomial

    # NumPy leaves its operators, whose other operand is a size, to the size.
    __array_ufunc__ = None
    weak_type: ClassVar[bool] = True

    @property
    def dtype(self) -> np.dtype[Any]:
        """That of the size as a number of a program."""
        return dtypes.python_scalar_dtype(int)

    @_or_of_values
    def __add__(self, other: Any) -> Any:
        return _dim(plus(self.terms, _terms(other, self)))

    @_or_of_values
    def __mul__(self, other: Any) -> Any:
        return _dim(times(self.terms, _terms(other, self)))

    @_or_of_values
    def __radd__(self, other: Any) -> Any:
        return self + other

    @_or_of_values
    def __rmul__(self, other: Any) -> Any:
        return self * other

    def __neg__(self) -> Dim:
        return self * -1

    @_or_of_values
    def __sub__(self, other: Any) -> Any:
        return self + -_number(other)

    @_or_of_values
    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __pow__(self, exponent: Any) -> Any:
        if type(exponent) is not int or exponent < 0:
            return _of_values("__pow__", self, exponent)
        return math.prod([self] * exponent)

    def __rpow__(self, base: Any) -> Any:
        return _of_values("__rpow__", self, base)

    def __truediv__(self, other: Any) -> Any:
        return _of_values("__truediv__", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _of_values("__rtruediv__", self, other)

    @_or_of_values
    def __floordiv__(self, other: Any) -> Any:
        return _quotient(self, other)

    @_or_of_values
    def __rfloordiv__(self, other: Any) -> Any:
        return _quotient(other, self)

    @_or_of_values
    def __mod__(self, other: Any) -> Any:
        return self - self // other * other

    @_or_of_values
    def __rmod__(self, other: Any) -> Any:
        return other - other // self * self

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Any, Any]:
        return other // self, other % self

    @_or_of_values
    def __ge__(self, other: Any) -> Any:
        return self._is_positive(1 + self - other, f">= {other}")

    @_or_of_values
    def __gt__(self, other: Any) -> Any:
        return self._is_positive(self - other, f"> {other}")

    @_or_of_values
    def __le__(self, other: Any) -> Any:
        return not self._is_positive(self - other, f"<= {other}")

    @_or_of_values
    def __lt__(self, other: Any) -> Any:
        return not self._is_positive(1 + self - other, f"< {other}")

    def _is_positive(self, difference: Dim, question: str) -> bool:
        answer = _is_positive(difference)
        if answer is None:
            _refuse(self, f"the question whether it is {question}", question=question)
        return answer

    def __bool__(self) -> bool:
        if _is_positive(self) or _is_positive(-self):
            return True
        _refuse(self, "the question whether it is 0", question=">= 1")

    def __index__(self) -> int:
        _refuse(self, "its use as a number")

    @property
    def scope(self) -> Scope | None:
        """What is known of its symbols."""
        return scope_of(self.terms)

    def evaluate(self, sizes: Mapping[str, int]) -> int:
        """The number that it is where symbols stand for `sizes`."""
        return value_of(self.terms, sizes, int, lambda n: max(n, 0))

    def substitute(self, sizes: Mapping[str, Dim]) -> Dim:
        """The size where symbols stand for other sizes, which may be symbolic too."""
        return value_of(self.terms, sizes, int, lambda n: max_dim(n, 0))

    def __repr__(self) -> str:
        return dim_text(self.terms)


if TYPE_CHECKING:
    # Most code takes either for an int, and so shall type checkers.
    Dim = Any
else:
    Dim = int | SymbolicDim
Shape = tuple[Dim, ...]


def symbol(
    name: str, least: int = 1, most: float = math.inf, scope: Scope | None = None
) -> SymbolicDim:
    """The size called `name`: any number from `least` to `most`."""
    return SymbolicDim(atomic(Symbol(name, least, most, scope)))


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
    return d2 + _dim(positive_part(_terms(d1 - d2)))


def min_dim(d1: Dim, d2: Dim) -> Dim:
    """The smaller of two sizes of axes."""
    if type(d1) is not SymbolicDim and type(d2) is not SymbolicDim:
        return min(d1, d2)
    return d1 - _dim(positive_part(_terms(d1 - d2)))


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
    # Other arrays, and tracers, are operands of programs.
    return isinstance(x, (int, SymbolicDim, np.integer)) or (
        type(x) is np.ndarray and not x.shape and x.dtype.kind in "iu"
    )


def _number(size: Any) -> Dim:
    """A size as an int, unless it is symbolic."""
    return size if type(size) is SymbolicDim else index(size)


def _terms(size: Dim, beside: SymbolicDim | None = None) -> Polynomial:
    if type(size) is not SymbolicDim:
        return constant(index(size))
    if beside is not None and beside.scope is not size.scope:
        check_one_scope("an operation on symbolic sizes", (beside, size))
    return size.terms


def check_one_scope(where: str, sizes: Iterable[Dim], error: type[Exception] = ValueError) -> None:
    """`ValueError` unless all that are symbolic are of one scope."""
    symbolic = [size for size in sizes if type(size) is SymbolicDim]
    for size in symbolic:
        if size.scope is not symbolic[0].scope:
            raise error(
                message(
                    where,
                    given=f"{symbolic[0]} of the {_scope_text(symbolic[0])}, "
                    f"and {size} of the {_scope_text(size)}",
                    expected="symbols of one scope",
                    fix="Make all symbols with one call of jax.export.symbolic_shape, or pass it "
                    "the scope of the first: symbolic_shape(..., scope=a.scope).",
                )
            )


def _scope_text(size: SymbolicDim) -> str:
    return "scope of no constraints" if size.scope is None else str(size.scope)


def as_dim(terms: Polynomial) -> Dim:
    """A polynomial as a size, as it is."""
    return SymbolicDim(terms) if number_of(terms) is None else number_of(terms)


def _dim(terms: Polynomial) -> Dim:
    """What is a number is an int."""
    terms = rewritten(terms)
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
            _refuse(parts, f"the quotient {size} // {parts}", question=">= 1")
        size, parts = -size, -parts
    beside = parts if type(parts) is SymbolicDim else None
    return _dim(quotient(_terms(size, beside), _terms(parts)))


def _refuse(size: SymbolicDim, given: str, *, question: str | None = None) -> NoReturn:
    fix = "Trace the program for sizes that are numbers."
    if question is not None:
        fix = (
            f"If it is so for all sizes that you mean, say so: symbolic_shape(..., "
            f"constraints=('{size} {question.replace('> ', '>= 1 + ').replace('< ', '<= -1 + ')}',"
            f")); else trace the program for sizes that are numbers."
        )
    known = "" if size.scope is None else f", in the {size.scope}"
    raise InconclusiveDimensionOperation(
        message(
            f"the symbolic size {size}",
            given=f"{given}{known}",
            expected="a size that is known" if question is None else "one answer for all sizes",
            fix=fix,
        )
    )
