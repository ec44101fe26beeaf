"""Random programs that must give the same in all ways, and the search for them itself."""

from __future__ import annotations

import io
import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import morphax as jax
from tests.sampling import few
from tools.fuzz import ways, worker
from tools.fuzz.comparison import Failure, Leaf, difference, moved_apart
from tools.fuzz.generate import make
from tools.fuzz.judgement import Judge
from tools.fuzz.namespace import namespace
from tools.fuzz.program import Block, Input, Line, Program, Type
from tools.fuzz.runner import Runner
from tools.fuzz.shrink import shrunk, smaller

CHUNK = 20


@pytest.fixture(autouse=True)
def restored() -> Any:
    yield
    ways.interpret_loops(False)


@pytest.mark.parametrize("start", few(range(0, 200, CHUNK), 4))
def test_programs_agree(start: int) -> None:
    search = worker.Search(seed=8, known=worker.read_known(None), batch=5)
    reports = [report for i in range(start, start + CHUNK) for report in search.judged(i)]
    reports += search.compiled()
    assert not reports, "\n".join(f"{r['script']}# {r['way']}: {r['text']}" for r in reports)


def test_a_program_is_made_again_from_its_seed() -> None:
    assert make(5, 17) == make(5, 17)
    assert make(5, 17) != make(5, 18)
    assert make(6, 17) != make(5, 17)


@pytest.mark.parametrize("index", range(12))
def test_a_script_runs_by_itself(index: int) -> None:
    scope: dict[str, Any] = {"__name__": "script"}
    program = make(9, index)
    if program.x64:
        pytest.skip("the script would change an option of this process")
    exec(program.script(), scope)
    try:
        expected = scope["main"](*scope["args"])
    except Exception as error:
        pytest.skip(f"the program is an error: {type(error).__name__}")
    assert len(expected) == len(program.main.results)


def planted() -> Program:
    """A program with a sine in the body of a loop, among lines that do not matter."""
    number = Type((2,), "float32")
    body = Block(
        ("v2",),
        (
            Line(("v3",), "jnp.cos({0})", ("v2",), (), (number,)),
            Line(("v4",), "jnp.sin({0})", ("v3",), (), (number,)),
        ),
        ("v4",),
    )
    lines = (
        Line(("v1",), "{0} * 2", ("v0",), (), (number,)),
        Line(
            ("v5",), "lax.fori_loop(0, 3, lambda i, c: {b0}(c), {0})", ("v1",), (body,), (number,)
        ),
        Line(("v6",), "jnp.exp({0})", ("v5",), (), (number,)),
    )
    main = Block(("v0",), lines, ("v1", "v6"), as_tuple=True)
    return Program((Input("v0", number, (0.5, 1.25)),), main)


def test_a_planted_fault_is_found_and_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(main: Any, subject: Any) -> Any:
        results = main(*subject.args())
        return [x + 1 for x in results] if "jnp.sin" in subject.source else results

    monkeypatch.setitem(ways.SAME, "wrong", wrong)
    judge = Judge(planted())
    (found,) = judge.disagreements(["wrong", "again", "staged"])
    assert (found.way, found.kind) == ("wrong", "value")
    search = worker.Search(seed=0, known=worker.read_known(None))
    small = search.smaller(judge.program, found)
    assert "jnp.sin" in small.source()
    assert len(small.source().splitlines()) == 3
    assert "exp" not in small.source()


def test_known_findings_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "known.py"
    path.write_text("def known(way, kind, text, source):\n    return 'jnp.sin' in source\n")
    search = worker.Search(seed=0, known=worker.read_known(str(path)), shrink=False)
    found = worker.Disagreement("again", "value", "1 and 2")
    assert not list(search.reported(0, planted(), found))


def test_shrinking_keeps_what_is_asked_for() -> None:
    for candidate in smaller(planted()):
        assert isinstance(candidate.source(), str)
    kept = shrunk(planted(), lambda program: "cos" in program.source())
    assert "cos" in kept.source()
    assert "exp" not in kept.source()


