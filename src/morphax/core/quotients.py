"""Floor quotients and positive parts of polynomials, in normal form."""

from __future__ import annotations

import math

from .bounds import least, most, rounded_down
from .polynomials import (
    Polynomial,
    PositivePart,
    Quotient,
    atomic,
    constant,
    divided,
    lowest_terms,
    minus,
    number_of,
    plus,
    times,
)

_MINUS_ONE = constant(-1)


def quotient(p: Polynomial, d: Polynomial) -> Polynomial:
    """``p / d``, rounded down, for a positive `d`: what divides out does, the rest is an atom."""
    whole, rest = divided(p, d)
    lowest, highest = _quotient_bounds(rest, d)
    if lowest == highest:
        return plus(whole, constant(int(lowest)))
    reduced = lowest_terms(rest, d)
    if reduced != (rest, d):
        return plus(whole, quotient(*reduced))
    return plus(whole, _proper_quotient(rest, d))


def positive_part(p: Polynomial) -> Polynomial:
    """The larger of a polynomial and 0: the leading coefficient within is positive."""
    if least(p) >= 0 or most(p) <= 0:
        return p if least(p) >= 0 else ()
    if p[0][1] < 0:
        return plus(p, positive_part(times(p, _MINUS_ONE)))
    shared = math.gcd(*[n for _, n in p])
    of = tuple([(product, n // shared) for product, n in p])
    return times(constant(shared), atomic(PositivePart(of)))


def _quotient_bounds(rest: Polynomial, d: Polynomial) -> tuple[float, float]:
    """What the floor quotient is never below and above; apart if nothing is known."""
    number = number_of(d)
    if number is not None:
        return rounded_down(least(rest), number), rounded_down(most(rest), number)
    is_proper = least(rest) >= 0 and least(minus(d, rest)) > 0
    return (0, 0) if is_proper or not rest else (-math.inf, math.inf)


def _proper_quotient(rest: Polynomial, d: Polynomial) -> Polynomial:
    """A quotient that has no whole part, as an atom.

    By floor(a / k) = -floor((k - 1 - a) / k) there are two forms; the simpler one is normal.
    """
    here = atomic(Quotient(rest, d))
    number = number_of(d)
    if number is None:
        return here
    whole, other = divided(minus(constant(number - 1), rest), d)
    lowest, highest = _quotient_bounds(other, d)
    if lowest == highest:
        return times(plus(whole, constant(int(lowest))), _MINUS_ONE)
    if _simplicity(rest) <= _simplicity(other):
        return here
    return times(plus(whole, atomic(Quotient(other, d))), _MINUS_ONE)


def _simplicity(p: Polynomial) -> tuple[int, list[int]]:
    return len(p), [n for _, n in p]
