"""Programs as machine code, called through pointers."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from morphax.core import Jaxpr
from morphax.engines.loops import LoopProgram
from morphax.engines.native.machine_code import MachineCode, compile_loops
from tests.engines.c_library import checked_program

_RUN = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)


def compiled(jaxpr: Jaxpr) -> tuple[LoopProgram, MachineCode]:
    """A program that is checked, and its machine code."""
    program = checked_program(jaxpr, "f")
    return program, compile_loops(program)


def call(program: LoopProgram, code: MachineCode, *operands: Any) -> list[np.ndarray[Any, Any]]:
    """The results; memory holds rubbish before."""
    given = [
        np.array(x, buffer.dtype, order="C").reshape(buffer.shape)
        for buffer, x in zip(program.inputs, operands, strict=True)
    ]
    outs = [np.full(buffer.shape, 1, buffer.dtype) for buffer in program.outputs]
    memory = np.full(code.scratch_bytes + 64, 0xA5, np.uint8)
    scratch = -(-memory.ctypes.data // 64) * 64
    tables = [(ctypes.c_void_p * len(x))(*[y.ctypes.data for y in x]) for x in (given, outs)]
    _RUN(code.address)(*tables, scratch)
    return outs
