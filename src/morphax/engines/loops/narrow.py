"""float16 and bfloat16 in loop programs: float32 that such a number is equal to.

Memory of others (operands, results) has their 16 bits; names and temporaries have float32.  Each
operation is done in float32 and its result rounded to the narrow format, as the other engines do
it; so whatever a value holds is a number of its format, and to read and to write it are exact.
float32 has more than twice the digits, so to round twice is innocuous for the four basic operations
and the square root.

Reference: Figueroa, "When is double rounding innocuous?", ACM SIGNUM Newsletter 30 (1995).
"""

from __future__ import annotations

from typing import Any, Final

import ml_dtypes
import numpy as np

from ...core import ShapedArray
from .program import DType, Operand
from .writer import Writer

BITS: Final[DType] = np.dtype(np.uint16)
"""What others' memory has."""

HELD: Final[DType] = np.dtype(np.float32)
"""What programs compute with."""

_HALF, _BRAIN = np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)
_NARROW: Final = frozenset((_HALF, _BRAIN))

TO_ROUND: Final = 6
"""About how many operations it takes to round, to read or to write such a number."""

_WORD = np.dtype(np.uint32)
# Of float32: the sign, infinity, and the bit that tells quiet NaN.
_SIGN, _INFINITY, _QUIET = 0x8000_0000, 0x7F80_0000, 0x0040_0000
# float16 as float32: the least normal number, the first beyond all, the distance of exponents.
_LEAST_HALF, _BEYOND_HALF, _BIAS_OF_HALF = 0x3880_0000, 0x4780_0000, 112 << 23
# float16 has so many bits of a mantissa less, and its least number is 2⁻²⁴.
_DROPPED_OF_HALF, _INVERSE_OF_LEAST = 13, 2.0**24


def is_narrow(aval: Any) -> bool:
    """Whether the elements are float16 or bfloat16."""
    return type(aval) is ShapedArray and aval.dtype in _NARROW


def held(value: Any, dtype: DType) -> np.ndarray[Any, Any]:
    """Numbers of a narrow dtype, as programs hold them."""
    return np.asarray(value, dtype).astype(HELD)


def rounded(w: Writer, x: Operand, dtype: DType) -> Operand:
    """The nearest number of a narrow dtype, ties to even; float32."""
    bits = w.bitcast(x, _WORD)
    sign, magnitude = _split(w, bits)
    is_half = dtype == _HALF
    dropped = _DROPPED_OF_HALF if is_half else 16
    last = w.op("and", w.op("shift_right", magnitude, _word(w, dropped)), _word(w, 1))
    half = w.op("add", _word(w, (1 << (dropped - 1)) - 1), last)
    nearest = w.op("and", w.op("add", magnitude, half), _word(w, -1 << dropped))
    if is_half:
        # The digits of 0.5 end where those of the least numbers do.
        middle = w.number(0.5, HELD)
        moved = w.op("add", w.bitcast(magnitude, HELD), middle)
        least = w.bitcast(w.op("sub", moved, middle), _WORD)
        is_least = w.op("lt", magnitude, _word(w, _LEAST_HALF))
        nearest = w.select(is_least, least, nearest)
        is_beyond = w.op("ge", nearest, _word(w, _BEYOND_HALF))
        nearest = w.select(is_beyond, _word(w, _INFINITY), nearest)
    is_nan = w.op("gt", magnitude, _word(w, _INFINITY))
    # What is left of NaN in 16 bits is still NaN.
    quiet = w.op("or", bits, _word(w, _QUIET))
    return w.bitcast(w.select(is_nan, quiet, w.op("or", nearest, sign)), HELD)


def packed(w: Writer, x: Operand, dtype: DType) -> Operand:
    """The 16 bits of a number of a narrow dtype."""
    bits = w.bitcast(x, _WORD)
    if dtype == _BRAIN:
        return w.convert(w.op("shift_right", bits, _word(w, 16)), BITS)
    sign, magnitude = _split(w, bits)
    small = w.op("shift_right", magnitude, _word(w, _DROPPED_OF_HALF))
    normal = w.op("sub", small, _word(w, _BIAS_OF_HALF >> _DROPPED_OF_HALF))
    is_least = w.op("lt", magnitude, _word(w, _LEAST_HALF))
    tiny = w.select(is_least, w.bitcast(magnitude, HELD), w.number(0, HELD))
    count = w.convert(w.op("mul", tiny, w.number(_INVERSE_OF_LEAST, HELD)), np.dtype(np.int32))
    number = w.select(is_least, w.bitcast(count, _WORD), normal)
    # Infinity and NaN have exponents of ones, and keep the other bits.
    special = w.op("and", small, _word(w, 0x7FFF))
    is_special = w.op("ge", magnitude, _word(w, _INFINITY))
    number = w.select(is_special, special, number)
    return w.convert(w.op("or", number, w.op("shift_right", sign, _word(w, 16))), BITS)


def unpacked(w: Writer, bits: Operand, dtype: DType) -> Operand:
    """The number that 16 bits are."""
    wide = w.convert(bits, _WORD)
    if dtype == _BRAIN:
        return w.bitcast(w.op("shift_left", wide, _word(w, 16)), HELD)
    sign = w.op("shift_left", w.op("and", wide, _word(w, 0x8000)), _word(w, 16))
    magnitude = w.op("and", wide, _word(w, 0x7FFF))
    large = w.op("shift_left", magnitude, _word(w, _DROPPED_OF_HALF))
    normal = w.op("add", large, _word(w, _BIAS_OF_HALF))
    special = w.op("or", large, _word(w, _INFINITY))
    count = w.convert(w.bitcast(magnitude, np.dtype(np.int32)), HELD)
    tiny = w.bitcast(w.op("mul", count, w.number(1 / _INVERSE_OF_LEAST, HELD)), _WORD)
    number = w.select(w.op("lt", magnitude, _word(w, 0x0400)), tiny, normal)
    number = w.select(w.op("ge", magnitude, _word(w, 0x7C00)), special, number)
    return w.bitcast(w.op("or", number, sign), HELD)


def _split(w: Writer, bits: Operand) -> tuple[Operand, Operand]:
    """The sign and the other bits of a float32."""
    return w.op("and", bits, _word(w, _SIGN)), w.op("and", bits, _word(w, _SIGN - 1))


def _word(w: Writer, value: int) -> Operand:
    return w.number(value, _WORD)
