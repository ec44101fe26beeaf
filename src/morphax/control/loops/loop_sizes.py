"""Numbers that users give to loops: bounds, steps in one, slices in one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ... import dtypes, tree
from ...core import Operand, aval_of
from ...core.dims import Dim, SymbolicDim
from ...lax.ground.axes import counted, integer, integer_or_size
from ...util.messages import message

MOST_DIMENSIONS: Final = 64
"""Of an array of NumPy's, which is what an array outside of programs lies in."""


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


def leaf_names(root: str, value: Any) -> Sequence[str]:
    """The paths of the leaves of an argument, for error text."""
    return [root + tree.keystr(path) for path, _ in tree.leaves_with_path(value)]


def scan_length(xs: Any, leaves: Sequence[Any], length: int | None, where: str = "lax.scan") -> Dim:
    """The number of steps of a scan; `ValueError` unless leaves and `length` agree on it."""
    sizes = [aval_of(x).shape[0] if aval_of(x).shape else None for x in leaves]
    if length is not None:
        length = integer_or_size(f"{where}, argument length", length)
    given = {*sizes, *([] if length is None else [length])}
    if len(given) == 1 and None not in given and (length is None or length >= 0):
        size = given.pop()
        return size if type(size) is SymbolicDim else int(size)  # type: ignore[arg-type]
    named = zip(leaf_names("xs", xs), leaves, strict=True)
    shapes = ", ".join(f"{name}: {aval_of(x).str_short()}" for name, x in named)
    if not leaves:
        fix = "Pass length=, the number of steps."
    elif None in sizes:
        fix = "Give each array in xs an axis of steps; for n steps without xs, pass None, length=n."
    else:
        fix = "Give every array in xs the same leading size, equal to length if that is given."
    raise ValueError(
        message(
            f"{where}, argument xs" if where == "lax.map" else f"{where}, arguments xs and length",
            given=f"{shapes or 'no arrays'}; length={length}",
            expected="arrays with leading axes of one size, or a length that is not negative",
            fix=fix,
        )
    )


def check_stackable(slices: Sequence[Any]) -> None:
    """Raise `ValueError` if such arrays, one for each step, make an array that memory cannot be."""
    most = max([aval.ndim for aval in slices], default=0)
    if most >= MOST_DIMENSIONS:
        raise ValueError(
            message(
                "lax.scan outside of jit",
                given=f"a result of {most + 1} dimensions, which loops within loops stack",
                expected=f"at most {MOST_DIMENSIONS}, as many as NumPy's arrays have",
                fix="Put jit around the outermost function: within a program there is no bound.",
            )
        )
