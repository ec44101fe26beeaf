"""Circular functions."""

from __future__ import annotations

import numpy as np

from morphax import lax

from .op_case import INEXACT, OpCase

CASES = (
    OpCase("sin", lax.sin, np.sin, dtypes=INEXACT),
    OpCase("cos", lax.cos, np.cos, dtypes=INEXACT),
)
