"""Comparisons, logic and bits, element by element."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes, lax
from ..core import Primitive, aval_of, is_value
from ..dtypes.numbers import bounds
from ..engines.reference.replay import replayed
from ..lax.elementwise.bitwise import and_p, not_p, or_p, xor_p
from ..lax.elementwise.comparison import eq_p, ge_p, gt_p, le_p, lt_p, ne_p
from .of_numpy import bitwise_count_of_numpy
from .operands import BOOL, PYTHON_SCALARS, as_truth, promoted, refuse_out_and_where


def _compared(
    name: str, primitive: Primitive, compare: Callable[[int, int], bool], x: Any, y: Any
) -> Any:
    """A comparison; a Python int that the other dtype does not hold is beyond all its elements."""
    side = _beyond(x, y) or -_beyond(y, x)
    if side:
        shape = aval_of(x if type(y) is int else y).shape
        return lax.full(shape, compare(0, side), bool)
    x, y = promoted(name, x, y)
    if name in _BY_PARTS and dtypes.issubdtype(aval_of(x).dtype, np.complexfloating):
        return _compared_by_parts(x, y, *_BY_PARTS[name])
    return primitive.bind(x, y)


_BY_PARTS: dict[str, tuple[Callable[[Any, Any], Any], ...]] = {
    "less": (lax.lt, lax.lt),
    "less_equal": (lax.lt, lax.le),
    "greater": (lax.gt, lax.gt),
    "greater_equal": (lax.gt, lax.ge),
}


def _compared_by_parts(
    x: Any, y: Any, by_real: Callable[[Any, Any], Any], by_imag: Callable[[Any, Any], Any]
) -> Any:
    """Complex numbers in the order of their real parts, then of their imaginary parts."""
    (a, b), (c, d) = [(lax.real(v), lax.imag(v)) for v in (x, y)]
    return lax.bitwise_or(by_real(a, c), lax.bitwise_and(lax.eq(a, c), by_imag(b, d)))


def _beyond(x: Any, y: Any) -> int:
    """1 if `y` is a Python int above the integer dtype of `x`, −1 if below it, otherwise 0."""
    if type(y) is not int or type(x) in PYTHON_SCALARS or not is_value(x):
        return 0
    low, high = bounds(aval_of(x).dtype) or (y, y)
    return (y > high) - (y < low)


@replayed(2)
def equal(x: Any, y: Any, /) -> Any:
    """x = y, element by element, as booleans.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.equal(jnp.array([1.0, jnp.nan]), jnp.array([1.0, jnp.nan]))
        Array([ True, False], dtype=bool)
    """
    return _compared("equal", eq_p, operator.eq, x, y)


@replayed(2)
def not_equal(x: Any, y: Any, /) -> Any:
    """x ≠ y, element by element, as booleans.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.not_equal(jnp.array([1, 2, 3]), 2)
        Array([ True, False,  True], dtype=bool)
    """
    return _compared("not_equal", ne_p, operator.ne, x, y)


@replayed(2)
def less(x: Any, y: Any, /) -> Any:
    """x < y, element by element, as booleans.

    Complex numbers are compared by real part, then by imaginary part.  A Python int need not be in
    the range of an integer dtype that it is compared with; this holds for all comparisons.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.less(jnp.array([0, 200], jnp.uint8), 300)
        Array([ True,  True], dtype=bool)
    """
    return _compared("less", lt_p, operator.lt, x, y)


@replayed(2)
def less_equal(x: Any, y: Any, /) -> Any:
    """x ≤ y, element by element, as booleans.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.less_equal(jnp.array([1, 2, 3]), 2)
        Array([ True,  True, False], dtype=bool)
    """
    return _compared("less_equal", le_p, operator.le, x, y)


@replayed(2)
def greater(x: Any, y: Any, /) -> Any:
    """x > y, element by element, as booleans.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.greater(jnp.array([1, 2, 3]), 2)
        Array([False, False,  True], dtype=bool)
    """
    return _compared("greater", gt_p, operator.gt, x, y)


@replayed(2)
def greater_equal(x: Any, y: Any, /) -> Any:
    """x ≥ y, element by element, as booleans.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.greater_equal(jnp.array([1, 2, 3]), 2)
        Array([False,  True,  True], dtype=bool)
    """
    return _compared("greater_equal", ge_p, operator.ge, x, y)


@replayed(2)
def logical_and(x: Any, y: Any, /, *, out: None = None, where: None = None) -> Any:
    """x and y, element by element; a number counts as true unless it is zero.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.logical_and(jnp.array([0, 1, 2]), True)
        Array([False,  True,  True], dtype=bool)
    """
    if out is not None or where is not None:
        refuse_out_and_where("logical_and", out)
    return and_p.bind(
        *promoted("logical_and", as_truth("logical_and", x), as_truth("logical_and", y))
    )


@replayed(2)
def logical_or(x: Any, y: Any, /, *, out: None = None, where: None = None) -> Any:
    """x or y, element by element; a number counts as true unless it is zero.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.logical_or(jnp.array([0, 1, 2]), False)
        Array([False,  True,  True], dtype=bool)
    """
    if out is not None or where is not None:
        refuse_out_and_where("logical_or", out)
    return or_p.bind(*promoted("logical_or", as_truth("logical_or", x), as_truth("logical_or", y)))


@replayed(2)
def logical_xor(x: Any, y: Any, /, *, out: None = None, where: None = None) -> Any:
    """either x or y, element by element; a number counts as true unless it is zero.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.logical_xor(jnp.array([0, 1, 2]), True)
        Array([ True, False, False], dtype=bool)
    """
    if out is not None or where is not None:
        refuse_out_and_where("logical_xor", out)
    return xor_p.bind(
        *promoted("logical_xor", as_truth("logical_xor", x), as_truth("logical_xor", y))
    )


@replayed(1)
def logical_not(x: Any, /) -> Any:
    """not x, element by element; a number counts as true unless it is zero.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.logical_not(jnp.array([0, 1, 2]))
        Array([ True, False, False], dtype=bool)
    """
    return not_p.bind(as_truth("logical_not", x))


def bitwise_and(x: Any, y: Any, /, *, out: None = None, where: None = None) -> Any:
    """The bits set in both x and y.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.bitwise_and(jnp.array([4, 5, 6]), 3)
        Array([0, 1, 2], dtype=int32)
    """
    if out is not None or where is not None:
        refuse_out_and_where("bitwise_and", out)
    return and_p.bind(*promoted("bitwise_and", x, y))


def bitwise_or(x: Any, y: Any, /, *, out: None = None, where: None = None) -> Any:
    """The bits set in x or y.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.bitwise_or(jnp.array([4, 5, 6]), 3)
        Array([7, 7, 7], dtype=int32)
    """
    if out is not None or where is not None:
        refuse_out_and_where("bitwise_or", out)
    return or_p.bind(*promoted("bitwise_or", x, y))


def bitwise_xor(x: Any, y: Any, /, *, out: None = None, where: None = None) -> Any:
    """The bits set in one of x and y.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.bitwise_xor(jnp.array([4, 5, 6]), 3)
        Array([7, 6, 5], dtype=int32)
    """
    if out is not None or where is not None:
        refuse_out_and_where("bitwise_xor", out)
    return xor_p.bind(*promoted("bitwise_xor", x, y))


def bitwise_not(x: Any, /) -> Any:
    """All bits of x flipped; of booleans, the logical not.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.bitwise_not(jnp.array([0, 1, -1]))
        Array([-1, -2,  0], dtype=int32)
    """
    return not_p.bind(*promoted("bitwise_not", x))


bitwise_invert = invert = bitwise_not


@replayed(2)
def left_shift(x: Any, y: Any, /) -> Any:
    """The bits of x moved up by y places: x · 2ʸ; booleans count as integers.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.left_shift(jnp.array([1, 2, 3]), 2)
        Array([ 4,  8, 12], dtype=int32)
    """
    return lax.shift_left(*_integers("left_shift", x, y))


def _integers(name: str, x: Any, y: Any) -> Any:
    """Operands of a common dtype, booleans as integers: of 32 bits, as in JAX."""
    operands = promoted(name, x, y)
    if aval_of(operands[0]).dtype != np.bool_:
        return operands
    return [lax.convert_element_type(v, np.int32) for v in operands]


bitwise_left_shift = left_shift


@replayed(2)
def right_shift(x1: Any, x2: Any, /) -> Any:
    """The bits of x moved down by y places; a negative x keeps its sign.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.right_shift(jnp.array([8, -8]), 2)
        Array([ 2, -2], dtype=int32)
    """
    x1, x2 = _integers("right_shift", x1, x2)
    unsigned = dtypes.issubdtype(aval_of(x1).dtype, np.unsignedinteger)
    shift = lax.shift_right_logical if unsigned else lax.shift_right_arithmetic
    return shift(x1, x2)


bitwise_right_shift = right_shift


@replayed(1, of_many=bitwise_count_of_numpy)
def bitwise_count(x: Any, /) -> Any:
    """The number of bits set in |x|, as uint8.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.bitwise_count(jnp.array([0, 7, -8]))
        Array([0, 3, 1], dtype=uint8)
    """
    (x,) = promoted("bitwise_count", x)
    dtype = aval_of(x).dtype
    if dtype == BOOL:
        return lax.convert_element_type(x, np.uint8)
    magnitude = x if dtypes.issubdtype(dtype, np.unsignedinteger) else lax.abs(x)
    return lax.convert_element_type(lax.population_count(magnitude), np.uint8)
