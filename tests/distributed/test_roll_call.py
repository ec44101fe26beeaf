"""Processes that come together, or do not: by sockets alone, on threads of this process."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from morphax.distributed.launcher import free_port
from morphax.runtime.roll_call import Address, RollCall, RollCallError, own_host, report

FACTS = {"num_processes": 3, "jaxlib": "1"}


class Thread(threading.Thread):
    """A call on another thread, and the error that it raised."""

    def __init__(self, call: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self.call, self.error = call, ""
        self.start()

    def run(self) -> None:
        try:
            self.call()
        except RollCallError as error:
            self.error = f"{error.given}; {error.expected}; {error.fix}"

    def end(self) -> str:
        self.join(10)
        assert not self.is_alive()
        return self.error


@pytest.fixture
def address() -> Address:
    return Address("127.0.0.1", free_port())


def reporter(address: Address, process: Any, seconds: float = 5, **other: Any) -> Thread:
    deadline = time.monotonic() + seconds
    return Thread(lambda: report(address, FACTS | other, process, deadline))


def test_strangers_and_those_who_come_again(address: Address) -> None:
    """Whoever is none of the processes does not keep them from coming together."""
    waiting = [reporter(address, 1)]
    call = RollCall(address, 4, FACTS)
    silent = socket.create_connection(address)
    talking = socket.create_connection(address)
    talking.sendall(b"GET / HTTP/1.1\r\n\r\n")
    for odd in (b"[1]\n", b'{"process": 2', b"x" * 9000):
        with socket.create_connection(address) as stranger:
            stranger.sendall(odd)
    with socket.create_connection(address) as gone:
        gone.sendall(json.dumps({"process": 2, **FACTS}).encode() + b"\n")
        hearing = Thread(lambda: call.hear(time.monotonic() + 10))
        time.sleep(0.3)
        assert hearing.is_alive()
    waiting += [reporter(address, 2), reporter(address, 3)]
    assert hearing.end() == ""
    assert all(thread.is_alive() for thread in waiting)
    call.answer()
    assert [thread.end() for thread in waiting] == ["", "", ""]
    silent.close()
    talking.close()


@pytest.mark.parametrize(
    ("process", "other", "text"),
    [
        (1, {}, "two processes that say they are number 1"),
        (0, {}, "two processes that say they are number 0"),
        (2, {"num_processes": 4}, "num_processes 3 in process 0, and 4 in process 2"),
        (2, {"jaxlib": "2"}, "jaxlib 1 in process 0, and 2 in process 2"),
    ],
)
def test_disagreement(address: Address, process: int, other: Any, text: str) -> None:
    call = RollCall(address, 3, FACTS)
    hearing = Thread(lambda: call.hear(time.monotonic() + 10))
    first = reporter(address, 1)
    time.sleep(0.2)
    second = reporter(address, process, **other)
    for thread in (hearing, first, second):
        assert text in thread.end()


def test_some_stay_away(address: Address) -> None:
    call = RollCall(address, 3, FACTS)
    there = reporter(address, 2)
    hearing = Thread(lambda: call.hear(time.monotonic() + 2))
    for thread in (hearing, there):
        assert "2 of 3 processes: 1 did not come" in thread.end()
    assert "cannot be reached" in reporter(address, 1, 0.3).end()
    assert "no answer to the roll call" in _against_one_who_hangs_up(address)
    taken = socket.create_server(address)
    with pytest.raises(RollCallError, match="cannot listen at"):
        RollCall(address, 2, FACTS)
    taken.close()


def _against_one_who_hangs_up(address: Address) -> str:
    with socket.create_server(address) as server:
        thread = reporter(address, 1)
        server.accept()[0].close()
        return thread.end()


def test_addresses() -> None:
    assert str(Address("::1", 3)) == "[::1]:3"
    for host in ("localhost", "127.0.0.1", "127.1.2.3", "::1"):
        assert Address(host, 1).is_loopback
        assert own_host(Address(host, 1)) == ("::1" if host == "::1" else "127.0.0.1")
    for host in ("10.0.0.1", "node1", "::", "0.0.0.0"):
        assert not Address(host, 1).is_loopback
    assert own_host(Address("no.such.host.invalid", 1)) is None
