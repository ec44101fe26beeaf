"""Operations of integers alone: counts of bits, and the high half of a product."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from ... import dtypes
from ...engines import loops
from ...engines.xla.stablehlo import Builder, Value
from ..ground.families import Piecewise, expanded
from ..ground.kinds import INTEGER
from ..ground.narrow import widened
from ..ground.operands import standardize
from .bitwise import integer_dtype


def _magnitude(x: Any) -> Any:
    """The bits of a NumPy array as an unsigned number."""
    return widened(x.view(integer_dtype("uint", x.dtype)))


class _CountOfBits(Piecewise):
    """Operations on the bits of an integer, whatever they stand for."""

    accepts = INTEGER

    def lower(self, b: Builder, out: Any, x: Value) -> Value:
        # XLA extends signs: of an int4, and of negative constants, it would count copies of them.
        unsigned = out.update(dtype=integer_dtype("uint", out.dtype))
        bits = b.op("stablehlo.bitcast_convert", unsigned, x)
        return b.op("stablehlo.bitcast_convert", out, b.op(self.stablehlo, unsigned, bits))


@final
class PopulationCount(_CountOfBits):
    """How many bits of x are set."""

    name = "population_count"
    compiled = True
    stablehlo = "stablehlo.popcnt"

    def evaluate(self, x: Any) -> Any:
        return np.bitwise_count(_magnitude(x)).astype(x.dtype)

    def scalar(self, w: loops.Writer, x: loops.Operand) -> loops.Operand:
        bits = w.bitcast(x, loops.scalars.unsigned(x.dtype))
        return w.bitcast(loops.scalars.count_of_bits(w, bits), x.dtype)


@final
class CountLeadingZeros(_CountOfBits):
    """How many bits of x are zero above the highest that is set."""

    name = "clz"
    compiled = True
    stablehlo = "stablehlo.count_leading_zeros"

    def evaluate(self, x: Any) -> Any:
        bits = dtypes.itemsize_bits(x.dtype)
        smeared = _magnitude(x)
        for distance in (1, 2, 4, 8, 16, 32):
            smeared = smeared | np.right_shift(smeared, smeared.dtype.type(distance))
        return (bits - np.bitwise_count(smeared)).astype(x.dtype)

    def scalar(self, w: loops.Writer, x: loops.Operand) -> loops.Operand:
        bits = w.bitcast(x, loops.scalars.unsigned(x.dtype))
        return w.bitcast(loops.scalars.count_of_leading_zeros(w, bits), x.dtype)


@final
class MulHi(Piecewise):
    """The high half of the double-width product of x and y."""

    name = "mulhi"
    accepts = INTEGER

    def evaluate(self, x: Any, y: Any) -> Any:
        bits = dtypes.itemsize_bits(x.dtype)
        wide = object if bits > 32 else np.uint64 if _is_unsigned(x.dtype) else np.int64
        return ((x.astype(wide) * y.astype(wide)) >> bits).astype(x.dtype)

    def lower(self, b: Builder, out: Any, x: Value, y: Value) -> Value:
        x, y = expanded(b, out.shape, (x, y))
        bits = dtypes.itemsize_bits(out.dtype)
        if bits > 32:
            return _high_half(b, out, x, y)
        wide = out.update(dtype=dtypes.dtype("uint64" if _is_unsigned(out.dtype) else "int64"))
        factors = [b.op("stablehlo.convert", wide, v) for v in (x, y)]
        product = b.elementwise("stablehlo.multiply", wide, *factors)
        distance = b.full(bits, wide)
        shifted = b.elementwise("stablehlo.shift_right_logical", wide, product, distance)
        return b.op("stablehlo.convert", out, shifted)

    def scalar(self, w: loops.Writer, x: loops.Operand, y: loops.Operand) -> loops.Operand:
        return loops.scalars.high_half(w, x, y)


def _is_unsigned(dtype: Any) -> bool:
    return dtypes.issubdtype(dtype, np.unsignedinteger)


def _high_half(b: Builder, out: Any, x: Value, y: Value) -> Value:
    """The high half of a product of 64-bit integers, by four products of 32-bit halves.

    Reference: Warren, "Hacker's Delight", 2nd edition, section 8-2.
    """

    def write(name: str, x: Value, y: Value) -> Value:
        return b.elementwise(f"stablehlo.{name}", out, x, y)

    half, low_bits = b.full(32, out), b.full(0xFFFFFFFF, out)
    shift = "shift_right_logical" if _is_unsigned(out.dtype) else "shift_right_arithmetic"
    x_low, x_high = write("and", x, low_bits), write(shift, x, half)
    y_low, y_high = write("and", y, low_bits), write(shift, y, half)
    carry = write("shift_right_logical", write("multiply", x_low, y_low), half)
    middle = write("add", write("multiply", x_high, y_low), carry)
    other = write("add", write("multiply", x_low, y_high), write("and", middle, low_bits))
    high = write("add", write("multiply", x_high, y_high), write(shift, middle, half))
    return write("add", high, write(shift, other, half))


population_count_p = PopulationCount()
clz_p = CountLeadingZeros()
mulhi_p = MulHi()


def population_count(x: Any) -> Any:
    """How many bits of each integer are set, in the dtype of `x`.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax import lax
        >>> lax.population_count(jnp.array([0, 1, 255], "uint8"))
        Array([0, 1, 8], dtype=uint8)
    """
    return population_count_p.bind(x)


def clz(x: Any) -> Any:
    """How many leading bits of each integer are zero, in the dtype of `x`.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax import lax
        >>> lax.clz(jnp.array([0, 1, 255], "uint8"))
        Array([8, 7, 0], dtype=uint8)
    """
    return clz_p.bind(x)


def mulhi(x: Any, y: Any, /) -> Any:
    """The high half of the double-width product, element by element.

    Args:
        x: integer array (...), or scalar.
        y: array of the dtype and shape of `x`, or scalar.

    Returns:
        Array (...) of the same dtype: ⌊x · y / 2ⁿ⌋ for an n-bit dtype.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.lax.mulhi(jnp.int8(100), jnp.int8(100))
        Array(39, dtype=int8)
    """
    return mulhi_p.bind(*standardize(x, y))
