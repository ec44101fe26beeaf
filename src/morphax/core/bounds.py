"""Bounds of polynomials in sizes, from the ranges of symbols and from what their scope knows.

A bound is never wrong, and where none is known it is infinite.  Three sources are tried, and the
best bound counts: each atom counted from the lower end of its range; a composed atom replaced by a
bound of its own; and a multiple of a *fact*, a polynomial that is not negative, taken away, so that
a term cancels (a step of Fourier-Motzkin elimination).
"""

from __future__ import annotations

import math
from functools import lru_cache

from .polynomials import (
    Atom,
    Polynomial,
    PositivePart,
    Quotient,
    Symbol,
    atomic,
    atoms_of,
    constant,
    minus,
    number_of,
    plus,
    replaced,
    scope_of,
    times,
)

Facts = tuple[Polynomial, ...]

# So many facts are combined for one bound.
_MOST_COMBINED = 3


def least(p: Polynomial) -> float:
    """A number that it is never below; minus infinity if none is known.

    The bound is sound, and exact in the common cases.
    """
    scope = scope_of(p)
    return _least(p, () if scope is None else scope.facts, _MOST_COMBINED)


def most(p: Polynomial) -> float:
    """A number that it is never above; infinity if none is known."""
    return -least(_negative(p))


@lru_cache(maxsize=16384)
def _least(p: Polynomial, facts: Facts, steps: int) -> float:
    number = number_of(p)
    if number is not None:
        return number
    bound = _from_ranges(p, facts, steps)
    composed = [atom for atom in atoms_of(p) if type(atom) is not Symbol]
    # An atom that contains others has a longer text than they.
    for atom in sorted(composed, key=lambda atom: (-len(str(atom)), str(atom))):
        found = _without_atom(p, atom, facts, steps)
        if found is not None:
            bound = max(bound, found)
            break
    return max(bound, _from_facts(p, facts, steps - 1)) if steps and facts else bound


def _from_facts(p: Polynomial, facts: Facts, steps: int) -> float:
    """The best bound of `p` less a multiple of a fact that takes one of its terms away."""
    bound = -math.inf
    terms = dict(p)
    for i, fact in enumerate(facts):
        others = (*facts[:i], *facts[i + 1 :])
        for product, n in fact:
            here = terms.get(product, 0)
            if product and here * n > 0:
                # |n| p - |m| fact, where m is the coefficient of the term in p.
                shared = math.gcd(here, n)
                k = abs(n) // shared
                rest = minus(times(p, constant(k)), times(fact, constant(abs(here) // shared)))
                bound = max(bound, _ceil(_least(rest, others, steps), k))
    return bound


def _range_of(atom: Atom, facts: Facts, steps: int) -> tuple[float, float]:
    """What an atom is never below and never above."""
    if type(atom) is Symbol:
        return atom.least, atom.most
    if type(atom) is PositivePart:
        low, high = _ends(atom.of, facts, steps)
        return max(low, 0), max(high, 0)
    lowest, highest = _ends(atom.dividend, facts, steps)
    smallest, largest = _ends(atom.divisor, facts, steps)
    smallest = max(smallest, 1)
    lower = rounded_down(lowest, largest if lowest >= 0 else smallest)
    return lower, rounded_down(highest, smallest if highest >= 0 else largest)


def _ends(p: Polynomial, facts: Facts, steps: int) -> tuple[float, float]:
    return _least(p, facts, steps), -_least(_negative(p), facts, steps)


def _negative(p: Polynomial) -> Polynomial:
    return times(p, constant(-1))


def rounded_down(number: float, divisor: float) -> float:
    """The quotient rounded down, of numbers that may be infinite; the divisor is positive."""
    if math.isinf(number):
        return number
    return (0 if number >= 0 else -1) if math.isinf(divisor) else number // divisor


def _from_ranges(p: Polynomial, facts: Facts, steps: int) -> float:
    """By the ranges of the atoms, each counted from its lower end: so products are not negative."""
    ranges = {atom: _range_of(atom, facts, steps) for atom in atoms_of(p)}
    widths = {}
    for atom, (low, high) in ranges.items():
        if math.isinf(low):
            return -math.inf
        p = replaced(p, atom, plus(atomic(atom), constant(int(low))))
        widths[atom] = high - low
    total: float = 0
    for product, n in p:
        if product == ():
            total += n
        elif n < 0 and all([widths[atom] for atom in product]):
            total += n * math.prod([widths[atom] for atom in product])
    return total


def _without_atom(p: Polynomial, atom: Atom, facts: Facts, steps: int) -> float | None:
    """A bound by what is known of an atom that is composed; `None` if that is nothing."""
    direction = _direction(p, atom, facts, steps)
    if type(atom) is PositivePart:
        # It is one of two things, and never below either.
        cases = [_least(replaced(p, atom, case), facts, steps) for case in (atom.of, ())]
        return max(cases) if direction > 0 else min(cases)
    if type(atom) is Quotient and direction and (k := number_of(atom.divisor)):
        # The quotient of a by k lies between (a - k + 1) / k and a / k.
        bound = atom.dividend if direction < 0 else minus(atom.dividend, constant(k - 1))
        scaled = plus(*_split(p, atom, k, bound))
        return _ceil(_least(scaled, facts, steps), k)
    return None


def _split(p: Polynomial, atom: Atom, k: int, bound: Polynomial) -> tuple[Polynomial, Polynomial]:
    """`k` times what is free of the atom, and the rest with the bound for `k` times the atom."""
    free = tuple([term for term in p if atom not in term[0]])
    rest = tuple([term for term in p if atom in term[0]])
    return times(free, constant(k)), replaced(rest, atom, bound)


def _direction(p: Polynomial, atom: Atom, facts: Facts, steps: int) -> int:
    """Whether it rises (1) or falls (-1) with the atom, which is linear in it; 0 if not known."""
    signs = set()
    for product, n in p:
        if atom in product:
            others = [a for a in product if a != atom]
            if len(others) < len(product) - 1 or any(
                [_range_of(a, facts, steps)[0] < 0 for a in others]
            ):
                return 0
            signs.add(1 if n > 0 else -1)
    return signs.pop() if len(signs) == 1 else 0


def _ceil(number: float, divisor: int) -> float:
    return number if math.isinf(number) else -(-int(number) // divisor)
