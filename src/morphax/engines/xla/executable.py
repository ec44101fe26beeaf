"""Compile a jaxpr and call the result.

A compiled program leaves out what need not be computed: operands that no result depends on are not
passed, and results that are operands or constants are handed back as they are.  Constants above
64 KB are passed as operands instead of being written into the module's text.

jaxlib checks neither the dtype of an operand nor, for programs on several devices, its size: wrong
operands would give wrong numbers or end the process.  So avals are compared here on every call.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Any, final

from ...array import Array
from ...util.messages import message
from .callbacks import parsed
from .client import compile_options, device_list, extension, handler_keywords, placement
from .failures import failure, origin, reported_by_xla
from .lowering import LoweredProgram


@final
class Executable:
    """A compiled program on one device."""

    def __init__(self, program: LoweredProgram, device: Any, loaded: Any) -> None:
        self.program = program
        self.device = device
        self.loaded = loaded
        self._in_avals = list(program.in_avals)
        self._takes_all = program.kept_operands == tuple(range(len(program.in_avals)))
        self._forwards = any(source is not None for source in program.forwarded)
        self._constants = [constant.on_device(device) for constant in program.constant_operands]
        self._handlers = [
            extension().array_result_handler(aval, placement(device), True, **handler_keywords())
            for aval in program.physical_out_avals
        ]

    @classmethod
    def compile(
        cls, program: LoweredProgram, device: Any, overrides: tuple[tuple[str, Any], ...] = ()
    ) -> Executable:
        """Compile the module of `program` for `device`."""
        module, keywords = program.text, {}
        if program.callbacks:
            module, keywords = parsed(program.text), {"host_callbacks": list(program.callbacks)}
        options = compile_options(device, overrides)
        try:
            loaded = device.client.compile_and_load(
                module, device_list(device), options, **keywords
            )
        except reported_by_xla() as error:
            raise failure(error, f"compiling the program {program.name}") from origin(error)
        return cls(program, device, loaded)

    def __call__(self, operands: Sequence[Array], committed: bool = False) -> list[Array]:
        """Run on arrays whose avals are those of the program's operands.

        Args:
            operands: the arrays; those on another device are copied to this one.
            committed: whether the results are bound to the device, because some operand is.
        """
        if [x.aval for x in operands] != self._in_avals:
            self._check_avals(operands)
        return self.run(operands, committed)

    def run(self, operands: Sequence[Array], committed: bool) -> list[Array]:
        """`__call__` for a caller that has compared the avals."""
        program, device = self.program, self.device
        if not self._takes_all:
            taken = [operands[i] for i in program.kept_operands]
        else:
            taken = operands  # type: ignore[assignment]
        buffers = [
            buffer
            if x._device is device and (buffer := x._buffer) is not None
            else x.on_device(device)
            for x in taken
        ]
        buffers += self._constants
        try:
            results = self.loaded.execute_sharded(buffers).consume_with_handlers(self._handlers)
        except reported_by_xla() as error:
            raise failure(error, f"running the program {program.name}") from origin(error)
        if not self._forwards:
            avals = program.out_avals
            return list(map(Array, avals, repeat(None), results, repeat(device), repeat(committed)))
        computed = iter(results)
        return [
            Array(aval, None, next(computed), device, committed)
            if source is None
            else source.of(operands).placed(device, committed)
            for aval, source in zip(program.out_avals, program.forwarded, strict=True)
        ]

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
