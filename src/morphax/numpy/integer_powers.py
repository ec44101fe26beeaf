"""Powers of integers whose exponents are arrays, modulo 2ʷ: what w bits hold.

The lowest b = log₂ w bits of the exponent are multiplied out.  Of the others, m, there is left the
power s**m of s = x**(2ᵇ).  Where x is even and m ≥ 1, the exponent is at least w, and the power is
0.  Where x is odd, x² is 1 modulo 8, and each square after that doubles the modulus: s = 1 + u,
where u is a multiple of 2ᵇ⁺².  The binomial series

    (1 + u)**m = 1 + m u (1 + (m − 1) u/2 (1 + (m − 2) u/3 (1 + …)))

ends where (b + 2) k ≥ w: after 4 terms in 32 bits, 7 in 64.  Division by k = o 2ᶻ is multiplication
by the inverse of the odd o, and a shift by z, which loses the highest z bits; they are none of the
result's, for the factors before, which hold uᵏ⁻¹ / (k − 1)!, are a multiple of 2ᶻ (k > 1; z = 0
for k = 1).

So all exponents take the same few steps, without a loop that waits for the largest.  Negative ones
count as 2ʷ more, whose power is the inverse of an odd number.

Reference:
    N. Koblitz, "p-adic Numbers, p-adic Analysis, and Zeta-Functions", 2nd ed. 1984, chapter IV, for
    the series.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes, lax
from ..core import aval_of
from ..engines.reference.replay import replayed
from ..lax.elementwise.convert import convert
from ..lax.ground.linear_structure import broadcast_to
from .of_numpy import integer_power_of_numpy
from .operands import BOOL, as_array

_INT32 = np.dtype(np.int32)


@replayed(2, by_numpy=integer_power_of_numpy)
def integer_power(x: Any, y: Any) -> Any:
    """x to the power y, of integers of one dtype, or of booleans, which are raised as int32."""
    dtype = _INT32 if aval_of(x).dtype == BOOL else aval_of(x).dtype
    shape = lax.broadcast_shapes(aval_of(x).shape, aval_of(y).shape)
    x, y = (convert(broadcast_to(as_array("power", v), shape), dtype) for v in (x, y))
    bits = dtypes.iinfo(dtype).bits
    lowest = bits.bit_length() - 1
    power, square = _of_lowest_bits(x, y, lowest)
    rest = lax.shift_right_logical(y, _number(y, lowest))
    is_odd = lax.ne(lax.bitwise_and(x, _number(x, 1)), _number(x, 0))
    is_finished = lax.eq(rest, _number(y, 0))
    series = _series(lax.sub(square, _number(x, 1)), rest, lowest + 2, bits)
    vanishing = lax.full_like(x, 0)
    return lax.select(lax.bitwise_or(is_odd, is_finished), lax.mul(power, series), vanishing)


def _number(x: Any, value: int) -> Any:
    """A value modulo 2ʷ, like `x`."""
    dtype = aval_of(x).dtype
    info = dtypes.iinfo(dtype)
    value %= 1 << info.bits
    return lax.full_like(x, dtype.type(value if value <= info.max else value - (1 << info.bits)))


def _of_lowest_bits(x: Any, y: Any, count: int) -> tuple[Any, Any]:
    """x to the power of the lowest bits of y, and to the power 2 ** `count`."""
    power, square = lax.full_like(x, 1), x
    for place in range(count):
        is_set = lax.ne(lax.bitwise_and(y, _number(y, 1 << place)), _number(y, 0))
        power = lax.select(is_set, lax.mul(power, square), power)
        square = lax.mul(square, square)
    return power, square


def _series(u: Any, m: Any, twos: int, bits: int) -> Any:
    """(1 + u)**m for multiples u of 2 ** `twos`; 1 where m = 0, whatever u is."""
    one = lax.full_like(u, 1)
    total = one
    for k in reversed(range(1, (bits - 1) // twos + 1)):
        shift = (k & -k).bit_length() - 1
        part = lax.shift_right_logical(u, _number(u, shift)) if shift else u
        inverse = pow(k >> shift, -1, 1 << bits)
        part = part if inverse == 1 else lax.mul(part, _number(u, inverse))
        total = lax.add(one, lax.mul(lax.mul(lax.sub(m, _number(m, k - 1)), part), total))
    return total
