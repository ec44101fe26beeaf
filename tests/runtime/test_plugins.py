"""Discovery of PJRT plugins, on a directory made for the purpose."""

from __future__ import annotations

from pathlib import Path

import pytest

from morphax.runtime import kernels, plugins
from morphax.runtime.plugins import Plugin, installed


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in (
        "jax_plugins/xla_cuda13/__init__.py",
        "jax_plugins/xla_cuda13/xla_cuda_plugin.so",
        "jax_plugins/xla_rocm7/xla_rocm_plugin.so",
        "jax_plugins/other/pjrt_plugin_other.so",
        "jax_plugins/without_library/__init__.py",
        "libtpu/__init__.py",
        "libtpu/libtpu.so",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("raise ImportError('plugins must not be imported')\n")
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_discovery(site: Path) -> None:
    namespace = site / "jax_plugins"
    assert installed.__wrapped__() == {
        "tpu": Plugin("tpu", site / "libtpu/libtpu.so"),
        "other": Plugin("other", namespace / "other/pjrt_plugin_other.so"),
        "cuda": Plugin("cuda", namespace / "xla_cuda13/xla_cuda_plugin.so", "jax_cuda13_plugin"),
        "rocm": Plugin("rocm", namespace / "xla_rocm7/xla_rocm_plugin.so", "jax_rocm7_plugin"),
    }


def test_preference(site: Path) -> None:
    assert list(installed.__wrapped__()) == ["tpu", "other", "cuda", "rocm"]


def test_missing_dependencies_are_left_to_the_linker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / "nvidia/cublas/lib/libcublas.so.12"
    library.parent.mkdir(parents=True)
    library.write_text("not a library")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(plugins, "_folders", lambda package: [tmp_path / package])
    plugins.load_dependencies(Plugin("cuda", Path("unused.so")))


def test_kernels_of_a_package_that_is_not_installed() -> None:
    kernels.register(Plugin("cuda", Path("x.so"), "no_such_package"), None, None)
    kernels.register(Plugin("tpu", Path("x.so")), None, None)
