"""Options that change what is compiled, written, logged or refused, and not what is computed."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.engines.xla import compilation


@contextmanager
def setting(**options: Any) -> Iterator[None]:
    before = {name: jax.config.read(f"jax_{name}") for name in options}
    try:
        for name, value in options.items():
            jax.config.update(f"jax_{name}", value)
        yield
    finally:
        for name, value in before.items():
            jax.config.update(f"jax_{name}", value)


@pytest.mark.parametrize(
    "options",
    [
        {"optimization_level": "O0"},
        {"optimization_level": "O3"},
        {"disable_most_optimizations": True},
        {"compiler_enable_remat_pass": False},
    ],
    ids=str,
)
def test_the_compiler_is_told(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    compile_and_load = compilation.compile_and_load

    def recorded(client: Any, module: Any, devices: Any, options: Any, **keywords: Any) -> Any:
        given.append(
            (options.executable_build_options.optimization_level, options.env_option_overrides)
        )
        return compile_and_load(client, module, devices, options, **keywords)

    monkeypatch.setattr(compilation, "compile_and_load", recorded)

    def f(x: Any) -> Any:
        return jnp.tanh(x @ x)

    x = jnp.arange(9.0).reshape(3, 3) / 9
    jax.clear_caches()
    with setting(enable_compilation_cache=False, cpu_engine="xla"):
        plain = jax.jit(f)(x)
        with setting(**options):
            told = jax.jit(f)(x)
    first, second = given
    assert first != second
    np.testing.assert_allclose(told, plain, rtol=1e-6)


def test_programs_are_written_to_a_directory(tmp_path: Path) -> None:
    with setting(
        dump_ir_to=str(tmp_path / "new"), dump_ir_modes="stablehlo,jaxpr", cpu_engine="xla"
    ):
        jax.jit(lambda x: jnp.sin(x) * 17)(1.0)
    jaxpr, module = sorted((tmp_path / "new").iterdir())
    assert jaxpr.name.endswith("lambda_.jaxpr.txt")
    assert "= sin a" in jaxpr.read_text()
    assert module.name.endswith("_compile.mlir")
    assert "stablehlo.sine" in module.read_text()
    assert __file__ in module.read_text()


def test_source_lines_may_be_left_out_and_jaxprs_too(tmp_path: Path) -> None:
    with setting(dump_ir_to=str(tmp_path), include_debug_info_in_dumps=False, cpu_engine="xla"):
        jax.jit(lambda x: jnp.sin(x) * 18)(1.0)
    (module,) = tmp_path.iterdir()
    assert "stablehlo.sine" in module.read_text()
    assert "loc(" not in module.read_text()


def test_parts_of_paths_may_be_left_out() -> None:
    lowered = jax.jit(lambda x: jnp.sin(x) * 20).lower(1.0)
    assert f'"{__file__}":' in lowered.as_text(debug_info=True)
    with setting(hlo_source_file_canonicalization_regex="^.*/"):
        assert '("test_effects.py":' in lowered.as_text(debug_info=True)


def test_a_directory_that_cannot_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        setting(dump_ir_to=str(tmp_path / "file"), dump_ir_modes="jaxpr"),
        pytest.raises(OSError, match=r"jax_dump_ir_to(.|\n)*written to"),
    ):
        jax.jit(lambda x: jnp.sin(x) * 19)(1.0)


def test_loggers_are_set_and_put_back() -> None:
    package, module = logging.getLogger("morphax"), logging.getLogger("morphax.control.jit")
    before = package.level, list(package.handlers), module.level
    with setting(logging_level="INFO", debug_log_modules="jax.control.jit, other.module"):
        assert package.level == logging.INFO
        assert module.level == logging.getLogger("other.module").level == logging.DEBUG
    assert (package.level, package.handlers, module.level) == before


def test_messages_come_to_standard_error_where_no_one_else_takes_them() -> None:
    program = "import morphax as jax; jax.jit(lambda x: x * 3)(1.0)"
    told = subprocess.run(
        [sys.executable, "-c", program],
        env={"JAX_DEBUG_LOG_MODULES": "jax", "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stderr.count("compiled <lambda>") == 1
    assert "morphax.control.plans" in told.stderr


def test_programs_that_run_at_once() -> None:
    program = """
import morphax as jax, morphax.numpy as jnp
y = jax.jit(lambda x: (x @ x).sum())(jnp.ones((500, 500)))
print(y.is_ready(), y)
"""
    told = subprocess.run(
        [sys.executable, "-c", program],
        env={
            "JAX_CPU_ENABLE_ASYNC_DISPATCH": "0",
            "JAX_CPU_ENGINE": "xla",
            "PYTHONPATH": ":".join(sys.path),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.split() == ["True", "125000000.0"] or told.stdout.startswith("True 1.25e+08")


ROWS = np.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize(
    "index",
    [3, -4, (0, 4), (..., -5), (None, 3), (slice(1), 4), (np.array([0, 1]), 4), (True, 3)],
    ids=str,
)
def test_static_indices_are_checked_where_asked_for(index: Any) -> None:
    x = jnp.asarray(ROWS)
    unchecked = x[index]
    with setting(check_static_indices=True):
        with pytest.raises(IndexError, match=r"shape \(3, 4\)"):
            x[index]
        with pytest.raises(IndexError, match=r"shape \(3, 4\)"):
            jax.jit(lambda x: x[index])(x)
        np.testing.assert_array_equal(x.at[index].get(mode="clip"), unchecked)
    np.testing.assert_array_equal(x[index], unchecked)


@pytest.mark.parametrize("index", [2, -3, (0, -4), slice(2, 9), np.array([9]), (..., 3)], ids=str)
def test_other_indices_are_as_ever(index: Any) -> None:
    x = jnp.asarray(ROWS)
    with setting(check_static_indices=True):
        np.testing.assert_array_equal(x[index], x.at[index].get(mode="clip"))


def test_large_constants_bring_a_warning() -> None:
    large = jnp.arange(50_000.0)
    with (
        setting(captured_constants_warn_bytes=100_000, cpu_engine="xla"),
        pytest.warns(UserWarning, match=r"200,000 bytes(.|\n)*f32\[50000\](.|\n)*arguments"),
    ):
        jax.jit(lambda x: x + large)(1.0)
    with setting(captured_constants_warn_bytes=-1):
        jax.jit(lambda x: x - large)(1.0)


def test_what_checkpoints_keep_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def f(x: Any, w: Any) -> Any:
        return jnp.sin(jnp.dot(x, w)).sum()

    x = jnp.ones((2, 3)), jnp.ones((3, 4))
    keep = jax.checkpoint_policies.dots_saveable
    with setting(log_checkpoint_residuals=True):
        jax.grad(jax.checkpoint(f))(*x)
        jax.grad(jax.checkpoint(f, policy=keep))(*x)
    first, second = [record.getMessage() for record in caplog.records]
    assert "of f at" in first
    assert "inputs: f32[2,3], f32[3,4]" in first
    assert "results: none" in first
    assert "results: f32[2,4]" in second
