"""What public lax functions do to their operands before they bind a primitive.

lax is strict where jnp is kind: dtypes must agree, shapes must agree or be scalar.  Two liberties
are taken, as in JAX: a Python scalar takes the dtype of the others, and axes of size 1 are
repeated.  The decision depends on avals alone and is remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ... import dtypes
from ...config import current as current_config
from ...core import aval_of, carriers, number_in
from ...core.dims import Shape, broadcast_shapes
from ...dtypes.catalogue import NARROW
from ...dtypes.numbers import bounds, checked_int
from ...util.memo import ResultTable
from .linear_structure import broadcast_in_dim_p

_SCALARS = frozenset({bool, int, float, complex})
_WIDE_NUMBERS = frozenset({dtype.type for dtype in NARROW})
_KINDS = _SCALARS | _WIDE_NUMBERS

Change = Callable[[Any], Any]


def standardize(*operands: Any) -> Sequence[Any]:
    """Operands with Python scalars cast and axes of size 1 repeated to the common shape.

    Arrays of 64 bits that have outlived the block of `enable_x64` that made them are narrowed where
    others are narrow.
    """
    avals = tuple([x.aval if type(x) in carriers else aval_of(x) for x in operands])
    if avals[0] is avals[-1] and len(avals) <= 2:
        return operands
    plan = _plans[avals, tuple([type(x) if type(x) in _KINDS else None for x in operands])]
    if not plan:
        return operands
    values = list(operands)
    for position, change in plan:
        values[position] = change(values[position])
    return values


def _plan(avals: tuple[Any, ...], kinds: tuple[type | None, ...]) -> tuple[tuple[int, Change], ...]:
    """Which operands of these avals, or numbers of these types, are to change, and how."""
    arrays = [a for a, kind in zip(avals, kinds, strict=True) if kind is None]
    numbers = [a for a, kind in zip(avals, kinds, strict=True) if kind in _WIDE_NUMBERS]
    arrays = arrays or numbers
    dtype = (arrays or avals)[0].dtype
    weak = all([a.weak_type for a in arrays])
    shape = _common_shape([a.shape for a in avals])
    found = {a.dtype for a in arrays}
    changes: list[tuple[int, Change | None]] = []
    for i, (a, kind) in enumerate(zip(avals, kinds, strict=True)):
        if kind in _WIDE_NUMBERS:
            is_narrowed = a.dtype != dtype == np.dtype(kind)
            changes.append((i, partial(number_in, dtype=dtype) if is_narrowed else None))
        elif kind is not None:
            is_cast = arrays and a.dtype != dtype and _fits(a.dtype, dtype)
            changes.append((i, _cast(kind, dtype, weak) if is_cast else None))
        else:
            changes += [(i, _narrow(a.dtype, found)), (i, _repeat(a.shape, shape))]
    return tuple([(i, change) for i, change in changes if change is not None])


def _narrow(dtype: Any, found: set[Any]) -> Change | None:
    """How an array of 64 bits is narrowed beside arrays of these dtypes."""
    half = NARROW.get(dtype)
    if half is None or half not in found:
        return None
    return lambda x: x if current_config().enable_x64 else x.astype(half)


_plans = ResultTable(_plan)


def _common_shape(shapes: Sequence[Shape]) -> Shape | None:
    ranks = {len(s) for s in shapes if s}
    if len(ranks) != 1:
        return None
    try:
        return broadcast_shapes([s for s in shapes if s])
    except ValueError:
        return None


def _repeat(shape: Shape, target: Shape | None) -> Change | None:
    if target is None or not shape or shape == target:
        return None
    dims = tuple(range(len(target)))
    return lambda x: broadcast_in_dim_p.bind(
        x, shape=target, broadcast_dimensions=dims, sharding=None
    )


def _fits(scalar_dtype: Any, dtype: Any) -> bool:
    """Whether a Python scalar may become `dtype` without changing its kind."""
    order = ("b", "iu", "f", "c")
    rank = {k: i for i, kinds in enumerate(order) for k in kinds}
    kinds = (np.inexact, np.integer)
    if isinstance(dtype, dtypes.ExtendedDType):
        return False
    target = next((k for k in kinds if dtypes.issubdtype(dtype, k)), np.bool_)
    if target is np.inexact:
        is_complex = dtypes.issubdtype(dtype, np.complexfloating)
        return rank[scalar_dtype.kind] <= (3 if is_complex else 2)
    return rank[scalar_dtype.kind] <= (1 if target is np.integer else 0)


def _cast(kind: type, dtype: Any, weak: bool) -> Change:
    """From a Python scalar of type `kind` to one of `dtype`, which must hold it.

    Beside weak operands it is a Python scalar again.
    """
    make: Callable[[Any], Any] = dtype.type
    if weak:
        python = dtypes.scalar_type_of(dtype)
        make = python if dtype == dtypes.python_scalar_dtype(python) else make
    limits = bounds(dtype) if kind is int else None
    if limits is None:
        return make
    low, high = limits
    where = "lax function, operands"
    return lambda x: make(x if low <= x <= high else checked_int(where, x, dtype))
