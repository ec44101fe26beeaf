"""Make a program smaller while it disagrees in the same way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from .program import Block, Input, Line, Program, Type, is_name, names_in, substituted

Test = Callable[[Program], bool]


def shrunk(program: Program, still: Test, seconds: float = 30.0) -> Program:
    """The smallest program found for which `still` holds, in about so many seconds."""
    deadline = time.monotonic() + seconds
    progress = True
    while progress and time.monotonic() < deadline:
        progress = False
        for candidate in smaller(program):
            if time.monotonic() > deadline:
                break
            if candidate.size < program.size and still(candidate):
                program, progress = candidate, True
                break
    return program


def smaller(program: Program) -> Iterator[Program]:
    """Programs with something taken away, the boldest first."""
    for main in _fewer_results(program.main):
        yield _cleaned(replace(program, main=main))
    for main in _fewer_lines(program.main):
        yield _cleaned(replace(program, main=main))
    for main in _plainer_lines(program.main):
        yield _cleaned(replace(program, main=main))
    yield from _smaller_inputs(program)
    if program.x64:
        yield replace(program, x64=False)


def _cleaned(program: Program) -> Program:
    """Without lines and arguments that nothing reads."""
    main = _without_dead(program.main)
    read = set(names_in(main.lines, main.results))
    inputs = tuple(each for each in program.inputs if each.name in read)
    inputs = inputs or program.inputs[:1]
    main = replace(main, params=tuple(each.name for each in inputs))
    return replace(program, inputs=inputs, main=main)


def _without_dead(block: Block) -> Block:
    lines = [
        replace(line, blocks=tuple(_without_dead(inner) for inner in line.blocks))
        for line in block.lines
    ]
    for i in reversed(range(len(lines))):
        read = set(names_in(tuple(lines[i + 1 :]), block.results))
        if not read.intersection(lines[i].targets):
            del lines[i]
    return replace(block, lines=tuple(lines))


def _fewer_results(block: Block) -> Iterator[Block]:
    if len(block.results) > 1:
        for result in block.results:
            yield replace(block, results=(result,))
        for i in range(len(block.results)):
            yield replace(block, results=block.results[:i] + block.results[i + 1 :])


def _constant(type: Type) -> str:
    return f"jnp.ones({type.shape}, jnp.{type.dtype})"


def _fewer_lines(block: Block) -> Iterator[Block]:
    """With one line less: its targets are replaced by a literal, an operand or ones."""
    for i, line in enumerate(block.lines):
        rest = replace(block, lines=block.lines[:i] + block.lines[i + 1 :])
        for operand in dict.fromkeys(line.operands):
            if is_name(operand):
                new = rest
                for target in line.targets:
                    new = substituted(new, target, operand)
                yield new
        types = line.types
        if not line.text.startswith("jnp.ones(") and types and all(types):
            constants = [_constant(type) for type in types if type]
            text = ", ".join(constants)
            yield _with_line(block, i, Line(line.targets, text, (), (), types))
        yield from (_with_line(block, i, inner) for inner in _inlined(line))
    yield from _unfolded(block)
    for i, line in enumerate(block.lines):
        for j, inner in enumerate(line.blocks):
            for new in _fewer_lines(inner):
                yield _with_line(block, i, _with_block(line, j, new))


def _inlined(line: Line) -> Iterator[Line]:
    """The line as a plain call of one of its blocks."""
    for i, block in enumerate(line.blocks):
        names = [operand for operand in line.operands if is_name(operand)]
        wanted = len(block.params)
        call = _call(wanted)
        if line.text != call and len(line.targets) == 1 and 0 < wanted <= len(names):
            yield Line(line.targets, call, tuple(names[:wanted]), (line.blocks[i],), line.types)


def _call(operands: int) -> str:
    return f"{{b0}}({', '.join(f'{{{k}}}' for k in range(operands))})"


def _unfolded(block: Block) -> Iterator[Block]:
    """With the lines of a function in place of a plain call of it."""
    for i, line in enumerate(block.lines):
        if not line.blocks or line.text != _call(len(line.operands)):
            continue
        inner = line.blocks[0]
        for param, operand in zip(inner.params, line.operands, strict=True):
            inner = substituted(inner, param, operand)
        rest = replace(block, lines=block.lines[i + 1 :])
        rest = substituted(rest, line.targets[0], inner.results[0])
        yield replace(rest, lines=(*block.lines[:i], *inner.lines, *rest.lines))


def _plainer_lines(block: Block) -> Iterator[Block]:
    """With literals in place of variables, and plain texts in place of others."""
    for i, line in enumerate(block.lines):
        for k, operand in enumerate(line.operands):
            if is_name(operand):
                for literal in ("1.0", "2"):
                    operands = (*line.operands[:k], literal, *line.operands[k + 1 :])
                    yield _with_line(block, i, replace(line, operands=operands))
        for text in _plainer_texts(line.text):
            yield _with_line(block, i, replace(line, text=text))
    for i, line in enumerate(block.lines):
        for j, inner in enumerate(line.blocks):
            for new in _plainer_lines(inner):
                yield _with_line(block, i, _with_block(line, j, new))


def _plainer_texts(text: str) -> Iterator[str]:
    for long, short in (
        ("jax.checkpoint({b0})", "{b0}"),
        ("jax.jit({b0})", "{b0}"),
        (", reverse=True", ""),
        (", unroll=2", ""),
        (", unroll=True", ""),
        ("(1.0, 2.0, 3.0)", "(1.0, 2.0)"),
        ("(2.0, 3.0, 2.0)", "(2.0, 3.0)"),
        ("(3.0, 1.0, 1.0)", "(3.0, 1.0)"),
        ("jnp.cos({0})", "jnp.ones_like({0})"),
        ("bfloat16", "float32"),
        ("float16", "float32"),
    ):
        if long in text:
            yield text.replace(long, short)


def _with_line(block: Block, i: int, line: Line) -> Block:
    return replace(block, lines=(*block.lines[:i], line, *block.lines[i + 1 :]))


def _with_block(line: Line, j: int, block: Block) -> Line:
    return replace(line, blocks=(*line.blocks[:j], block, *line.blocks[j + 1 :]))


def _smaller_inputs(program: Program) -> Iterator[Program]:
    for i, each in enumerate(program.inputs):
        for new in _smaller_input(each):
            yield replace(program, inputs=(*program.inputs[:i], new, *program.inputs[i + 1 :]))


def _smaller_input(given: Input) -> Iterator[Input]:
    if given.scalar:
        return
    shape, dtype = given.type
    for axis in range(len(shape)):
        yield _resized(given, shape[:axis] + shape[axis + 1 :])
        if shape[axis] > 1:
            yield _resized(given, (*shape[:axis], 1, *shape[axis + 1 :]))
            yield _resized(given, (*shape[:axis], shape[axis] - 1, *shape[axis + 1 :]))
    if dtype in ("float16", "bfloat16", "float64"):
        yield replace(given, type=Type(shape, "float32"))
    plain: Any = {"bool": True, "complex64": 1 + 0j}.get(dtype, 1.0 if "float" in dtype else 1)
    for value in (plain, 0 * plain):
        if any(repr(x) != repr(value) for x in given.values):
            yield replace(given, values=(value,) * len(given.values))
    for k, value in enumerate(given.values):
        if repr(value) != repr(plain):
            yield replace(given, values=(*given.values[:k], plain, *given.values[k + 1 :]))


def _resized(given: Input, shape: tuple[int, ...]) -> Input:
    size = 1
    for length in shape:
        size *= length
    values = (given.values * size)[:size] if given.values else ()
    return replace(given, type=Type(shape, given.type.dtype), values=values)
