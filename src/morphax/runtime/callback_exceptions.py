"""What Python functions raise that compiled programs call.

XLA passes on only the text of what a function raises.  So the exception is kept under a number,
which that text shows, and is re-raised by whoever waits for the program (`failures`).
"""

from __future__ import annotations

import itertools
import re
import threading
from typing import final

# Exceptions of programs whose results nobody waits for are forgotten when there are so many.
_MOST_PENDING = 256


@final
class _Pending:
    """What callbacks raised, until it is re-raised."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._errors: dict[int, BaseException] = {}

    def keep(self, error: BaseException) -> str:
        """Keep an exception; the text by which it is found again."""
        with self._lock:
            number = next(self._numbers)
            self._errors[number] = error
            if len(self._errors) > _MOST_PENDING:
                del self._errors[min(self._errors)]
        return f"exception {number} of a callback of morphax"

    def take(self, text: str) -> BaseException | None:
        """The exception that `text` speaks of, `None` if it speaks of none."""
        found = re.search(r"exception (\d+) of a callback of morphax", text)
        if found is None:
            return None
        with self._lock:
            return self._errors.pop(int(found[1]), None)


_pending = _Pending()
keep_exception = _pending.keep
raised_in_callback = _pending.take
