"""Sizes as users write and read them: ``2*n - 3``, ``mod(n, 2)``, ``min(n, 3)``.

In normal form a remainder is what a quotient leaves, and a minimum is a sum with a maximum.  Here
they are found again, where all of their terms are there.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

from .polynomials import (
    Atom,
    Polynomial,
    PositivePart,
    Product,
    Quotient,
    Symbol,
    constant,
    minus,
    number_of,
    plus,
    times,
    without,
)

Part = tuple[tuple[str, ...], int]
"""The texts of factors, and a coefficient."""


@lru_cache(maxsize=4096)
def dim_text(p: Polynomial) -> str:
    """The text of a size, which `export.symbolic_shape` reads."""
    parts: list[Part] = []
    rest = p
    for product, n in p:
        if (product, n) in rest:
            found = (
                _remainder(rest, product, n)
                or _rounded_up(rest, product, n)
                or _extreme(rest, product, n)
            )
            text, taken = found or (_plain(product, n), ((product, n),))
            parts.append(text)
            rest = minus(rest, taken)
    texts = [f"{'-' if n < 0 else '+'} {_part_text(factors, n)}" for factors, n in parts]
    return " ".join(texts).removeprefix("+ ") or "0"


def _plain(product: Product, n: int) -> Part:
    return tuple(map(_atom_text, product)), n


def _atom_text(atom: Atom) -> str:
    if type(atom) is Symbol:
        return atom.name
    if type(atom) is PositivePart:
        return f"max({dim_text(atom.of)}, 0)"
    return f"floordiv({dim_text(atom.dividend)}, {dim_text(atom.divisor)})"


def _part_text(factors: tuple[str, ...], n: int) -> str:
    powers = [f"{a}" if times == 1 else f"{a}^{times}" for a, times in Counter(factors).items()]
    return "*".join([str(abs(n))] * (abs(n) != 1 or not factors) + powers)


def _composed(product: Product, kind: type) -> Atom | None:
    """The factor of that kind, if there is just one."""
    found = [atom for atom in product if type(atom) is kind]
    return found[0] if len(found) == 1 else None


def _is_part(part: Polynomial, p: Polynomial) -> bool:
    terms = dict(p)
    return bool(part) and all([terms.get(product) == n for product, n in part])


def _remainder(p: Polynomial, product: Product, n: int) -> tuple[Part, Polynomial] | None:
    """The text of ``m * others * mod(a, k)`` whose quotient is in a term, and its terms in `p`."""
    quotient = _composed(product, Quotient)
    if type(quotient) is not Quotient or len(quotient.divisor) != 1:
        return None
    ((factor, k),) = quotient.divisor
    others = without(product, (quotient, *factor))
    if others is None or n % k:
        return None
    scale = ((others, -n // k),)
    whole = times(scale, minus(quotient.dividend, times(quotient.divisor, (((quotient,), 1),))))
    if not _is_part(whole, p):
        return None
    name = f"mod({dim_text(quotient.dividend)}, {dim_text(quotient.divisor)})"
    return ((*_plain(others, 1)[0], name), -n // k), whole


def _rounded_up(p: Polynomial, product: Product, n: int) -> tuple[Part, Polynomial] | None:
    """The text of ``m * others * ceil(a / k)``, which normal form writes ``w - floor(b / k)``.

    There `w` is the sum of the atoms of `b`, and ``a = k w - b``.
    """
    quotient = _composed(product, Quotient)
    if type(quotient) is not Quotient or n > 0:
        return None
    k, dividend = number_of(quotient.divisor), quotient.dividend
    whole = tuple([(factor, 1) for factor, _ in dividend if factor])
    if k is None or not all([0 < m < k for factor, m in dividend if factor]):
        return None
    others = without(product, (quotient,)) or ()
    added = times(((others, -n),), whole)
    if not _is_part(added, p):
        return None
    above = plus(minus(times(whole, constant(k)), dividend), constant(k - 1))
    text = f"floordiv({dim_text(above)}, {k})"
    return ((*_plain(others, 1)[0], text), -n), (*added, (product, n))


def _extreme(p: Polynomial, product: Product, n: int) -> tuple[Part, Polynomial] | None:
    """The text of ``m * others * max(a, b)``, or of a minimum, and its terms in `p`."""
    atom = _composed(product, PositivePart)
    if type(atom) is not PositivePart:
        return None
    others = without(product, (atom,)) or ()
    above = tuple([term for term in atom.of if term[1] > 0])
    below = tuple([(factor, -m) for factor, m in atom.of if m < 0])
    # max(a - b, 0) is max(a, b) less b, and a less min(a, b).
    added, name = (below, "max") if n > 0 else (above, "min")
    scale = ((others, abs(n)),)
    if not _is_part(times(scale, added), p):
        return None
    sides = [above, below] if below and not below[0][0] else [below, above]
    text = f"{name}({', '.join(map(dim_text, sides))})"
    return ((*_plain(others, 1)[0], text), abs(n)), (*times(scale, added), (product, n))
