"""Programs on several devices of a CPU run one after the other.

The devices of a program that communicates wait for each other, each on a thread of the client.  If
the next run begins before all of them have met, either may hold the threads that the other waits
for, and both wait for ever.  So a run begins when the numbers of the one before are there.  This
costs no time: the devices share the same cores, and take longer where two runs mix.

A program whose devices do not wait for each other needs no turn: it holds no thread for longer
than it computes, and none while an operand is still to come.  If XLA computes it before the launch
returns, as it does with little work, nobody waits for it either, and it runs when it is called.

Whoever waits for a run, or for its turn, blocks in jaxlib if Ctrl-C will not have to wait for long
(`_PATIENCE_SECONDS`), as previous runs of the program tell.  To ask again and again would take the
cores from the devices that are waited for.  What may take longer is left to another thread.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from functools import partial
from operator import methodcaller
from threading import RLock
from typing import Any, Final, final
from weakref import ref

from .client import extension, on_forget_clients
from .interruptible import interruptible, is_done, may_be_interrupted, wait_until_ready

# Nobody notices that Ctrl-C takes so long.
_PATIENCE_SECONDS = 1e-2
# Loops may take long this time.
_PATIENCE_WITH_LOOPS_SECONDS = 1e-3
# A wait in jaxlib that takes less did not have to wait.
_AT_ONCE_SECONDS = 2e-5
# Operations of a compiled program by their names in its text, and those among them at which no
# device waits for others.  Of foreign functions nobody knows, and loops may never end.
_OPERATION: Final = re.compile(r" ([a-z][a-z0-9-]*)\(")
_ALONE: Final = frozenset(
    """
    abs add and atan2 bitcast bitcast-convert broadcast call cbrt ceil clamp compare complex
    concatenate conditional constant convert convolution copy cosine count-leading-zeros divide dot
    dynamic-slice dynamic-update-slice erf exponential exponential-minus-one fft floor fusion gather
    get-tuple-element imag iota is-finite log log-plus-one logistic map maximum minimum multiply
    negate not or pad parameter partition-id popcnt power real reduce reduce-precision reduce-window
    remainder replica-id reshape reverse rng-bit-generator round-nearest-afz round-nearest-even
    rsqrt scatter select select-and-scatter shift-left shift-right-arithmetic shift-right-logical
    sign sine slice sort sqrt subtract tan tanh topk transpose tuple xor
    """.split()
)
_consume_token = methodcaller("consume_token")


@final
class _Pace:
    """How long a program takes, as far as it is known.

    Args:
        patience: how many seconds are not long.
    """

    __slots__ = ("is_short", "launches_at_once", "patience")

    def __init__(self, patience: float) -> None:
        self.patience = patience
        self.is_short = False
        self.launches_at_once = False


def _unknown() -> None:
    """Stands for a weak reference to nothing."""


@final
class _Run:
    """A run that may still go on."""

    __slots__ = ("begun", "buffer", "execution", "is_done", "pace", "token")

    def __init__(self, pace: _Pace) -> None:
        self.pace = pace
        self.begun = time.perf_counter()
        # Lists are filled in one step each, so that no handler of a signal comes in between.
        self.execution: list[Any] = []
        self.token: list[Any] = []
        # One of its results, if there is any.  All of them are there at once.
        self.buffer: Callable[[], Any] = _unknown
        self.is_done = False

    def finish(self) -> None:
        """Wait until its numbers are there, and note how long that took; for one thread at once.

        A run that has not begun is none.
        """
        start = time.perf_counter()
        buffer = self.buffer()
        try:
            if buffer is not None and not buffer.is_deleted():
                extension().batched_block_until_ready((buffer,))
            elif self.execution:
                if not self.token:
                    self.token.extend(map(_consume_token, self.execution))
                self.token[0].block_until_ready()
        except (RuntimeError, ValueError):
            # A failure is for whoever reads the results.  Or a handler, which has run a program,
            # was faster to take the token, and has waited for it.
            pass
        if not self.execution:
            return
        now = time.perf_counter()
        if now - self.begun < self.pace.patience:
            self.pace.is_short = True
        elif now - start > _AT_ONCE_SECONDS:
            self.pace.is_short = False
        self.is_done = True


# A handler of a signal may run programs while one begins on the same thread.  Theirs are done when
# the handler returns, and leave all as it was.
_lock = RLock()
_is_beginning = False
_last: _Run | None = None


@final
class TurnTaker:
    """Runs a program on several devices of a CPU when it is its turn.

    Args:
        loaded: jaxlib's executable.
        handlers: make buffers of its outputs.
        has_loops: whether how long it takes may depend on numbers.
    """

    __slots__ = (
        "_always_in_turn",
        "_handlers",
        "_launch",
        "_launch_at_once",
        "_needs_turn",
        "_pace",
    )

    def __init__(self, loaded: Any, handlers: Sequence[Any], has_loops: bool) -> None:
        self._launch = partial(loaded.execute_sharded, with_tokens=True)
        self._launch_at_once = loaded.execute_sharded
        self._always_in_turn = not _ALONE.issuperset(_OPERATION.findall(loaded.get_hlo_text()))
        self._needs_turn = True
        self._handlers = handlers
        self._pace = _Pace(_PATIENCE_WITH_LOOPS_SECONDS if has_loops else _PATIENCE_SECONDS)

    def __call__(self, buffers: Sequence[Any]) -> Any:
        """The outputs of a run; they may be computed later."""
        if not self._needs_turn:
            return self._launch_at_once(buffers).consume_with_handlers(self._handlers)
        last = _last
        is_soon = last is None or last.is_done or last.pace.is_short
        # No other thread gets a turn that a handler of a signal asks for while it has interrupted
        # the beginning of a run.
        if (is_soon and self._pace.launches_at_once) or _lock._is_owned():  # type: ignore[attr-defined]
            return self._run(buffers)
        return interruptible(partial(self._run, buffers))

    def _run(self, buffers: Sequence[Any]) -> Any:
        global _last, _is_beginning
        with _lock:
            interrupts, _is_beginning = _is_beginning, True
            try:
                last = _last
                if last is not None and not last.is_done:
                    last.finish()
                run = _last = _Run(self._pace)
                outputs = self._launched(run, buffers)
                if interrupts:
                    run.finish()
                    _last = last
                return outputs
            finally:
                _is_beginning = interrupts

    def _launched(self, run: _Run, buffers: Sequence[Any]) -> Any:
        pace = run.pace
        run.execution.extend(map(self._launch, (buffers,)))
        outputs = run.execution[0].consume_with_handlers(self._handlers)
        pace.launches_at_once = time.perf_counter() - run.begun < pace.patience
        if not outputs:
            run.finish()
        elif outputs[0].is_ready():
            # XLA runs programs of little work before it returns.
            run.is_done = True
            pace.is_short = pace.launches_at_once
            self._needs_turn = self._always_in_turn
        else:
            run.buffer = ref(outputs[0])
        return outputs


def finish_last_run() -> None:
    """Wait until it is the turn of the next run."""
    with _lock:
        if _last is not None and not _last.is_done:
            _last.finish()


def wait_for(buffers: Sequence[Any], spread: Sequence[Any] = ()) -> None:
    """Return when the buffers are ready, or have failed, or will be soon.

    Args:
        buffers: of which nothing is known.
        spread: those in parts on CPUs of this process; only the last run may still compute them.
    """
    last = _last
    is_long = last is not None and not last.is_done and not last.pace.is_short
    if spread and is_long and may_be_interrupted():
        late = next((buffer for buffer in spread if not is_done(buffer)), None)
        if late is not None:
            wait_until_ready((late,))
    wait_until_ready(buffers)


def _forget_last_run() -> None:
    global _last
    _last = None


on_forget_clients(_forget_last_run)
