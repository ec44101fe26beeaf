"""The operations that Python has operators for, and extremes of two values, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import lax
from ..core import aval_of, carries_aval
from ..engines.reference.replay import replayed
from ..lax.elementwise.arithmetic import add_p, div_p, mul_p, neg_p, rem_p, sub_p
from ..lax.elementwise.bitwise import and_p, or_p
from ..lax.elementwise.convert import convert
from ..lax.elementwise.selection import max_p, min_p
from ..lax.ground.linear_structure import broadcast_to
from ..lax.ground.narrow import COMPUTED_IN
from .integer_powers import integer_power
from .masked_products import masked_product
from .of_numpy import floor_divide_of_numpy, remainder_of_numpy
from .operands import (
    as_array,
    is_bool,
    is_kind,
    promoted,
    promoted_inexact,
    refuse_out_and_where,
)

_INT32 = np.dtype(np.int32)


@replayed(2)
def add(x: Any, y: Any, /, *, out: None = None, where: None = None) -> Any:
    """x + y, element by element; of booleans, the logical or.

    Args:
        x, y: arrays or scalars that broadcast to a common shape.

    Returns:
        Array of the common shape and promoted dtype.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.add(jnp.arange(3), 1.5)
        Array([1.5, 2.5, 3.5], dtype=float32, weak_type=True)
    """
    if out is not None or where is not None:
        refuse_out_and_where("add", out)
    x, y = promoted("add", x, y)
    return or_p.bind(x, y) if is_bool(x) else add_p.bind(x, y)


@replayed(2)
def subtract(x: Any, y: Any, /, *, out: None = None, where: None = None) -> Any:
    """x − y, element by element.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.subtract(jnp.array([5, 7]), 2)
        Array([3, 5], dtype=int32)
    """
    if out is not None or where is not None:
        refuse_out_and_where("subtract", out)
    return sub_p.bind(*promoted("subtract", x, y))


@replayed(2)
def multiply(x: Any, y: Any, /, *, out: None = None, where: None = None) -> Any:
    """x · y, element by element; of booleans, the logical and; see `masked_product` for masks.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.multiply(jnp.array([1, 2]), jnp.array([[10], [100]]))
        Array([[ 10,  20],
               [100, 200]], dtype=int32)
    """
    if out is not None or where is not None:
        refuse_out_and_where("multiply", out)
    masked = masked_product(x, y)
    if masked is not None:
        return masked
    x, y = promoted("multiply", x, y)
    return and_p.bind(x, y) if is_bool(x) else mul_p.bind(x, y)


@replayed(2)
def true_divide(x: Any, y: Any, /) -> Any:
    """x / y, element by element, in floating point.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.true_divide(jnp.array([1, -1, 0]), jnp.array([2, 0, 0]))
        Array([ 0.5, -inf,  nan], dtype=float32)
    """
    return div_p.bind(*promoted_inexact("divide", x, y))


divide = true_divide


def negative(x: Any, /, *, out: None = None, where: None = None) -> Any:
    """−x, element by element.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.negative(jnp.array([1.0, -2.0]))
        Array([-1.,  2.], dtype=float32)
    """
    if out is not None or where is not None:
        refuse_out_and_where("negative", out)
    return neg_p.bind(*promoted("negative", x))


def positive(x: Any, /) -> Any:
    """x itself.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.positive(jnp.array([1.0, -2.0]))
        Array([ 1., -2.], dtype=float32)
    """
    return as_array("positive", x)


def absolute(x: Any, /) -> Any:
    """|x|, element by element.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.absolute(jnp.array([-3.0, 2.0])), jnp.absolute(jnp.array([3 + 4j]))
        (Array([3., 2.], dtype=float32), Array([5.], dtype=float32))
    """
    x = as_array("absolute", x)
    unchanged = is_bool(x) or is_kind(x, np.unsignedinteger)
    return x if unchanged else lax.abs(x)


abs = absolute


@replayed(2)
def maximum(x: Any, y: Any, /, *, out: None = None, where: None = None) -> Any:
    """The larger of x and y, element by element; NaN if either is NaN.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.maximum(jnp.array([1.0, 5.0, jnp.nan]), 3.0)
        Array([ 3.,  5., nan], dtype=float32)
    """
    if out is not None or where is not None:
        refuse_out_and_where("maximum", out)
    return max_p.bind(*promoted("maximum", x, y))


@replayed(2)
def minimum(x: Any, y: Any, /, *, out: None = None, where: None = None) -> Any:
    """The smaller of x and y, element by element; NaN if either is NaN.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.minimum(jnp.array([1.0, 5.0, jnp.nan]), 3.0)
        Array([ 1.,  3., nan], dtype=float32)
    """
    if out is not None or where is not None:
        refuse_out_and_where("minimum", out)
    return min_p.bind(*promoted("minimum", x, y))


def chosen(condition: Any, x: Any, y: Any) -> Any:
    """`x` where `condition` is true, else `y`; scalars are repeated."""
    shape = condition.aval.shape
    return lax.select(condition, broadcast_to(x, shape), broadcast_to(y, shape))


@replayed(2, of_many=floor_divide_of_numpy)
def floor_divide(x1: Any, x2: Any, /) -> Any:
    """The largest integer not above x / y, element by element.

    The quotient of booleans is an integer; x / 0 is NaN for floats, for integers a number that
    means nothing.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.floor_divide(-1.5, jnp.array([2.0, jnp.inf]))
        Array([-1., -1.], dtype=float32)
    """
    x1, x2 = _numbers("floor_divide", x1, x2)
    if is_kind(x1, np.unsignedinteger):
        return lax.div(x1, x2)
    if is_kind(x1, np.integer):
        quotient, remainder = lax.div(x1, x2), lax.rem(x1, x2)
        rounded_up = lax.bitwise_and(
            lax.ne(lax.sign(remainder), lax.sign(x2)), lax.ne(remainder, _zero(remainder))
        )
        return lax.sub(quotient, convert(rounded_up, quotient.dtype, quotient.aval.weak_type))
    quotient, _ = _float_divmod(x1, x2)
    return quotient


@replayed(2, of_many=remainder_of_numpy)
def remainder(x1: Any, x2: Any, /) -> Any:
    """x − y ⌊x / y⌋, element by element: it has the sign of y.

    The remainder of booleans is an integer; that of a division by 0 is NaN for floats, 0 for
    integers.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.remainder(jnp.array([7, -7, 7]), jnp.array([3, 3, 0]))
        Array([1, 2, 0], dtype=int32)
    """
    x1, x2 = _numbers("remainder", x1, x2)
    truncated = _truncated_remainder(x1, x2)
    result = chosen(_rounds_up(truncated, x2), lax.add(truncated, x2), truncated)
    return _as_weak_as(result, x1, x2)


def _numbers(name: str, x: Any, y: Any) -> Any:
    """Operands of a common dtype, booleans as integers."""
    operands = promoted(name, x, y)
    if not is_bool(operands[0]):
        return operands
    return [lax.convert_element_type(v, _INT32) for v in operands]


def _truncated_remainder(x: Any, y: Any) -> Any:
    """The remainder of the quotient that is rounded towards zero; 0 for integers divided by 0."""
    rest = rem_p.bind(x, y)
    if not is_kind(x, np.integer) or (isinstance(y, np.generic) and y != 0):
        return rest
    zero = _zero(rest)
    return chosen(_repeated(lax.eq(y, zero), rest), zero, rest)


def _repeated(condition: Any, like: Any) -> Any:
    return broadcast_to(condition, aval_of(like).shape)


def _rounds_up(rest: Any, y: Any) -> Any:
    """Whether a quotient that was rounded towards zero is above the exact one."""
    zero = _zero(rest)
    return lax.bitwise_and(lax.ne(lax.lt(rest, zero), lax.lt(y, zero)), lax.ne(rest, zero))


mod = remainder


@replayed(2)
def fmod(x1: Any, x2: Any, /) -> Any:
    """The remainder of x / y rounded towards zero: it has the sign of x.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.fmod(jnp.array([7, -7]), 3)
        Array([ 1, -1], dtype=int32)
    """
    x1, x2 = _numbers("fmod", x1, x2)
    return _as_weak_as(_truncated_remainder(x1, x2), x1, x2)


def _as_weak_as(result: Any, x: Any, y: Any) -> Any:
    """`result`, weakly typed if both operands are."""
    weak = aval_of(x).weak_type and aval_of(y).weak_type
    return convert(result, result.aval.dtype, True) if weak else result


@replayed(2)
def divmod(x1: Any, x2: Any, /) -> tuple[Any, Any]:
    """Floor division and remainder together.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.divmod(jnp.array([7, -7]), 3)
        (Array([ 2, -3], dtype=int32), Array([1, 2], dtype=int32))
    """
    x1, x2 = _numbers("divmod", x1, x2)
    if is_kind(x1, np.integer):
        return floor_divide(x1, x2), remainder(x1, x2)
    return _float_divmod(x1, x2)


def _float_divmod(x: Any, y: Any) -> tuple[Any, Any]:
    """Quotient, rounded from the exact remainder so that the two agree, and remainder.

    What the remainder towards zero leaves divides exactly, and stays finite if y is infinite.  The
    difference is rounded where digits are few, and the quotient would be another whole number.
    """
    rest = rem_p.bind(x, y)
    wide = COMPUTED_IN.get(rest.aval.dtype, rest.aval.dtype)
    x, divisor = convert(x, wide), convert(y, wide)
    quotient = lax.div(lax.sub(x, convert(rest, wide)), divisor)
    rounds_up = _rounds_up(rest, y)
    floored = lax.round(chosen(rounds_up, lax.sub(quotient, 1), quotient))
    return convert(floored, rest.aval.dtype), chosen(rounds_up, lax.add(rest, y), rest)


def _zero(x: Any) -> Any:
    return np.zeros((), aval_of(x).dtype)[()]


def power(x1: Any, x2: Any, /) -> Any:
    """x raised to the power y, element by element.

    An exponent that is an integer scalar of Python or NumPy is multiplied out, so it is exact and
    differentiable everywhere, and the result has the dtype of `x1`.  Otherwise the dtype is the
    common one of both.  Booleans are raised as int32.

    Raises:
        TypeError: an integer array is raised to a negative integer scalar.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.power(jnp.array([2, -3]), 3)
        Array([  8, -27], dtype=int32)
    """
    exponent = _known_integer(x2)
    if exponent is not None:
        base = as_array("power", x1)
        return lax.integer_pow(convert(base, _INT32) if is_bool(base) else base, exponent)
    x, y = promoted("power", x1, x2)
    if not is_kind(x, np.inexact):
        return integer_power(as_array("power", x), as_array("power", y))
    result = lax.pow(x, y)
    if not result.aval.weak_type:
        return result
    # An integer array keeps its dtype as an exponent of a weak float: the result is not weak.
    keeps_dtype = is_kind(x1, np.inexact) and is_kind(x2, np.integer) and not aval_of(x2).weak_type
    return convert(result, result.aval.dtype) if keeps_dtype else result


def _known_integer(x: Any) -> int | None:
    """The integer or truth value that a scalar of Python or NumPy is."""
    if carries_aval(x):
        return None
    if isinstance(x, (int, np.integer)):
        return int(x)
    is_scalar = isinstance(x, np.ndarray) and not x.ndim and x.dtype.kind in "biu"
    return int(x) if is_scalar else None
