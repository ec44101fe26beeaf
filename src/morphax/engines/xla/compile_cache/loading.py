"""From an executable to bytes and back, by jaxlib.

jaxlib 0.10 reports on standard error, in two lines of 3 kB at each loading, that the host lacks the
features ``prefer-no-gather`` and ``prefer-no-scatter`` of the machine that compiled the program.
They are advice to the compiler, which XLA itself adds for some CPUs, and no features.  The key of
an entry holds the features of the CPU, so nothing is missed when XLA's log is closed meanwhile.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, Final

from ....runtime.client import device_list, jaxlib_module, reports_advice_as_features, xla_client

_ONLY_FATAL: Final = 3

_log_level: Final = threading.Lock()


def to_bytes(loaded: Any, device: Any) -> bytes:
    """An executable as bytes; jaxlib refuses some with its own error."""
    return device.client.serialize_executable(loaded)


def from_bytes(payload: bytes, options: Any, device: Any) -> Any:
    """The executable of `to_bytes`.  This runs native code: the bytes must be known to be ours."""
    noisy = device.client.platform == "cpu" and reports_advice_as_features()
    with _silence() if noisy else nullcontext():
        return device.client.deserialize_executable(payload, device_list(device), options)


@contextmanager
def _silence() -> Iterator[None]:
    """Close XLA's log, which is one for all threads."""
    xla_client()
    utils = jaxlib_module("utils")
    with _log_level:
        utils.absl_set_min_log_level(_ONLY_FATAL)
        try:
            yield
        finally:
            # The level cannot be asked for; this is the one that jaxlib has started with.
            utils.absl_set_min_log_level(int(os.environ.get("TF_CPP_MIN_LOG_LEVEL", "0")))
