"""Probabilities out of range, where the numbers that are drawn would not show it.

Most distributions answer a wrong parameter with NaN.  Those of truth values and integers cannot, so
values that are known are looked at before anything is drawn; compiled programs take what comes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..array import Array
from ..util.messages import message
from ._arguments import is_number


def check_probability(function: str, p: Any) -> None:
    """Raise `ValueError` for a number that is known and not in [0, 1].  Arrays are not read."""
    if is_number(p) or (type(p) is Array and not p.aval.shape):
        value = p if is_number(p) else p.to_host()
        if not 0 <= value <= 1:
            raise ValueError(
                message(
                    f"random.{function}, argument p",
                    given=f"{value}",
                    expected="a probability, in [0, 1]",
                    fix="Clip it, jnp.clip(p, 0, 1), if rounding moved it out of range.",
                )
            )


def check_weights(function: str, p: Any) -> None:
    """Raise `ValueError` for an array that is known and has negative numbers or NaN in it.

    Only ratios matter, so any sum will do, but 0.
    """
    if type(p) is not Array and not isinstance(p, np.ndarray):
        return
    values = np.asarray(p)
    if np.all(values >= 0) and (np.any(values) or not values.size):
        return
    raise ValueError(
        message(
            f"random.{function}, argument p",
            given=f"{values.tolist()!r:.80}",
            expected="probabilities, or numbers in proportion to them: ≥ 0, and not all 0",
            fix="Clip them, jnp.maximum(p, 0), if rounding made them negative.",
        )
    )
