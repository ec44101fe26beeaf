"""An LLVM that cannot be loaded: programs are XLA's, unless the user wants the native engine."""

from __future__ import annotations

import logging
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.engines.engine import Unavailable
from morphax.engines.native import compiler

X = np.arange(4, dtype=np.float32)


@pytest.fixture(autouse=True)
def broken_compiler(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(name: str) -> Any:
        raise OSError(f"the library of {name} cannot be found")

    monkeypatch.setattr(compiler, "import_module", refused)
    monkeypatch.setattr(compiler, "_faults", [])
    jax.clear_caches()


def test_programs_are_compiled_by_xla_and_one_line_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING, logger="morphax.engines.native.compiler"):
        for number in range(3):
            jitted = jax.jit(lambda x, n=number: jnp.sin(x) * 2 + n)
            np.testing.assert_allclose(jitted(X), np.sin(X) * 2 + number, rtol=1e-6)
            told = jitted.lower(X).compile().as_text("engine")
            assert told.startswith("engine xla")
            assert "llvmlite cannot be loaded: the library of llvmlite.binding" in told
    assert [r.name for r in caplog.records].count(compiler.__name__) == 1


def test_who_wants_the_native_engine_is_told() -> None:
    with jax.cpu_engine("native"), pytest.raises(Unavailable, match=r"Install llvmlite again"):
        jax.jit(lambda x: x + 1)(X)


def test_kept_programs_need_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    with jax.cpu_engine("native"):
        with monkeypatch.context() as mended:
            mended.setattr(compiler, "import_module", import_module)
            expected = jax.jit(lambda x: x * 3)(X)
        jax.clear_caches()
        np.testing.assert_array_equal(jax.jit(lambda x: x * 3)(X), expected)
