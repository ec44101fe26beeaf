"""What is left of an array whose memory was given up."""

from __future__ import annotations

from typing import Any, final

from ..util.frames import UserFrame
from ..util.messages import message
from ..util.records import dataclass


# Not frozen: one is made by each call that donates, and twice as fast so.
@final
@dataclass(slots=True, eq=False)
class Deleted:
    """Why the memory of an array is gone.

    Args:
        why: the reason, a text or an object with one.
        frame: the user's line that deleted it.
    """

    why: object
    frame: UserFrame | None

    def error(self, aval: Any) -> RuntimeError:
        """The error to raise when the numbers are asked for."""
        place = f", at {self.frame}" if self.frame is not None else ""
        return RuntimeError(
            message(
                "use of a deleted array",
                given=f"{aval.str_short()}, deleted because {self.why}{place}",
                expected="an array that still has its memory",
                fix="Use the result of that call instead, do not donate the argument, or keep "
                "a copy.",
            )
        )
