"""Hyperbolic functions and their inverses."""

from __future__ import annotations

import numpy as np

from morphax import lax

from .op_case import COMPLEXES, FLOATS, INEXACT, OpCase, Operand

INSIDE = (Operand(low=-0.6, high=0.6),)

CASES = (
    OpCase("sinh", lax.sinh, np.sinh, dtypes=INEXACT),
    OpCase("cosh", lax.cosh, np.cosh, dtypes=INEXACT),
    OpCase("tanh", lax.tanh, np.tanh, (Operand(low=-1.2, high=1.2),), INEXACT),
    OpCase("tanh/large", lax.tanh, np.tanh, (Operand(low=-30, high=30),), FLOATS),
    OpCase("tanh/rank_0", lax.tanh, np.tanh, (Operand(()),)),
    OpCase("asinh", lax.asinh, np.arcsinh, INSIDE, INEXACT),
    OpCase("asinh/large", lax.asinh, np.arcsinh, (Operand(low=-50, high=50),), FLOATS),
    OpCase("acosh", lax.acosh, np.arccosh, (Operand(low=1.5, high=5),), FLOATS),
    OpCase("acosh/left", lax.acosh, np.arccosh, (Operand(low=-3, high=-1.5),), COMPLEXES),
    OpCase("acosh/right", lax.acosh, np.arccosh, (Operand(low=1.5, high=3),), COMPLEXES),
    OpCase("atanh", lax.atanh, np.arctanh, INSIDE, INEXACT),
)
