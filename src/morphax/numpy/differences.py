"""Differences of neighbours: steps, slopes and areas."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes, lax
from ..core import aval_of
from ..core.dims import SymbolicDim, max_dim, min_dim
from ..engines.reference.replay import replayed
from ..lax.elementwise.convert import convert
from ..lax.ground.axes import counted
from ..util.messages import message
from .arithmetic import divide, floor_divide, multiply, remainder, subtract
from .axes import canonical_axes, canonical_axis
from .cumulative import cumsum
from .half_precision import in_float32
from .joining import concatenate
from .logic import equal, logical_or, not_equal
from .of_numpy import gradient_of_numpy
from .operands import as_array, inexact_type
from .selection import where
from .shaping import broadcast_to, ravel, reshape


def cut(x: Any, axis: int, start: int, stop: int | None) -> Any:
    """``x[start:stop]`` along an axis."""
    size = aval_of(x).shape[axis]
    if type(size) is SymbolicDim:
        high = size if stop is None else stop if stop >= 0 else max_dim(size + stop, 0)
        return lax.slice_in_dim(x, min_dim(start, size), max_dim(start, high), axis=axis)
    low, high, _ = slice(start, stop).indices(size)
    return lax.slice_in_dim(x, low, max(low, high), axis=axis)


@replayed(1)
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """The n-th differences aᵢ₊₁ − aᵢ along an axis.

    Args:
        a: array; of truth values, where they change.
        n: how often differences are taken.
        axis: axis to take them along.
        prepend, append: values to put before and behind `a`; scalars count as one element.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.diff(jnp.array([1, 4, 9]))
        Array([3, 5], dtype=int32)
    """
    a = as_array("diff", a)
    axis = canonical_axis("diff", axis, a.aval.ndim)
    n = counted("jnp.diff, argument n", n)
    if n == 0:
        return a
    ends = [_end(e, a.aval.shape, axis) for e in (prepend, append)]
    parts = [p for p in (ends[0], a, ends[1]) if p is not None]
    a = concatenate(parts, axis) if len(parts) > 1 else a
    step = not_equal if a.aval.dtype == np.bool_ else subtract
    size = a.aval.shape[axis]
    # After as many steps as there are elements, none is left.
    for _ in range(min(n, size) if type(size) is int else n):
        a = step(cut(a, axis, 1, None), cut(a, axis, 0, -1))
    return a


def _end(value: Any, shape: tuple[int, ...], axis: int) -> Any:
    if value is None:
        return None
    value = as_array("diff", value)
    if value.aval.ndim:
        return value
    return broadcast_to(value, tuple([1 if i == axis else n for i, n in enumerate(shape)]))


@replayed(1)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """The differences of neighbours in the flattened array, between two given ends.

    Args:
        ary: array of numbers, flattened.
        to_end, to_begin: what is put behind and in front.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.ediff1d(jnp.array([1, 4, 9]))
        Array([3, 5], dtype=int32)
    """
    ary = as_array("ediff1d", ary)
    if ary.aval.dtype == np.bool_:
        raise TypeError(
            message(
                "jnp.ediff1d, argument ary",
                given=f"{ary.aval}",
                expected="an array of numbers",
                fix="Tell where truth values change by jnp.diff, or convert them by astype(int).",
            )
        )
    steps = diff(ravel(ary))
    parts = [to_begin, steps, to_end]
    if to_begin is None and to_end is None:
        return steps
    dtype = aval_of(steps).dtype
    return concatenate([ravel(as_array("ediff1d", p)) for p in parts if p is not None], 0, dtype)


@replayed(1, of_many=gradient_of_numpy)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int | None = None) -> Any:
    """Slopes by differences: central inside, one-sided at the ends.

    Args:
        f: array of samples, at least two along each axis.
        *varargs: the distance of samples, or their coordinates: one for all axes, or one for each.
        axis: axes to take slopes along; all by default.
        edge_order: must be 1 or `None`.

    Returns:
        Array of the shape of `f`, or a list of one per axis.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.gradient(jnp.array([1.0, 2.0, 4.0, 7.0]))
        Array([1. , 1.5, 2.5, 3. ], dtype=float32)
    """
    f = as_array("gradient", f)
    f = convert(f, *inexact_type("gradient", f, *[as_array("gradient", h) for h in varargs]))
    axes = canonical_axes("gradient", axis, f.aval.ndim)
    spacings = list(varargs) if len(varargs) > 1 else list(varargs or (1.0,)) * len(axes)
    if edge_order not in (None, 1) or len(spacings) != len(axes):
        raise ValueError(
            message(
                "jnp.gradient",
                given=f"{len(varargs)} spacings for {len(axes)} axes, edge_order={edge_order}",
                expected="no spacing, one, or one for each axis; edge_order 1",
                fix="Give as many spacings as axes.",
            )
        )
    slopes = [_slopes(f, h, i) for i, h in zip(axes, spacings, strict=True)]
    return slopes if len(slopes) != 1 or (axis is not None and np.iterable(axis)) else slopes[0]


def _slopes(f: Any, spacing: Any, axis: int) -> Any:
    size = f.aval.shape[axis]
    if size < 2:
        raise ValueError(
            message(
                "jnp.gradient, argument f",
                given=f"size {size} along axis {axis}",
                expected="at least two samples",
                fix="Name other axes with axis=.",
            )
        )
    spacing = as_array("gradient", spacing)
    if spacing.aval.ndim == 0:
        inside = divide(subtract(cut(f, axis, 2, None), cut(f, axis, 0, -2)), multiply(2, spacing))
        first, last = cut(f, axis, 0, 2), cut(f, axis, -2, None)
        ends = [divide(diff(end, axis=axis), spacing) for end in (first, last)]
        return concatenate([ends[0], inside, ends[1]], axis)
    return _slopes_between(f, spacing, axis)


@replayed(2)
def _slopes_between(f: Any, places: Any, axis: int) -> Any:
    """Slopes along an axis of samples at these places."""
    h = diff(places)
    h = reshape(h, [-1 if i == axis else 1 for i in range(aval_of(f).ndim)])
    outside = divide(diff(f, axis=axis), h)
    before, after = cut(h, axis, 0, -1), cut(h, axis, 1, None)
    # The slope of the parabola through three samples.
    weighted = multiply(cut(outside, axis, 0, -1), after) + multiply(
        cut(outside, axis, 1, None), before
    )
    inside = divide(weighted, before + after)
    return concatenate([cut(outside, axis, 0, 1), inside, cut(outside, axis, -1, None)], axis)


@replayed(1)
@in_float32
def unwrap(p: Any, discont: Any = None, axis: int = -1, period: Any = 2 * np.pi) -> Any:
    """`p` with jumps of more than half a period taken away, by multiples of it.

    Args:
        p: angles.
        discont: least jump to take away; half a period by default.
        axis: axis along which the angles follow each other.
        period: the period.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.unwrap(jnp.array([0, 3, 5]), period=4)
        Array([ 0, -1,  1], dtype=int32)
    """
    p = as_array("unwrap", p)
    axis = canonical_axis("unwrap", axis, p.aval.ndim)
    if p.aval.shape[axis] == 0:
        return convert(p, dtypes.result_type(p, period))
    steps = diff(p, axis=axis)
    whole = dtypes.issubdtype(dtypes.result_type(p, period), np.integer)
    half = floor_divide(period, 2) if whole else divide(period, 2)
    wrapped = subtract(remainder(steps + half, period), half)
    # A jump of half a period up stays one up.
    ambiguous = (wrapped == -half) & (steps > 0) & equal(2 * half, period)
    wrapped = where(ambiguous, half, wrapped)
    limit = divide(period, 2) if discont is None else discont
    small = logical_or(abs(steps) < limit, steps != steps)
    change = where(small, 0, subtract(wrapped, steps))
    rest = cut(p, axis, 1, None) + cumsum(change, axis, aval_of(change).dtype)
    return concatenate([cut(p, axis, 0, 1), rest], axis)
