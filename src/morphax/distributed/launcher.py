"""The launcher: a script in several processes of this machine, which end together.

Each process finds in its environment which one it is, so that `morphax.distributed.initialize()`
needs no arguments.  What the processes print comes out line by line, with the number of the
process before each.  If one fails, or the launcher is sent a signal, all are ended: first by that
signal, or SIGTERM, and those that stay, after a few seconds, by SIGKILL.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import IO, Any, Final, final

_PATIENCE_SECONDS: Final = 5.0
_TICK_SECONDS: Final = 0.2
_SET_SIGNAL_OF_PARENTS_DEATH: Final = 1  # PR_SET_PDEATHSIG of Linux
_PASSED_ON: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the launcher; the exit status."""
    parser = argparse.ArgumentParser(
        "python -m morphax.distributed",
        description="Start a Python script in several processes on this machine.",
    )
    parser.add_argument("--processes", "-n", type=_positive, default=2, help="how many (2)")
    parser.add_argument("--port", type=int, default=0, help="of process 0; a free one if left out")
    parser.add_argument("--no-prefix", action="store_true", help="pass output on as it is")
    parser.add_argument("-m", dest="module", action="store_true", help="the script is a module")
    parser.add_argument("script", help="the script, or a module with -m")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="of the script")
    options = parser.parse_args(arguments)
    script = ["-m", options.script] if options.module else [options.script]
    return Launch(
        [sys.executable, "-u", *script, *options.arguments],
        options.processes,
        options.port or free_port(),
        prefixes=not options.no_prefix,
    ).run()


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is less than 1")
    return number


def free_port() -> int:
    """A port of the loopback interface that nobody listens at now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def environment_of(process: int, processes: int, port: int) -> dict[str, str]:
    """The environment of one of several processes."""
    return os.environ | {
        "MORPHAX_COORDINATOR_ADDRESS": f"127.0.0.1:{port}",
        "MORPHAX_NUM_PROCESSES": f"{processes}",
        "MORPHAX_PROCESS_ID": f"{process}",
    }


@final
class Launch:
    """Processes of one command.

    Args:
        command: the program and its arguments.
        processes: how many.
        port: at which process 0 listens on the loopback interface.
        prefixes: whether lines of output begin with the number of the process.
    """

    def __init__(
        self, command: Sequence[str], processes: int, port: int, *, prefixes: bool
    ) -> None:
        self._command = command
        self._count = processes
        self._port = port
        self._prefixes = prefixes
        self._children: list[subprocess.Popen[bytes]] = []
        self._lines = selectors.DefaultSelector()
        self._rests: dict[IO[bytes], bytes] = {}
        self._status: int | None = None
        self._signal: int | None = None
        self._deadline: float | None = None

    def run(self) -> int:
        """Start all, wait for all; 0, or the exit status of the first that failed."""
        before = {number: signal.signal(number, self._on_signal) for number in _PASSED_ON}
        try:
            for process in range(self._count):
                self._start(process)
            while self._is_going_on():
                self._pass_on_output(_TICK_SECONDS)
                self._look_after_children()
        finally:
            for child in self._children:
                if child.poll() is None:
                    _send(child, signal.SIGKILL)
                child.wait()
            self._lines.close()
            for number, handler in before.items():
                signal.signal(number, handler)
        if self._signal is not None:
            return 128 + self._signal
        return self._status or 0

    def _start(self, process: int) -> None:
        piped: Mapping[str, Any] = {}
        if self._prefixes:
            piped = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        child = subprocess.Popen(
            self._command,
            env=environment_of(process, self._count, self._port),
            stdin=subprocess.DEVNULL,
            # Ctrl-C in a terminal goes to the launcher alone, which passes it on.
            start_new_session=True,
            preexec_fn=_end_with_launcher if sys.platform == "linux" else None,
            **piped,
        )
        self._children.append(child)
        for source, target in ((child.stdout, sys.stdout), (child.stderr, sys.stderr)):
            if source is not None:
                os.set_blocking(source.fileno(), False)
                self._lines.register(source, selectors.EVENT_READ, (process, target))

    def _is_going_on(self) -> bool:
        return bool(self._lines.get_map()) or any([c.poll() is None for c in self._children])

    def _pass_on_output(self, timeout: float) -> None:
        if not self._lines.get_map():
            time.sleep(timeout)
            return
        for key, _ in self._lines.select(timeout):
            source: Any = key.fileobj
            process, target = key.data
            part = source.read() or b""
            *lines, rest = (self._rests.pop(source, b"") + part).split(b"\n")
            if part:
                self._rests[source] = rest
            else:
                self._lines.unregister(source)
                source.close()
                lines += [rest] if rest else []
            for line in lines:
                target.write(f"[{process}] {line.decode(errors='replace')}\n")
            target.flush()

    def _look_after_children(self) -> None:
        """End all when one has failed; leave the output of those that do not go."""
        for process, child in enumerate(self._children):
            status = child.poll()
            if status and self._status is None and self._signal is None:
                self._status = status if status > 0 else 128 - status
                self._say(f"process {process} {_end(status)}; the others are ended")
                self._end_all(signal.SIGTERM)
        if self._deadline is None:
            return
        if time.monotonic() > self._deadline:
            for child in self._children:
                _send(child, signal.SIGKILL)
        if all([child.poll() is not None for child in self._children]):
            # Grandchildren may hold the pipes open.
            self._pass_on_output(0)
            for key in tuple(self._lines.get_map().values()):
                self._lines.unregister(key.fileobj)

    def _on_signal(self, number: int, _: Any) -> None:
        self._signal = number if self._signal is None else self._signal
        self._end_all(number)

    def _end_all(self, number: int) -> None:
        if self._deadline is None:
            self._deadline = time.monotonic() + _PATIENCE_SECONDS
        for child in self._children:
            _send(child, number)

    def _say(self, text: str) -> None:
        sys.stderr.write(f"[morphax.distributed] {text}\n")
        sys.stderr.flush()


def _end_with_launcher() -> None:
    """Of a child, before its program begins: have the kernel end it when the launcher is gone."""
    ctypes.CDLL(None).prctl(_SET_SIGNAL_OF_PARENTS_DEATH, signal.SIGKILL)


def _send(child: subprocess.Popen[bytes], number: int) -> None:
    """A signal to a process and all that it has started, unless it has ended."""
    if child.poll() is None:
        try:
            os.killpg(child.pid, number)
        except ProcessLookupError:
            pass


def _end(status: int) -> str:
    if status >= 0:
        return f"failed with the exit status {status}"
    return f"was ended by {signal.Signals(-status).name}"
