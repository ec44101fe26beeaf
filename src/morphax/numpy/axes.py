"""Axes given by users: counted from the front, checked."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np

from .. import dtypes
from ..core import Tracer
from ..core.dims import Shape
from ..errors import AxisError, InconclusiveDimensionOperation, ShapeError
from ..lax.ground.axes import canonical_shape, integer
from ..util.messages import described, message
from .operands import in_full

# Sizes are 64-bit numbers in programs.
_TOO_LARGE = 1 << 63
# NumPy has no more.
_MOST_AXES = 64
# More numbers have more bytes than can be counted.
_MOST_POINTS = 2**59


def canonical_axis(where: str, axis: Any, ndim: int) -> int:
    """`axis` counted from the front."""
    number = axis if type(axis) is int else integer(f"{in_full(where)}, argument axis", axis)
    if -ndim <= number < ndim:
        return number % ndim
    raise AxisError(
        message(
            f"{in_full(where)}, argument axis",
            given=f"axis {number} of an array with {ndim} axes",
            expected=f"an axis from {-ndim} to {ndim - 1}" if ndim else "an array that has axes",
            fix="Name an axis that the array has." if ndim else "Give it one with jnp.atleast_1d.",
        )
    )


def listed(axes: Any) -> Sequence[Any]:
    """Axes given as one or as anything that has several: a tuple, a range, an array."""
    if isinstance(axes, (tuple, list)):
        return axes
    return tuple(axes) if np.iterable(axes) and not isinstance(axes, str | bytes) else (axes,)


def canonical_axes(where: str, axes: Any, ndim: int) -> tuple[int, ...]:
    """Axes counted from the front; `None` stands for all."""
    if axes is None:
        return tuple(range(ndim))
    if type(axes) is int and -ndim <= axes < ndim:
        return (axes % ndim,)
    result = tuple([canonical_axis(where, a, ndim) for a in listed(axes)])
    if len(set(result)) == len(result):
        return result
    raise ValueError(
        message(
            f"{in_full(where)}, argument axis",
            given=f"{axes}",
            expected="different axes",
            fix="Name each axis once.",
        )
    )


def canonical_size(where: str, shape: Any) -> Shape:
    """A shape given as a size or a sequence of sizes."""
    # Bytes are a sequence of integers, and no shape.
    is_sequence = np.iterable(shape) and type(shape) is not bytes
    try:
        sizes = tuple(map(index, shape)) if is_sequence else (index(shape),)
    except InconclusiveDimensionOperation:
        return canonical_shape(f"jnp.{where}, argument shape", shape)
    except TypeError:
        raise TypeError(_bad_size(where, shape)) from None
    if sizes and (min(sizes) < 0 or max(sizes) >= _TOO_LARGE):
        raise (ShapeError if min(sizes) < 0 else OverflowError)(_bad_size(where, shape))
    return sizes


def _bad_size(where: str, shape: Any) -> str:
    traced = [x for x in listed(shape) if isinstance(x, Tracer) and x.number() is None]
    return message(
        f"jnp.{where}, argument shape",
        given=described(traced[0]) if traced else f"{shape!r:.80}",
        expected="an int or a tuple of ints, not negative and known while tracing",
        fix="Compute shapes with Python ints; mark arguments that they depend on static "
        "(static_argnums or static_argnames of jit).",
    )


def rank_asked_for(where: str, rank: Any) -> int:
    """A number of axes that arrays may have."""
    number = integer(where, rank)
    if number <= _MOST_AXES:
        return number
    raise ValueError(
        message(
            where,
            given=f"{number}",
            expected=f"at most {_MOST_AXES} axes",
            fix="Give the least number of axes of the result.",
        )
    )


def whole_number(where: str, value: Any) -> int:
    """A number of points, which may be a float that is a whole number, in an array too."""
    number = _as_python_number(value)
    if isinstance(value, (list, tuple)) or (isinstance(number, float) and not number.is_integer()):
        raise ValueError(
            message(
                where,
                given=described(value),
                expected="a whole number",
                fix="Give the number of points as a Python integer.",
            )
        )
    count = int(number) if isinstance(number, float) else integer(where, number)
    if count < _MOST_POINTS:
        return count
    raise OverflowError(
        message(
            where,
            given=f"{count}",
            expected="a whole number below 2**59: no memory holds more points",
            fix="Compute the number anew.",
        )
    )


def _as_python_number(value: Any) -> Any:
    """What is in an array without axes, if that is floating or a truth value."""
    for kind, python in ((np.floating, float), (np.bool_, bool)):
        if getattr(value, "ndim", 1) == 0 and dtypes.issubdtype(value.dtype, kind):
            return python(value)
    return value
