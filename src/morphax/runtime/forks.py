"""What a process may do that was forked while XLA's threads were running.

Those threads are not in the child.  Whatever waits for one of them would wait for ever: a
compilation, a program of more than a few operations, a result that was not there yet.  So in the
child jaxlib's functions that start or wait for such work raise an error.  They are replaced in the
child alone, and nothing is asked at a call in any other process.

Eager operations are NumPy's, and go on working; so do arrays that were computed before the fork.
"""

from __future__ import annotations

import gc
import os
import warnings
from collections.abc import Callable
from typing import Any, Final, NoReturn

from ..util.messages import message

_FIX: Final = (
    "Start processes with the 'spawn' or 'forkserver' method (multiprocessing.get_context), or "
    "fork before anything is compiled; eager operations work in the child."
)

_METHODS: Final = {
    "LoadedExecutable": ("execute_sharded", "execute", "execute_with_token"),
    "Client": ("compile_and_load", "compile", "deserialize_executable"),
}
_FUNCTIONS: Final = ("batched_device_put", "batched_copy_array_to_devices_with_sharding")
_WAITS: Final = ("is_ready", "block_until_ready", "_single_device_array_to_np_array_did_copy")

_children: Final[set[int]] = set()
_for_ever: Final[list[Any]] = []


def watch(extension: Any, collector: Callable[..., Any], clients: dict[str, Any]) -> None:
    """Warn of forks from here on, and keep their children from waiting for ever.

    Args:
        extension: the module `jaxlib._jax`.
        collector: jaxlib's callback of the garbage collector.
        clients: those that exist, by platform.
    """

    def in_child() -> None:
        _children.add(os.getpid())
        # A client that goes would wait for its threads.
        _for_ever.append(dict(clients))
        if collector in gc.callbacks:
            gc.callbacks.remove(collector)
        _replace(extension)

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_warn, after_in_child=in_child)


def check_process() -> None:
    """Raise an error in a child that was forked while XLA's threads were running.

    Raises:
        RuntimeError: this is one.
    """
    if _children and os.getpid() in _children:
        _refuse()


def _warn() -> None:
    warnings.warn(
        "os.fork() was called while XLA's threads are running: in the child, compiled functions "
        "raise an error. " + _FIX,
        RuntimeWarning,
        stacklevel=3,
    )


def _replace(extension: Any) -> None:
    for name, methods in _METHODS.items():
        for method in methods:
            if hasattr(getattr(extension, name), method):
                setattr(getattr(extension, name), method, _refuse)
    for name in _FUNCTIONS:
        setattr(extension, name, _refuse)
    array, is_ready = extension.ArrayImpl, extension.ArrayImpl.is_ready
    for name in _WAITS:
        setattr(array, name, _if_ready(getattr(array, name), is_ready))
    extension.batched_block_until_ready = lambda arrays: [x.block_until_ready() for x in arrays]


def _if_ready(wait: Callable[[Any], Any], is_ready: Callable[[Any], bool]) -> Any:
    def checked(buffer: Any) -> Any:
        # Of a deleted buffer the original says so itself.
        return wait(buffer) if buffer.is_deleted() or is_ready(buffer) else _refuse()

    return checked


def _refuse(*_: Any, **__: Any) -> NoReturn:
    raise RuntimeError(
        message(
            "XLA in a forked process",
            given="a process that os.fork() made while XLA's threads were running; they are "
            "missing here, and what needs them would never end",
            expected="a process that has started XLA itself",
            fix=_FIX,
        )
    )
