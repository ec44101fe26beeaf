"""Which core works, and that both pass the same tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from morphax.util import compiled

ROOT = Path(__file__).parents[2]


def in_twin(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python where the twins work."""
    environment = os.environ | {"MORPHAX_CORE": "python"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


@pytest.mark.skipif(compiled.part("tree") is None, reason="the twin works here already")
@pytest.mark.parametrize(
    "tests",
    [
        ["tests/tree", "--deselect", "tests/tree/test_treedef.py::test_deep_trees"],
        [
            "tests/control/jit/test_jit.py",
            "tests/native/test_calls.py",
            "tests/native/test_bound_calls.py",
        ],
        ["tests/engines/test_replay.py"],
        ["tests/engines/test_native_engine.py", "-k", "agree or donated or places or stages"],
    ],
    ids=["trees", "calls", "replay", "native engine"],
)
def test_the_twins_pass_the_tests(tests: list[str]) -> None:
    run = in_twin("-m", "pytest", "-q", "-p", "no:cacheprovider", *tests)
    assert run.returncode == 0, run.stdout[-3000:]


def test_the_environment_chooses_the_twins() -> None:
    code = "from morphax.util.compiled import part; print(part('tree'), part('calls'))"
    assert in_twin("-c", code).stdout.split() == ["None", "None"]


def test_a_module_of_other_sources_is_not_used() -> None:
    usable = compiled._is_usable
    assert not usable(None)
    assert not usable(SimpleNamespace())
    assert not usable(SimpleNamespace(interface=compiled._INTERFACE + 1))


def test_twin_in() -> None:
    def _double(x: int) -> int:
        return 2 * x

    assert compiled.twin_in(None)(_double) is _double
    assert compiled.twin_in(SimpleNamespace(double=abs))(_double) is abs
