"""Parts of buffers are had without a search for the package jax, which others may import."""

from __future__ import annotations

import sys
import threading
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import morphax as jax
from morphax import NamedSharding, P
from morphax.runtime import buffers
from morphax.sharding import Mesh

MESH = Mesh(jax.devices("cpu")[:4], "x")
X = np.arange(8, dtype=np.float32)


class Recorder:
    """A finder at the end of all, which is asked for what no other finds."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        self.names.append(name)


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    if "jax" in sys.modules:
        pytest.skip("the package jax is there")
    recorder = Recorder()
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, recorder])
    return recorder.names


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_nobody_looks_for_jax(searched: list[str], dtype: str) -> None:
    x = jax.device_put(jax.numpy.asarray(X, dtype), NamedSharding(MESH, P("x")))
    y = jax.jit(lambda x: x + 1)(x)
    np.testing.assert_array_equal(np.asarray(y, np.float32), X + 1)
    assert [float(s.data.sum()) for s in y.addressable_shards] == [3.0, 7.0, 11.0, 15.0]
    moved = jax.device_put(jax.jit(lambda x: x + 1)(x), NamedSharding(MESH, P()))
    np.testing.assert_array_equal(np.asarray(moved, np.float32), X + 1)
    assert "jax" not in searched


def test_no_other_thread_sees_what_jaxlib_finds() -> None:
    """Nor does anybody afterwards, also where asking fails."""
    before = {name: sys.modules.get(name) for name in sys.modules if name.startswith("jax.")}
    found, stop = [], threading.Event()

    def look() -> None:
        while not stop.is_set():
            found.extend([m for m in (sys.modules.get("jax"),) if m in buffers._seeming_jax()])

    interval = sys.getswitchinterval()
    thread = threading.Thread(target=look)
    sys.setswitchinterval(1e-6)
    try:
        thread.start()
        for _ in range(500):
            x = jax.device_put(X, NamedSharding(MESH, P("x")))
            assert len(buffers.parts_of(x.buffer_at(x.place))) == 4
    finally:
        stop.set()
        sys.setswitchinterval(interval)
        thread.join()
    with pytest.raises(AttributeError):
        buffers.parts_of(object())
    assert not found
    assert before == {n: sys.modules.get(n) for n in sys.modules if n.startswith("jax.")}


def test_a_module_of_the_user_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    own = ModuleType("jax")
    monkeypatch.setitem(sys.modules, "jax", own)
    monkeypatch.setitem(sys.modules, "jax._src.sharding_impls", own)
    x = jax.device_put(X, NamedSharding(MESH, P("x")))
    assert [float(s.data.sum()) for s in x.addressable_shards] == [1.0, 5.0, 9.0, 13.0]
    assert sys.modules["jax"] is sys.modules["jax._src.sharding_impls"] is own


def test_imports_of_others_are_theirs(searched: list[str]) -> None:
    """Also while another thread asks for contents, and where asking fails."""

    class Buffer:
        def _single_device_array_to_np_array_did_copy(self) -> Any:
            thread = threading.Thread(target=self.imports)
            thread.start()
            thread.join()
            raise RuntimeError("no contents")

        @staticmethod
        def imports() -> None:
            with pytest.raises(ModuleNotFoundError, match="No module named 'jax'"):
                __import__("jax")

    with pytest.raises(RuntimeError, match="no contents"):
        buffers._contents_of(Buffer())
    Buffer.imports()
    assert searched.count("jax") == 2
