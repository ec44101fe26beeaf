"""Code that is made quickly is made again when runs have taken long; results have the same bits."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.config import override
from morphax.engines.native import kept_code
from morphax.engines.native.llvm_text import efforts_of, llvm_module
from morphax.engines.native.machine_code import MachineCode, compile_loops
from morphax.engines.native.machine_function import MachineFunction, PythonFunction
from morphax.transforms.make_jaxpr import make_jaxpr
from morphax.util import host_memory
from tests.engines.c_library import checked_program

X = np.linspace(-2, 2, 8, dtype=np.float32)


def walk(x: Any) -> Any:
    return lax.scan(lambda s, _: (jnp.sin(s) * 1.5 + s[::-1], s[0]), x, None, length=3000)


def bits(tree: Any) -> list[bytes]:
    return [np.asarray(x).tobytes() for x in jax.tree.leaves(tree)]


Make = Callable[[], MachineFunction]


@pytest.fixture(params=[MachineFunction, PythonFunction])
def parts(request: pytest.FixtureRequest) -> tuple[Any, MachineCode]:
    """A function with code that was made quickly, and the code that is better."""
    program = checked_program(make_jaxpr(walk)(X), "walk")
    assert efforts_of(llvm_module(program)) == (0, 1)
    code, better = [compile_loops(program, None, effort) for effort in (0, 1)]
    assert code.object_code != better.object_code
    declared = [[(b.dtype, b.shape) for b in x] for x in (program.inputs, program.outputs)]
    place = code.address, code.scratch_bytes, host_memory.shared
    return request.param(code, *place, *declared, True, False), better


def test_better_code_is_made_once(parts: tuple[Any, MachineCode]) -> None:
    function, better = parts
    made: list[int] = []

    def make() -> tuple[MachineCode, int]:
        made.append(1)
        return better, better.address

    function.improve_after(0.0, make)
    first = bits(function([X]))
    assert not made
    assert [bits(function([X])) for _ in range(3)] == [first] * 3
    assert len(made) == 1


def test_it_waits_until_runs_have_taken_so_long(parts: tuple[Any, MachineCode]) -> None:
    function, _ = parts
    made: list[int] = []
    function.improve_after(3600.0, lambda: made.append(1))
    for _ in range(5):
        function([X])
    assert not made


def test_there_may_be_no_better_code(parts: tuple[Any, MachineCode]) -> None:
    function, _ = parts
    made: list[int] = []
    function.improve_after(0.0, lambda: made.append(1))
    first = bits(function([X]))
    assert [bits(function([X])) for _ in range(3)] == [first] * 3
    assert len(made) == 1


def test_who_interrupts_it_has_it_made_later(parts: tuple[Any, MachineCode]) -> None:
    function, better = parts
    made: list[int] = []

    def make() -> tuple[MachineCode, int]:
        made.append(1)
        if len(made) == 1:
            raise KeyboardInterrupt
        return better, better.address

    function.improve_after(0.0, make)
    first = bits(function([X]))
    with pytest.raises(KeyboardInterrupt):
        function([X])
    assert [bits(function([X])) for _ in range(4)] == [first] * 4
    assert len(made) == 2


def test_what_runs_while_it_is_made_is_the_code_that_there_is(
    parts: tuple[Any, MachineCode],
) -> None:
    function, better = parts
    found: list[list[bytes]] = []

    def make() -> tuple[MachineCode, int]:
        found.append(bits(function([X])))
        return better, better.address

    function.improve_after(0.0, make)
    first = bits(function([X]))
    assert bits(function([X])) == first
    assert found == [first]


def test_threads_run_either(parts: tuple[Any, MachineCode]) -> None:
    function, better = parts
    expected = bits(function([X]))
    function.improve_after(0.0, lambda: (better, better.address))
    wrong: list[list[bytes]] = []

    def work() -> None:
        for _ in range(50):
            found = bits(function([X]))
            if found != expected:
                wrong.append(found)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.fixture
def efforts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How much was done for each program that was compiled; better code is made at once."""
    seen: list[int] = []
    original = kept_code.compile_loops

    def compile_(program: Any, text: str, effort: int) -> MachineCode:
        seen.append(effort)
        return original(program, text, effort)

    monkeypatch.setattr(kept_code, "compile_loops", compile_)
    monkeypatch.setattr(kept_code, "_SECONDS_OF_A_CHARACTER", 0.0)
    return seen


def jitted() -> Any:
    jax.clear_caches()
    return jax.jit(walk, compiler_options={"jax_cpu_engine": "native"})


@pytest.mark.parametrize("is_kept", [False, True])
def test_programs_become_better(folder: Path, efforts: list[int], is_kept: bool) -> None:
    with override(enable_compilation_cache=is_kept):
        f = jitted()
        first = bits(f(X))
        assert efforts == [0]
        assert [bits(f(X)) for _ in range(3)] == [first] * 3
        assert efforts == [0, 1]
        g = jitted()
        assert [bits(g(X)) for _ in range(3)] == [first] * 3
        assert efforts == ([0, 1] if is_kept else [0, 1, 0, 1])
    assert len(list(folder.glob("native-*.executable"))) == 2 * is_kept


def test_quick_code_is_kept_until_there_is_better(folder: Path, efforts: list[int]) -> None:
    first = bits(jitted()(X))
    f = jitted()
    assert bits(f(X)) == first
    assert efforts == [0]
    assert bits(f(X)) == first
    assert efforts == [0, 1]


def test_it_can_be_switched_off(efforts: list[int]) -> None:
    with override(quick_first_code=False, enable_compilation_cache=False):
        f = jitted()
        assert [bits(f(X)) for _ in range(3)] == [bits(f(X))] * 3
    assert efforts == [1]


def test_a_failure_leaves_the_code_that_there_is(
    efforts: list[int], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with override(enable_compilation_cache=False):
        f = jitted()
        first = bits(f(X))
        monkeypatch.setattr(kept_code, "llvm_module", lambda program: 1 / 0)
        with caplog.at_level(logging.WARNING):
            assert [bits(f(X)) for _ in range(3)] == [first] * 3
    assert [x.getMessage() for x in caplog.records] == [
        "no better code was made of program: division by zero"
    ]
