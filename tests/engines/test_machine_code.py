"""Loop programs as machine code: operations of the case tables."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator

import numpy as np
import pytest

from morphax.config import enable_x64
from morphax.engines.loops import NotALoopProgram
from morphax.transforms.make_jaxpr import make_jaxpr
from tests.engines.machine_code_calls import call, compiled
from tests.lax.test_operations import CASES, assert_close, truth

INTEGERS = [f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)]
DTYPES = frozenset(("bool", "float32", "float64", *INTEGERS))
# One of so many cases is compiled, all of them in the whole suite.
SHARE = 1 if os.environ.get("MORPHAX_TEST_WHOLE") else 15
CHOSEN = [
    (case, dtype)
    for case in CASES
    for dtype in case.dtypes
    if dtype in DTYPES and zlib.crc32(f"{case.label} {dtype} machine".encode()) % SHARE == 0
]


@pytest.fixture(autouse=True)
def _wide_dtypes() -> Iterator[None]:
    with enable_x64(True):
        yield


def test_operations() -> None:
    wrong, count = [], 0
    for case, dtype in CHOSEN:
        operands = case.draw(dtype)
        try:
            program, code = compiled(make_jaxpr(case.function)(*operands))
        except NotALoopProgram:
            continue
        count += 1
        try:
            with np.errstate(all="ignore"):
                results = call(program, code, *operands)
                assert_close(results, truth(case, operands), dtype, case.tolerance)
        except AssertionError as error:
            wrong.append(f"{case.label} {dtype}: {error}")
    assert not wrong, "\n".join(wrong)
    assert count > len(CHOSEN) // 2
