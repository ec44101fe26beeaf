"""The launcher: output, arguments, exit status, signals, and nobody left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .launching import environment, launched

SCRIPT = """
import os, sys, time
print("process", os.environ["MORPHAX_PROCESS_ID"], *sys.argv[1:])
print("to stderr", file=sys.stderr)
if os.environ["MORPHAX_PROCESS_ID"] == "1" and sys.argv[1:] == ["fail"]:
    sys.exit(7)
if sys.argv[1:] in (["fail"], ["wait"]):
    open(f"{os.getpid()}.pid", "w").close()
    time.sleep(100)
print("no newline", end="")
"""


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "script.py").write_text(SCRIPT)
    return "script.py"


def test_output_and_arguments(script: str) -> None:
    done = launched("--processes", "2", script, "-n", "--port", "x y")
    assert done.returncode == 0
    lines = [f"[{i}] {text}" for i in (0, 1) for text in (f"process {i} -n --port x y",)]
    lines += ["[0] no newline", "[1] no newline"]
    assert sorted(done.stdout.splitlines()) == sorted(lines)
    assert sorted(done.stderr.splitlines()) == ["[0] to stderr", "[1] to stderr"]
    plain = launched("-n", "1", "--no-prefix", script)
    assert plain.stdout == "process 0\nno newline"


def test_the_first_failure_ends_all(script: str) -> None:
    done = launched("-n", "3", script, "fail")
    assert done.returncode == 7
    assert "process 1 failed with the exit status 7; the others are ended" in done.stderr
    assert not _alive()
    assert launched("-n", "0", script).returncode == 2
    assert launched("-n", "1", "missing.py").returncode == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_signals(script: str, number: signal.Signals) -> None:
    command = [sys.executable, "-m", "morphax.distributed", "-n", "2", script, "wait"]
    quiet = subprocess.DEVNULL
    launcher = subprocess.Popen(command, env=environment(), stdout=quiet, stderr=quiet)
    try:
        _await(lambda: len(list(Path().glob("*.pid"))) == 2)
        launcher.send_signal(number)
        status = launcher.wait(timeout=90)
    finally:
        launcher.kill()
        launcher.wait()
    assert status == (-number if number == signal.SIGKILL else 128 + number)
    _await(lambda: not _alive())


def _await(condition: object) -> None:
    deadline = time.monotonic() + 90
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _alive() -> list[int]:
    """Processes of the script that have not ended."""
    found = []
    for path in Path().glob("*.pid"):
        try:
            os.kill(int(path.stem), 0)
            # Nobody need have asked how it ended.
            state = Path(f"/proc/{path.stem}/stat").read_text().rpartition(")")[2].split()[0]
        except (ProcessLookupError, FileNotFoundError):
            continue
        found += [int(path.stem)] * (state != "Z")
    return found
