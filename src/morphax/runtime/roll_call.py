"""The roll call of processes that begin to compute together.

jaxlib ends a process by an abort if the others do not come.  So, before jaxlib is asked, each
process tells process 0 at the coordinator's address which one it is, of how many, and with which
versions; when all are there and agree, process 0 starts the service at the same address and then
lets them go on.  Whoever waits in vain, or speaks of another number of processes, is told so.

A process sends one line of JSON and is answered by one: ``{"error": ...}``, null if all is well.
"""

from __future__ import annotations

import json
import selectors
import socket
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, final

_LONGEST_LINE: Final = 4096
_SHORTEST_PAUSE: Final = 0.02
_LONGEST_PAUSE: Final = 0.5


class Address(NamedTuple):
    """A host, by name or number, and a port."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether it is written as one that no other machine can reach."""
        return self.host in ("localhost", "::1") or self.host.startswith("127.")

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class RollCallError(Exception):
    """The processes did not come together: what happened, and what was awaited."""

    def __init__(self, given: str, expected: str, fix: str) -> None:
        super().__init__(given)
        self.given = given
        self.expected = expected
        self.fix = fix


@final
class RollCall:
    """Of process 0: hears the others, and answers them once the service is there.

    Args:
        bound: the address to listen at.
        processes: how many come together.
        facts: what all must agree on, by name.
    """

    def __init__(self, bound: Address, processes: int, facts: Mapping[str, Any]) -> None:
        self._processes = processes
        self._facts = facts
        self._unknown: dict[socket.socket, bytes] = {}
        self._present: dict[int, socket.socket] = {}
        self._sources = selectors.DefaultSelector()
        family = socket.AF_INET6 if ":" in bound.host else socket.AF_INET
        both = bound.host == "::" and socket.has_dualstack_ipv6()
        try:
            self._listener = socket.create_server(bound, family=family, dualstack_ipv6=both)
        except OSError as error:
            raise RollCallError(
                f"the address {bound}, which process 0 cannot listen at: {error}",
                "an address of this machine, with a port that is free",
                "Choose another port, or end the program that uses it.",
            ) from error
        self._sources.register(self._listener, selectors.EVENT_READ)

    def hear(self, deadline: float) -> None:
        """Return when all other processes are there; they wait for `answer`.

        Raises:
            RollCallError: if they do not come, or disagree; those that are there are told so.
        """
        while len(self._present) < self._processes - 1:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise self._refused(self._missing())
            for key, _ in self._sources.select(min(remaining, _LONGEST_PAUSE)):
                source: Any = key.fileobj
                if source is self._listener:
                    source = source.accept()[0]
                    self._unknown[source] = b""
                    self._sources.register(source, selectors.EVENT_READ)
                elif source in self._unknown:
                    self._read(source)
                else:
                    self._drop(source)
        # The service listens at the same address.
        self._sources.unregister(self._listener)
        self._listener.close()

    def answer(self, error: RollCallError | None = None) -> None:
        """Let the processes go on, or tell them why not."""
        said = None if error is None else [error.given, error.expected, error.fix]
        self._sources.close()
        self._listener.close()
        for source in (*self._present.values(), *self._unknown):
            try:
                source.sendall(json.dumps({"error": said}).encode() + b"\n")
            except OSError:
                pass
            source.close()

    def _read(self, source: socket.socket) -> None:
        """Take up what a process says of itself; whoever is none of ours is sent away."""
        try:
            part = source.recv(_LONGEST_LINE)
        except OSError:
            part = b""
        text = self._unknown[source] + part
        if part and b"\n" not in text and len(text) < _LONGEST_LINE:
            self._unknown[source] = text
            return
        try:
            said = json.loads(text)
            process = said["process"]
        except (ValueError, KeyError, TypeError):
            self._drop(source)
            return
        if process in self._present or process == 0:
            given = f"two processes that say they are number {process}"
            raise self._refused(self._disagreement(given))
        del self._unknown[source]
        self._present[process] = source
        for name, ours in self._facts.items():
            if said.get(name) != ours:
                given = f"{name} {ours} in process 0, and {said.get(name)} in process {process}"
                raise self._refused(self._disagreement(given))

    def _drop(self, source: socket.socket) -> None:
        """Forget a process that has gone while it waited, or a stranger."""
        self._unknown.pop(source, None)
        self._present = {p: there for p, there in self._present.items() if there is not source}
        self._sources.unregister(source)
        source.close()

    def _refused(self, error: RollCallError) -> RollCallError:
        self.answer(error)
        return error

    def _disagreement(self, given: str) -> RollCallError:
        expected = f"{self._processes} processes with the numbers 0 to {self._processes - 1}, "
        return RollCallError(
            given,
            expected + "that agree on everything but their numbers",
            "Start all processes with the same program, coordinator_address and num_processes.",
        )

    def _missing(self) -> RollCallError:
        missing = sorted(set(range(1, self._processes)) - set(self._present))
        numbers = ", ".join(map(str, missing))
        return RollCallError(
            f"{self._processes - len(missing)} of {self._processes} processes: {numbers} did not "
            "come within initialization_timeout",
            "all processes",
            "See in their output why they did not start, or give them more time.",
        )


def report(coordinator: Address, facts: Mapping[str, Any], process: int, deadline: float) -> None:
    """Of the other processes: tell process 0 who this is, and return when all are there.

    Raises:
        RollCallError: if process 0 is not there, or refuses this one.
    """
    line = json.dumps({"process": process, **facts}).encode() + b"\n"
    with _connected(coordinator, deadline) as source:
        source.sendall(line)
        try:
            said = _line_of(source, deadline)
            error = json.loads(said)["error"]
        except (OSError, ValueError, KeyError, TypeError) as failure:
            raise RollCallError(
                f"no answer to the roll call at {coordinator}: {failure or 'it was closed'}",
                "process 0, waiting for the others",
                "Look at the output of process 0; if it computes with other processes already, or "
                "another program listens there, choose another port.",
            ) from failure
    if error is not None:
        raise RollCallError(*error)


def _connected(coordinator: Address, deadline: float) -> socket.socket:
    pause = _SHORTEST_PAUSE
    while True:
        remaining = deadline - time.monotonic()
        try:
            return socket.create_connection(coordinator, timeout=max(min(remaining, 5), 0.1))
        except OSError as error:
            if remaining <= pause:
                raise RollCallError(
                    f"the coordinator's address {coordinator}, which cannot be reached: {error}",
                    "the address at which process 0 listens",
                    "Check the address, and that process 0 has started; or raise "
                    "initialization_timeout.",
                ) from error
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def _line_of(source: socket.socket, deadline: float) -> bytes:
    text = b""
    while not text.endswith(b"\n"):
        # Process 0 gives up at its own deadline, and is to be the one that says why.
        source.settimeout(max(deadline - time.monotonic(), 0) + 5)
        part = source.recv(_LONGEST_LINE)
        if not part or len(text) > _LONGEST_LINE:
            break
        text += part
    return text


def own_host(coordinator: Address) -> str | None:
    """By which address other processes reach this one, `None` if that is not known.

    It is that of the interface which leads to the coordinator; nothing is sent to find out.
    """
    if coordinator.is_loopback:
        return "::1" if coordinator.host == "::1" else "127.0.0.1"
    find: Callable[..., Any] = socket.getaddrinfo
    try:
        family, kind, _, _, target = find(*coordinator, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind) as probe:
            probe.connect(target)
            host = str(probe.getsockname()[0])
    except OSError:
        return None
    # Names of machines often mean an address of the loopback interface on these themselves.
    return None if Address(host, 0).is_loopback else host
