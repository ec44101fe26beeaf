"""The examples run, at small size and with warnings as errors."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
# What keeps an example small, by file name.
ARGUMENTS = {"digits.py": ["--epochs", "1", "--output", "picture.png"]}
# Those of other libraries have a target of their own, for these are not installed here.
EXAMPLES = sorted(
    str(p.relative_to(ROOT / "examples"))
    for p in (ROOT / "examples").rglob("*.py")
    if p.parent.name != "ecosystem"
)


def run_python(folder: Path, *arguments: str) -> str:
    """Output of a new interpreter in `folder` that takes warnings for errors."""
    paths = [str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "MPLBACKEND": "agg"}
    command = [sys.executable, "-W", "error", *arguments]
    result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_four_processes_have_the_losses_of_one(tmp_path: Path) -> None:
    script = str(ROOT / "examples" / "several_processes.py")
    alone = run_python(tmp_path, script, "--steps", "4")
    launcher = ["-m", "morphax.distributed", "--processes", "4", script, "--distributed"]
    together = run_python(tmp_path, *launcher, "--steps", "4")
    (losses,) = [line for line in alone.splitlines() if line.startswith("losses")]
    assert f"[0] {losses}" in together.splitlines()


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_runs(name: str, tmp_path: Path) -> None:
    arguments = ARGUMENTS.get(name, [])
    assert run_python(tmp_path, str(ROOT / "examples" / name), *arguments)
    assert (tmp_path / "picture.png").exists() == ("--output" in arguments)
