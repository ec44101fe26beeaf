"""A program of the native engine, ready to be called.

Operands are read where they lie in host memory, which on the CPU is where XLA's buffers are too;
results are new arrays in host memory.  A run is over when the call returns.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import repeat
from math import inf
from typing import Any, NoReturn, final

import numpy as np

from ...array import Array
from ...core import AutoLayout, Format, Layout
from ...errors import JaxRuntimeError
from ...runtime.interruptible import interruptible
from ...runtime.laid_out import laid_out
from ...runtime.places import Places
from ...runtime.sharding import Sharding
from ...util.messages import message
from ..call_plan import CallPlan
from ..donated import donated_to, refuse_given_twice, warn_of_unusable
from ..engine import Plan
from ..loops.callees import Callees, has_passed_callees
from ..loops.program import Buffer, For, While, kinds_of
from .costs import work_of
from .kept_code import improvement_of
from .llvm_text import llvm_module
from .machine_code import MachineCode
from .machine_function import MachineFunction, pool
from .memory_stats import MemoryStats
from .translation import NativeProgram


@final
class NativeExecutable(Plan):
    """Machine code with how to call it.

    Args:
        program: what was compiled.
        code: the machine code.
        places: where operands and results are to be.
    """

    def __init__(self, program: NativeProgram, code: MachineCode, places: Places) -> None:
        self.in_avals = program.in_avals
        self.places = places = _settled(places)
        typed = zip(places.chosen_results(), program.out_avals, strict=True)
        self.out_avals = tuple([place.typed(aval) for place, aval in typed])
        self._program, self._code = program, code
        loops = program.loops
        kinds = kinds_of(loops.body)
        self._function = MachineFunction(
            code,
            code.address,
            code.scratch_bytes,
            pool,
            [_declared(x) for x in loops.inputs],
            [_declared(x) for x in loops.outputs],
            not kinds.isdisjoint({For, While}),
            While in kinds,
            Callees(loops.callees) if loops.callees else None,
        )
        if code.worth_improving < inf:
            self._function.improve_after(code.worth_improving, partial(improvement_of, loops))
        warn_of_unusable(program.name, [self.in_avals[i].str_short() for i in program.unusable])

    def run(self, operands: Sequence[Array], committed: bool) -> list[Array]:
        program = self._program
        if program.donated and len(set(map(id, operands))) < len(operands):
            refuse_given_twice(operands, program.donated, program.info)
        hosts = self._execute([operands[i].to_host() for i in program.kept])
        if program.donated:
            gone = donated_to(program.info.function)
            for i in program.donated:
                operands[i].give_up(gone)
        places = self.places.results
        return list(map(Array, self.out_avals, hosts, repeat(None), places, repeat(committed)))

    def _execute(self, operands: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
        """Run the code, such that Ctrl-C leaves it if it takes long."""
        function = self._function
        try:
            if function.may_take_long():
                results: list[Any] = interruptible(partial(function, operands))
            else:
                results = function(operands)
        except MemoryError as error:
            self._fail(error)
        return results

    def call_plan(self) -> CallPlan:
        program, places = self._program, self.places
        takes_all = len(program.kept) == len(program.in_avals)
        return CallPlan(
            places.operands,
            places.results,
            None if takes_all else program.kept,
            None if takes_all else program.kept,
            (),
            None,
            (),
            self._execute,
            self.out_avals,
            None,
            self._fail,
            program.donated,
            partial(donated_to, program.info.function),
            self._function,
        )

    def _fail(self, error: BaseException) -> NoReturn:
        if has_passed_callees(error):
            raise error
        raise JaxRuntimeError(
            message(
                f"RESOURCE_EXHAUSTED: running the program {self._program.name}",
                given=f"{self.memory_analysis().peak_memory_in_bytes} bytes for its results and "
                "temporaries, which the system does not have",
                expected="success",
                fix="Use smaller arrays, or recompute values with jax.checkpoint.",
            )
        ) from error

    def as_text(self) -> str:
        """The program in LLVM's language, before LLVM optimises it."""
        return llvm_module(self._program.loops)

    def operand_formats(self) -> list[Format]:
        known = super().operand_formats()
        return [f if i in self._program.kept else Format() for i, f in enumerate(known)]

    def cost_analysis(self) -> dict[str, float]:
        """Operations and bytes moved; the body of a `while_loop` counts once."""
        work = work_of(self._program.loops, steps_of_while=1)
        long = work.slow + work.wide_slow + work.functions
        return {
            "flops": float(work.operations + work.wide_operations + long),
            "transcendentals": float(long),
            "bytes accessed": float(work.moved),
        }

    def memory_analysis(self) -> MemoryStats:
        """How many bytes arguments, results, temporaries and code take up."""
        loops = self._program.loops
        return MemoryStats(
            sum(map(_bytes, loops.inputs)),
            sum(map(_bytes, loops.outputs)),
            self._code.scratch_bytes,
            len(self._code.object_code),
        )


def _declared(buffer: Buffer) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """Dtype and shape of the array that others see."""
    return buffer.declared


def _bytes(buffer: Buffer) -> int:
    return buffer.size * buffer.dtype.itemsize


def _settled(places: Places) -> Places:
    """The places, where the order of elements that was left open is row by row."""
    operands = [x.plain if type(x.element_order) is AutoLayout else x for x in places.operands]
    results: list[Sharding] = []
    for i, place in enumerate(places.results):
        order = places.order_of(i)
        chosen = place or places.whole
        results.append(laid_out(chosen, order if isinstance(order, Layout) else None))
    if operands == list(places.operands) and results == list(places.results):
        return places
    return places.at(operands, results)
