"""References that an operation with one program changes: their values are its last results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def handed_back(
    results: Sequence[Any], operands: Sequence[Any], changed: Sequence[int]
) -> list[Any]:
    """The results proper, after the last ones have become the values of changed references."""
    count = len(results) - len(changed)
    for i, value in zip(changed, results[count:], strict=True):
        operands[i].value = value
    return list(results[:count])
