"""Programs of the fuzzer in C and as machine code, against eager evaluation."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import morphax as jax
from morphax.engines.loops import NotALoopProgram
from morphax.transforms.make_jaxpr import make_jaxpr
from tests.engines.c_library import CLibrary
from tests.engines.machine_code_calls import call, compiled
from tools.fuzz.generate import make
from tools.fuzz.subject import Subject

SEED, COUNT = 14, 30


def results_of(subject: Subject) -> list[np.ndarray[Any, Any]] | None:
    """What a program gives; `None` if it is refused, as some are meant to be."""
    try:
        return [np.asarray(x) for x in jax.tree.leaves(subject.main()(*subject.args()))]
    except Exception:
        return None


def assert_agrees(index: int, found: list[Any], expected: list[Any]) -> None:
    for given, truth in zip(found, expected, strict=True):
        if truth.dtype.kind not in "fc":
            np.testing.assert_array_equal(given, truth, f"program {index}")
            continue
        size = float(np.abs(truth[np.isfinite(truth)]).max(initial=1.0))
        np.testing.assert_allclose(given, truth, 1e-3, 1e-4 * size, err_msg=f"program {index}")


def valid_programs(indices: range) -> Iterator[tuple[int, Subject, Any, list[Any]]]:
    """Programs that are not refused, with their operands and results; in their settings."""
    for index in indices:
        subject = Subject(make(SEED, index))
        with warnings.catch_warnings(), jax.enable_x64(subject.x64):
            warnings.simplefilter("ignore")
            expected = results_of(subject)
            if expected is not None:
                yield index, subject, subject.args(), expected


def test_fuzzed_programs(tmp_path: Path) -> None:
    library = CLibrary(tmp_path, ("-O0", "-fsanitize=undefined", "-fno-sanitize-recover"))
    added = []
    for index, subject, args, expected in valid_programs(range(COUNT)):
        try:
            name = library.add(subject.main(), *args)
        except NotALoopProgram:
            continue
        added.append((index, name, jax.tree.leaves(args), expected))
    assert len(added) > COUNT // 4
    for index, name, operands, expected in added:
        found = library.call(name, *map(np.asarray, operands))
        assert_agrees(index, found, expected)


def test_fuzzed_programs_as_machine_code() -> None:
    count = 0
    for index, subject, args, expected in valid_programs(range(COUNT, 2 * COUNT)):
        try:
            program, code = compiled(make_jaxpr(subject.main())(*args))
        except NotALoopProgram:
            continue
        operands = map(np.asarray, jax.tree.leaves(args))
        assert_agrees(index, call(program, code, *operands), expected)
        count += 1
    assert count > COUNT // 4
