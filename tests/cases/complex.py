"""Complex numbers: parts, pairs and conjugates."""

from __future__ import annotations

import numpy as np

from morphax import lax

from .op_case import COMPLEXES, OpCase, Operand

PARTS = ("float32", "float64")

CASES = (
    OpCase("real", lax.real, np.real, dtypes=COMPLEXES),
    OpCase("real/rank_0", lax.real, np.real, (Operand(()),), COMPLEXES),
    OpCase("imag", lax.imag, np.imag, dtypes=COMPLEXES),
    OpCase("complex", lax.complex, lambda x, y: x + 1j * y, (Operand(), Operand()), PARTS),
    OpCase("complex/scalar", lax.complex, lambda x, y: x + 1j * y, (Operand(), Operand(())), PARTS),
    OpCase("conj", lax.conj, np.conj, dtypes=COMPLEXES),
    OpCase("conj/of_real", lax.conj, lambda x: np.conj(x + 0j), dtypes=PARTS),
    OpCase("conj/empty", lax.conj, np.conj, (Operand((0, 2)),), COMPLEXES),
)
