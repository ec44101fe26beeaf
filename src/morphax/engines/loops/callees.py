"""Functions that loop programs call: of Python's, and of native code."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from traceback import walk_tb
from typing import Any, NamedTuple, final

import numpy as np

Declared = tuple[np.dtype[Any], tuple[int, ...]]


@final
class Callee(NamedTuple):
    """A function of arrays, which it may not keep.

    Args:
        function: returns arrays that lie row by row.
        operands, results: their dtypes and shapes.
    """

    function: Callable[..., Sequence[np.ndarray[Any, Any]]]
    operands: tuple[Declared, ...]
    results: tuple[Declared, ...]


@final
class Routine(NamedTuple):
    """A function of native code, of pointers to operands and results in a row, and of numbers.

    Args:
        name: of it, in texts of programs.
        numbers: integers that it is given besides.
        nanoseconds: that it takes.
    """

    name: str
    numbers: tuple[int, ...]
    nanoseconds: int


@final
class Callees:
    """The functions that a program calls, as machine code calls them.

    Args:
        callees: the functions.
    """

    def __init__(self, callees: Sequence[Callee]) -> None:
        self._callees = tuple(callees)

    def __call__(self, number: int, memory: int) -> None:
        """Call a function; at `memory` are pointers to its operands, and behind them its results.

        No view of this memory outlives the call, not even in the frames of an exception.
        """
        function, operands, results = self._callees[number]
        places = (ctypes.c_void_p * (len(operands) + len(results))).from_address(memory)
        given = [_array_at(places[i], x).copy() for i, x in enumerate(operands)]
        made = function(*given)
        for i, (x, array) in enumerate(zip(results, made, strict=True), len(operands)):
            np.copyto(_array_at(places[i], x), array, casting="no")


def has_passed_callees(error: BaseException) -> bool:
    """Whether a function that a program has called has raised it, and not the program itself."""
    frames = walk_tb(error.__traceback__)
    return any([frame.f_code is Callees.__call__.__code__ for frame, _ in frames])


def _array_at(address: int | None, declared: Declared) -> np.ndarray[Any, Any]:
    """The array that lies at an address."""
    dtype, shape = declared
    count = math.prod(shape)
    if not count:
        return np.empty(shape, dtype)
    assert address is not None, "memory of a program"
    memory: Any = (ctypes.c_char * (count * dtype.itemsize)).from_address(address)
    return np.frombuffer(memory, dtype).reshape(shape)
