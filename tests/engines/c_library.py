"""Programs as C: many are compiled together, for a compiler takes longer to start than to work."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from morphax.core import Jaxpr
from morphax.engines.loops import LoopProgram, NotALoopProgram, loop_program
from morphax.engines.loops.c_source import c_file
from morphax.engines.loops.check import check
from morphax.engines.loops.memory import with_shared_memory
from morphax.transforms.make_jaxpr import make_jaxpr

WARNINGS = ("-std=c99", "-Wall", "-Werror")


def compiler() -> str:
    """The system's C compiler; tests are skipped without one."""
    found = shutil.which("gcc") or shutil.which("cc")
    if found is None:
        pytest.skip("there is no C compiler: what is written in C is not tested")
    return found


def checked_program(jaxpr: Jaxpr, name: str, *, may_call: bool = False) -> LoopProgram:
    """A loop program, checked as it is translated and as it is printed."""
    inputs = [f"x{i}" for i in range(len(jaxpr.invars))]
    outputs = [f"out{i}" for i in range(len(jaxpr.outvars))]
    program = loop_program(jaxpr, name, inputs, outputs)
    check(program)
    if program.callees and not may_call:
        raise NotALoopProgram("a program that calls Python")
    program = with_shared_memory(program)
    check(program)
    return program


class CLibrary:
    """Functions that are compiled together."""

    def __init__(self, folder: Path, flags: Sequence[str] = ("-O1",)) -> None:
        self.folder = folder
        self.flags = flags
        self.programs: dict[str, LoopProgram] = {}
        self._loaded: Any = None

    def add(self, function: Callable[..., Any], *operands: Any) -> str:
        """Take up a function of arrays; its name in the library."""
        return self.add_program(make_jaxpr(function)(*operands))

    def add_program(self, jaxpr: Jaxpr) -> str:
        name = f"f{len(self.programs)}"
        self.programs[name] = checked_program(jaxpr, name)
        return name

    def call(self, name: str, *operands: Any) -> list[np.ndarray[Any, Any]]:
        """The results of a function of the library."""
        program = self.programs[name]
        if self._loaded is None:
            self._loaded = self._compiled()
        arguments: list[Any] = []
        held = []
        for buffer, x in zip(program.inputs, operands, strict=True):
            array = np.array(x, buffer.declared[0], order="C")
            if buffer.shape:
                held.append(array)
                arguments.append(ctypes.c_void_p(array.ctypes.data))
            else:
                number = array.view(buffer.dtype)[()]
                arguments.append(np.ctypeslib.as_ctypes_type(buffer.dtype)(number))
        outs = [np.full(shape, 1, dtype) for dtype, shape in [x.declared for x in program.outputs]]
        arguments += [ctypes.c_void_p(out.ctypes.data) for out in outs]
        # Whether there is a workspace does not matter: it comes last.
        size = sum(x.size * x.dtype.itemsize + 16 for x in program.temporaries)
        workspace = np.full(size + 64, 0xA5, np.uint8)
        getattr(self._loaded, name)(*arguments, ctypes.c_void_p(workspace.ctypes.data))
        return outs

    def _compiled(self) -> Any:
        sources = []
        for name, program in self.programs.items():
            written = c_file(program)
            (self.folder / f"{name}.h").write_text(written.header)
            sources.append(written.source)
        (self.folder / "all.c").write_text("\n".join(sources))
        library = self.folder / "all.so"
        command = [compiler(), *WARNINGS, *self.flags, "-shared", "-fPIC", "-o", str(library)]
        done = subprocess.run(
            [*command, str(self.folder / "all.c"), "-lm"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert not done.returncode, done.stderr[:4000]
        return ctypes.CDLL(str(library))
