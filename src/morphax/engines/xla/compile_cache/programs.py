"""Compile a program, or load the executable that the cache has kept of it.

Which programs are kept: all but those that XLA is asked to dump (a hit would dump nothing), those
that the user's transformations have changed, and those that compiled in less than
``jax_persistent_cache_min_compile_time_secs``.  The caller leaves out those that call Python, whose
callbacks are objects of this process.

Each look-up is a hit or a miss, told to `morphax.monitoring` by JAX's names of these events.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Any, Final

from .... import monitoring
from ....config import Config
from ....config import current as current_config
from ....runtime.client import extension
from ....runtime.device import program_platform
from ....util.messages import message
from ..compilation import changed_platforms
from .entries import BrokenEntry
from .failures import report
from .keys import key_of
from .loading import from_bytes, to_bytes
from .location import directory
from .store import DIRECTORY_FAILURES, Store

DEFAULT_LIMIT: Final = 512 << 20
"""Bytes that the cache may take when the user does not say."""

REQUEST: Final = "/jax/compilation_cache/compile_requests_use_cache"
HIT: Final = "/jax/compilation_cache/cache_hits"
MISS: Final = "/jax/compilation_cache/cache_misses"
RETRIEVAL: Final = "/jax/compilation_cache/cache_retrieval_time_sec"

_stores: Final[dict[str | None, Store | None]] = {}
_lock: Final = threading.Lock()


def load_or_compile(text: str, options: Any, device: Any, compile_module: Callable[[], Any]) -> Any:
    """The executable of a module: from the cache, else compiled and kept there.

    Args:
        text: the module.
        options: jaxlib's options for its compilation.
        device: where it will run.
        compile_module: compiles it.
    """
    settings = current_config()
    store = store_in_use(settings)
    if store is None or _is_dumped(options) or changed_platforms[program_platform(device)]:
        return compile_module()
    monitoring.record_event(REQUEST)
    key = key_of(text, options, device)
    start = time.perf_counter()
    kept = _load(store, key, options, device)
    seconds = time.perf_counter() - start
    if kept is not None:
        monitoring.record_event(HIT)
        monitoring.record_event_duration_secs(RETRIEVAL, seconds)
        store.count("hits")
        if settings.compilation_cache_check_contents:
            _check(kept, compile_module(), store, key)
        return kept
    monitoring.record_event(MISS)
    store.count("misses")
    start = time.perf_counter()
    compiled = compile_module()
    if time.perf_counter() - start >= settings.persistent_cache_min_compile_time_secs:
        _keep(compiled, store, key, device, settings)
    return compiled


def store_in_use(settings: Config) -> Store | None:
    """The cache in use, if there is one; a directory that cannot be used is tried once."""
    if not settings.enable_compilation_cache:
        return None
    place = settings.compilation_cache_dir
    if place in _stores:
        return _stores[place]
    with _lock:
        if place not in _stores:
            _stores[place] = None
            try:
                _stores[place] = Store(directory(place))
            except DIRECTORY_FAILURES as error:
                report("compiled programs are not kept", error)
        return _stores[place]


def limit(settings: Config) -> int:
    """How many bytes the cache may take."""
    chosen = settings.compilation_cache_max_size
    return DEFAULT_LIMIT if chosen < 0 else chosen


def forget_stores() -> None:
    """Look at the directory anew at the next compilation."""
    with _lock:
        _stores.clear()


def _is_dumped(options: Any) -> bool:
    """Whether XLA is to write files that describe the compilation."""
    named = any(name.startswith("xla_dump") for name, _ in options.env_option_overrides)
    return named or "xla_dump" in os.environ.get("XLA_FLAGS", "")


def _load(store: Store, key: str, options: Any, device: Any) -> Any | None:
    """The executable of an entry; one that is no good is removed."""
    try:
        payload = store.get(key)
        return None if payload is None else from_bytes(payload, options, device)
    except OSError as error:
        report("an entry cannot be read, and is removed", error)
    except (BrokenEntry, extension().JaxRuntimeError) as error:
        report("an entry is not used, and removed", error)
    store.remove(key)
    return None


def _keep(compiled: Any, store: Store, key: str, device: Any, settings: Config) -> None:
    try:
        payload = to_bytes(compiled, device)
    except extension().JaxRuntimeError:
        # Not every kind of executable has such a form; these are compiled in each process.
        return
    keep(store, key, payload, settings)


def keep(store: Store, key: str, payload: bytes, settings: Config) -> None:
    """Keep the bytes of a program, if the directory takes them."""
    if len(payload) < settings.persistent_cache_min_entry_size_bytes:
        return
    try:
        store.put(key, payload, limit(settings))
    except DIRECTORY_FAILURES as error:
        report("a compiled program cannot be kept", error)


def _check(kept: Any, compiled: Any, store: Store, key: str) -> None:
    """Raise an error if an entry is not what its program compiles to."""
    if kept.fingerprint != compiled.fingerprint:
        raise RuntimeError(
            message(
                "the compile cache (jax_compilation_cache_check_contents)",
                given=f"the entry {key} in {store.folder}, with fingerprint {kept.fingerprint!r}",
                expected=f"what its program compiles to, with fingerprint {compiled.fingerprint!r}",
                fix="Run 'python -m morphax.cache clear', and report this fault of morphax.",
            )
        )
