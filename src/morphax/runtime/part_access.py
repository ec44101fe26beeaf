"""The parts of buffers that lie on several devices, without a search for the package jax.

jaxlib makes an array of each part, and would give it an aval of jax's: it imports that package,
part by part.  Where there is none, this is a search through all folders for each; where there is
one, it would be loaded.  So imports of it fail at once while jaxlib is at that, on this thread
alone.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from typing import Any, Final, final

import numpy as np


@final
class _Refusal:
    """Finds no modules, and ends the search for jax where jaxlib is asked for parts."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name == "jax" and getattr(_asking, "now", False):
            raise ModuleNotFoundError("jaxlib does without jax here", name=name)
        return None


_asking: Final = threading.local()


def parts_of(buffer: Any) -> list[Any]:
    """The parts of a buffer on the devices of this process, each as a buffer, in their order."""
    _refuse_jax()
    try:
        parts: list[Any] = buffer._arrays
        return parts
    finally:
        _asking.now = False


def contents_of(buffers: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
    """What buffers on one device each hold, shared where it is in the memory of the host."""
    _refuse_jax()
    try:
        return [buffer._single_device_array_to_np_array_did_copy()[0] for buffer in buffers]
    finally:
        _asking.now = False


def _refuse_jax() -> None:
    """Let imports of jax fail on this thread, until the flag is taken back."""
    if _Refusal not in sys.meta_path:
        sys.meta_path.insert(0, _Refusal)
    _asking.now = "jax" not in sys.modules
