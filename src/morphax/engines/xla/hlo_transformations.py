"""Python functions that XLA calls while it compiles, to change programs: jaxlib from 0.10.2 on.

What is compiled under them is not what the module's text says, so the compile cache is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from ...runtime.client import client, jaxlib_module, plugin_interface
from ...util.messages import message
from .compilation import changed_platforms

_registered: Counter[tuple[str, str, int]] = Counter()


def register(
    platform: str, name: str, stage: int, callback: Callable[[bytes], bytes | None]
) -> None:
    """Have XLA call `callback` for all programs of a platform.

    Args:
        platform: the platform.
        name: of the transformation.
        stage: 0 before XLA orders the operations, 1 after that.
        callback: a serialised HLO module → one in its place, `None` to keep it.
    """
    functions = _functions()
    if platform == "cpu":
        functions.register_xla_transform(name, stage, callback)
    else:
        client(platform)
        functions.register_xla_transform_c_api(plugin_interface(platform), name, stage, callback)
    _registered[platform, name, stage] += 1
    changed_platforms[platform] += 1


def clear(platform: str, name: str, stage: int) -> bool:
    """Undo one registration; whether there was one."""
    functions = _functions()
    if not _registered[platform, name, stage]:
        return False
    _registered[platform, name, stage] -= 1
    changed_platforms[platform] -= 1
    if platform == "cpu":
        return bool(functions.clear_xla_transform(name, stage))
    return bool(functions.clear_xla_transform_c_api(plugin_interface(platform), name, stage))


def _functions() -> Any:
    try:
        return jaxlib_module("_xla")
    except ImportError:
        raise NotImplementedError(
            message(
                "transformations of HLO modules",
                given="a jaxlib that cannot call Python while it compiles",
                expected="jaxlib 0.10.2 or later",
                fix="Use Python 3.12 or later, for which morphax stands on jaxlib 0.12.",
            )
        ) from None
