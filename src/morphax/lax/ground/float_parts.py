"""x = m 2ᵉ with m between √½ and √2, by the bits of float64: for normal positive numbers.

What is subtracted from the bits are those of √½, so the field of the exponent that is left is e.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...engines import loops
from ...engines.xla.stablehlo import Builder, Value
from .families import expanded

_WORD = np.dtype(np.int64)
_BITS_OF_ROOT = int(np.float64(math.sqrt(0.5)).view(_WORD))
_DIGITS = 52


def parts_on_host(x: Any) -> tuple[Any, Any]:
    """m and e of NumPy's numbers."""
    mantissa, exponent = np.frexp(x)
    is_small = mantissa < math.sqrt(0.5)
    return np.where(is_small, 2 * mantissa, mantissa), exponent - is_small


def parts_in_program(b: Builder, x: Value) -> tuple[Value, Value]:
    """m and e of an array of float64, in float64."""
    words = x.aval.update(dtype=_WORD)
    bits, root, digits = [
        b.op("stablehlo.bitcast_convert", words, x),
        *[
            expanded(b, words.shape, [b.constant(n, words.update(shape=()))])[0]
            for n in (_BITS_OF_ROOT, _DIGITS)
        ],
    ]
    above = b.elementwise("stablehlo.subtract", words, bits, root)
    exponent = b.elementwise("stablehlo.shift_right_arithmetic", words, above, digits)
    power = b.elementwise("stablehlo.shift_left", words, exponent, digits)
    rest = b.elementwise("stablehlo.subtract", words, bits, power)
    return b.op("stablehlo.bitcast_convert", x.aval, rest), b.convert(exponent, x.aval.dtype)


def parts_in_loops(w: loops.Writer, x: loops.Operand) -> tuple[loops.Operand, loops.Operand]:
    """m and e of a scalar of float64, in float64."""
    bits, digits = w.bitcast(x, _WORD), w.number(_DIGITS, _WORD)
    exponent = w.op("shift_right", w.op("sub", bits, w.number(_BITS_OF_ROOT, _WORD)), digits)
    rest = w.op("sub", bits, w.op("shift_left", exponent, digits))
    return w.bitcast(rest, x.dtype), w.convert(exponent, x.dtype)
