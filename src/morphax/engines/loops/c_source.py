"""A loop program as a C99 file and its header, which need nothing but the C library."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple, final

import numpy as np

from .c_statements import StatementPrinter
from .c_text import Helpers, number, type_name
from .memory import bytes_of, local_buffers
from .program import Buffer, Kind, LoopProgram

_WIDTH = 100


@final
class CFile(NamedTuple):
    """The text of a source file and of its header."""

    source: str
    header: str


def c_file(program: LoopProgram) -> CFile:
    """The program in C.  One program has one text."""
    assert not program.callees, "C calls no Python"
    helpers = Helpers(program.name)
    local, large = local_buffers(program), _large(program)
    lines = StatementPrinter(program.body, helpers).lines
    declarations = [f"    {_declared(x)};" for x in local]
    declarations += [_slot(program, x) for x in large]
    unused = [f"    (void){x.name};" for x in _unused_inputs(program, lines)]
    includes = [f'#include "{program.name}.h"', *_included(helpers)]
    blocks = [
        "\n".join(includes),
        *[_constant(x) for x in program.constants],
        *helpers.definitions.values(),
        "\n".join([f"{_signature(program, large, is_definition=True)}", "{"])
        + "\n"
        + "\n".join([*declarations, *unused, *lines, "}"]),
    ]
    return CFile("\n\n".join(blocks) + "\n", _header(program, large))


def _large(program: LoopProgram) -> list[Buffer]:
    """The temporaries of the workspace."""
    local = set(local_buffers(program))
    return [x for x in program.temporaries if x not in local]


def workspace_bytes(program: LoopProgram) -> int:
    """How much memory the struct holds that callers hand over."""
    return bytes_of(_large(program))


def _included(helpers: Helpers) -> list[str]:
    headers = sorted(helpers.headers | {"math.h"})
    return [f"#include <{name}>" for name in headers]


def _unused_inputs(program: LoopProgram, lines: Sequence[str]) -> list[Buffer]:
    words = set(re.findall(r"\w+", "\n".join(lines)))
    return [x for x in (*program.inputs, *program.outputs) if x.name not in words]


def _dimensions(buffer: Buffer) -> str:
    return f"{type_name(buffer.dtype)}[{']['.join(map(str, buffer.shape))}]"


def _parameter(buffer: Buffer, *, is_definition: bool) -> str:
    type_, is_input = type_name(buffer.dtype), buffer.kind is Kind.INPUT
    if not buffer.shape:
        return f"{type_} {buffer.name}" if is_input else f"{type_} *{buffer.name}"
    qualifier = "restrict " if is_definition else ""
    return f"{'const ' if is_input else ''}{type_} {buffer.name}[{qualifier}{max(buffer.size, 1)}]"


def _signature(program: LoopProgram, large: Sequence[Buffer], *, is_definition: bool) -> str:
    parameters = [
        _parameter(x, is_definition=is_definition) for x in (*program.inputs, *program.outputs)
    ]
    if large:
        parameters.append(f"struct {program.name}_workspace *workspace")
    line = f"void {program.name}({', '.join(parameters) or 'void'})"
    if len(line) <= _WIDTH:
        return line
    return f"void {program.name}(\n    " + ",\n    ".join(parameters) + ")"


def _declared(buffer: Buffer) -> str:
    type_ = type_name(buffer.dtype)
    return f"{type_} {buffer.name}[{buffer.size}]" if buffer.shape else f"{type_} {buffer.name}"


def _slot(program: LoopProgram, buffer: Buffer) -> str:
    type_ = type_name(buffer.dtype)
    return f"    {type_} *restrict const {buffer.name} = workspace->{buffer.name};"


def _constant(buffer: Buffer) -> str:
    assert buffer.data is not None, "a constant has data"
    rows, line = [], ""
    for text in [number(x) for x in np.asarray(buffer.data, buffer.dtype).reshape(-1)]:
        if len(line) + len(text) > _WIDTH - 8:
            rows.append(line.rstrip())
            line = ""
        line += f"{text}, "
    rows.append(line.rstrip(" ,"))
    body = "\n    ".join(rows)
    return f"/* {_dimensions(buffer)} */\nstatic const {_declared(buffer)} = {{\n    {body}\n}};"


def _header(program: LoopProgram, large: Sequence[Buffer]) -> str:
    guard = f"{program.name.upper()}_H"
    about = [f"{program.name}: written by morphax from a Python function.", ""]
    for title, buffers in (("Inputs:", program.inputs), ("Outputs:", program.outputs)):
        about.append(title)
        about += [f"  {x.name}: {_described(x)}" for x in buffers] or ["  none"]
    about.append("Arrays are row-major, and outputs overlap no other argument.")
    if large:
        size = bytes_of(large)
        about.append(f"The workspace ({size} bytes) may hold anything before and after a call.")
    comment = "/*\n" + "\n".join([f" * {line}".rstrip() for line in about]) + "\n */"
    parts = [
        f"#ifndef {guard}\n#define {guard}",
        "#include <stdbool.h>\n#include <stdint.h>",
        '#ifdef __cplusplus\nextern "C" {\n#endif',
    ]
    if large:
        members = "\n".join([f"    {_declared(x)};" for x in large])
        parts.append(f"struct {program.name}_workspace {{\n{members}\n}};")
    parts += [
        comment + "\n" + _signature(program, large, is_definition=False) + ";",
        "#ifdef __cplusplus\n}\n#endif",
        "#endif",
    ]
    return "\n\n".join(parts) + "\n"


def _described(buffer: Buffer) -> str:
    return _dimensions(buffer) if buffer.shape else type_name(buffer.dtype)
