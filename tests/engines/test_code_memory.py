"""Where machine code lies: pages that programs share, and object files linked into them."""

from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import pytest

import morphax.numpy as jnp
from morphax.engines.loops import LoopProgram
from morphax.engines.native.code_memory import CodeMemory
from morphax.engines.native.linking import UnknownObject, can_link, linked
from morphax.engines.native.llvm_text import llvm_module
from morphax.engines.native.machine_code import MachineCode, key_of, load
from morphax.transforms.make_jaxpr import make_jaxpr
from tests.engines.machine_code_calls import call, compiled

X = np.arange(1.0, 6.0, dtype=np.float32)


@pytest.fixture(scope="module")
def code() -> tuple[LoopProgram, MachineCode]:
    """A program with constants, functions of ours and one of the C library."""
    table = np.arange(5, dtype=np.float32) * 3
    jaxpr = make_jaxpr(lambda x: jnp.exp(x) + table + jnp.cbrt(x)[::-1])(X)
    return compiled(jaxpr)


def test_object_code_can_be_loaded_again(code: tuple[LoopProgram, MachineCode]) -> None:
    program, machine_code = code
    (first,) = call(program, machine_code, X)
    (second,) = call(program, load(program, machine_code.object_code), X)
    np.testing.assert_array_equal(first, second)
    np.testing.assert_allclose(first, np.exp(X) + np.arange(5) * 3 + np.cbrt(X)[::-1], 1e-6)


def test_one_program_has_one_text(code: tuple[LoopProgram, MachineCode]) -> None:
    program, _ = code
    assert llvm_module(program) == llvm_module(program)
    other, _ = compiled(make_jaxpr(jnp.cos)(X))
    assert key_of(program) == key_of(program) != key_of(other)


def _count_of_maps() -> int:
    return len(Path("/proc/self/maps").read_text().splitlines())


@pytest.mark.skipif(not can_link(), reason="LLVM links itself here")
def test_programs_share_memory_maps(code: tuple[LoopProgram, MachineCode]) -> None:
    program, machine_code = code
    before = _count_of_maps()
    many = [load(program, machine_code.object_code) for _ in range(600)]
    assert _count_of_maps() - before < 20
    results = [call(program, each, X)[0] for each in many[::100]]
    assert all([np.array_equal(x, results[0]) for x in results])
    del many[::2]
    gc.collect()
    # What is free is used again.
    again = [load(program, machine_code.object_code) for _ in range(300)]
    assert len({each.address for each in [*many, *again]}) == 600
    assert np.array_equal(call(program, again[-1], X)[0], results[0])
    assert np.array_equal(call(program, many[0], X)[0], results[0])


@pytest.mark.skipif(not can_link(), reason="LLVM links itself here")
def test_pages_join_when_they_are_free() -> None:
    # Of its own: in the memory of all, what is free may lie apart.
    memory = CodeMemory()
    pages = [memory.pages(1) for _ in range(3)]
    first, size = min([x.address for x in pages]), sum([x.size for x in pages])
    pages.clear()
    gc.collect()
    assert memory.pages(size).address == first


@pytest.mark.skipif(not can_link(), reason="LLVM links itself here")
def test_broken_object_files_are_refused(code: tuple[LoopProgram, MachineCode]) -> None:
    _, machine_code = code
    with pytest.raises(UnknownObject, match="no ELF file"):
        linked(b"MZ" + machine_code.object_code[2:], "run")
    nowhere = machine_code.object_code.replace(b"cbrtf\0", b"cbrtx\0")
    with pytest.raises(UnknownObject, match="no function cbrtx"):
        linked(nowhere, "run")


def test_pages_are_given_back_in_the_midst_of_anything() -> None:
    """The garbage collector frees code in the thread that asks for pages, which has the lock."""
    memory = CodeMemory()
    pages = memory.pages(1)
    address = pages.address
    with memory._lock:
        del pages
    assert memory.pages(1).address == address
