"""Compile a jaxpr and call the result.

A compiled program leaves out what need not be computed: operands that no result depends on are not
passed, and results that are operands or constants are handed back as they are.  Constants above
64 KB are passed as operands instead of being written into the module's text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

from ...array import Array
from ...core import Jaxpr
from .callbacks import parsed
from .client import client, compile_options, device_list, extension, handler_keywords, placement
from .lowering import LoweredProgram


@final
class Executable:
    """A compiled program on one device."""

    def __init__(self, program: LoweredProgram, device: Any, loaded: Any) -> None:
        self.program = program
        self.device = device
        self.loaded = loaded
        self._handlers = [
            extension().array_result_handler(aval, placement(device), True, **handler_keywords())
            for aval in program.physical_out_avals
        ]

    @classmethod
    def compile(
        cls, program: LoweredProgram, device: Any, overrides: tuple[tuple[str, Any], ...] = ()
    ) -> Executable:
        """Compile the module of `program` for `device`."""
        options = compile_options(device, overrides)
        compile_and_load = client(device.platform).compile_and_load
        if program.callbacks:
            loaded = compile_and_load(
                parsed(program.text),
                device_list(device),
                options,
                host_callbacks=list(program.callbacks),
            )
        else:
            loaded = compile_and_load(program.text, device_list(device), options)
        return cls(program, device, loaded)

    def __call__(self, operands: Sequence[Array]) -> list[Array]:
        """Run on arrays whose avals are those of the program's operands."""
        program, device = self.program, self.device
        buffers = [operands[i].on_device(device) for i in program.kept_operands]
        for constant in program.constant_operands:
            buffers.append(constant.on_device(device))
        results = self.loaded.execute_sharded(buffers).consume_with_handlers(self._handlers)
        computed = iter(results)
        return [
            Array(out, None, next(computed), device) if source is None else source.of(operands)
            for out, source in zip(program.out_avals, program.forwarded, strict=True)
        ]
