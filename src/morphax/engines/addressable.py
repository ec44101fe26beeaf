"""What is too large for any memory, which every engine refuses in the same words.

NumPy multiplies sizes with wraparound in places, and gives an array of no elements; XLA ends the
process.
"""

from __future__ import annotations

from typing import Any, Final

from ..util.messages import message

_MOST_BYTES: Final = 2**63 - 1


def check_addressable(where: str, aval: Any, size: int) -> None:
    """Raise `ValueError` if an array of `size` bytes has more than can be counted."""
    if size > _MOST_BYTES:
        raise ValueError(
            message(
                where,
                given=f"an array of type {aval.str_short()}",
                expected="arrays of less than 2**63 bytes",
                fix="Use smaller arrays, or compute the large one in parts, as lax.map does.",
            )
        )
