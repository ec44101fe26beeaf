"""How long a program for the native engine may be.

To judge a long program takes time, which XLA seldom takes longer to compile.  But XLA's time grows
with the square of the number of results that a program makes of the same operands: 1000 results
take 18 seconds, and half a second here.
"""

from __future__ import annotations

from typing import Final

_MOST_OPERATIONS: Final = 3000
_MOST_STATEMENTS: Final = 5000
_MANY_RESULTS: Final = 256
_LONGER_WITH_MANY: Final = 20


def most_operations(results: int) -> int:
    """Operations of a program with so many results: a longer one is not even translated."""
    return _MOST_OPERATIONS * _longer(results)


def most_statements(results: int) -> int:
    """Statements of the loop program with so many results."""
    return _MOST_STATEMENTS * _longer(results)


def _longer(results: int) -> int:
    return _LONGER_WITH_MANY if results >= _MANY_RESULTS else 1
