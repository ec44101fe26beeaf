"""Powers and roots."""

from __future__ import annotations

from typing import Any

import numpy as np

from morphax import lax

from .op_case import FLOATS, INEXACT, INTEGERS, NUMBERS, OpCase, Operand

POSITIVE = (Operand(low=0.5, high=3),)
EXPONENT = Operand(low=-2, high=3)
WHOLE_EXPONENT = Operand(low=-2, high=3, dtype="int32")


def integer_pow_case(y: int, dtypes: tuple[str, ...], **options: Any) -> OpCase:
    return OpCase(
        f"integer_pow/{y}",
        lambda x: lax.integer_pow(x, y),
        lambda x: x**y,
        (Operand(low=0.5, high=2) if y < 0 else Operand(),),
        dtypes,
        **options,
    )


CASES = (
    OpCase("square", lax.square, np.square, dtypes=NUMBERS),
    *[integer_pow_case(y, NUMBERS) for y in (0, 1, 2, 3)],
    # Seven roundings in the dtype itself.
    integer_pow_case(7, NUMBERS, tolerance=4),
    *[integer_pow_case(y, INEXACT) for y in (-1, -2)],
    integer_pow_case(-5, INEXACT, tolerance=4),
    OpCase("reciprocal", lax.reciprocal, np.reciprocal, POSITIVE, INEXACT),
    OpCase("pow", lax.pow, np.power, (*POSITIVE, EXPONENT), INEXACT),
    OpCase("pow/scalar", lax.pow, np.power, (*POSITIVE, Operand((), -2, 3))),
    OpCase("pow/scalar_first", lax.pow, np.power, (Operand((), 0.5, 3), EXPONENT)),
    OpCase("pow/number", lambda x: lax.pow(x, 2.5), lambda x: x**2.5, POSITIVE, INEXACT),
    OpCase("pow/whole", lax.pow, lambda x, y: x**y, (Operand(), WHOLE_EXPONENT), FLOATS),
    OpCase("pow/whole_number", lambda x: lax.pow(x, 3), lambda x: x**3, dtypes=FLOATS),
    OpCase("sqrt", lax.sqrt, np.sqrt, POSITIVE, INEXACT),
    OpCase("sqrt/rank_0", lax.sqrt, np.sqrt, (Operand((), 0.5, 3),)),
    OpCase("rsqrt", lax.rsqrt, lambda x: 1 / np.sqrt(x), POSITIVE, INEXACT),
    OpCase("cbrt", lax.cbrt, np.cbrt, POSITIVE, FLOATS),
    OpCase("cbrt/negative", lax.cbrt, np.cbrt, (Operand(low=-3, high=-0.5),), FLOATS),
    OpCase("one_minus_square", lax.one_minus_square, lambda x: 1 - x * x, dtypes=NUMBERS),
    OpCase(
        "polynomial",
        lambda x, a, b: lax.polynomial(x, [a, b, 3, 1, 2]),
        lambda x, a, b: a + b * x + 3 * x**2 + x**3 + 2 * x**4,
        (Operand(), Operand(), Operand((1, 4))),
        dtypes=INEXACT,
    ),
    OpCase("square/integer", lax.square, np.square, (Operand(low=-100, high=100),), INTEGERS),
)
