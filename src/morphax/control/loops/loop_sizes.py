"""Numbers that users give to loops: bounds, steps in one, slices in one."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...core import Operand, aval_of
from ...lax.ground.axes import counted, integer
from ...util.messages import message


def unrolled(unroll: object, steps: int) -> int:
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


def batch_length(batch_size: object) -> int:
    """How many slices `lax.map` computes together; 0 stands for one by one."""
    return counted("lax.map, argument batch_size", batch_size)


def check_bounds(lower: Operand, upper: Operand) -> None:
    """Raise `TypeError` unless the bounds are integer scalars, of one dtype where it counts."""
    first, last = _bound("lower", lower), _bound("upper", upper)
    if first.dtype == last.dtype or first.weak_type or last.weak_type:
        return
    raise TypeError(
        message(
            "lax.fori_loop, arguments lower and upper",
            given=f"{first} and {last}",
            expected="bounds of one integer dtype: a counter of one may not reach the other",
            fix="Convert one of them with astype, or pass Python ints.",
        )
    )


def _bound(name: str, bound: Operand) -> Any:
    aval = aval_of(bound)
    if aval.shape == () and dtypes.issubdtype(aval.dtype, np.integer):
        return aval
    raise TypeError(
        message(
            f"lax.fori_loop, argument {name}",
            given=f"{aval}",
            expected="an integer scalar",
            fix="Pass a Python int.",
        )
    )
