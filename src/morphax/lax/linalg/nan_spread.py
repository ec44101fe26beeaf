"""NaN for all that a NaN in a factorisation has a part in, in compiled programs.

LAPACK leaves out rows where it would multiply by zero, and does not divide by a pivot that is NaN:
finite numbers are left which depend on one that is none.  Native code mends the factors in their
place; where it may not be called, operations do, which XLA runs beside those that follow and which
take longer than a small factorisation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...engines.xla.nan_spread_calls import (
    CHOLESKY,
    LU,
    REFLECTIONS,
    call_nan_spread,
    may_call_nan_spread,
)
from ...engines.xla.stablehlo import Builder, Value
from ..ground.families import compare
from ..ground.sums import reduce_with
from .lowered import BOOL, INT32, numbered, where_numbers

_NOWHERE = np.iinfo(np.int32).max
_Pair = Callable[[Builder, Value, Value], list[Value]]


def of_lu(b: Builder, factors: Value, pivots: Value) -> list[Value]:
    """LU factors, behind the first pivot that is NaN."""
    return _mended(b, LU, factors, pivots, _behind_pivot)


def of_reflections(b: Builder, reflections: Value, taus: Value) -> list[Value]:
    """Reflections and their scalars, from the first scalar on that is NaN."""
    return _mended(b, REFLECTIONS, reflections, taus, _from_reflection)


def of_cholesky(b: Builder, factor: Value, info: Value) -> list[Value]:
    """A Cholesky factor and LAPACK's `info`, which tells of a failure where the factor has NaN."""
    return _mended(b, CHOLESKY, factor, info, _failure)


def _mended(b: Builder, factors: int, x: Value, beside: Value, otherwise: _Pair) -> list[Value]:
    if may_call_nan_spread(b, x.aval, beside.aval):
        return call_nan_spread(b, factors, x, beside)
    return otherwise(b, x, beside)


def _behind_pivot(b: Builder, factors: Value, pivots: Value) -> list[Value]:
    return [_nan_beyond(b, factors, _first_of_diagonal(b, factors), "GT", "GE"), pivots]


def _from_reflection(b: Builder, reflections: Value, taus: Value) -> list[Value]:
    place = _first(b, _is_nan(b, taus), 1)
    return [_nan_beyond(b, reflections, place, "GE", "GE"), _nan_beyond(b, taus, place, "GE")]


def _failure(b: Builder, factor: Value, info: Value) -> list[Value]:
    place = _first_of_diagonal(b, factor)
    has_nan = compare(b, _bools(place), "NE", place, b.full(_NOWHERE, place.aval))
    failed = b.op("stablehlo.or", info.aval, info, b.convert(has_nan, info.aval.dtype))
    return [factor, failed]


def _first_of_diagonal(b: Builder, x: Value) -> Value:
    """The place of the first NaN on the diagonal of each matrix, `_NOWHERE` without one."""
    on_diagonal = where_numbers(b, x.aval, "EQ")
    return _first(b, b.op("stablehlo.and", _bools(x), _is_nan(b, x), on_diagonal), 2)


def _first(b: Builder, holds: Value, ndim: int) -> Value:
    """The number along the last axis of the first that holds, among those of the last axes."""
    places = holds.aval.update(dtype=INT32)
    numbers = numbered(b, places, places.ndim - 1)
    chosen = b.op("stablehlo.select", places, holds, numbers, b.full(_NOWHERE, places))
    out = places.update(shape=places.shape[: places.ndim - ndim])
    axes = tuple(range(out.ndim, places.ndim))
    return reduce_with(b, "stablehlo.minimum", _NOWHERE, out, chosen, axes)


def _nan_beyond(b: Builder, x: Value, place: Value, *directions: str) -> Value:
    """NaN for what lies behind (GT), or behind or at (GE), a place along each of the last axes."""
    places, stack = x.aval.update(dtype=INT32), range(place.aval.ndim)
    everywhere = b.broadcast(place, places, stack)
    found = [
        compare(b, _bools(x), direction, numbered(b, places, axis), everywhere)
        for axis, direction in enumerate(directions, len(stack))
    ]
    is_beyond = found[0] if len(found) == 1 else b.op("stablehlo.and", _bools(x), *found)
    return b.op("stablehlo.select", x.aval, is_beyond, b.full(np.nan, x.aval), x)


def _is_nan(b: Builder, x: Value) -> Value:
    return compare(b, _bools(x), "NE", x, x)


def _bools(x: Value) -> Any:
    return x.aval.update(dtype=BOOL)
