"""The benchmarks run, at tiny size and against ourselves only, and say what they measured."""

from __future__ import annotations

import inspect
import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import morphax
import morphax.numpy as jnp
from benchmarks import __main__ as main
from benchmarks import picture, report
from benchmarks.groups import GROUPS, function_calls
from benchmarks.timing import SCALES

# Which group has lines that begin so.
PROMISED_BY = {
    "import + first array": "import",
    "trace, ": "trace",
    "trace under grad": "trace",
    "trace under vmap": "trace",
    "lower, ": "lower",
    "first step of a process": "cache",
    "jit call, 1 → 1": "dispatch",
    "jit call, 100 → 100": "dispatch",
    "jit call, 1000 → 1000": "dispatch",
    "jit call, 1000 → 1": "dispatch",
    "flatten, ": "tree",
    "unflatten, ": "tree",
    "map, ": "tree",
    "eager ": "eager",
    "first eager ": "first",
    "function, ": "functions",
    "function of a thousand, ": "functions-thousand",
    "compiled call, ": "functions-compiled",
    "of very many, ": "many-numbers",
    "first call, ": "functions-first",
    "traced call, ": "functions-traced",
    "scan of a fresh lambda": "loops",
    "transformer of 1 layers: trace + lower": "models",
    "MLP: step": "models",
    "CNN: step": "models",
    "transformer of 1 layers: step": "models",
}

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("group", GROUPS)
def test_group_runs(group: str) -> None:
    figures = GROUPS[group].measure(morphax, SCALES["tiny"])
    assert figures
    assert all(math.isfinite(value) and value > 0 for value in figures.values()), figures
    expected = [start for start, its_group in PROMISED_BY.items() if its_group == group]
    for start in expected:
        assert any(name.startswith(start) for name in figures), start


def test_promises_are_looked_for() -> None:
    assert {start.replace("12 layers", "1 layers") for start in report.PROMISES} == set(PROMISED_BY)


def test_worker_prints_json() -> None:
    paths = os.pathsep.join([str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    printed = subprocess.run(
        [sys.executable, "-W", "error", "-m", "benchmarks.worker", "morphax", "import", "tiny"],
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert list(json.loads(printed)) == ["import + first array"]


ROUNDS = [
    {
        "morphax": {"trace, lax": 1e-6, "per trivial jit (MB)": 0.2, "flatten, x": 3.0},
        "jax": {"trace, lax": 8e-6, "per trivial jit (MB)": 1.6, "flatten, x": 2.0},
        "numpy": {"flatten, x": 2e-3},
    }
]


def test_report_marks_what_is_behind() -> None:
    lines = report.lines_of("trace", ROUNDS)
    assert [line.ratio for line in lines] == [0.125, pytest.approx(0.125), 1.5]
    assert [line.verdict for line in lines] == ["≤ 0.25", "", "≤ 1 missed **behind**"]
    text = report.text_of(lines, {"trace": "Tracing"}, ["A note."])
    assert "| per trivial jit (MB) | 0.20 MB | 1.60 MB | 0.125 |  |  |" in text
    assert "| flatten, x | 3.00 s | 2.00 s | 1.500 | 2.00 ms | ≤ 1 missed **behind** |" in text
    assert "- flatten, x (1.50)" in text
    assert text.endswith("A note.\n")
    assert [line["behind"] for line in json.loads(report.json_of(lines))] == [False, False, True]


def test_of_many_lines_shares_are_told() -> None:
    rounds = [{"morphax": {"function, a": 1.0, "function, b": 3.0}, "jax": {"function, a": 4.0}}]
    rounds[0]["jax"]["function, b"] = 2.0
    lines = report.lines_of("functions", rounds)
    text = report.text_of(lines, {"functions": "All"}, [], {"functions"})
    assert "2 functions: share that keeps the promise 50.0%, ahead of JAX 50.0%" in text
    assert "| function, b | 3.00 s | 2.00 s | 1.500 | ≤ 0.5 missed **behind** |" in text
    assert "0 lines: behind in 0" in text


def test_each_public_function_has_a_call_or_is_left_out() -> None:
    known = {text.partition("(")[0] for text in function_calls.calls()}
    known |= {name.replace("numpy.", "jnp.", 1) for name in function_calls.left_out()}
    missing = [
        f"{short}.{name}"
        for short, module in {"jnp": jnp, "nn": morphax.nn, "lax": morphax.lax}.items()
        for name in dir(module)
        if not name.startswith("_")
        and callable(getattr(module, name))
        and not inspect.isclass(getattr(module, name))
        and f"{short}.{name}" not in known
    ]
    assert not missing


def test_page_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = report.lines_of("trace", ROUNDS)
    main.write(lines, [], tmp_path, {"jax": sys.executable}, rounds=1)
    page = (tmp_path / "benchmarks.md").read_text()
    assert page.startswith("# Measured")
    assert "![Ratios to JAX as bars](benchmarks.svg)" in page
    assert page.endswith(capsys.readouterr().out[:-1])


def test_picture_is_drawn(tmp_path: Path) -> None:
    path = tmp_path / "picture.svg"
    picture.draw(report.lines_of("trace", ROUNDS), path)
    assert path.read_text().count("trace, lax") >= 1


def test_programs_by_hand() -> None:
    """The exported programs give what those by hand give."""
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler: programs in C are not compared")
    command = [sys.executable, "-m", "benchmarks.c_code", "--rounds", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert [line.split()[0] for line in done.stdout.splitlines()][1:] == ["mlp", "kalman", "lorenz"]
