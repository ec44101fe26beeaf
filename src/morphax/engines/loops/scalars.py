"""What lax means by operations on scalars, in terms of those of loop programs.

Each function writes operations with a writer and returns the result.
"""

from __future__ import annotations

import numpy as np

from .complex_scalars import quotient as complex_quotient
from .operations import PART_OF
from .program import BOOL, Const, DType, Operand
from .writer import Writer


def unsigned(dtype: DType) -> DType:
    """The unsigned integers of the width of a dtype."""
    return np.dtype(f"u{dtype.itemsize}")


def quotient(w: Writer, x: Operand, y: Operand) -> Operand:
    """x / y; of integers truncated, with all bits set where y is 0."""
    if x.dtype.kind == "c":
        return complex_quotient(w, x, y)
    if x.dtype.kind == "f":
        return w.op("div", x, y)
    is_zero, divisor = _divisor(w, x, y)
    all_bits = w.number(-1, x.dtype)
    return w.select(is_zero, all_bits, w.op("quotient", x, divisor))


def remainder(w: Writer, x: Operand, y: Operand) -> Operand:
    """x − y · trunc(x / y), with the sign of x; of integers, x where y is 0."""
    if x.dtype.kind == "f":
        return w.op("fmod", x, y)
    if x.dtype.kind == "u":
        is_zero, divisor = _divisor(w, x, y)
        return w.select(is_zero, x, w.op("remainder", x, divisor))
    # By −1 nothing remains, of the least integer too, where machines fail.
    is_zero, divisor = _divisor(w, x, y)
    safe = w.select(w.op("eq", divisor, w.number(-1, x.dtype)), w.number(1, x.dtype), divisor)
    return w.select(is_zero, x, w.op("remainder", x, safe))


def _divisor(w: Writer, x: Operand, y: Operand) -> tuple[Operand, Operand]:
    """Whether y is 0, and a divisor that machines can divide x by, with the quotient of y."""
    zero, one = w.number(0, x.dtype), w.number(1, x.dtype)
    is_zero = w.op("eq", y, zero)
    unsafe = is_zero
    if x.dtype.kind == "i":
        least = w.number(np.iinfo(x.dtype).min, x.dtype)
        overflows = w.all_of([w.op("eq", x, least), w.op("eq", y, w.number(-1, x.dtype))])
        # The least integer by −1 is itself, as by 1.
        unsafe = w.op("or", is_zero, overflows)
    return is_zero, w.select(unsafe, one, y)


def power_of_integer(w: Writer, x: Operand, exponent: int) -> Operand:
    """xⁿ by repeated squaring, rounded at each step."""
    if exponent == 0:
        return w.number(1, x.dtype)
    power: Operand | None = None
    square, rest = x, abs(exponent)
    while rest:
        if rest & 1:
            power = square if power is None else w.op("mul", power, square)
        rest >>= 1
        square = w.op("mul", square, square) if rest else square
    assert power is not None, "a positive number has a highest bit"
    return power if exponent > 0 else quotient(w, w.number(1, x.dtype), power)


def shifted(w: Writer, name: str, x: Operand, distance: Operand) -> Operand:
    """A shift by any distance: an unsigned number, beyond the width as far as that."""
    bits = 8 * x.dtype.itemsize
    far = w.bitcast(distance, unsigned(x.dtype))
    is_near = w.op("lt", far, w.number(bits, far.dtype))
    if name == "shift_right_arithmetic":
        signed = w.bitcast(x, np.dtype(f"i{x.dtype.itemsize}"))
        places = w.select(is_near, far, w.number(bits - 1, far.dtype))
        moved = w.op("shift_right", signed, w.bitcast(places, signed.dtype))
        return w.bitcast(moved, x.dtype)
    word = w.bitcast(x, far.dtype)
    operation = "shift_left" if name == "shift_left" else "shift_right"
    moved = w.op(operation, word, w.select(is_near, far, w.number(0, far.dtype)))
    return w.bitcast(w.select(is_near, moved, w.number(0, far.dtype)), x.dtype)


