"""Which programs processes run together, to tell when they wait for each other in vain.

A collective waits until all processes run it.  If one runs another program instead, which waits for
the first, neither ends, and nothing in XLA notices.  So each process writes down, in the table of
the coordination service, which programs it has compiled with which others; and while it waits for
long, that it does.  It looks there for a process that waits too, lacks a program of this one and
has one that this one lacks.  If nothing has changed by the next look, the two wait for each other.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import sha256
from typing import Any, Final, NamedTuple, final

from ..util.messages import message

_PROGRAMS: Final = "morphax/programs"
_WAITS: Final = "morphax/waits"


class _Program(NamedTuple):
    name: str
    processes: list[int]


class _State(NamedTuple):
    """What is known of another process.

    Args:
        programs: by digest.
        looks: how often it has looked while it waited, as a text.
    """

    programs: dict[str, _Program]
    looks: str


@final
class Ledger:
    """The programs of this process, and its waits.

    Args:
        client: of the coordination service.
        process: the number of this process.
    """

    def __init__(self, client: Any, process: int) -> None:
        self._client = client
        self._process = process
        self._own: dict[str, _Program] = {}
        self._looks = 0
        self._before: dict[int, _State] = {}

    def note(self, name: str, text: str, processes: Iterable[int]) -> None:
        """Write down a program that was compiled.

        Args:
            name: for error text.
            text: tells it from others, and is the same in all processes.
            processes: that run it.
        """
        digest = sha256(text.encode()).hexdigest()[:24]
        if digest not in self._own:
            self._own[digest] = program = _Program(name, sorted(processes))
            key = f"{_PROGRAMS}/{self._process}/{digest}"
            self._client.key_value_set(key, json.dumps(program), allow_overwrite=True)

    def look(self) -> None:
        """Look at the others, when a wait takes long.

        Raises:
            RuntimeError: if one of them and this process wait for each other in vain.
        """
        self._looks += 1
        key = f"{_WAITS}/{self._process}"
        self._client.key_value_set(key, f"{self._looks}", allow_overwrite=True)
        others = self._others()
        before, self._before = self._before, others
        for process, state in others.items():
            known = before.get(process)
            if known is None or known.programs != state.programs or known.looks == state.looks:
                continue
            ours = _lacking(self._own, state.programs, process)
            theirs = _lacking(state.programs, self._own, self._process)
            if ours is not None and theirs is not None:
                raise RuntimeError(_in_vain(ours, self._process, theirs, process))

    def _others(self) -> dict[int, _State]:
        """The other processes that wait."""
        waits = self._client.key_value_dir_get(_WAITS)
        programs: dict[int, dict[str, _Program]] = {}
        for key, value in self._client.key_value_dir_get(_PROGRAMS):
            *_, process, digest = key.split("/")
            programs.setdefault(int(process), {})[digest] = _Program(*json.loads(value))
        looks = {int(key.rpartition("/")[2]): value for key, value in waits}
        looks.pop(self._process, None)
        return {process: _State(programs.get(process, {}), n) for process, n in looks.items()}


def _lacking(
    programs: dict[str, _Program], others: dict[str, _Program], process: int
) -> _Program | None:
    """The last program that a process should have, and has not."""
    found = [
        program
        for digest, program in programs.items()
        if digest not in others and process in program.processes
    ]
    return found[-1] if found else None


def _in_vain(ours: _Program, process: int, theirs: _Program, other: int) -> str:
    return message(
        "waiting for other processes",
        given=f"the program {ours.name} in process {process}, which process {other} has not "
        f"compiled, and the program {theirs.name} in process {other}, which process {process} has "
        "not: each waits for the other",
        expected="the same programs, of the same shapes and meshes, in the same order",
        fix="See that what processes compute together does not depend on jax.process_index().",
    )
