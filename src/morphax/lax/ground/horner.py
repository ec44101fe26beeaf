"""Polynomials of known coefficients, in formulas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def polynomial(coefficients: Sequence[float], x: Any) -> Any:
    """The value at x by Horner's rule; the highest power comes first."""
    value: Any = coefficients[0]
    for coefficient in coefficients[1:]:
        value = value * x + coefficient
    return value
