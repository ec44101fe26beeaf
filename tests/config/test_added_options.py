"""Options of other people's, and guards that jaxlib keeps."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import morphax as jax
from morphax.config import public


class Holder:
    def __init__(self, value: Any) -> None:
        self.value = value

    def _set(self, value: Any) -> None:
        self.value = value


@pytest.fixture
def holder() -> Iterator[Holder]:
    holder = Holder(3)
    jax.config.add_option("my_depth", holder, int, [], {})
    yield holder
    del public._added["my_depth"]


def test_an_added_option(holder: Holder) -> None:
    assert jax.config.read("my_depth") == jax.config.values["my_depth"] == 3
    jax.config.update("my_depth", 5)
    assert holder.value == jax.config.read("my_depth") == 5
    assert "my_depth" not in repr(jax.config)
    with pytest.raises(AttributeError):
        _ = jax.config.my_depth


@pytest.mark.parametrize("name", ["my_depth", "jax_enable_x64"])
def test_names_are_taken_once(holder: Holder, name: str) -> None:
    with pytest.raises(ValueError, match="add_option"):
        jax.config.add_option(name, holder, int, [], {})


def test_the_thread_guard_lets_one_process_be() -> None:
    with pytest.warns(UserWarning, match="no effect"):
        guard = jax.thread_guard(True)
    with guard:
        assert jax.jit(lambda x: x + 1)(1.0) == 2.0
        assert jax.config.jax_thread_guard


PROGRAM = """
import gc
import morphax as jax
# The guard is for buffers of the runtime, not for arrays in host memory.
f = jax.jit(lambda x: x + 1, compiler_options={"jax_cpu_engine": "xla"})
def cycle():
    a = [f(1.0)]
    a.append(a)
    del a
    gc.collect()
cycle()
with jax.array_garbage_collection_guard("log"):
    cycle()
cycle()
"""


def test_arrays_in_cycles_are_told() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stderr.count("was deleted by the Python garbage collector") == 1


def test_the_guard_has_three_levels() -> None:
    for level in (None, "allow", "log", "fatal"):
        with jax.array_garbage_collection_guard(level):
            assert jax.config.jax_array_garbage_collection_guard == level
            gc.collect(0)
    with pytest.raises(ValueError, match="'allow', 'log', 'fatal'"):
        jax.array_garbage_collection_guard("loud")
