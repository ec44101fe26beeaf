"""Comparisons, logic and bits, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes, lax
from ..core import aval_of
from ..engines.reference.replay import replayed
from ..lax.bitwise import and_p, not_p, or_p, xor_p
from ..lax.comparison import eq_p, ge_p, gt_p, le_p, lt_p, ne_p
from .operands import BOOL, as_truth, promoted


@replayed(2)
def equal(x: Any, y: Any, /) -> Any:
    """x = y, element by element, as booleans."""
    return eq_p.bind(*promoted("equal", x, y))


@replayed(2)
def not_equal(x: Any, y: Any, /) -> Any:
    """x ≠ y, element by element, as booleans."""
    return ne_p.bind(*promoted("not_equal", x, y))


@replayed(2)
def less(x: Any, y: Any, /) -> Any:
    """x < y, element by element, as booleans."""
    return lt_p.bind(*promoted("less", x, y))


@replayed(2)
def less_equal(x: Any, y: Any, /) -> Any:
    """x ≤ y, element by element, as booleans."""
    return le_p.bind(*promoted("less_equal", x, y))


@replayed(2)
def greater(x: Any, y: Any, /) -> Any:
    """x > y, element by element, as booleans."""
    return gt_p.bind(*promoted("greater", x, y))


@replayed(2)
def greater_equal(x: Any, y: Any, /) -> Any:
    """x ≥ y, element by element, as booleans."""
    return ge_p.bind(*promoted("greater_equal", x, y))


def logical_and(x: Any, y: Any, /) -> Any:
    """x and y, element by element; a number counts as true unless it is zero."""
    return and_p.bind(
        *promoted("logical_and", as_truth("logical_and", x), as_truth("logical_and", y))
    )


def logical_or(x: Any, y: Any, /) -> Any:
    """x or y, element by element; a number counts as true unless it is zero."""
    return or_p.bind(*promoted("logical_or", as_truth("logical_or", x), as_truth("logical_or", y)))


def logical_xor(x: Any, y: Any, /) -> Any:
    """either x or y, element by element; a number counts as true unless it is zero."""
    return xor_p.bind(
        *promoted("logical_xor", as_truth("logical_xor", x), as_truth("logical_xor", y))
    )


def logical_not(x: Any, /) -> Any:
    """not x, element by element; a number counts as true unless it is zero."""
    return not_p.bind(as_truth("logical_not", x))


def bitwise_and(x: Any, y: Any, /) -> Any:
    """The bits set in both x and y."""
    return and_p.bind(*promoted("bitwise_and", x, y))


def bitwise_or(x: Any, y: Any, /) -> Any:
    """The bits set in x or y."""
    return or_p.bind(*promoted("bitwise_or", x, y))


def bitwise_xor(x: Any, y: Any, /) -> Any:
    """The bits set in one of x and y."""
    return xor_p.bind(*promoted("bitwise_xor", x, y))


def bitwise_not(x: Any, /) -> Any:
    """All bits of x flipped; of booleans, the logical not."""
    return not_p.bind(*promoted("bitwise_not", x))


bitwise_invert = invert = bitwise_not


def left_shift(x: Any, y: Any, /) -> Any:
    """The bits of x moved up by y places: x · 2ʸ."""
    return lax.shift_left(*promoted("left_shift", x, y))


bitwise_left_shift = left_shift


def right_shift(x1: Any, x2: Any, /) -> Any:
    """The bits of x moved down by y places; a negative x keeps its sign."""
    x1, x2 = promoted("right_shift", x1, x2)
    unsigned = dtypes.issubdtype(aval_of(x1).dtype, np.unsignedinteger)
    shift = lax.shift_right_logical if unsigned else lax.shift_right_arithmetic
    return shift(x1, x2)


bitwise_right_shift = right_shift


def bitwise_count(x: Any, /) -> Any:
    """The number of bits set in |x|, as uint8."""
    (x,) = promoted("bitwise_count", x)
    dtype = aval_of(x).dtype
    if dtype == BOOL:
        return lax.convert_element_type(x, np.uint8)
    magnitude = x if dtypes.issubdtype(dtype, np.unsignedinteger) else lax.abs(x)
    return lax.convert_element_type(lax.population_count(magnitude), np.uint8)