def converted(w: Writer, x: Operand, dtype: DType) -> Operand:
    """`x` by value: floats are truncated and saturate, NaN is 0; integers wrap around."""
    if x.dtype == dtype:
        return x
    if dtype in PART_OF:
        given = [x, w.number(0, x.dtype)]
        if x.dtype in PART_OF:
            given = [w.op(part, x) for part in ("real", "imag")]
        return w.op("complex", *[w.convert(part, PART_OF[dtype]) for part in given])
    if x.dtype in PART_OF:
        return converted(w, w.op("real", x), dtype)
    if type(x) is Const and x.dtype.kind != "f":
        return Const(x.value.astype(dtype))
    if dtype == BOOL:
        return w.op("ne", x, w.number(0, x.dtype))
    if x.dtype.kind != "f" or dtype.kind == "f":
        return w.convert(x, dtype)
    info = np.iinfo(dtype)
    # The least integer and the one after the greatest are exact in every float.
    low, end = w.number(float(info.min), x.dtype), w.number(float(info.max + 1), x.dtype)
    is_low, is_high = w.op("lt", x, low), w.op("ge", x, end)
    is_nan = w.op("ne", x, x)
    outside = w.op("or", w.op("or", is_low, is_high), is_nan)
    inside = w.convert(w.select(outside, w.number(0, x.dtype), x), dtype)
    raised = w.select(is_low, w.number(info.min, dtype), inside)
    return w.select(is_high, w.number(info.max, dtype), raised)


def count_of_bits(w: Writer, x: Operand) -> Operand:
    """How many bits of an unsigned integer are set.

    Reference: Warren, "Hacker's Delight", 2nd edition, section 5-1.
    """
    bits = 8 * x.dtype.itemsize

    def mask(octet: int) -> Operand:
        return w.number(int.from_bytes([octet] * x.dtype.itemsize, "little"), x.dtype)

    def moved(x: Operand, distance: int) -> Operand:
        return w.op("shift_right", x, w.number(distance, x.dtype))

    pairs = w.op("sub", x, w.op("and", moved(x, 1), mask(0x55)))
    nibbles = w.op("add", w.op("and", pairs, mask(0x33)), w.op("and", moved(pairs, 2), mask(0x33)))
    octets = w.op("and", w.op("add", nibbles, moved(nibbles, 4)), mask(0x0F))
    return moved(w.op("mul", octets, mask(0x01)), bits - 8)


def count_of_leading_zeros(w: Writer, x: Operand) -> Operand:
    """How many bits of an unsigned integer are zero above the highest that is set."""
    bits = 8 * x.dtype.itemsize
    distance = 1
    while distance < bits:
        x = w.op("or", x, w.op("shift_right", x, w.number(distance, x.dtype)))
        distance *= 2
    return w.op("sub", w.number(bits, x.dtype), count_of_bits(w, x))


def logistic(w: Writer, x: Operand) -> Operand:
    """1 / (1 + e⁻ˣ)."""
    one = w.number(1, x.dtype)
    return w.op("div", one, w.op("add", one, w.op("exp", w.op("neg", x))))


def sign(w: Writer, x: Operand) -> Operand:
    """−1, 0 or 1; of floats, 0 and NaN are themselves."""
    zero, one = w.number(0, x.dtype), w.number(1, x.dtype)
    if x.dtype.kind == "u":
        return w.op("min", x, one)
    below = w.select(w.op("lt", x, zero), w.number(-1, x.dtype), x)
    return w.select(w.op("gt", x, zero), one, below)


def next_after(w: Writer, x: Operand, y: Operand) -> Operand:
    """The neighbour of x in the direction of y, by its bits."""
    integers = np.dtype(f"i{x.dtype.itemsize}")
    bits, one = w.bitcast(x, integers), w.number(1, integers)
    zero = w.number(0, x.dtype)
    # Away from zero the bits count up, whatever the sign.
    away = w.op("eq", w.op("lt", x, y), w.op("gt", x, zero))
    step = w.bitcast(w.select(away, w.op("add", bits, one), w.op("sub", bits, one)), x.dtype)
    least = w.op("copysign", w.bitcast(one, x.dtype), y)
    moved = w.select(w.op("eq", x, zero), least, step)
    unordered = w.op("or", w.op("ne", x, x), w.op("ne", y, y))
    undefined = w.select(unordered, w.op("add", x, y), moved)
    return w.select(w.op("eq", x, y), y, undefined)


