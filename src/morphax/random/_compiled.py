"""Samplers that loop, which eager mode compiles as a whole.

A sampler by rejection is a loop whose number of steps the numbers decide.  Operation by operation,
each step would cost as much as the whole compiled sampler does.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from ..control.jit.jit import jit
from ..core import current_trace

F = TypeVar("F", bound=Callable[..., Any])
_STATIC = frozenset({"shape", "dtype", "integer", "log_space", "unroll"})


def compiled(function: F) -> F:
    """Compile eager calls of a sampler; programs that are staged take up its operations.

    Args:
        function: its parameters are arrays, but for those of the names in `_STATIC`.
    """
    names = [name for name in inspect.signature(function).parameters if name in _STATIC]
    jitted = jit(function, static_argnames=names, inline=True)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return (function if current_trace().stages else jitted)(*args, **kwargs)

    return call  # type: ignore[return-value]
