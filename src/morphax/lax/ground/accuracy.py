"""What callers may ask of the accuracy of elementary functions.

Modes and bounds change nothing, for both engines compute as accurately as they can; anything else
is refused.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, final

from ...util.messages import described, message
from ...util.records import dataclass


class AccuracyMode(Enum):
    """How accurate an elementary function should be, in words."""

    HIGHEST = 1
    DEFAULT = 2


@final
@dataclass(frozen=True, slots=True)
class Tolerance:
    """How accurate an elementary function should be, as bounds on the error.

    Args:
        atol: bound on the absolute error.
        rtol: bound on the relative error.
        ulps: bound on the error in units in the last place.

    Raises:
        ValueError: a bound is negative, or all are zero.

    Example:
        >>> import morphax as jax
        >>> jax.lax.exp(0.0, accuracy=jax.lax.Tolerance(rtol=1e-6))
        Array(1., dtype=float32, weak_type=True)
    """

    atol: float = 0.0
    rtol: float = 0.0
    ulps: int = 0

    def __post_init__(self) -> None:
        bounds = (self.atol, self.rtol, self.ulps)
        if min(bounds) < 0 or max(bounds) <= 0:
            raise ValueError(
                message(
                    "lax.Tolerance",
                    given=f"atol={self.atol}, rtol={self.rtol}, ulps={self.ulps}",
                    expected="bounds that are not negative, at least one of them positive",
                    fix="Give atol, rtol or ulps, or leave the accuracy to the engine.",
                )
            )


def check_accuracy(where: str, accuracy: Any) -> None:
    """Raise `NotImplementedError` unless `accuracy` is a mode or bounds."""
    if not isinstance(accuracy, (AccuracyMode, Tolerance)):
        raise NotImplementedError(
            message(
                f"{where}, argument accuracy",
                given=described(accuracy),
                expected="None, a lax.AccuracyMode or a lax.Tolerance",
                fix="Leave it out: functions are computed as accurately as the engine can.",
            )
        )
