"""Magnitude and sign."""

from __future__ import annotations

import numpy as np

from morphax import lax

from .op_case import COMPLEXES, FLOATS, INTEGERS, NUMBERS, OpCase, Operand

SIGNED = ("int8", "int16", "int32", "int64")

CASES = (
    OpCase("abs", lax.abs, np.abs, dtypes=FLOATS + SIGNED),
    OpCase("abs/complex", lax.abs, np.abs, dtypes=COMPLEXES),
    OpCase("abs/rank_0", lax.abs, np.abs, (Operand(()),)),
    OpCase("sign", lax.sign, np.sign, dtypes=FLOATS + INTEGERS, derivatives=1),
    OpCase("sign/complex", lax.sign, np.sign, dtypes=COMPLEXES),
    OpCase("sign/empty", lax.sign, np.sign, (Operand((3, 0)),), NUMBERS, derivatives=0),
    OpCase("nextafter", lax.nextafter, np.nextafter, (Operand(), Operand()),
           ("float32", "float64"), derivatives=0),
    OpCase("nextafter/scalar", lax.nextafter, np.nextafter, (Operand(), Operand(())),
           ("float64",), derivatives=0),
)  # fmt: skip
