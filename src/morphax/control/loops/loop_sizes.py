"""Numbers that users give to loops: bounds, steps in one, slices in one."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...core import aval_of
from ...lax.axes import counted, integer
from ...util.messages import message


def unrolled(unroll: Any, steps: int) -> int:
    """How many of `steps` steps one iteration of the compiled loop takes.

    Raises:
        TypeError: if `unroll` is neither a truth value nor an integer.
        ValueError: if it is negative.
    """
    if unroll is True:
        return max(steps, 1)
    number = integer("lax.scan, argument unroll", unroll)
    if number >= 0:
        return max(number, 1)
    raise ValueError(
        message(
            "lax.scan, argument unroll",
            given=f"{number}",
            expected="a number of steps that is not negative, or True for all",
            fix="Leave unroll out, or give the steps per iteration of the compiled loop.",
        )
    )


def batch_length(batch_size: Any) -> int:
    """How many slices `lax.map` computes together; 0 stands for one by one."""
    return counted("lax.map, argument batch_size", batch_size)


def check_bound(name: str, bound: Any) -> None:
    """Raise `TypeError` unless `bound` is an integer scalar."""
    aval = aval_of(bound)
    if aval.shape == () and dtypes.issubdtype(aval.dtype, np.integer):
        return
    raise TypeError(
        message(
            f"lax.fori_loop, argument {name}",
            given=f"{aval}",
            expected="an integer scalar",
            fix="Pass a Python int.",
        )
    )
