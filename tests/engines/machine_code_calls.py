"""Programs as machine code, called through pointers."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from morphax.core import Jaxpr
from morphax.engines.loops import LoopProgram
from morphax.engines.loops.callees import Callees
from morphax.engines.native.machine_code import MachineCode, compile_loops
from morphax.engines.native.machine_function import Calls
from morphax.transforms.make_jaxpr import make_jaxpr
from tests.engines.c_library import checked_program

_RUN = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)


def compiled(jaxpr: Jaxpr) -> tuple[LoopProgram, MachineCode]:
    """A program that is checked, and its machine code."""
    program = checked_program(jaxpr, "f", may_call=True)
    return program, compile_loops(program)


def call(program: LoopProgram, code: MachineCode, *operands: Any) -> list[np.ndarray[Any, Any]]:
    """The results; memory holds rubbish before."""
    given = [
        np.array(x, dtype, order="C").reshape(shape)
        for (dtype, shape), x in zip(
            [buffer.declared for buffer in program.inputs], operands, strict=True
        )
    ]
    outs = [np.full(shape, 1, dtype) for dtype, shape in [x.declared for x in program.outputs]]
    memory = np.full(code.scratch_bytes + 64, 0xA5, np.uint8)
    scratch = -(-memory.ctypes.data // 64) * 64
    calls = Calls(Callees(program.callees))
    pointers = [*[x.ctypes.data for x in given], calls.address], [x.ctypes.data for x in outs]
    tables = [(ctypes.c_void_p * len(x))(*x) for x in pointers]
    _RUN(code.address)(*tables, scratch)
    assert calls.failure is None
    return outs


class MachineCodes:
    """Functions as machine code, with the face of a `CLibrary`."""

    def __init__(self) -> None:
        self.functions: dict[str, tuple[LoopProgram, MachineCode]] = {}

    def add(self, function: Callable[..., Any], *operands: Any) -> str:
        """Take up a function of arrays; its name."""
        name = f"f{len(self.functions)}"
        self.functions[name] = compiled(make_jaxpr(function)(*operands))
        return name

    def call(self, name: str, *operands: Any) -> list[np.ndarray[Any, Any]]:
        """The results of a function."""
        return call(*self.functions[name], *operands)
