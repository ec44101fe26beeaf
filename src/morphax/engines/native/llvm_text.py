"""A loop program as a module of LLVM IR.

The module has two functions.  ``run(arguments, results, scratch)`` is what others call: it reads
pointers.  The other one computes: each buffer is a parameter of it that is `noalias`, as in C a
pointer is `restrict`; so LLVM knows in constant time that no two of them overlap, where scopes of
aliases would be quadratic in the buffers.

Small temporaries are variables on the stack (`local_buffers` bounds them), the others lie in the
scratch memory that callers hand over, each from a multiple of 64 bytes on.

A caller promises that results overlap no argument, no other result and not the scratch memory, and
that an element of dtype d lies at a multiple of d's size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import final

import numpy as np

from ...util.paused_collection import paused_collection
from ..loops.memory import local_buffers, touched_by
from ..loops.program import Buffer, Call, Kind, LoopProgram, kinds_of, walk
from .call_text import ATTRIBUTES, CALLS
from .llvm_statements import StatementPrinter
from .loop_plans import plans_taken
from .module_parts import ModuleParts, function_text
from .segments import segments_of, write_segments
from .thread_steps import loops_to_divide

ENTRY = "run"
"""The name of the function that is called."""

COMPUTE = "compute"
"""The name of the function that computes."""

EFFORT = "; effort "
"""What the first line begins with; it ends with how much LLVM is to do, 0 or 1, or first 0, then 1.

