"""Machine code of loop programs: from the compile cache, else compiled and kept there.

The rules are those of the compile cache (docs/design/compile-cache.md), whose directory it shares:
an entry is believed if its digest proves that this user made it for this key, and the key is of
all that decides what the compiler makes: the program, the processor and its features, and the
versions of the compiler and of this package.
"""

from __future__ import annotations

import time
from typing import Final

from ... import monitoring
from ...config import current as current_config
from ..loops import LoopProgram
from ..xla.compile_cache import programs as cache
from ..xla.compile_cache.entries import BrokenEntry
from ..xla.compile_cache.failures import report
from ..xla.compile_cache.store import Store
from .llvm_text import llvm_module
from .machine_code import MachineCode, compile_loops, key_of, load

_PREFIX: Final = "native-"


def machine_code_of(program: LoopProgram) -> MachineCode:
    """The machine code of a program."""
    settings = current_config()
    store = cache.store_in_use(settings)
    if store is None:
        return compile_loops(program)
    monitoring.record_event(cache.REQUEST)
    text = llvm_module(program)
    key = _PREFIX + key_of(program, text)
    start = time.perf_counter()
    kept = _read(store, key)
    if kept is not None:
        monitoring.record_event(cache.HIT)
        monitoring.record_event_duration_secs(cache.RETRIEVAL, time.perf_counter() - start)
        store.count("hits")
        return load(program, kept)
    monitoring.record_event(cache.MISS)
    store.count("misses")
    start = time.perf_counter()
    code = compile_loops(program, text)
    if time.perf_counter() - start >= settings.persistent_cache_min_compile_time_secs:
        _keep(store, key, code.object_code)
    return code


def _read(store: Store, key: str) -> bytes | None:
    """The object code of an entry; one that is no good is removed."""
    try:
        return store.get(key)
    except OSError as error:
        report("an entry cannot be read, and is removed", error)
    except BrokenEntry as error:
        report("an entry is not used, and removed", error)
    store.remove(key)
    return None


def _keep(store: Store, key: str, code: bytes) -> None:
    settings = current_config()
    if len(code) < settings.persistent_cache_min_entry_size_bytes:
        return
    try:
        store.put(key, code, cache.limit(settings))
    except OSError as error:
        report("a compiled program cannot be kept", error)
