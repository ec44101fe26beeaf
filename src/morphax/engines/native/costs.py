"""What a loop program does, counted from its text: operations, bytes, and how often."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from ..loops.operations import cost_of
from ..loops.program import (
    Assign,
    Copy,
    For,
    If,
    Index,
    Load,
    LoopProgram,
    Statement,
    Store,
    While,
)


@final
@dataclass(slots=True)
class Work:
    """What a program does in a run, if each `while` makes one step and takes one of two branches.

    Args:
        operations: of scalars.
        transcendentals: those among them that take long, such as divisions and sines.
        bytes_moved: that are loaded and stored.
        statements: of its text.
    """

    operations: int = 0
    transcendentals: int = 0
    bytes_moved: int = 0
    statements: int = 0

    def add(self, other: Work, times: int) -> None:
        """Count what a block does, so many times."""
        self.operations += other.operations * times
        self.transcendentals += other.transcendentals * times
        self.bytes_moved += other.bytes_moved * times
        self.statements += other.statements


def work_of(program: LoopProgram) -> Work:
    """What a program does."""
    return _work(program.body)


def _work(body: tuple[Statement, ...]) -> Work:
    total = Work()
    for statement in body:
        total.statements += 1
        match statement:
            case Assign(_, operation):
                if operation != "index":
                    total.operations += 1
                    total.transcendentals += cost_of(operation) > 1
            case Load(_, buffer) | Store(buffer):
                total.bytes_moved += buffer.dtype.itemsize
            case Copy(buffer, _, size):
                total.bytes_moved += 2 * size * buffer.dtype.itemsize
            case For(_, extent, inner):
                total.add(_work(inner), _steps(extent))
            case While(condition, _, inner):
                total.add(_work(condition), 1)
                total.add(_work(inner), 1)
            case If(_, then, otherwise):
                branches = [_work(then), _work(otherwise)]
                total.add(max(branches, key=lambda work: work.operations), 1)
                total.statements += min([work.statements for work in branches])
    return total


def _steps(extent: int | Index) -> int:
    """How often a loop runs; of one in a triangle, half of the most."""
    return extent if isinstance(extent, int) else max(extent.bounds[1] // 2, 1)
