"""The call of the compiler, in one place, for whoever watches or forbids it.

Callers look it up in this module at each call: libraries put a function of theirs in its place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

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

changed_platforms: Final[Counter[str]] = Counter()
"""How many functions of the user change programs of a platform (`hlo_transformations`)."""


def is_watched() -> bool:
    """Whether a function of the user's is to see programs for the CPU.

    It is in the place of `compile_and_load`, or is called by the compiler.
    """
    return compile_and_load is not _ours or changed_platforms["cpu"] > 0
