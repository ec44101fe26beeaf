"""Functions with the digits of float32 in formulas of float64: they take a part of the time."""

from __future__ import annotations

import math
from typing import Any


def log_of_single(m: Any, x: Any) -> Any:
    """log x."""
    return m.in_single(lambda n, x: n.log(x), x)


def log1p_of_single(m: Any, x: Any) -> Any:
    """log(1 + x)."""
    return m.in_single(lambda n, x: n.log1p(x), x)


def exp_of_single(m: Any, x: Any) -> Any:
    """eˣ, where x has the digits of float64."""
    # Of e⁻⁶⁰ and less, which may be denormal in float32, the power is computed e⁶⁰ times as large.
    is_small = x < -60.0
    above = m.where(is_small, x + 60.0, x)
    rest = above - m.in_single(lambda n, x: x, above)
    power = m.in_single(lambda n, x: n.exp(x), above) * (1.0 + rest)
    return power * m.where(is_small, math.exp(-60.0), 1.0)
