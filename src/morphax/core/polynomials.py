"""Polynomials with integer coefficients, in normal form: the arithmetic of symbolic sizes.

A polynomial is a sum of products of *atoms*: symbols, floor quotients and positive parts of other
polynomials.  In normal form like terms are collected and stand in order, the leading one first, so
equal polynomials are equal tuples.  What is known of the values of symbols is in their *scope*.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, TypeVar, final

from ..util.records import dataclass

T = TypeVar("T")


class Scope:
    """What is known of symbols besides their ranges; symbols of two scopes are never equal.

    Args:
        facts: polynomials that are not negative.
        rules: ``(product, k, p)`` where `k` times a product of atoms always equals `p`.
    """

    facts: tuple[Polynomial, ...] = ()
    rules: tuple[tuple[Product, int, Polynomial], ...] = ()

    def stated_facts(self) -> list[tuple[Polynomial, str]]:
        """Polynomials that are not negative because a user says so, in the user's words."""
        return []

    def stated_rules(self) -> list[tuple[tuple[Product, int, Polynomial], str]]:
        """Equations, in the user's words."""
        return []


@final
@dataclass(frozen=True, slots=True)
class Symbol:
    """A size that is not known; any number from `least` to `most`."""

    name: str
    least: int = 1
    most: float = math.inf
    scope: Scope | None = None

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

_FURTHER_PASSES = 8


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
        cofactor = without(product, leading)
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


def scope_of(p: Polynomial) -> Scope | None:
    """The scope of its symbols, which all of them share."""
    return next((symbol.scope for symbol in symbols_of(p)), None)


def rewritten(p: Polynomial) -> Polynomial:
    """An equal polynomial without what a rule of its scope replaces.

    Rules that replace each other's results are applied a bounded number of times.
    """
    scope = scope_of(p)
    rules = () if scope is None else scope.rules
    for _ in range(len(rules) + _FURTHER_PASSES):
        before = p
        for factor, k, equal in rules:
            for product, n in p:
                cofactor = without(product, factor)
                if cofactor is not None and n % k == 0:
                    p = minus(p, ((product, n),))
                    p = plus(p, times(((cofactor, n // k),), equal))
        if p == before:
            break
    return p


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
    """In normal form: ``2*m*n - 3``; see `core.dim_text` for the form that users read."""
    signs = ["-" if n < 0 else "+" for _, n in p]
    texts = [f"{sign} {_term_text(*term)}" for sign, term in zip(signs, p, strict=True)]
    return " ".join(texts).removeprefix("+ ") or "0"


def _term_text(product: Product, count: int) -> str:
    powers = [f"{a}" if times == 1 else f"{a}^{times}" for a, times in Counter(product).items()]
    return "*".join([str(abs(count))] * (abs(count) != 1 or not product) + powers)


def _normal(sums: Mapping[Product, int]) -> Polynomial:
    terms = [(product, n) for product, n in sums.items() if n]
    return tuple(sorted(terms, key=lambda term: _order(term[0]), reverse=True))


def _order(product: Product) -> tuple[int, list[tuple[bool, str]]]:
    """By degree, then by atoms: an order that multiplication keeps, as long division needs."""
    return len(product), list(map(_rank, product))


def _rank(atom: Atom) -> tuple[bool, str]:
    return type(atom) is not Symbol, str(atom)


def _merged(a: Product, b: Product) -> Product:
    return tuple(sorted(a + b, key=_rank)) if a and b else a or b


def without(product: Product, factor: Product) -> Product | None:
    """The product divided by a factor; `None` if that is none."""
    rest = list(product)
    for atom in factor:
        if atom not in rest:
            return None
        rest.remove(atom)
    return tuple(rest)


def _cancelled(p: Polynomial, atom: Atom) -> Polynomial:
    return _normal({without(product, (atom,)) or (): n for product, n in p})
