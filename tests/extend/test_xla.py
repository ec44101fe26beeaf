"""Transformations of HLO modules, where jaxlib has them."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from typing import Any

import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.config import override
from morphax.extend import xla

HAS_THEM = importlib.util.find_spec("jaxlib._xla") is not None
needs_them = pytest.mark.skipif(not HAS_THEM, reason="this jaxlib has no such transformations")
AFTER = xla.PipelineStage.POST_SCHEDULER


@pytest.fixture
def calls() -> Iterator[list[str]]:
    names: list[str] = []
    yield names
    for name in ("first", "second", "changing", "failing") if HAS_THEM else ():
        for stage in xla.PipelineStage:
            while xla.clear_hlo_module_transformation(name, stage):
                pass


def noting(calls: list[str], name: str) -> Any:
    def note(module: bytes) -> None:
        assert isinstance(module, bytes)
        calls.append(name)

    return note


@needs_them
def test_they_are_called_in_order(calls: list[str]) -> None:
    for name in ("first", "second"):
        xla.register_hlo_module_transformation(noting(calls, name), name=name)
    late = noting(calls, "late")
    xla.register_hlo_module_transformation(late, name="first", stage=AFTER, platforms="cpu")
    assert jax.jit(lambda x: jnp.sin(x) * 3)(0.0) == 0.0
    assert calls == ["first", "second", "late"]
    assert xla.clear_hlo_module_transformation("first")
    assert not xla.clear_hlo_module_transformation("first")
    assert xla.clear_hlo_module_transformation("first", AFTER, ["cpu"])
    jax.jit(lambda x: jnp.sin(x) * 4)(0.0)
    assert calls[3:] == ["second"]


@needs_them
def test_changed_programs_are_not_kept(calls: list[str], tmp_path: Any) -> None:
    from jaxlib import _hlo  # type: ignore[attr-defined]

    def change(module: bytes) -> Any:
        text = _hlo.HloModule.from_serialized_hlo_module_proto(module).to_string()
        changed = _hlo.hlo_module_from_text(text.replace("sine(", "cosine("))
        return changed.as_serialized_hlo_module_proto()

    def function(x: Any) -> Any:
        return jnp.sin(x) * 5

    with override(compilation_cache_dir=str(tmp_path)):
        xla.register_hlo_module_transformation(change, name="changing")
        assert jax.jit(function)(0.0) == 5.0
        xla.clear_hlo_module_transformation("changing")
        jax.clear_caches()
        assert jax.jit(function)(0.0) == 0.0


@needs_them
def test_their_errors_arrive(calls: list[str]) -> None:
    xla.register_hlo_module_transformation(lambda module: bytes(1 // 0), name="failing")
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        jax.jit(lambda x: jnp.sin(x) * 6)(0.0)


@pytest.mark.skipif(HAS_THEM, reason="this jaxlib has such transformations")
def test_older_versions_of_jaxlib() -> None:
    with pytest.raises(NotImplementedError, match=r"(?s)HLO modules.*jaxlib 0\.10\.2 or later"):
        xla.register_hlo_module_transformation(lambda module: None, name="none")


def test_wrong_arguments() -> None:
    stage: Any = 0
    with pytest.raises(TypeError, match=r"(?s)argument stage.*0 of type int.*PRE_SCHEDULER"):
        xla.register_hlo_module_transformation(lambda module: None, name="none", stage=stage)
    with pytest.raises(RuntimeError, match="Unknown backend: 'abacus'"):
        xla.clear_hlo_module_transformation("none", platforms="abacus")
