"""Leaving out what nobody reads: scalars, stores to temporary memory, loops that do nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import final

from .callees import Routine
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
    body, read = program.body, read_buffers(program.body)
    while True:
        last = _Pass(read)
        body = last.block(body)
        # Another one would find more only if less is read.
        if last.loaded == read:
            break
        read = last.loaded
    touched = last.loaded | last.stored
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
        # Most are assignments, which read none.
        if type(statement) is not Assign:
            read.update(_read_by(statement))
    return read


def _read_by(statement: Statement) -> tuple[Buffer, ...]:
    """The buffers that a statement itself reads."""
    if isinstance(statement, Load):
        return (statement.buffer,)
    match statement:
        case Copy(_, source):
            return (source,)
        case Product(_, left, right):
            return left.buffer, right.buffer
        case Call(_, operands):
            return operands
    return ()


def touched_buffers(body: Body) -> set[Buffer]:
    """The buffers that some statement reads or writes."""
    return read_buffers(body) | stored_buffers(body)


def stored_buffers(body: Body) -> set[Buffer]:
    """The buffers that some statement writes."""
    stored: set[Buffer] = set()
    for statement in walk(body):
        stored.update(_stored_by(statement))
    return stored


def _stored_by(statement: Statement) -> tuple[Buffer, ...]:
    """The buffers that a statement itself writes."""
    match statement:
        case Store(buffer) | Copy(buffer):
            return (buffer,)
        case Product(target):
            return (target.buffer,)
        case Call(_, _, results):
            return results
    return ()


@final
class _Pass:
    """Leaves out what does not matter, from the last statement to the first.

    Args:
        read: the buffers that are read, as far as is known.

    Attributes:
        loaded, stored: the buffers that the statements read and write that are kept.
    """

    def __init__(self, read: set[Buffer]) -> None:
        self.loaded: set[Buffer] = set()
        self.stored: set[Buffer] = set()
        self._read = read
        self._used: set[Name] = set()

    def block(self, body: Body) -> Body:
        """The statements of a block that matter."""
        kept: list[Statement] = []
        for statement in reversed(body):
            # Most are of these two kinds.
            if isinstance(statement, Assign):
                if statement.result in self._used:
                    self._use(statement.operands)
                    kept.append(statement)
            elif isinstance(statement, Load):
                if statement.result in self._used:
                    self.loaded.add(statement.buffer)
                    self._use((statement.index,))
                    kept.append(statement)
            else:
                live = self._statement(statement)
                if live is not None:
                    kept.append(live)
        kept.reverse()
        return tuple(kept)

    def _statement(self, statement: Statement) -> Statement | None:
        match statement:
            case For(_, _, body):
                body = self.block(body)
                self._use(operands_of(statement))
                return replace(statement, body=body) if body else None
            case While(condition, goes_on, body):
                body = self.block(body)
                self._use([goes_on])
                return replace(statement, condition=self.block(condition), body=body)
            case If(condition, then, otherwise):
                then, otherwise = self.block(then), self.block(otherwise)
                if not then and not otherwise:
                    return None
                self._use([condition])
                return replace(statement, then=then, otherwise=otherwise)
            case _ if self._matters(statement):
                self._use(operands_of(statement))
                self.loaded.update(_read_by(statement))
                self.stored.update(_stored_by(statement))
                return statement
        return None

    def _matters(self, statement: Statement) -> bool:
        match statement:
            case Store(buffer) | Copy(buffer):
                return buffer.kind is not Kind.TEMPORARY or buffer in self._read
            case Product(target):
                return target.buffer.kind is not Kind.TEMPORARY or target.buffer in self._read
            case Call(Routine(), _, results):
                return not self._read.isdisjoint(results)
        return True

    def _use(self, operands: Iterable[Operand | Index]) -> None:
        used = self._used
        for x in operands:
            if type(x) is Name:
                used.add(x)
            elif type(x) is Index:
                for name, _ in x.terms:
                    used.add(name)
