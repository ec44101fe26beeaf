"""Calls of Python, and of routines.

For Python machine code calls one function of ours, whose address it is given with a run.  So text
and object code name no function, and are the same for all.  What is not 0 says that Python has
raised something: the run ends there, whatever has been computed.  Routines are called by their
names, and raise nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..loops.callees import Routine
from ..loops.program import Call

if TYPE_CHECKING:
    from .llvm_statements import StatementPrinter

CALLS: Final = "%calls"
"""The parameter that points to the address, see `Calls` in `native/machine_functions.h`."""

ATTRIBUTES: Final = "attributes #4 = { nounwind cold }"
"""Of calls: what is kept in registers elsewhere is saved here."""


def declaration(name: str, numbers: int) -> str:
    """The line that declares a routine."""
    return f"declare void @{name}({', '.join(['ptr', *['i64'] * numbers])})"


def write_call(printer: StatementPrinter, statement: Call) -> None:
    """A call, with pointers to operands and results in a row."""
    memory = [*statement.operands, *statement.results]
    row = printer.variables.new(f"[{max(len(memory), 1)} x ptr]")
    for i, buffer in enumerate(memory):
        place = printer.new(f"getelementptr inbounds ptr, ptr {row}, i64 {i}")
        printer.line(f"store ptr {printer.buffers[buffer]}, ptr {place}, align 8")
    if isinstance(statement.function, Routine):
        name, numbers, _ = statement.function
        printer.parts.declarations[declaration(name, len(numbers))] = None
        given = ", ".join([f"ptr {row}", *[f"i64 {n}" for n in numbers]])
        printer.line(f"call void @{name}({given}) #1")
        return
    function = printer.new(f"load ptr, ptr {CALLS}, align 8")
    given = f"ptr {CALLS}, i32 {statement.function}, ptr {row}"
    failed = printer.new(f"icmp ne i32 {printer.new(f'call i32 {function}({given}) #4')}, 0")
    label = f"call{printer.label()}"
    printer.fork(failed, f"{label}.failed", f"{label}.end")
    printer.line("ret void")
    printer.lines.append(f"{label}.end:")
