"""Polynomials with integer coefficients, in normal form: the arithmetic of symbolic sizes.

A polynomial is a sum of products of *atoms*: symbols, floor quotients and positive parts of other
polynomials.  In normal form like terms are collected and stand in order, the leading one first, so
equal polynomials are equal tuples.  Bounds of their values follow from the ranges of the symbols.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar, final

T = TypeVar("T")


@final
@dataclass(frozen=True, slots=True)
class Symbol:
    """A size that is not known; any number from `least` to `most`."""

    name: str
    least: int = 1
    most: float = math.inf

    def __str__(self) -> str:
        return self.name


@final
@dataclass(frozen=True, slots=True)
class Quotient:
    """``dividend / divisor``, rounded down; the divisor is positive."""

    dividend: Polynomial
    divisor: Polynomial

    def __str__(self) -> str:
        return f"floordiv({text(self.dividend)}, {text(self.divisor)})"


@final
@dataclass(frozen=True, slots=True)
class PositivePart:
    """The larger of a polynomial and 0."""

    of: Polynomial

    def __str__(self) -> str:
        return f"max({text(self.of)}, 0)"


Atom = Symbol | Quotient | PositivePart
Product = tuple[Atom, ...]
"""The atoms of a product, in order, as often as they occur; none for the number 1."""
Polynomial = tuple[tuple[Product, int], ...]
"""Products with their coefficients, none of which is 0, in order."""


def constant(number: int) -> Polynomial:
    """A number as a polynomial."""
    return (((), number),) if number else ()


def atomic(atom: Atom) -> Polynomial:
    """An atom as a polynomial."""
    return (((atom,), 1),)


def number_of(p: Polynomial) -> int | None:
    """The number that it is for all values of its symbols; `None` if it is none."""
    return 0 if not p else p[0][1] if p[0][0] == () else None


def plus(p: Polynomial, q: Polynomial) -> Polynomial:
    """The sum."""
    sums = Counter(dict(p))
    for product, n in q:
        sums[product] += n
    return _normal(sums)


def times(p: Polynomial, q: Polynomial) -> Polynomial:
    """The product."""
    sums: Counter[Product] = Counter()
    for a, m in p:
        for b, n in q:
            sums[_merged(a, b)] += m * n
    return _normal(sums)


def minus(p: Polynomial, q: Polynomial) -> Polynomial:
    """The difference."""
    return plus(p, times(q, constant(-1)))


def divided(p: Polynomial, d: Polynomial) -> tuple[Polynomial, Polynomial]:
    """Polynomials `q` and `r` with ``p = q * d + r``, by long division with integer coefficients.

    In `r` no coefficient can be lowered by a multiple of the leading one of `d`; floor(p / d) is
    ``q + floor(r / d)`` for all values, since those of `q` are integers.
    """
    leading, count = d[0]
    quotient: Counter[Product] = Counter()
    rest, remainder = p, Counter[Product]()
    while rest:
        product, n = rest[0]
        cofactor = _without(product, leading)
        times_d = 0 if cofactor is None else n // count
        if cofactor is not None and times_d:
            quotient[cofactor] += times_d
            rest = minus(rest, times(((cofactor, times_d),), d))
        if rest and rest[0][0] == product:
            remainder[product] = rest[0][1]
            rest = rest[1:]
    return _normal(quotient), _normal(remainder)


def lowest_terms(p: Polynomial, d: Polynomial) -> tuple[Polynomial, Polynomial]:
    """Polynomials whose floor quotient is that of `p` by a positive `d`, without common factors."""
    shared = math.gcd(*[n for product, n in p if product], *[n for _, n in d])
    # floor((g a + r) / (g b)) = floor(a / b) for 0 <= r < g.
    p = tuple([(product, n // shared) for product, n in p if n // shared])
    d = tuple([(product, n // shared) for product, n in d])
    for atom in {a for a in d[0][0] if type(a) is Symbol and a.least > 0}:
        while all([atom in product for product, _ in (*p, *d)]):
            p, d = _cancelled(p, atom), _cancelled(d, atom)
    return p, d


def replaced(p: Polynomial, atom: Atom, by: Polynomial) -> Polynomial:
    """The polynomial with another in the place of an atom, but not within other atoms."""
    total: Polynomial = ()
    for product, n in p:
        term: Polynomial = ((tuple([a for a in product if a != atom]), n),)
        for _ in range(product.count(atom)):
            term = times(term, by)
        total = plus(total, term)
    return total


def atoms_of(p: Polynomial) -> set[Atom]:
    """The atoms that it is made of."""
    return {atom for product, _ in p for atom in product}


def symbols_of(p: Polynomial) -> Iterator[Symbol]:
    """The symbols that its value depends on, one perhaps several times."""
    for atom in atoms_of(p):
        if type(atom) is Symbol:
            yield atom
        elif type(atom) is Quotient:
            yield from symbols_of(atom.dividend)
            yield from symbols_of(atom.divisor)
        elif type(atom) is PositivePart:
            yield from symbols_of(atom.of)


def value_of(
    p: Polynomial, sizes: Mapping[str, T], number: Callable[[int], T], positive: Callable[[T], T]
) -> T:
    """Its value, computed by the operators ``+``, ``*`` and ``//`` of the values of its symbols.

    Args:
        p: the polynomial.
        sizes: the value of each symbol, by name.
        number: makes a value of an integer.
        positive: the larger of a value and 0.
    """

    def of_atom(atom: Atom) -> Any:
        if type(atom) is Symbol:
            return sizes[atom.name]
        if type(atom) is PositivePart:
            return positive(of(atom.of))
        return of(atom.dividend) // of(atom.divisor)

    def of(terms: Polynomial) -> Any:
        total: Any = None
        for product, n in terms:
            factors = [of_atom(atom) for atom in product]
            factors += [number(n)] if n != 1 or not factors else []
            term = factors[0]
            for factor in factors[1:]:
                term = term * factor
            total = term if total is None else total + term
        return number(0) if total is None else total

    return of(p)


@lru_cache(maxsize=4096)
def text(p: Polynomial) -> str:
    """As in printed shapes: ``2*m*n - 3``."""
    signs = ["-" if n < 0 else "+" for _, n in p]
    texts = [f"{sign} {_term_text(*term)}" for sign, term in zip(signs, p, strict=True)]
    return " ".join(texts).removeprefix("+ ") or "0"


@lru_cache(maxsize=4096)
def least(p: Polynomial) -> float:
    """A number that it is never below; minus infinity if none is known.

    The bound is sound, and exact in the common cases.
    """
    number = number_of(p)
    if number is not None:
        return number
    composed = [atom for atom in atoms_of(p) if type(atom) is not Symbol]
    # An atom that contains others has a longer text than they.
    for atom in sorted(composed, key=lambda atom: (-len(str(atom)), str(atom))):
        bound = _without_atom(p, atom)
        if bound is not None:
            return max(_from_ranges(p), bound)
    return _from_ranges(p)


def most(p: Polynomial) -> float:
    """A number that it is never above; infinity if none is known."""
    return -least(times(p, constant(-1)))


def range_of(atom: Atom) -> tuple[float, float]:
    """What an atom is never below and never above."""
    if type(atom) is Symbol:
        return atom.least, atom.most
    if type(atom) is PositivePart:
        return max(least(atom.of), 0), max(most(atom.of), 0)
    lowest, highest = least(atom.dividend), most(atom.dividend)
    smallest, largest = max(least(atom.divisor), 1), most(atom.divisor)
    lower = rounded_down(lowest, largest if lowest >= 0 else smallest)
    return lower, rounded_down(highest, smallest if highest >= 0 else largest)


def rounded_down(number: float, divisor: float) -> float:
    """The quotient rounded down, of numbers that may be infinite; the divisor is positive."""
    if math.isinf(number):
        return number
    return (0 if number >= 0 else -1) if math.isinf(divisor) else number // divisor


def _term_text(product: Product, count: int) -> str:
    powers = [f"{a}" if times == 1 else f"{a}^{times}" for a, times in Counter(product).items()]
    return "*".join([str(abs(count))] * (abs(count) != 1 or not product) + powers)


def _normal(sums: Mapping[Product, int]) -> Polynomial:
    terms = [(product, n) for product, n in sums.items() if n]
    return tuple(sorted(terms, key=lambda term: _order(term[0]), reverse=True))


def _order(product: Product) -> tuple[int, list[str]]:
    """By degree, then by atoms: an order that multiplication keeps, as long division needs."""
    return len(product), [str(atom) for atom in product]


def _merged(a: Product, b: Product) -> Product:
    return tuple(sorted(a + b, key=str)) if a and b else a or b


def _without(product: Product, factor: Product) -> Product | None:
    """The product divided by a factor; `None` if that is none."""
    rest = list(product)
    for atom in factor:
        if atom not in rest:
            return None
        rest.remove(atom)
    return tuple(rest)


def _cancelled(p: Polynomial, atom: Atom) -> Polynomial:
    return _normal({_without(product, (atom,)) or (): n for product, n in p})


def _from_ranges(p: Polynomial) -> float:
    """By the ranges of the atoms, each counted from its lower end: so products are not negative."""
    lows = {atom: range_of(atom)[0] for atom in atoms_of(p)}
    widths = {}
    for atom, low in lows.items():
        if math.isinf(low):
            return -math.inf
        p = replaced(p, atom, plus(atomic(atom), constant(int(low))))
        widths[atom] = range_of(atom)[1] - low
    total: float = 0
    for product, n in p:
        if product == ():
            total += n
        elif n < 0 and all([widths[atom] for atom in product]):
            total += n * math.prod([widths[atom] for atom in product])
    return total


def _without_atom(p: Polynomial, atom: Atom) -> float | None:
    """A bound by what is known of an atom that is composed; `None` if that is nothing."""
    direction = _direction(p, atom)
    if type(atom) is PositivePart:
        # It is one of two things, and never below either.
        cases = [least(replaced(p, atom, case)) for case in (atom.of, ())]
        return max(cases) if direction > 0 else min(cases)
    if type(atom) is Quotient and direction and (k := number_of(atom.divisor)):
        # The quotient of a by k lies between (a - k + 1) / k and a / k.
        bound = atom.dividend if direction < 0 else minus(atom.dividend, constant(k - 1))
        scaled = plus(*_split(p, atom, k, bound))
        return _ceil(least(scaled), k)
    return None


def _split(p: Polynomial, atom: Atom, k: int, bound: Polynomial) -> tuple[Polynomial, Polynomial]:
    """`k` times what is free of the atom, and the rest with the bound for `k` times the atom."""
    free = tuple([term for term in p if atom not in term[0]])
    rest = tuple([term for term in p if atom in term[0]])
    return times(free, constant(k)), replaced(rest, atom, bound)


def _direction(p: Polynomial, atom: Atom) -> int:
    """Whether it rises (1) or falls (-1) with the atom, which is linear in it; 0 if not known."""
    signs = set()
    for product, n in p:
        if atom in product:
            others = [a for a in product if a != atom]
            if len(others) < len(product) - 1 or any([range_of(a)[0] < 0 for a in others]):
                return 0
            signs.add(1 if n > 0 else -1)
    return signs.pop() if len(signs) == 1 else 0


def _ceil(number: float, divisor: int) -> float:
    return number if math.isinf(number) else -(-int(number) // divisor)
