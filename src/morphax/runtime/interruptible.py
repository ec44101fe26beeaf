"""Blocking calls of jaxlib that Ctrl-C leaves at once.

Python runs the handler of a signal between two instructions of the main thread, so never while that
thread is inside jaxlib.  The main thread therefore asks again and again whether what it waits for
is there, or leaves a blocking call to another thread.  XLA cannot be stopped: what was given up
goes on in the background, and its result is dropped.

At first it asks in quick succession, which takes no longer than to be woken; a wait that lasts is
another thread's, for a main thread that asks on takes the processor from the program it waits for,
and gives its own to other processes each time.  After a wait that has lasted the next one of its
kind is another thread's at once.
Other threads block in jaxlib, as they receive no signals; so does the main thread where no handler
of Python's waits for Ctrl-C.

A thread that comes back from jaxlib while the interpreter ends is ended by Python, which jaxlib
takes for a failure that ends the process with an abort.  So the interpreter waits a little at its
end for calls that were given up, and for those of the user's own threads, which begin no others
then (`native/process_end.h`); those that take longer never come back.

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
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeVar, final

from ..util.compiled import part, twin_in

T = TypeVar("T")

_process_end = part("process_end")

# A thread more that is to be woken costs 20 to 50 µs.
_EAGER_SECONDS = 1e-4
_MOST_KINDS = 1024
_lasting: set[Hashable] = set()
# Nothing wakes a wait for a lock that the signal came just before: it ends by itself.
_LONGEST_WAIT = 0.05
# At the end of the interpreter, for all calls that were given up together.
_PATIENCE_SECONDS = 2.0
_busy: set[_Helper] = set()
_idle: list[_Helper] = []
long_wait_seconds = 10.0
"""After so long, and so long again, a wait tells those who want to know."""
_of_long_waits: list[Callable[[], None]] = []
# The shortest sleep takes 60 µs on Linux.
_let_others_run = getattr(os, "sched_yield", partial(time.sleep, 0))


def may_be_interrupted() -> bool:
    """Whether this is the thread that Ctrl-C reaches, and a handler in Python is installed."""
    return threading.get_ident() == threading.main_thread().ident and callable(
        signal.getsignal(signal.SIGINT)
    )


def wait_until_ready(buffers: Sequence[Any]) -> None:
    """Return when the buffers are ready, or have failed; at once if Ctrl-C cannot come."""
    late = [buffer for buffer in buffers if not is_done(buffer)]
    if not late or not may_be_interrupted():
        return
    kind, begin = _kind_of(late), time.perf_counter()
    if kind not in _lasting and _become_ready(late, begin + _EAGER_SECONDS):
        return
    interruptible(partial(_block, late))
    if time.perf_counter() - begin < 2 * _EAGER_SECONDS:
        _lasting.discard(kind)
        return
    if len(_lasting) >= _MOST_KINDS:
        _lasting.clear()
    _lasting.add(kind)


def _kind_of(buffers: Sequence[Any]) -> Hashable:
    """What waits that take about as long have in common: a guess, which costs time at most."""
    aval = getattr(buffers[0], "aval", None)
    return len(buffers), getattr(aval, "shape", None), getattr(aval, "dtype", None)


def _become_ready(buffers: Sequence[Any], end: float) -> bool:
    """Ask again and again whether they are, until a time."""
    for buffer in buffers:
        while not is_done(buffer):
            if time.perf_counter() > end:
                return False
            _let_others_run()
    return True


def _block(buffers: Sequence[Any]) -> None:
    for buffer in buffers:
        # A failure is for whoever reads the buffer.
        with suppress(RuntimeError, ValueError):
            buffer.block_until_ready()


def is_done(buffer: Any) -> bool:
    """Whether waiting in jaxlib would not block."""
    # jaxlib 0.10 ends the process when a deleted buffer is asked whether it is ready.
    return buffer.is_deleted() or buffer.is_ready()


def on_long_wait(tell: Callable[[], None] | None) -> None:
    """Have `tell` called, or nothing, in the midst of waits that take long; it may raise."""
    _of_long_waits[:] = [] if tell is None else [tell]


def _tell_of_long_wait() -> None:
    for tell in _of_long_waits:
        tell()


def interruptible(function: Callable[[], T]) -> T:
    """The result of a call that takes milliseconds or more: made on another thread, waited for.

    Args:
        function: takes nothing; what it raises is raised here.

    Raises:
        KeyboardInterrupt: or whatever the handler of a signal raises; `function` then goes on.
    """
    helper = _helper() if may_be_interrupted() else None
    if helper is None:
        return function()
    outcome: list[Callable[[], T]] = []
    context = contextvars.copy_context()

    def work() -> None:
        try:
            result = context.run(function)
            outcome.append(lambda: result)
        except BaseException as error:
            outcome.append(_raiser(error))

    finished = helper.begin(work)
    tell_at = time.monotonic() + long_wait_seconds
    while not finished.acquire(timeout=min(_LONGEST_WAIT, long_wait_seconds)):
        if time.monotonic() >= tell_at:
            tell_at += long_wait_seconds
            _tell_of_long_wait()
    return outcome[0]()


@final
class _Helper:
    """A thread that makes calls for the main thread, one after the other; it waits for more."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[tuple[Callable[[], None], threading.Lock]] = SimpleQueue()
        self.finished = threading.Lock()
        threading.Thread(target=self._serve, name="morphax: XLA", daemon=True).start()

    def begin(self, work: Callable[[], None]) -> threading.Lock:
        """Have a call made; the lock is released when it is done."""
        self.finished = finished = threading.Lock()
        finished.acquire()
        _busy.add(self)
        self._calls.put((work, finished))
        return finished

    def _serve(self) -> None:
        while True:
            work, finished = self._calls.get()
            work()
            # What a call has used is not kept until the next one.
            del work
            _busy.discard(self)
            _idle.append(self)
            finished.release()


def _helper() -> _Helper | None:
    """A thread that is idle, or a new one; `None` if the system gives no more, or Python ends."""
    try:
        return _idle.pop() if _idle else _Helper()
    except RuntimeError:
        return None


# The thread of a helper is not in a forked child.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)
    if _process_end is not None:
        os.register_at_fork(after_in_child=_process_end.forget_threads)


@atexit.register
def _await_other_threads() -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    for helper in tuple(_busy):
        helper.finished.acquire(timeout=max(0.0, deadline - time.monotonic()))
    if _process_end is not None:
        _process_end.begin(max(0.0, deadline - time.monotonic()))


@twin_in(_process_end)
def awaited(function: Callable[..., T], *args: Any) -> T:
    """The result of a call of jaxlib that the interpreter waits for at its end, as long as it may.

    A thread that comes for it later waits for the end of the process.
    """
    return function(*args)


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
