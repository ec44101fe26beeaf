"""Blocking calls of jaxlib that Ctrl-C leaves at once.

Python runs the handler of a signal between two instructions of the main thread, so never while that
thread is inside jaxlib.  The main thread therefore asks again and again whether what it waits for
is there, or leaves a blocking call to another thread.  XLA cannot be stopped: what was given up
goes on in the background, and its result is dropped.

At first it asks in quick succession, which takes no longer than to be woken; a wait that lasts is
put into sleeps of a small part of its length so far.  Other threads block in jaxlib, as they
receive no signals; so does the main thread where no handler of Python's waits for Ctrl-C.

A thread that comes back from jaxlib while the interpreter ends is ended by Python, which jaxlib
takes for a failure that ends the process with an abort.  So the interpreter waits a little at its
end for calls that were given up; those that take longer never come back.

While jaxlib is imported, its C++ code runs Python code that must not raise: an exception of a
signal's handler there ends the process.  So handlers wait until that is done.
"""

from __future__ import annotations

import atexit
import contextvars
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")

_EAGER_SECONDS = 1e-3
_LONGEST_SLEEP = 2e-4
# At the end of the interpreter, for all calls that were given up together.
_PATIENCE_SECONDS = 2.0
_running: set[threading.Thread] = set()
# The shortest sleep takes 60 µs on Linux.
_let_others_run = getattr(os, "sched_yield", partial(time.sleep, 0))


def may_be_interrupted() -> bool:
    """Whether this is the thread that Ctrl-C reaches, and a handler in Python is installed."""
    return threading.get_ident() == threading.main_thread().ident and callable(
        signal.getsignal(signal.SIGINT)
    )


def wait_until_ready(buffers: Sequence[Any]) -> None:
    """Return when the buffers are ready, or have failed; at once if Ctrl-C cannot come."""
    late = [buffer for buffer in buffers if not _is_done(buffer)]
    if not late or not may_be_interrupted():
        return
    start = time.perf_counter()
    for buffer in late:
        while not _is_done(buffer):
            waited = time.perf_counter() - start
            if waited < _EAGER_SECONDS:
                _let_others_run()
            else:
                time.sleep(min(waited / 32, _LONGEST_SLEEP))


def _is_done(buffer: Any) -> bool:
    """Whether waiting in jaxlib would not block."""
    # jaxlib 0.10 ends the process when a deleted buffer is asked whether it is ready.
    return buffer.is_deleted() or buffer.is_ready()


def interruptible(function: Callable[[], T]) -> T:
    """The result of a call that takes milliseconds or more: made on another thread, waited for.

    Args:
        function: takes nothing; what it raises is raised here.

    Raises:
        KeyboardInterrupt: or whatever the handler of a signal raises; `function` then goes on.
    """
    if not may_be_interrupted():
        return function()
    outcome: list[Callable[[], T]] = []
    finished = threading.Lock()
    finished.acquire()
    context = contextvars.copy_context()

    def work() -> None:
        try:
            result = context.run(function)
            outcome.append(lambda: result)
        except BaseException as error:
            outcome.append(_raiser(error))
        finally:
            finished.release()
            _running.discard(thread)

    thread = threading.Thread(target=work, name="morphax: XLA", daemon=True)
    _running.add(thread)
    thread.start()
    finished.acquire()
    return outcome[0]()


@atexit.register
def _await_what_was_given_up() -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    for thread in tuple(_running):
        thread.join(max(0.0, deadline - time.monotonic()))


def uninterrupted(function: Callable[[], T]) -> T:
    """The result of a call in which no handler of a signal runs: they run after it.

    Another thread would not do: where Ctrl-C has struck in the middle of an import, Python's lock
    of imports may stay with the main thread for ever.

    Args:
        function: takes nothing, and not long; what it raises is raised here.

    Raises:
        KeyboardInterrupt: or whatever the handler of a signal raises, once `function` is done.
    """
    # Handlers of all signals run on the main thread, and only there can they be changed.
    if threading.get_ident() != threading.main_thread().ident:
        return function()
    replaced: dict[int, Any] = {}
    arrived: dict[int, None] = {}
    try:
        for number in signal.valid_signals():
            handler = signal.getsignal(number)
            if callable(handler):
                replaced[number] = handler
                signal.signal(number, lambda number, _: arrived.setdefault(number))
        return function()
    finally:
        # Ctrl-C comes last, as its handler is the likeliest to raise.
        for replaceable in sorted(replaced, key=lambda number: number == signal.SIGINT):
            signal.signal(replaceable, replaced[replaceable])
        for missed in arrived:
            signal.raise_signal(missed)


def _raiser(error: BaseException) -> Callable[[], Any]:
    def again() -> Any:
        raise error

    return again
