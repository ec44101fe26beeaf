"""Loop programs as C: operations of the case tables, and what the checker refuses."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import morphax.numpy as jnp
from morphax.config import enable_x64
from morphax.engines.loops import NotALoopProgram
from morphax.engines.loops.program import Product, walk
from tests.engines.c_library import CLibrary
from tests.lax.test_operations import CASES, assert_close, truth

INTEGERS = [f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)]
DTYPES = frozenset(("bool", "float16", "bfloat16", "float32", "float64", *INTEGERS))
# One of so many cases is compiled: a compiler takes longer than all the rest.
SHARE = 6


def _is_sampled(label: str, dtype: str) -> bool:
    return zlib.crc32(f"{label} {dtype} C".encode()) % SHARE == 0


@pytest.fixture(autouse=True)
def _wide_dtypes() -> Iterator[None]:
    with enable_x64(True):
        yield


def test_operations_in_c(tmp_path: Path) -> None:
    library = CLibrary(tmp_path)
    added: list[tuple[Any, str, list[Any], str]] = []
    for case in CASES:
        for dtype in case.dtypes:
            if dtype in DTYPES and _is_sampled(case.label, dtype):
                operands = case.draw(dtype)
                try:
                    name = library.add(case.function, *operands)
                except NotALoopProgram:
                    continue
                added.append((case, dtype, operands, name))
    assert len(added) > 250
    wrong = []
    for case, dtype, operands, name in added:
        try:
            with np.errstate(all="ignore"):
                results = library.call(name, *operands)
                assert_close(results, truth(case, operands), dtype, case.tolerance)
        except AssertionError as error:
            wrong.append(f"{case.label} {dtype}: {error}")
    assert not wrong, "\n".join(wrong)


def test_large_products_in_c(tmp_path: Path) -> None:
    """A statement for libraries, which in C is loops."""
    library = CLibrary(tmp_path)
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(3, 30, 50)), rng.normal(size=(3, 50, 40))
    name = library.add(jnp.matmul, x, y)
    assert any([isinstance(s, Product) for s in walk(library.programs[name].body)])
    np.testing.assert_allclose(library.call(name, x, y)[0], x @ y, 1e-12, 1e-12)