At 0 code takes a third of the time to be made.  Where lines are run once, it is as fast as other
code; in loops it takes up to twice as long.
"""

# At most so often lines are run, on the average, that are made with an effort of 0.
_MOST_RUNS = 64
# Of longer programs the selection of instructions takes more than linear time, but at 0.
_MOST_LINES = 6000
# Where lines are run more often at first, on the average, code is made with full effort at once.
# That takes 12 us more for a line, and saves about 0.1 ns each time that one is run.
_MOST_QUICK_RUNS = 1 << 14

# The function that computes has so many parameters at most, where LLVM asks what overlaps or not.
_MOST_PARAMETERS = 200

_ALIGNMENT = 64

# What the function that is called is given.
_TABLES = ("ptr %arguments", "ptr %results", "ptr %scratch")


@final
class Scratch:
    """Where large temporaries lie in the scratch memory.

    Attributes:
        offsets: for each of them, in bytes.
        size: of the memory, in bytes.
    """

    def __init__(self, program: LoopProgram) -> None:
        local = set(local_buffers(program))
        self.offsets: dict[Buffer, int] = {}
        self.size = 0
        for buffer in program.temporaries:
            if buffer not in local:
                self.offsets[buffer] = self.size
                size = buffer.size * buffer.dtype.itemsize
                self.size += -(-size // _ALIGNMENT) * _ALIGNMENT


def llvm_module(program: LoopProgram) -> str:
    """The text of the module.  One program has one text."""
    with paused_collection():
        return _module(program)


def _module(program: LoopProgram) -> str:
    scratch = Scratch(program)
    outside = [*program.inputs, *program.outputs, *scratch.offsets]
    pointers = {buffer: f"%b{i}" for i, buffer in enumerate(outside)}
    pointers |= {buffer: f"@c{i}" for i, buffer in enumerate(program.constants)}
    local = local_buffers(program)
    pointers |= {buffer: f"%v{i}" for i, buffer in enumerate(local)}
    parts = ModuleParts()
    plans = plans_taken(program)
    plans.divided = loops_to_divide(program.body, plans)
    printer = StatementPrinter(pointers, plans, parts)
    # What calls Python returns from the midst, and threads know the memory of the others.
    is_whole = plans.divided or program.callees
    segments = [] if is_whole else segments_of(program.body, local)
    if segments:
        write_segments(printer, segments)
        own = {x for segment in segments for x in segment.own}
        local = [x for x in local if x not in own]
    else:
        printer.block(program.body)
    variables = [(pointers[x], x) for x in local]
    body = [*printer.variables.lines, *printer.lines]
    size = len(body) + sum(map(len, parts.texts))
    efforts: tuple[int, ...] = (0,)
    if size <= _MOST_LINES:
        efforts = _efforts(len(body) + printer.elsewhere, printer.repeats)
    read = _pointers(program, scratch, pointers)
    if efforts == (0,) and len(outside) > _MOST_PARAMETERS:
        parameters: Sequence[str] = _TABLES
        given, read, body = parameters, [], [*printer.variables.lines, *read, *printer.lines]
    else:
        parameters = _parameters(program, pointers, outside, is_divided=bool(plans.divided))
        given = [f"ptr {pointers[x]}" for x in outside] + [f"ptr {CALLS}"] * bool(program.callees)
    lines = [
        EFFORT + " ".join(map(str, efforts)),
        *[_constant(pointers[x], x) for x in program.constants],
        *parts.lines,
        *function_text(f"@{COMPUTE}", parameters, variables, body),
        *_entry(read, given),
        'attributes #0 = { noinline nounwind "prefer-vector-width"="256" }',
        "attributes #1 = { nounwind }",
        'attributes #3 = { nounwind "prefer-vector-width"="256" }',
        "attributes #2 = { nounwind willreturn memory(none) }",
        *[ATTRIBUTES] * bool(program.callees),
    ]
    return "\n".join(lines) + "\n"


def efforts_of(text: str) -> tuple[int, ...]:
    """How much LLVM is to do for a module: first, and later where it is run for long."""
    return tuple(map(int, text[len(EFFORT) : text.index("\n")].split()))


def _efforts(lines: int, repeats: int) -> tuple[int, ...]:
    """The same for a program of so many lines, and those that loops run again."""
    if lines + repeats <= _MOST_RUNS * lines:
        return (0,)
    return (0, 1) if lines + repeats <= _MOST_QUICK_RUNS * lines else (1,)


def _parameters(
    program: LoopProgram,
    pointers: Mapping[Buffer, str],
    outside: Sequence[Buffer],
    *,
    is_divided: bool,
) -> list[str]:
    """A pointer to each buffer; what Python or threads are given is known to others."""
    calls = walk(program.body) if Call in kinds_of(program.body) else ()
    handed = {x for call in calls if type(call) is Call for x in touched_by(call)}
    texts = [_parameter(pointers[x], x, is_known=is_divided or x in handed) for x in outside]
    return texts + [f"ptr noundef {CALLS}"] * bool(program.callees)


def _parameter(name: str, buffer: Buffer, *, is_known: bool) -> str:
    """A pointer to memory that is accessed through it alone, which others may know while it is."""
    size, align = buffer.size * buffer.dtype.itemsize, buffer.dtype.itemsize
    if buffer.kind is Kind.TEMPORARY:
        align = _ALIGNMENT
    qualities = ["noalias", "noundef", f"align {align}"]
    if not is_known:
        qualities.append("captures(none)")
    if buffer.kind is Kind.INPUT:
        qualities.append("readonly")
    if size:
        qualities.append(f"dereferenceable({size})")
    return f"ptr {' '.join(qualities)} {name}"


def _constant(name: str, buffer: Buffer) -> str:
    assert buffer.data is not None, "a constant has data"
    data = np.ascontiguousarray(buffer.data, buffer.dtype).tobytes()
    text = _escaped(data)
    return (
        f"{name} = private unnamed_addr constant [{len(data)} x i8] "
        f'c"{text}", align {_ALIGNMENT if len(data) >= _ALIGNMENT else buffer.dtype.itemsize}'
    )


def _escaped(data: bytes) -> str:
    """Bytes as text: a backslash and two digits each."""
    digits = np.frombuffer(b"0123456789ABCDEF", np.uint8)
    values = np.frombuffer(data, np.uint8)
    text = np.empty((len(data), 3), np.uint8)
    text[:, 0] = ord("\\")
    text[:, 1], text[:, 2] = digits[values >> 4], digits[values & 15]
    return text.tobytes().decode()


def _pointers(program: LoopProgram, scratch: Scratch, pointers: Mapping[Buffer, str]) -> list[str]:
    """Lines that read the pointers to memory from the tables."""
    lines = []
    for table, buffers in (("%arguments", program.inputs), ("%results", program.outputs)):
        for number, buffer in enumerate(buffers):
            name = pointers[buffer]
            lines.append(f"  {name}.at = getelementptr ptr, ptr {table}, i64 {number}")
            lines.append(f"  {name} = load ptr, ptr {name}.at")
    for buffer, offset in scratch.offsets.items():
        lines.append(f"  {pointers[buffer]} = getelementptr i8, ptr %scratch, i64 {offset}")
    if program.callees:
        lines.append(f"  {CALLS}.at = getelementptr ptr, ptr %arguments, i64 {len(program.inputs)}")
        lines.append(f"  {CALLS} = load ptr, ptr {CALLS}.at")
    return lines


def _entry(read: Sequence[str], given: Sequence[str]) -> list[str]:
    """The function that is called: it reads pointers, and calls the one that computes."""
    return [
        f"define void @{ENTRY}({', '.join(_TABLES)}) #1 {{",
        *read,
        f"  call void @{COMPUTE}({', '.join(given)})",
        "  ret void",
        "}",
    ]
