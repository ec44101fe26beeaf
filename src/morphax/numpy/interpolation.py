"""Linear interpolation."""

from __future__ import annotations

from typing import Any

from .. import lax
from ..core import aval_of
from ..engines.reference.replay import replayed
from ..errors import ShapeError
from ..lax.elementwise.convert import convert
from ..util.messages import message
from .arithmetic import add, multiply, remainder, subtract, true_divide
from .complex_numbers import is_complex
from .indexing import getitem
from .joining import concatenate
from .of_numpy import interp_of_numpy
from .operands import as_array, inexact_type
from .predicates import isfinite, isinf
from .selection import clip, where
from .sorted_vectors import searchsorted
from .sorting import argsort


@replayed(3, of_many=interp_of_numpy)
def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    """Values at `x` of the broken line through points (xp, fp).

    Args:
        x: places to evaluate it at.
        xp: vector of coordinates, in ascending order unless there is a period.
        fp: vector of values.
        left, right: value before the first and behind the last point: those of these points by
            default; ``"extrapolate"`` continues the line.
        period: the period of the function, if it has one.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.interp(1.5, jnp.array([1.0, 2.0]), jnp.array([10.0, 20.0]))
        Array(15., dtype=float32)
    """
    xp, fp = as_array("interp", xp), as_array("interp", fp)
    if xp.aval.shape != fp.aval.shape or xp.aval.ndim != 1 or not xp.aval.size:
        raise ShapeError(
            message(
                "jnp.interp",
                given=f"xp of shape {xp.aval.shape} and fp of shape {fp.aval.shape}",
                expected="two vectors of one size, not empty",
                fix="Map over further axes with vmap.",
            )
        )
    x = as_array("interp", x)
    if is_complex(x) or is_complex(xp):
        raise ValueError(
            message(
                "jnp.interp",
                given=f"x of {x.aval} and xp of {xp.aval}",
                expected="real places: complex numbers do not lie on a line",
                fix="Take their real parts; values fp may be complex.",
            )
        )
    dtype, weak = inexact_type("interp", x, xp)
    x, xp = convert(x, dtype, weak), convert(xp, dtype, weak)
    # Differences of narrow values have the digits that the result has.
    fp = convert(fp, *inexact_type("interp", fp))
    fp = convert(fp, *inexact_type("interp", x, fp))
    if period is not None:
        x, xp, fp = _wrapped(x, xp, fp, period)
        left = right = "extrapolate"
    return _on_line(x, xp, fp, searchsorted(xp, x, side="right"), left, right)


@replayed(4, arrays=("left", "right"))
def _on_line(x: Any, xp: Any, fp: Any, behind: Any, left: Any, right: Any) -> Any:
    """`interp` of x, given the number of the point behind each: where that loops, this does not."""
    after = clip(behind, 1, max(xp.aval.shape[0] - 1, 1))
    before = lax.sub(after, 1)
    x0, x1, f0, f1 = (getitem(v, i) for v in (xp, fp) for i in (before, after))
    width, distance = subtract(x1, x0), subtract(x, x0)
    flat, rise = lax.eq(width, 0), subtract(f1, f0)
    slope = true_divide(rise, where(flat, 1, width))
    # Of pieces too narrow for a slope there is the beginning, as of those that rise without bound.
    is_start = lax.bitwise_or(isfinite(rise), lax.eq(distance, 0))
    flat = lax.bitwise_or(flat, lax.bitwise_and(isinf(slope), is_start))
    line = where(flat, f0, add(f0, multiply(distance, where(flat, 0, slope))))
    line = _outside(line, x < getitem(xp, 0), left, getitem(fp, 0))
    return _outside(line, x > getitem(xp, -1), right, getitem(fp, -1))


def _outside(line: Any, where_outside: Any, value: Any, default: Any) -> Any:
    if isinstance(value, str) and value == "extrapolate":
        return line
    return where(where_outside, default if value is None else value, line)


def _wrapped(x: Any, xp: Any, fp: Any, period: Any) -> tuple[Any, Any, Any]:
    """Coordinates brought into one period, in order, with a point of the next one at each end."""
    if isinstance(period, (int, float)) and period == 0:
        raise ValueError(
            message(
                "jnp.interp, argument period",
                given="0",
                expected="a number that is not zero",
                fix="Leave out period.",
            )
        )
    period = lax.abs(as_array("interp", period))
    x, xp = remainder(x, period), remainder(xp, period)
    order = argsort(xp)
    xp, fp = getitem(xp, order), getitem(fp, order)
    first, last = lax.slice_in_dim(xp, 0, 1), lax.slice_in_dim(xp, aval_of(xp).shape[0] - 1, None)
    ends = [lax.slice_in_dim(fp, aval_of(fp).shape[0] - 1, None), lax.slice_in_dim(fp, 0, 1)]
    xp = concatenate([subtract(last, period), xp, add(first, period)])
    return x, xp, concatenate([ends[0], fp, ends[1]])
