"""The examples and the benchmarks run, at small size and with warnings as errors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import morphax
from benchmarks import worker

ROOT = Path(__file__).resolve().parent.parent
# What keeps an example small, by file name.
ARGUMENTS = {"digits.py": ["--epochs", "1", "--output", "picture.png"]}
EXAMPLES = sorted(path.name for path in (ROOT / "examples").glob("*.py"))


def run_python(folder: Path, *arguments: str) -> str:
    """Output of a new interpreter in `folder` that takes warnings for errors."""
    paths = [str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "MPLBACKEND": "agg"}
    command = [sys.executable, "-W", "error", *arguments]
    result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_runs(name: str, tmp_path: Path) -> None:
    arguments = ARGUMENTS.get(name, [])
    assert run_python(tmp_path, str(ROOT / "examples" / name), *arguments)
    assert (tmp_path / "picture.png").exists() == ("--output" in arguments)


@pytest.mark.parametrize("group", worker.GROUPS)
def test_benchmark_group_runs(group: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "OPERATIONS", 4)
    monkeypatch.setattr(worker, "best", lambda function, repetitions=1: [function(), 1e-9][1])
    figures = worker.GROUPS[group](morphax)
    assert figures
    assert all(seconds > 0 for seconds in figures.values()), figures


def test_benchmark_worker_prints_json(tmp_path: Path) -> None:
    printed = run_python(tmp_path, "-m", "benchmarks.worker", "morphax", "import")
    assert list(json.loads(printed)) == ["import + first array"]
