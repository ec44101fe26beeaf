"""Samplers that loop, which eager mode compiles as a whole.

A sampler by rejection is a loop whose number of steps the numbers decide.  Operation by operation,
each step would cost as much as the whole compiled sampler does.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ..control.jit.jit import jit
from ..core import current_trace

F = TypeVar("F", bound=Callable[..., Any])
_STATIC = frozenset({"shape", "dtype", "integer", "log_space", "unroll", "out_sharding"})
# Integers of any size are parameters, but not operands of a program.
_SMALL = range(128)


def compiled(function: F) -> F:
    """Compile eager calls of a sampler; programs that are staged take up its operations.

    What cannot be an argument of a compiled function, such as a shape that is a list, the function
    itself is given; it makes its arguments canonical and calls a compiled one.

    Args:
        function: its parameters are arrays, but for those of the names in `_STATIC`.
    """
    names = [name for name in inspect.signature(function).parameters if name in _STATIC]
    jitted = jit(function, static_argnames=names, inline=True)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if current_trace().stages or not all(map(_fits, (*args, *kwargs.values()))):
            return function(*args, **kwargs)
        return jitted(*args, **kwargs)

    return call  # type: ignore[return-value]


def _fits(x: Any) -> bool:
    kind = type(x)
    return kind is not list and kind is not np.ndarray and (kind is not int or x in _SMALL)
