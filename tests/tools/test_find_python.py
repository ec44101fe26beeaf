"""The search for an interpreter, with a made-up PATH."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "find_python.sh"


def find(path: Path, *versions: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": str(path), "PYENV_ROOT": str(path / "absent")}
    command = ["/bin/sh", str(SCRIPT), *versions]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A folder with a broken `python3` and, under another name, the interpreter of this test."""
    broken = tmp_path / "python3"
    broken.write_text("#!/bin/sh\nexit 127\n")
    broken.chmod(0o755)
    base = os.path.realpath(sys.executable)
    (tmp_path / "python3.12").symlink_to(base)
    return tmp_path


def test_an_interpreter_that_does_not_run_is_passed_over(path: Path) -> None:
    result = find(path, "3.11")
    assert result.returncode == 0
    assert os.path.realpath(result.stdout.strip()) == os.path.realpath(sys.executable)


def test_an_old_interpreter_is_not_enough(path: Path) -> None:
    result = find(path, "3.99")
    assert result.returncode == 1
    assert result.stdout == ""
    assert "no Python from 3.99" in result.stderr


def test_a_later_interpreter_than_the_last_asked_for_is_passed_over(path: Path) -> None:
    assert find(path, "3.0", "3.1").returncode == 1
    assert find(path, "3.0").returncode == 0
