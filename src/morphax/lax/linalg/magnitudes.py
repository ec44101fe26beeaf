"""Matrices of very large or very small elements, in units of the largest of them.

LAPACK's geev scales such a matrix itself, but in some of its versions, SciPy's among them, forgets
to scale the eigenvalues back.  So it never sees one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...engines.xla.stablehlo import Builder, Value
from ..ground.families import compare
from ..ground.sums import reduce_with

# geev leaves a matrix alone whose largest element is between √tiny / ε and its reciprocal.
_LIMIT = {4: 1e10, 8: 1e130}


def extreme(dtype: np.dtype[Any]) -> float:
    """The size from which on an element of a matrix is extreme, and so is its reciprocal."""
    return _LIMIT[np.finfo(dtype).dtype.itemsize]


def unit_of(x: Any) -> Any:
    """The size of the largest element of each matrix, where that is extreme, else 1."""
    if x.ndim == 2:
        # The sum of squares is quick, and ordinary for nearly all.
        squares = np.vdot(x, x).real
        limit = _LIMIT[squares.itemsize] ** 1.5
        if 1 / limit < squares < limit:
            return 1
    parts = [x.real, x.imag] if x.dtype.kind == "c" else [x]
    size = np.max([np.abs(part).max((-2, -1)) for part in parts], 0)
    limit = _LIMIT[size.itemsize]
    ordinary = (size == 0) | ((size > 1 / limit) & (size < limit))
    return np.where(ordinary, size.dtype.type(1), size)


def in_units(b: Builder, x: Value) -> tuple[Value, Value]:
    """The matrices divided by their units, as `unit_of` has them, and the units."""
    real = x.aval.update(dtype=np.finfo(x.aval.dtype).dtype)
    is_complex = x.aval.dtype.kind == "c"
    names = ("stablehlo.real", "stablehlo.imag")
    parts = [b.op(name, real, x) for name in names] if is_complex else [x]
    sizes = [b.elementwise("stablehlo.abs", real, part) for part in parts]
    size = sizes[0] if len(sizes) == 1 else b.elementwise("stablehlo.maximum", real, *sizes)
    one = real.update(shape=real.shape[:-2])
    largest = reduce_with(b, "stablehlo.maximum", 0, one, size, (real.ndim - 2, real.ndim - 1))
    limit, truth = _LIMIT[one.dtype.itemsize], one.update(dtype=np.dtype(bool))
    tests = [
        compare(b, truth, direction, largest, b.full(bound, one))
        for direction, bound in (("GE", limit), ("LE", 1 / limit), ("NE", 0))
    ]
    extreme = b.elementwise("stablehlo.or", truth, *tests[:2])
    extreme = b.elementwise("stablehlo.and", truth, extreme, tests[2])
    unit = b.op("stablehlo.select", one, extreme, largest, b.full(1, one))
    divisor = b.broadcast(unit, real, range(one.ndim))
    parts = [b.elementwise("stablehlo.divide", real, part, divisor) for part in parts]
    return (b.op("stablehlo.complex", x.aval, *parts) if is_complex else parts[0]), unit