def leaf(numbers: Any, dtype: str = "float32", weak: bool = False) -> Leaf:
    return Leaf(np.asarray(numbers), dtype, weak)


def test_what_agrees() -> None:
    one = leaf([1.0, np.nan, np.inf])
    assert difference((one,), (leaf([1.0 + 1e-7, np.nan, np.inf]),)) is None
    assert difference((leaf([1, 2], "int32"),), (leaf([1, 2], "int32"),)) is None
    failure = Failure("ValueError", "given: 1", internal=False)
    assert difference(failure, replace(failure, text="given: 2")) is None


@pytest.mark.parametrize(
    ("found", "expected", "kind"),
    [
        (leaf([1.0]), leaf([1.1]), "value"),
        (leaf([np.nan]), leaf([1.0]), "value"),
        (leaf([np.inf]), leaf([-np.inf]), "value"),
        (leaf([1.0]), leaf(1.0), "type"),
        (leaf([1.0]), leaf([1.0], weak=True), "type"),
        (leaf([1], "int8"), leaf([1], "int32"), "type"),
        (leaf([1], "int32"), leaf([2], "int32"), "value"),
    ],
)
def test_what_does_not_agree(found: Leaf, expected: Leaf, kind: str) -> None:
    result = difference((found,), (expected,))
    assert result is not None
    assert result.kind == kind


def test_errors_agree_in_their_class() -> None:
    one, other = (Failure(name, "", internal=False) for name in ("ValueError", "TypeError"))
    assert difference(one, other) is not None
    assert difference(one, (leaf(1.0),)) is not None
    internal = Failure("KeyError", "'v'", internal=True)
    result = difference(internal, internal)
    assert result is not None
    assert result.kind == "internal KeyError"


def test_noise_excuses_what_it_changes() -> None:
    base, far = (leaf([1.0, 2.0]),), (leaf([1.001, 2.0]),)
    assert moved_apart(far, base, base, [base, base]) is not None
    assert moved_apart(far, base, base, [(leaf([1.0005, 2.0]),), base]) is None
    assert moved_apart(far, base, base, [(leaf([1.0, 2.0005]),), base]) is not None
    decided, other = (leaf([True], "bool"),), (leaf([False], "bool"),)
    assert moved_apart(other, decided, decided, [decided]) is not None
    assert moved_apart(other, decided, decided, [other]) is None


def test_the_worker_writes_what_it_does() -> None:
    out = io.StringIO()
    worker.run(3, 5, 7, None, out)
    messages = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [m["start"] for m in messages if "start" in m] == [5, 6]
    assert [m["done"] for m in messages if "done" in m] == [5, 6]


def test_the_runner_tells_of_crashes_and_findings(capsys: pytest.CaptureFixture[str]) -> None:
    runner = Runner(seed=3, start=0, stop=1, seconds=60, known=None)
    assert runner.heard({"start": 4}, 0) == 4
    assert runner.heard({"done": 4, "seconds": 1.0, "memory": 7}, 4) == 4
    report = {"index": 4, "way": "jit", "kind": "value", "text": "1\n2", "script": "x = 1\n"}
    runner.heard({"found": report}, 4)
    runner.died(5, "the process ended with -11", io.StringIO("trace"))
    told = capsys.readouterr().out
    assert "seed 3, program 4: jit: value\nx = 1\n# 1\n# 2" in told
    assert "program 5: process: the process ended with -11" in told
    assert runner.tally.found == 2


def test_each_program_has_names_of_its_own() -> None:
    one, other = namespace(), namespace()
    one["SCALE"] = 5.0
    assert other["SCALE"] == 1.0
    assert one["jax"] is other["jax"] is jax


def test_draws_depend_on_the_generator_alone() -> None:
    random.seed(1)
    first = make(2, 3).source()
    random.seed(2)
    assert make(2, 3).source() == first
