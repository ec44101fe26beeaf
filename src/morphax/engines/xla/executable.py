"""Compile a jaxpr and call the result.

A compiled program leaves out what need not be computed: operands that no result depends on are not
passed, and results that are operands or constants are handed back as they are.  Constants above
64 KB are passed as operands instead of being written into the module's text.

jaxlib checks neither the dtype of an operand nor, for programs on several devices, its size: wrong
operands would give wrong numbers or end the process.  So avals are compared here on every call.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import repeat
from typing import Any, NoReturn, final

from ...array import Array
from ...array.sharding import SingleDeviceSharding
from ...util.messages import message
from . import pending
from .buffers import wait
from .call_plan import CallPlan
from .client import (
    compile_options,
    device_list,
    extension,
    fusions_are_chosen,
    handler_keywords,
    layout_of,
)
from .compile_cache.programs import load_or_compile
from .failures import raise_failure, reported_by_xla
from .interruptible import interruptible
from .library_fusions import may_fuse_reductions
from .lowering import LoweredProgram
from .mlir_context import parsed

# Handing a call to another thread takes about a tenth of this.
_LONG_SECONDS = 1e-3


@final
class Executable:
    """A compiled program at one place."""

    def __init__(self, program: LoweredProgram, place: SingleDeviceSharding, loaded: Any) -> None:
        self.program = program
        self.place = place
        self.loaded = loaded
        self._in_avals = list(program.in_avals)
        self._takes_all = program.kept_operands == tuple(range(len(program.in_avals)))
        self._forwards = any(source is not None for source in program.forwarded)
        # XLA runs short programs, and all loops of cheap steps, on the thread that calls them.
        self._loops = "stablehlo.while" in program.text
        self._was_long = True
        self._constants = [constant.buffer_at(place) for constant in program.constant_operands]
        layout, _ = layout_of(place)
        self._handlers = [
            extension().array_result_handler(aval, layout, True, **handler_keywords())
            for aval in program.physical_out_avals
        ]

    @classmethod
    def compile(
        cls,
        program: LoweredProgram,
        place: SingleDeviceSharding,
        overrides: tuple[tuple[str, Any], ...] = (),
    ) -> Executable:
        """Compile the module of `program` for `place`, or load what the compile cache has kept."""
        device = place.device
        may_fuse = (
            program.guards_extremes and fusions_are_chosen() and may_fuse_reductions(program.text)
        )
        options = compile_options(device, overrides, fuses_reductions=may_fuse)

        def compiled(module: Any = program.text, **keywords: Any) -> Any:
            return interruptible(
                lambda: device.client.compile_and_load(
                    module, device_list(device), options, **keywords
                )
            )

        try:
            if program.callbacks:
                loaded = compiled(parsed(program.text), host_callbacks=list(program.callbacks))
            else:
                loaded = load_or_compile(program.text, options, device, compiled)
        except reported_by_xla() as error:
            raise_failure(error, f"compiling the program {program.name}")
        for inspection in program.inspections:
            inspection(place)
        return cls(program, place, loaded)

    def __call__(self, operands: Sequence[Array], committed: bool = False) -> list[Array]:
        """Run on arrays whose avals are those of the program's operands.

        Args:
            operands: the arrays; those at another place are copied to this one.
            committed: whether the results are bound to the place, because some operand is.
        """
        if [x.aval for x in operands] != self._in_avals:
            self._check_avals(operands)
        return self.run(operands, committed)

    def run(self, operands: Sequence[Array], committed: bool) -> list[Array]:
        """`__call__` for a caller that has compared the avals."""
        program, place = self.program, self.place
        if not self._takes_all:
            taken = [operands[i] for i in program.kept_operands]
        else:
            taken = operands  # type: ignore[assignment]
        buffers = [
            buffer if x.place is place and (buffer := x._buffer) is not None else x.buffer_at(place)
            for x in taken
        ]
        buffers += self._constants
        if program.callbacks:
            results = self._calling_python(buffers)
        elif self._loops:
            results = self._looping(buffers)
        else:
            try:
                results = self.loaded.execute_sharded(buffers).consume_with_handlers(self._handlers)
            except reported_by_xla() as error:
                self._fail(error)
        if self._forwards:
            return self._with_forwarded(results, operands, committed)
        avals = program.out_avals
        return list(map(Array, avals, repeat(None), results, repeat(place), repeat(committed)))

    def plan(self, gone: Callable[[], Any]) -> CallPlan:
        """What `run` does, for callers in C++; see `CallPlan` for `gone`."""
        program = self.program
        execute = self._looping if self._loops else None
        return CallPlan(
            self.place,
            None if self._takes_all else tuple(program.kept_operands),
            self._constants,
            self.loaded,
            self._handlers,
            self._calling_python if program.callbacks else execute,
            program.out_avals,
            self._with_forwarded if self._forwards else None,
            self._fail,
            program.donated,
            gone,
        )

    def _fail(self, error: RuntimeError) -> NoReturn:
        raise_failure(error, f"running the program {self.program.name}")

    def _with_forwarded(
        self, outputs: Sequence[Any], operands: Sequence[Array], committed: bool
    ) -> list[Array]:
        """The results of which some are operands or constants."""
        program, place, computed = self.program, self.place, iter(outputs)
        return [
            Array(aval, None, next(computed), place, committed)
            if source is None
            else source.of(operands).placed(place, committed)
            for aval, source in zip(program.out_avals, program.forwarded, strict=True)
        ]

    def _looping(self, buffers: Sequence[Any]) -> Any:
        """Run a program that may take any time, such that Ctrl-C leaves it if it does.

        A program whose last run was short is not worth another thread.
        """
        run = partial(self.loaded.execute_sharded, buffers)
        start = time.perf_counter()
        try:
            execution = interruptible(run) if self._was_long else run()
            self._was_long = time.perf_counter() - start > _LONG_SECONDS
            return execution.consume_with_handlers(self._handlers)
        except reported_by_xla() as error:
            self._fail(error)

    def _calling_python(self, buffers: Sequence[Any]) -> Any:
        """Run a program with callbacks, whose output must not be lost.

        Once its operands are there, XLA computes it on this thread.  Else one of XLA's own threads
        would run the callbacks, and be missing for the programs that these run and wait for.
        """
        platform = self.place.platform
        if platform == "cpu":
            wait(buffers)
        try:
            execution = self.loaded.execute_sharded(buffers, with_tokens=True)
            results = execution.consume_with_handlers(self._handlers)
        except reported_by_xla() as error:
            self._fail(error)
        pending.started(self.program.name, execution.consume_token(), platform)
        return results

    def _check_avals(self, operands: Sequence[Array]) -> None:
        """Raise an error unless shapes and dtypes are right; weak types may differ."""
        given = [x.aval.str_short() for x in operands]
        expected = [aval.str_short() for aval in self._in_avals]
        if given != expected:
            raise TypeError(
                message(
                    f"call of the compiled program {self.program.name}",
                    given=f"({', '.join(given)})",
                    expected=f"({', '.join(expected)})",
                    fix="Pass arrays of the shapes and dtypes that it was compiled for.",
                )
            )
