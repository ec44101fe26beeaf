"""`jax.experimental.pjit`: `jax.jit` under the name it had for programs on several devices."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ..control.jit.jit import jit


def __getattr__(name: str) -> Callable[..., Any]:
    if name != "pjit":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    text = "jax.experimental.pjit.pjit is an old name; call jax.jit, which is the same"
    warnings.warn(text, DeprecationWarning, stacklevel=2)
    return jit
