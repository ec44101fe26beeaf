"""The identity that the compiler does not see through."""

from __future__ import annotations

from morphax import lax

from .op_case import ALL, OpCase, Operand

TWO = (Operand(), Operand())

CASES = (
    OpCase("optimization_barrier", lax.optimization_barrier, lambda x: x, dtypes=ALL),
    OpCase(
        "optimization_barrier/two",
        lambda x, y: lax.mul(*lax.optimization_barrier((x, y))),
        lambda x, y: x * y,
        TWO,
    ),
)
