"""The threads that share an eager operation on many numbers.

NumPy computes with one thread.  From `WORTH_SHARING` elements on, and of fewer in chains that have
taken long before, what is computed element by element is done in parts, by as many threads as the
process has processors, at most `_MOST`: beyond that memory is the limit.  Parts are taken by
whoever comes first, so threads that find no free processor delay nobody.  Results have the same
bits in parts as in one piece.

``MORPHAX_EAGER_THREADS`` in the environment sets another number; 1 divides nothing.  Programs that
XLA compiles have threads of their own.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from .compiled import part
from .messages import message

_VARIABLE = "MORPHAX_EAGER_THREADS"
_MOST = 8

_workers: Any = part("workers")
_many_numbers: Any = part("many_numbers")
WORTH_SHARING = 1 << 18 if _workers is None else int(_workers.worth_sharing)
"""Elements: to wake a thread takes as long as to compute fewer."""


def wanted_threads(setting: str | None, processors: int) -> int:
    """The number of threads for a value of the variable of the environment.

    Raises:
        ValueError: if it is not a positive integer.
    """
    if not setting:
        return min(processors, _MOST)
    if not setting.isdecimal() or int(setting) == 0:
        raise ValueError(
            message(
                f"environment variable {_VARIABLE}",
                given=repr(setting),
                expected="a positive integer: how many threads share a large eager operation",
                fix="Set it to 1 for none but the calling one, or leave it out.",
            )
        )
    return int(setting)


def num_threads() -> int:
    """How many threads share an operation; 1 where the twins work."""
    return 1 if _workers is None else int(_workers.num_threads())


def set_num_threads(wanted: int) -> None:
    """Let so many threads share operations, from now on."""
    if _workers is not None:
        _workers.set_num_threads(wanted)


def threads_for(elements: int) -> int:
    """How many threads share an operation on so many elements."""
    return num_threads() if elements >= WORTH_SHARING else 1


def shared(function: np.ufunc, avals: Sequence[Any]) -> Any:
    """A function of NumPy on operands of these types, by several threads.

    Args:
        function: comes back where it has no loop of these very dtypes.
        avals: of the operands.
    """
    if _many_numbers is None:
        return function
    return _many_numbers.divided(function, [aval.dtype.num for aval in avals]) or function


def shared_rows(operation: str, x: Any, axes: Sequence[int], twin: Any) -> Any:
    """`twin`, a reduction over `axes` of arrays as `x`, of many rows at a time, by several threads.

    Args:
        operation: of chains, without its dtype.
        x: the aval of the operand.
        axes: of it.
        twin: comes back where these are not the last axes, or rows are long.
    """
    kept = x.shape[: x.ndim - len(axes)]
    if _many_numbers is None or not x.size or sorted(axes) != list(range(len(kept), x.ndim)):
        return twin
    count = math.prod(x.shape[len(kept) :])
    name, dtype = f"{operation}_{x.dtype.name}", x.dtype.num
    return _many_numbers.reduced_rows(name, dtype, kept, count, twin) or twin


def processors() -> int:
    """On how many this process may run."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


set_num_threads(wanted_threads(os.environ.get(_VARIABLE), processors()))
