"""The guard of arrays that only the collector of reference cycles frees, later than need be.

jaxlib notices it, for each buffer, and asks a setting of the thread that collects.  Once a program
has set the option, that setting is brought up to date whenever a collection begins.
"""

from __future__ import annotations

import gc
from typing import Any

from ..config import current as current_config
from ..config.state import at_first_setting
from ..util.garbage import at_start_of_collection


def guard_collected_arrays(guards: Any) -> None:
    """Have jaxlib follow ``jax_array_garbage_collection_guard``.

    Args:
        guards: the module of jaxlib that has the setting.
    """
    level = guards.GarbageCollectionGuardLevel
    levels = {None: None, "allow": level.ALLOW, "log": level.LOG, "fatal": level.FATAL}

    def follow() -> None:
        chosen = levels[current_config().array_garbage_collection_guard]
        guards.thread_local_state().garbage_collect_array = chosen

    at_first_setting(
        "array_garbage_collection_guard",
        lambda: gc.callbacks.append(at_start_of_collection(follow)),
    )
