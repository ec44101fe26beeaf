"""Machine code of loop programs: from the compile cache, else compiled and kept there.

The rules are those of the compile cache (docs/design/compile-cache.md), whose directory it shares:
an entry is believed if its digest proves that this user made it for this key, and the key is of
all that decides what the compiler makes: the program, the processor and its features, and the
versions of the compiler and of this package.

Where a run is short, code is made with little effort at first, which takes a third of the time, and
with more when runs have taken as long in all as that is worth.  Results have the same bits.
"""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from typing import Any, Final

from ... import monitoring
from ...config import current as current_config
from ..loops import LoopProgram
from ..xla.compile_cache import programs as cache
from ..xla.compile_cache.entries import BrokenEntry
from ..xla.compile_cache.failures import report
from ..xla.compile_cache.store import Store
from .linking import UnknownObject
from .llvm_text import efforts_of, llvm_module
from .machine_code import MachineCode, compile_loops, key_of, load

_logger: Final = logging.getLogger(__name__)

_PREFIX: Final = "native-"

# Code that was made with little effort is made again when runs have taken so long for each
# character of the text: three times as long as LLVM then takes, for runs get quicker by a third.
_SECONDS_OF_A_CHARACTER: Final = 1e-6


def machine_code_of(program: LoopProgram) -> MachineCode:
    """The best machine code of a program, with as much effort as is worth it."""
    text = llvm_module(program)
    return _machine_code(program, text, efforts_of(text)[-1:])


def kept_machine_code_of(program: LoopProgram) -> MachineCode | None:
    """The best machine code of a program if it is kept; LLVM is not loaded."""
    store = cache.store_in_use(current_config())
    if store is None:
        return None
    text = llvm_module(program)
    return _kept(program, store, _PREFIX + key_of(program, text, efforts_of(text)[-1]))


def first_machine_code_of(program: LoopProgram) -> MachineCode:
    """The machine code for the first runs of a program, to which `improvement_of` is the second."""
    text = llvm_module(program)
    efforts = efforts_of(text)
    if not current_config().quick_first_code:
        efforts = efforts[-1:]
    return _machine_code(program, text, efforts)


def improvement_of(program: LoopProgram) -> tuple[Any, int] | None:
    """The best machine code and its address; `None` if it cannot be made."""
    try:
        code = machine_code_of(program)
    except Exception as error:
        _logger.warning("no better code was made of %s: %s", program.name, error)
        return None
    return code, code.address


def _machine_code(program: LoopProgram, text: str, efforts: tuple[int, ...]) -> MachineCode:
    """Code of the last of the efforts, if it is kept, or else of the first."""
    settings = current_config()
    store = cache.store_in_use(settings)
    if store is None:
        return _as_first(compile_loops(program, text, efforts[0]), text, efforts)
    monitoring.record_event(cache.REQUEST)
    start = time.perf_counter()
    keys = {effort: _PREFIX + key_of(program, text, effort) for effort in efforts}
    for effort in reversed(efforts):
        kept = _kept(program, store, keys[effort])
        if kept is not None:
            monitoring.record_event(cache.HIT)
            monitoring.record_event_duration_secs(cache.RETRIEVAL, time.perf_counter() - start)
            store.count("hits")
            return _as_first(kept, text, efforts[efforts.index(effort) :])
    monitoring.record_event(cache.MISS)
    store.count("misses")
    start = time.perf_counter()
    code = compile_loops(program, text, efforts[0])
    if time.perf_counter() - start >= settings.persistent_cache_min_compile_time_secs:
        cache.keep(store, keys[efforts[0]], code.object_code, settings)
    return _as_first(code, text, efforts)


def _as_first(code: MachineCode, text: str, efforts: tuple[int, ...]) -> MachineCode:
    """Code of the first of the efforts."""
    if len(efforts) == 1:
        return code
    return replace(code, worth_improving=len(text) * _SECONDS_OF_A_CHARACTER)


def _kept(program: LoopProgram, store: Store, key: str) -> MachineCode | None:
    """The machine code of an entry; one that is no good is removed."""
    try:
        code = store.get(key)
        return None if code is None else load(program, code)
    except OSError as error:
        report("an entry cannot be read, and is removed", error)
    except (BrokenEntry, UnknownObject) as error:
        report("an entry is not used, and removed", error)
    store.remove(key)
    return None
