"""Arrays of numbers that follow each other: `arange`, `linspace`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes, lax
from ..core import aval_of, is_concrete
from ..core.dims import SymbolicDim, max_dim
from ..engines.reference.replay import replayed
from ..errors import ConcretizationTypeError
from ..lax.elementwise.convert import convert
from ..lax.ground.axes import counted, integer, integer_or_size
from ..lax.ground.linear_structure import moved_axis
from ..lax.shape.filling import size_value
from ..util.messages import message
from .creation import array, placed, repeated
from .operands import PYTHON_SCALARS, as_array, common_shape, inexact_type

# Of a range from 0: what is more, or no number, NumPy refuses.
_MOST = 1 << 53


def _number(x: Any) -> int | float:
    """A bound of a range as a Python number; a tracer refuses, and says why.

    Complex numbers have no order, so there are none below a bound.
    """
    if type(x) in PYTHON_SCALARS:
        number = x
    elif not is_concrete(x):
        raise ConcretizationTypeError(
            message(
                "jnp.arange",
                given=f"{x.origin()}{x.dependence()} with shape and dtype {x.aval.str_short()}",
                expected="start, stop and step known while tracing: they decide the length",
                fix="Mark the argument static (static_argnums or static_argnames of jit); for "
                "numbers below a traced bound, compare a range of fixed length with it.",
            )
        )
    elif aval_of(x).size != 1:
        raise ValueError(_not_a_bound(aval_of(x), "Pass scalars."))
    else:
        number = np.asarray(x).item()
    if isinstance(number, complex):
        raise ValueError(_not_a_bound(number, "Scale jnp.arange(n) by a complex number."))
    return number


def _not_a_bound(given: Any, fix: str) -> str:
    expected = "real numbers as start, stop and step"
    return message("jnp.arange", given=f"{given}", expected=expected, fix=fix)


def _progression(low: Any, high: Any, step: Any) -> Any:
    """The numbers of a range, by NumPy."""
    try:
        return np.arange(low, high, step)
    except (ZeroDivisionError, ValueError, OverflowError, MemoryError) as error:
        raise type(error)(
            message(
                "jnp.arange",
                given=f"start={low}, stop={high}, step={step}",
                expected="finite bounds, and a step that is not 0",
                fix="Check the step; jnp.linspace takes the number of elements instead.",
            )
        ) from None


def arange(
    start: Any,
    stop: Any = None,
    step: Any = None,
    dtype: Any = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Any:
    """The numbers start, start + step, … below `stop`; from 0 if only one bound is given.

    Raises:
        TypeError: a bound is traced: the length must be known.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.arange(2, 8, 2)
        Array([2, 4, 6], dtype=int32)
    """
    bounds = [b for b in (start, stop, step) if b is not None]
    for b in bounds or [start]:
        as_array("arange", b)
    target = dtypes.result_type(*bounds) if dtype is None else dtypes.requested(dtype, "arange")
    if SymbolicDim in map(type, bounds):
        return placed(_of_symbolic_length(bounds, target), device)
    values = [_number(b) for b in bounds]
    is_counted = len(values) == 1 and (type(values[0]) is not float or target.kind == "f")
    if is_counted and abs(values[0]) < _MOST:
        count = max(math.ceil(values[0]), 0)
        return placed(lax.iota(target, count), device, "arange", out_sharding)
    low, high = (0, values[0]) if stop is None else values[:2]
    by = values[-1] if step is not None else 1
    numbers = _progression(low, high, by)
    if target.kind in "iu" and numbers.dtype.kind == "f":
        # As in NumPy and JAX, start and step are integers first: steps of ½ stay where they are.
        limits = np.iinfo(target)
        first, by = [min(max(int(x), limits.min), limits.max) for x in (low, by)]
        numbers = first + by * np.arange(numbers.size)
    return array(numbers.astype(target, copy=False), device=device, out_sharding=out_sharding)


def _of_symbolic_length(bounds: Sequence[Any], target: Any) -> Any:
    """Start, stop and step as in `arange`, of which some are symbolic sizes."""
    start, stop, step = [0, *bounds, 1] if len(bounds) == 1 else [*bounds, 1][:3]
    where = "jnp.arange, bounds of which some are symbolic"
    start, stop, step = [integer_or_size(where, b) for b in (start, stop, step)]
    count = max_dim(-((start - stop) // step), 0)
    numbers = lax.iota(target, count)
    if step != 1:
        numbers = lax.mul(numbers, size_value(step, target))
    return numbers if start == 0 else lax.add(numbers, size_value(start, target))


@replayed(2)
def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """`num` evenly spaced numbers from `start` to `stop`.

    Args:
        start, stop: ends, arrays that broadcast together.
        num: how many numbers.
        endpoint: whether `stop` is the last of them.
        retstep: return the step as well.
        dtype: of the result; floating without it.
        axis: where the new axis goes.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.linspace(0, 1, 5)
        Array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    """
    count = counted("jnp.linspace, argument num", num)
    low, high = as_array("linspace", start), as_array("linspace", stop)
    common, _ = inexact_type("linspace", low, high)
    target = common if dtype is None else dtypes.requested(dtype, "linspace")
    wide = np.dtype(np.float32) if common.itemsize < 4 else dtypes.canonicalize(common)
    low, high = convert(low, wide), convert(high, wide)
    shape = common_shape("linspace", (low.aval, high.aval))
    low, high = repeated(low, shape), repeated(high, shape)
    intervals = np.asarray(max(count - 1 if endpoint else count, 1), wide)[()]
    step = lax.div(lax.sub(high, low), intervals)
    places = lax.broadcasted_iota(wide, (count, *shape), 0)
    fractions = lax.div(places, intervals)
    first, last = repeated(low, (count, *shape)), repeated(high, (count, *shape))
    out = lax.add(lax.mul(first, lax.sub(1, fractions)), lax.mul(last, fractions))
    if not dtypes.issubdtype(common, np.complexfloating):
        # Multiples of the step are exact where it is: 0, 5, … 25.  But the step may be infinite.
        exact = lax.add(first, lax.mul(places, repeated(step, (count, *shape))))
        out = lax.select(repeated(lax.is_finite(step), (count, *shape)), exact, out)
    if endpoint and count > 1:
        # Neither way need lead there.
        out = lax.select(lax.eq(places, intervals), last, out)
    if dtypes.issubdtype(target, np.integer):
        out = lax.floor(out)
    place = integer("jnp.linspace, argument axis", axis) % out.aval.ndim
    out = convert(moved_axis(out, 0, place), target)
    out = placed(out, device)
    return (out, convert(step, common)) if retstep else out
