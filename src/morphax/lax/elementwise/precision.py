"""Giving up precision without changing the dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

import numpy as np

from ... import dtypes
from ...core import ShapedArray
from ...engines import loops
from ...engines.reference.fusion import dtype_name, single_operation
from ...engines.xla.stablehlo import Builder, Value
from ...util.messages import message
from ..ground.axes import integer
from ..ground.families import LinearElementwise
from ..ground.kinds import FLOATING


@final
class ReducePrecision(LinearElementwise):
    """The nearest number with `exponent_bits` and `mantissa_bits`, in the dtype of the operand."""

    name = "reduce_precision"
    accepts = FLOATING
    linear_sets = ()  # the sum of rounded numbers is not rounded
    narrow_in_loops = "refused"

    def abstract_eval(self, x: Any, *, exponent_bits: int, mantissa_bits: int) -> ShapedArray:
        if exponent_bits < 1 or mantissa_bits < 0:
            raise ValueError(
                message(
                    "lax.reduce_precision",
                    given=f"exponent_bits={exponent_bits}, mantissa_bits={mantissa_bits}",
                    expected="at least 1 exponent bit and at least 0 mantissa bits",
                    fix="Use the widths of a float format, for instance 8 and 7 for bfloat16.",
                )
            )
        return super().abstract_eval(x)

    def evaluate(self, x: Any, *, exponent_bits: int, mantissa_bits: int) -> Any:
        return rounded_to_format(x, exponent_bits, mantissa_bits)

    def kernel(
        self, x: Any, *, exponent_bits: int, mantissa_bits: int
    ) -> Callable[..., Any] | None:
        # More bits than float32 has change nothing.
        formats = min(exponent_bits, 8), min(mantissa_bits, 23)
        return single_operation(f"{self.name}_{dtype_name(x.dtype)}", [x], formats)

    def fused(self, *avals: Any, **params: Any) -> str | None:
        return None  # the widths are no operands

    def lower(
        self, b: Builder, out: Any, x: Value, *, exponent_bits: int, mantissa_bits: int
    ) -> Value:
        return b.op(
            "stablehlo.reduce_precision",
            out,
            x,
            exponent_bits=f"{exponent_bits} : i32",
            mantissa_bits=f"{mantissa_bits} : i32",
        )

    def loop_cost(self, **params: Any) -> int:
        return 6

    def scalar(
        self, w: loops.Writer, x: loops.Operand, *, exponent_bits: int, mantissa_bits: int
    ) -> loops.Operand:
        return loops.scalars.rounded_to_format(w, x, exponent_bits, mantissa_bits)

    def transpose_x(self, ct: Any, x: Any, **params: Any) -> Any:
        return self.bind(ct, **params)


def rounded_to_format(x: Any, exponent_bits: int, mantissa_bits: int) -> Any:
    """`x` rounded, ties to even, to a narrower float format.

    What is too large becomes infinite; what is below the normal numbers of the format becomes zero.
    """
    info = dtypes.finfo(x.dtype)
    bits = x.view(f"u{x.dtype.itemsize}")
    word, sign_bit = bits.dtype.type, 1 << (info.bits - 1)
    magnitude = bits & word(sign_bit - 1)
    infinity = word(((1 << info.nexp) - 1) << info.nmant)
    rounded = magnitude
    dropped = info.nmant - mantissa_bits
    if dropped > 0:
        last_kept = (magnitude >> word(dropped)) & word(1)
        rounded = (magnitude + word((1 << (dropped - 1)) - 1) + last_kept) & ~word(
            (1 << dropped) - 1
        )
    if exponent_bits < info.nexp:
        bias, reach = (1 << (info.nexp - 1)) - 1, (1 << (exponent_bits - 1)) - 1
        exponent = rounded >> word(info.nmant)
        rounded = np.where(exponent > word(bias + reach), infinity, rounded)
        rounded = np.where(exponent <= word(bias - reach), word(0), rounded)
    result = (rounded | (bits & word(sign_bit))).astype(bits.dtype, copy=False).view(x.dtype)
    return np.where(magnitude > infinity, x, result)


reduce_precision_p = ReducePrecision()


def reduce_precision(operand: Any, exponent_bits: int, mantissa_bits: int) -> Any:
    """`operand` rounded to a narrower float format, ties to even, in its own dtype.

    Args:
        operand: array (...) of floating dtype.
        exponent_bits: of the format, at least 1.
        mantissa_bits: of the format, without the implicit leading bit.

    Returns:
        Array (...) of the dtype of `operand`; overflow gives infinity, underflow zero.

    Raises:
        ValueError: a width is too small.

    Example:
        >>> import morphax as jax
        >>> jax.lax.reduce_precision(1.2345, exponent_bits=5, mantissa_bits=3)
        Array(1.25, dtype=float32, weak_type=True)
    """
    return reduce_precision_p.bind(
        operand,
        exponent_bits=integer("lax.reduce_precision, argument exponent_bits", exponent_bits),
        mantissa_bits=integer("lax.reduce_precision, argument mantissa_bits", mantissa_bits),
    )
