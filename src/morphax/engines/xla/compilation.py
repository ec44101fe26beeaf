"""The call of the compiler, in one place, for whoever watches or forbids it.

Callers look it up in this module at each call: libraries put a function of theirs in its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...runtime.client import device_list
from ...runtime.interruptible import interruptible


def compile_and_load(
    client: Any, module: Any, devices: Sequence[Any], options: Any, **keywords: Any
) -> Any:
    """Have `client` compile a module of StableHLO for `devices`; what it gives is ready to run."""
    return interruptible(
        lambda: client.compile_and_load(module, device_list(*devices), options, **keywords)
    )


_ours = compile_and_load


def is_watched() -> bool:
    """Whether somebody's function is in the place of `compile_and_load`: it is to see programs."""
    return compile_and_load is not _ours
