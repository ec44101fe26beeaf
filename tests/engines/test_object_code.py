"""Object code: one text becomes the same bytes, whoever compiles it and after what."""

from __future__ import annotations

import threading

import morphax as jax
from benchmarks.small_programs.table import PROGRAMS
from morphax.engines.loops.program import LoopProgram
from morphax.engines.native.llvm_text import llvm_module
from morphax.engines.native.machine_code import object_code
from morphax.transforms.make_jaxpr import make_jaxpr
from tests.engines.c_library import checked_program


def program(name: str) -> LoopProgram:
    entry = PROGRAMS[name]
    function, operands = entry.make(jax, entry.few_steps)
    return checked_program(make_jaxpr(function)(*operands), "f")


def test_threads_that_share_the_passes_make_the_same_code() -> None:
    given = [
        (llvm_module(program(name)), effort)
        for name in ("lorenz", "kalman", "bodies", "divergent")
        for effort in (0, 1)
    ]
    expected = [object_code(*x) for x in given]
    found: list[list[bytes]] = []

    def compile_all() -> None:
        found.append([object_code(*x) for x in given])

    threads = [threading.Thread(target=compile_all) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4
