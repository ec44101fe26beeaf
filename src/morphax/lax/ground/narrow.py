"""Narrow dtypes: the reference engine computes them in wider ones and rounds once.

NumPy has no arithmetic of its own for bfloat16, the 8-bit floats and the 2- and 4-bit integers, and
functions made of several steps would round after each.  Results are those of XLA: float32 holds
more than twice the digits of the narrow floats, so rounding twice is innocuous for the four basic
operations and the square root; wider integers wrap around to the same low bits.

Reference: Figueroa, "When is double rounding innocuous?", ACM SIGNUM Newsletter 30 (1995).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes

_HOME = {np.floating: np.float32, np.signedinteger: np.int8, np.unsignedinteger: np.uint8}

COMPUTED_IN: dict[Any, np.dtype[Any]] = {
    dtype: np.dtype(_HOME[row.kind])
    for dtype, row in dtypes.SCALARS.items()
    if (row.kind is np.floating and row.bits < 32)
    or (row.kind in (np.signedinteger, np.unsignedinteger) and row.bits < 8)
}
"""Each narrow dtype with the dtype that NumPy computes in."""


def widened(x: Any) -> Any:
    """`x` in the dtype to compute in."""
    wide = COMPUTED_IN.get(x.dtype)
    return x if wide is None else x.astype(wide)
