"""Convolutions on GPUs, whose library has those of real floats alone.

Those of complex numbers are four of their parts: three would do, but lose digits where one part is
small.  Those of integers are sums of products that float64 holds exactly, of halves if need be.

Reference: N. J. Higham, "Stability of a method for multiplying complex matrices with three real
matrix multiplications", SIAM Journal on Matrix Analysis and Applications 13 (1992), 681-687.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...engines.xla.stablehlo import Builder, Value
from ...runtime.device import GPUS

Convolve = Callable[[Value, Value, Any], Value]
"""Of operands of one dtype, and the aval of the result."""

_FLOAT64, _INT64 = np.dtype(np.float64), np.dtype(np.int64)
_HALF = 16
_BITS_OF_TWO_HALVES = 32


def lower_in_parts(b: Builder, convolve: Convolve, out: Any, x: Value, y: Value) -> Value | None:
    """The convolution by those that the platform has; `None` if it has this one."""
    kind = x.aval.dtype.kind
    if kind not in "cbiu" or b.module.platform not in GPUS:
        return None
    if kind == "c":
        return _of_complex(b, convolve, out, x, y)
    if x.aval.dtype.itemsize * 8 > _BITS_OF_TWO_HALVES:
        return None
    return _of_integers(b, convolve, out, x, y)


def _of_complex(b: Builder, convolve: Convolve, out: Any, x: Value, y: Value) -> Value:
    (xr, xi), (yr, yi) = [_parts(b, v) for v in (x, y)]
    part = out.update(dtype=out.dtype.type(0).real.dtype)
    real = b.op("stablehlo.subtract", part, convolve(xr, yr, part), convolve(xi, yi, part))
    imag = b.op("stablehlo.add", part, convolve(xr, yi, part), convolve(xi, yr, part))
    return b.op("stablehlo.complex", out, real, imag)


def _parts(b: Builder, x: Value) -> list[Value]:
    part = x.aval.update(dtype=x.aval.dtype.type(0).real.dtype)
    return [b.op(f"stablehlo.{name}", part, x) for name in ("real", "imag")]


def _of_integers(b: Builder, convolve: Convolve, out: Any, x: Value, y: Value) -> Value:
    """Sums of products modulo 2⁶⁴, exact for up to 2²¹ summands; then of the result's dtype."""
    wide = out.update(dtype=_INT64)

    def summed(x: Value, y: Value) -> Value:
        x, y = b.convert(x, _FLOAT64), b.convert(y, _FLOAT64)
        return b.convert(convolve(x, y, out.update(dtype=_FLOAT64)), _INT64)

    if x.aval.dtype.itemsize * 8 < _BITS_OF_TWO_HALVES:
        return b.convert(summed(x, y), out.dtype)
    (x_high, x_low), (y_high, y_low) = [_halves(b, v) for v in (x, y)]
    middle = b.op("stablehlo.add", wide, summed(x_high, y_low), summed(x_low, y_high))
    total = summed(x_low, y_low)
    for value, shift in ((middle, _HALF), (summed(x_high, y_high), 2 * _HALF)):
        moved = b.op("stablehlo.shift_left", wide, value, b.full(shift, wide))
        total = b.op("stablehlo.add", wide, total, moved)
    return b.convert(total, out.dtype)


def _halves(b: Builder, x: Value) -> tuple[Value, Value]:
    """h and l of x = 2¹⁶ h + l, where l is not negative."""
    wide = x.aval.update(dtype=_INT64)
    x = b.convert(x, _INT64)
    high = b.op("stablehlo.shift_right_arithmetic", wide, x, b.full(_HALF, wide))
    low = b.op("stablehlo.and", wide, x, b.full((1 << _HALF) - 1, wide))
    return high, low
