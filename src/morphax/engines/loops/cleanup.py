"""Leaving out what nobody reads: scalars, stores to temporary memory, loops that do nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from .program import (
    Assign,
    Buffer,
    Call,
    Copy,
    For,
    If,
    Index,
    Kind,
    Load,
    LoopProgram,
    Name,
    Operand,
    Product,
    Statement,
    Store,
    While,
    operands_of,
    walk,
)

Body = tuple[Statement, ...]


def without_dead_code(program: LoopProgram) -> LoopProgram:
    """The program without statements that no output depends on, and without unused memory."""
    body, read, last = program.body, read_buffers(program.body), None
    while read != last:
        body = _live(body, read, set())
        # Another pass would find more only if less is read.
        read, last = read_buffers(body), read
    touched = touched_buffers(body)
    return replace(
        program,
        body=body,
        temporaries=tuple([x for x in program.temporaries if x in touched]),
        constants=tuple([x for x in program.constants if x in touched]),
    )


def read_buffers(body: Body) -> set[Buffer]:
    """The buffers that some statement reads."""
    read: set[Buffer] = set()
    for statement in walk(body):
        match statement:
            case Load(_, buffer) | Copy(_, buffer):
                read.add(buffer)
            case Product(_, left, right):
                read.update((left.buffer, right.buffer))
            case Call(_, operands):
                read.update(operands)
    return read


def touched_buffers(body: Body) -> set[Buffer]:
    """The buffers that some statement reads or writes."""
    return read_buffers(body) | stored_buffers(body)


def stored_buffers(body: Body) -> set[Buffer]:
    """The buffers that some statement writes."""
    stored: set[Buffer] = set()
    for statement in walk(body):
        match statement:
            case Store(buffer) | Copy(buffer):
                stored.add(buffer)
            case Product(target):
                stored.add(target.buffer)
            case Call(_, _, results):
                stored.update(results)
    return stored


def _live(body: Body, read: set[Buffer], used: set[Name]) -> Body:
    """The statements of a block that matter; the names that they use are added to `used`."""
    kept: list[Statement] = []
    for statement in reversed(body):
        live = _live_statement(statement, read, used)
        if live is not None:
            kept.append(live)
    return tuple(reversed(kept))


def _live_statement(statement: Statement, read: set[Buffer], used: set[Name]) -> Statement | None:
    match statement:
        case For(_, _, body):
            body = _live(body, read, used)
            _use(used, operands_of(statement))
            return replace(statement, body=body) if body else None
        case While(condition, goes_on, body):
            body = _live(body, read, used)
            _use(used, [goes_on])
            return replace(statement, condition=_live(condition, read, used), body=body)
        case If(condition, then, otherwise):
            then, otherwise = _live(then, read, used), _live(otherwise, read, used)
            if not then and not otherwise:
                return None
            _use(used, [condition])
            return replace(statement, then=then, otherwise=otherwise)
        case _ if _matters(statement, read, used):
            _use(used, operands_of(statement))
            return statement
    return None


def _matters(statement: Statement, read: set[Buffer], used: set[Name]) -> bool:
    match statement:
        case Assign(result) | Load(result):
            return result in used
        case Store(buffer) | Copy(buffer):
            return buffer.kind is not Kind.TEMPORARY or buffer in read
        case Product(target):
            return target.buffer.kind is not Kind.TEMPORARY or target.buffer in read
    return True


def _use(used: set[Name], operands: Iterable[Operand | Index]) -> None:
    for x in operands:
        if type(x) is Name:
            used.add(x)
        elif type(x) is Index:
            used.update([name for name, _ in x.terms])
