"""One process, two and four: the same programs give the same results."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from . import members, programs
from .launching import launched

SMALL = (programs.collectives, programs.assembly, programs.runs_in_a_row)


@pytest.mark.parametrize("program", programs.PROGRAMS, ids=lambda f: f.__name__)
def test_one_process(program: Callable[[], None]) -> None:
    program()


@pytest.mark.parametrize(
    ("processes", "names"),
    [
        (2, [f.__name__ for f in (*programs.PROGRAMS, *members.CHECKS)]),
        (4, [f.__name__ for f in (*SMALL, members.exchange, members.host_local)]),
    ],
    ids=["2", "4"],
)
def test_several_processes(processes: int, names: list[str]) -> None:
    done = launched("-n", str(processes), "-m", "tests.distributed.process", "2", *names)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert sorted(line for line in done.stdout.splitlines() if line.endswith("done")) == [
        f"[{process}] done" for process in range(processes)
    ]