def rounded_to_format(w: Writer, x: Operand, exponent_bits: int, mantissa_bits: int) -> Operand:
    """The nearest number of a narrower float format, ties to even, by its bits.

    What is too large becomes infinite; what is below the normal numbers of the format becomes zero.
    """
    info, word = np.finfo(x.dtype), unsigned(x.dtype)

    def number(value: int) -> Const:
        return w.number(value, word)

    bits, sign_bit = w.bitcast(x, word), 1 << (info.bits - 1)
    magnitude = w.op("and", bits, number(sign_bit - 1))
    infinity = number(((1 << info.nexp) - 1) << info.nmant)
    rounded, dropped = magnitude, info.nmant - mantissa_bits
    if dropped > 0:
        last_kept = w.op("and", w.op("shift_right", magnitude, number(dropped)), number(1))
        half = w.op("add", number((1 << (dropped - 1)) - 1), last_kept)
        rounded = w.op("and", w.op("add", magnitude, half), number(-1 << dropped))
    if exponent_bits < info.nexp:
        bias, reach = (1 << (info.nexp - 1)) - 1, (1 << (exponent_bits - 1)) - 1
        exponent = w.op("shift_right", rounded, number(info.nmant))
        rounded = w.select(w.op("gt", exponent, number(bias + reach)), infinity, rounded)
        rounded = w.select(w.op("le", exponent, number(bias - reach)), number(0), rounded)
    signed = w.op("or", rounded, w.op("and", bits, number(sign_bit)))
    is_nan = w.op("gt", magnitude, infinity)
    return w.select(is_nan, x, w.bitcast(signed, x.dtype))


def ordered_bits(w: Writer, x: Operand) -> Operand:
    """Signed integers in the total order of floats; other numbers as they are."""
    if x.dtype.kind != "f":
        return x
    integers = np.dtype(f"i{x.dtype.itemsize}")
    bits = w.bitcast(x, integers)
    flipped = w.op("xor", bits, w.number(np.iinfo(integers).max, integers))
    return w.select(w.op("lt", bits, w.number(0, integers)), flipped, bits)


def log_of_sum(w: Writer, x: Operand, y: Operand) -> Operand:
    """log(eˣ + eʸ), which does not overflow."""
    difference = w.op("neg", w.op("fabs", w.op("sub", x, y)))
    smooth = w.op("add", w.op("max", x, y), w.op("log1p", w.op("exp", difference)))
    # Equal infinities have no difference.
    double = w.op("add", x, w.number(np.log(2.0), x.dtype))
    return w.select(w.op("eq", x, y), double, smooth)


def high_half(w: Writer, x: Operand, y: Operand) -> Operand:
    """The high half of the double-width product of integers.

    Reference: Warren, "Hacker's Delight", 2nd edition, section 8-2.
    """
    dtype, bits = x.dtype, 8 * x.dtype.itemsize
    if bits < 64:
        wide = np.dtype(f"{dtype.kind}8")
        product = w.op("mul", w.convert(x, wide), w.convert(y, wide))
        return w.convert(w.op("shift_right", product, w.number(bits, wide)), dtype)
    half, low_bits = w.number(32, dtype), w.number(0xFFFFFFFF, dtype)

    def low(x: Operand) -> Operand:
        return w.op("and", x, low_bits)

    def high(x: Operand) -> Operand:
        return w.op("shift_right", x, half)

    carry = shifted(w, "shift_right_logical", w.op("mul", low(x), low(y)), half)
    middle = w.op("add", w.op("mul", high(x), low(y)), carry)
    other = w.op("add", w.op("mul", low(x), high(y)), low(middle))
    total = w.op("add", w.op("mul", high(x), high(y)), high(middle))
    return w.op("add", total, high(other))
