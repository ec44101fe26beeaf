"""How long a program for the native engine may be, and a loop for one thread.

To compile a program takes time and memory in proportion to its length, and less than XLA takes in
every case that was measured, which is superlinear in many.  Beyond this bound nothing was measured.
"""

from __future__ import annotations

from typing import Final

MOST_OPERATIONS: Final = 200_000
"""A program of more operations is not even translated."""

MOST_STATEMENTS: Final = 400_000
"""The same of statements of the loop program."""

WORTH_DIVIDING: Final = 5e4
"""A loop that is expected to take so many nanoseconds is made by several threads."""
