"""The sampling plugin, run in a pytest of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def collected(folder: Path, step: int) -> list[str]:
    """Names of the tests that one in `step` leaves."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", f"--rootdir={folder}"]
    options = ["-p", "tools.sample_tests", f"--sample={step}", "-p", "no:cacheprovider"]
    result = subprocess.run(
        [*command, *options, str(folder)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [line for line in result.stdout.splitlines() if "::" in line]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    text = "import pytest\n\n@pytest.mark.parametrize('n', range(100))\ndef test_n(n):\n    pass\n"
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_numbers.py").write_text(text)
    return tmp_path


def test_one_in_one_is_every_test(folder: Path) -> None:
    assert len(collected(folder, 1)) == 100


def test_a_sample_is_a_fixed_part(folder: Path) -> None:
    sample = collected(folder, 5)
    assert 5 <= len(sample) <= 40
    assert collected(folder, 5) == sample
