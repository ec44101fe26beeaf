"""Samples of the tables: the same records in every run, and of each operation at least one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import sampling
from tests.lax.test_operations import BY_DTYPE
from tests.sampling import is_taken, operation, sample


@pytest.fixture(autouse=True)
def _sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "IS_WHOLE", False)


NAMES = [f"{name}/{i}" for name in ("sin", "special.zeta", "x + y") for i in range(60)]


def taken(test: str, one_in: int) -> list[str]:
    return sample(NAMES, test, one_in, str)


def test_a_sample_is_a_fixed_part_in_order() -> None:
    chosen = taken("value", 5)
    assert chosen == [name for name in NAMES if name in set(chosen)] == taken("value", 5)
    assert 15 <= len(chosen) <= 60
    assert all(name in chosen for name in NAMES if is_taken(name, "value", 5))


def test_a_smaller_sample_is_part_of_a_larger_one() -> None:
    assert set(taken("value", 20)) <= set(taken("value", 5)) < set(NAMES)


def test_tests_take_different_records() -> None:
    assert taken("value", 5) != taken("batching", 5)


@pytest.mark.parametrize("one_in", [1, 40, 10**9])
def test_every_operation_has_a_record(one_in: int) -> None:
    found = {operation(record.id) for record in sample(BY_DTYPE, "value", one_in)}
    assert found == {operation(record.id) for record in BY_DTYPE}


def test_names_of_operations() -> None:
    assert [operation(name) for name in ("sin()/3x4", "special.zeta/x-float32", "/")] == [
        "sin",
        "special.zeta",
        "/",
    ]


def test_the_whole_table_is_taken_where_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "IS_WHOLE", True)
    assert taken("value", 10**9) == NAMES


COMBINATIONS = """
import pytest

@pytest.mark.sampled(10**9)
@pytest.mark.parametrize("x", range(9))
@pytest.mark.parametrize("y", range(5))
def test_product(x, y):
    pass

@pytest.mark.sampled(4)
@pytest.mark.parametrize(("x", "y"), [(i, i) for i in range(80)])
def test_list(x, y):
    pass

@pytest.mark.sampled(10**9)
@pytest.mark.parametrize("x", range(9))
def test_one(x):
    pass

@pytest.mark.parametrize("x", range(10))
def test_third(x):
    pass

@pytest.mark.parametrize("x", range(36))
def test_quarter(x):
    pass

@pytest.mark.parametrize("x", range(96))
def test_eighth(x):
    pass

@pytest.mark.parametrize("x", ["sin/1", "cos/1", "tan/1", "exp/1", "log/1", "log/2", "erf/1"])
def test_operations(x):
    pass

@pytest.mark.parametrize("x", range(5))
def test_all(x):
    pass
"""


def names_of_combinations(folder: Path, **variables: str) -> list[str]:
    """Those that pytest collects, with the hook of this suite."""
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = sampled\n")
    (folder / "conftest.py").write_text("from tests.conftest import pytest_collection_modifyitems")
    (folder / "test_some.py").write_text(COMBINATIONS)
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", f"--rootdir={folder}"]
    others = {k: v for k, v in os.environ.items() if not k.startswith("MORPHAX_TEST_")}
    done = subprocess.run(
        [*command, "-p", "no:cacheprovider", str(folder)],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=True,
        env=others | variables,
    )
    return [line.partition("::")[2] for line in done.stdout.splitlines() if "::" in line]


def test_combinations_have_each_value_of_each_parameter(tmp_path: Path) -> None:
    found = names_of_combinations(tmp_path)
    of = {
        test: [name for name in found if name.startswith(f"test_{test}[")]
        for test in ("product", "list", "one", "third", "quarter", "eighth", "operations", "all")
    }
    assert 9 <= len(of["product"]) <= 13
    assert {re.split(r"[\[\]-]", name)[1] for name in of["product"]} == set("01234")
    assert {re.split(r"[\[\]-]", name)[2] for name in of["product"]} == set("012345678")
    assert 5 < len(of["list"]) < 40
    assert len(of["one"]) == 1
    assert 1 < len(of["third"]) < 7
    assert 3 < len(of["quarter"]) < 18
    assert 5 < len(of["eighth"]) < 22
    assert len(of["operations"]) in (6, 7)
    assert len(of["all"]) == 5


def test_another_salt_takes_others(tmp_path: Path) -> None:
    found, other = (names_of_combinations(tmp_path, MORPHAX_TEST_SALT=salt) for salt in "12")
    quarters = [{name for name in names if "quarter" in name} for names in (found, other)]
    assert quarters[0] != quarters[1]
    assert found == names_of_combinations(tmp_path, MORPHAX_TEST_SALT="1")


def test_all_combinations_are_taken_where_that_is_asked_for(tmp_path: Path) -> None:
    found = names_of_combinations(tmp_path, MORPHAX_TEST_WHOLE="1")
    assert len(found) == 9 * 5 + 80 + 9 + 10 + 36 + 96 + 7 + 5


def test_no_other_file_reads_the_variables() -> None:
    tests = Path(__file__).parent
    named = re.compile("MORPHAX_TEST_(WHOLE|SALT)")
    readers = [p for p in tests.rglob("*.py") if named.search(p.read_text("utf-8"))]
    assert {p.name for p in readers} == {"sampling.py", Path(__file__).name}
