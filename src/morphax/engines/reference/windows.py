"""Windows of an array that start where numbers say: what reads or writes them, for few numbers.

Gathers, scatters and dynamic slices are this.  `small_programs.py` makes a step of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

import numpy as np

from ...util.records import dataclass

Tables = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]

STARTS = frozenset(map(np.dtype, ("int32", "int64")))
"""The dtypes of numbers that say where windows start."""


@final
@dataclass(frozen=True)
class Windows:
    """Elements of an array, the first operand, that are taken or replaced.

    Args:
        starts: the operands that say, window by window and in one dtype of `STARTS`, where windows
            start.
        updates: the operand that replaces elements or is combined with them; None if they are
            taken.
        combine: of two elements, ``"add"``, ``"sub"`` or ``"mul"``; None if updates replace.
        limits: the largest start along each axis.
        strides: the elements from one start to the next.
        moves: whether windows that leave the array are moved inside; if not they are not written,
            or `fill` is taken.
        fill: a number of the array's dtype.
        tables: makes, for each element of the result or of the updates, its place if windows start
            at 0, and the number of its window.
    """

    starts: tuple[int, ...]
    updates: int | None
    combine: str | None
    limits: tuple[int, ...]
    strides: tuple[int, ...]
    moves: bool
    fill: Any
    tables: Callable[[], Tables]
