"""What a loop program does, counted from its text: operations, bytes, and how often."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final, final

from ..loops.operations import cost_of
from ..loops.program import (
    Assign,
    Copy,
    For,
    If,
    Index,
    Load,
    LoopProgram,
    Product,
    Statement,
    Store,
    While,
)

STEPS_OF_WHILE: Final = 100
"""So many steps a `while` is taken to make."""

# From so many independent steps on they are made several at a time.
_WIDE: Final = 8


@final
@dataclass(slots=True)
class Work:
    """What a program does in a run, if each `while` makes some steps and of two branches one runs.

    Args:
        operations: of scalars, those that take long left out.
        wide_operations: those that are made for several elements at a time.
        slow, wide_slow: operations that take long, such as divisions and sines, likewise.
        moved: bytes that are loaded and stored.
        nests: loops over elements that are run, each of which would be a kernel of XLA's.
        steps: of loops around them.
        statements: of the text.
    """

    operations: int = 0
    wide_operations: int = 0
    slow: int = 0
    wide_slow: int = 0
    moved: int = 0
    nests: int = 0
    steps: int = 0
    statements: int = 0

    def add(self, other: Work, times: int) -> None:
        """Count what a block does, so many times."""
        for field in fields(Work):
            factor = 1 if field.name == "statements" else times
            more = getattr(other, field.name) * factor
            setattr(self, field.name, getattr(self, field.name) + more)


def work_of(program: LoopProgram, steps_of_while: int = STEPS_OF_WHILE) -> Work:
    """What a program does."""
    return _Count(steps_of_while).of(program.body, is_wide=False, in_nest=False)


@final
class _Count:
    def __init__(self, steps_of_while: int) -> None:
        self.steps_of_while = steps_of_while

    def of(self, body: tuple[Statement, ...], *, is_wide: bool, in_nest: bool) -> Work:
        total = Work(statements=len(body))
        for statement in body:
            match statement:
                case Assign(_, operation):
                    if operation != "index":
                        _count(total, operation, is_wide)
                case Load(_, buffer) | Store(buffer):
                    total.moved += buffer.dtype.itemsize
                case Copy(buffer, _, size):
                    total.moved += 2 * size * buffer.dtype.itemsize
                    total.nests += not in_nest
                case Product(_, _, _, (m, n, k)):
                    # A library multiplies and adds at once.
                    total.wide_operations += m * n * k
                    total.nests += not in_nest
                case For(_, extent, inner):
                    self._add_loop(total, statement, inner, _steps(extent), in_nest)
                case While(condition, _, inner):
                    work = self.of(condition, is_wide=False, in_nest=in_nest)
                    work.add(self.of(inner, is_wide=False, in_nest=in_nest), 1)
                    work.steps += not in_nest
                    total.add(work, self.steps_of_while)
                case If(_, then, otherwise):
                    branches = [
                        self.of(block, is_wide=is_wide, in_nest=in_nest)
                        for block in (then, otherwise)
                    ]
                    branches.sort(key=lambda work: work.operations + work.wide_operations)
                    total.add(branches[1], 1)
                    total.statements += branches[0].statements
        return total

    def _add_loop(
        self, total: Work, loop: For, inner: tuple[Statement, ...], steps: int, in_nest: bool
    ) -> None:
        loops = [x for x in inner if type(x) in (For, While, If, Copy, Product)]
        is_nest = in_nest or (len(loops) <= 1 and not any([type(x) is While for x in loops]))
        is_wide = not loops and loop.is_independent and steps >= _WIDE
        work = self.of(inner, is_wide=is_wide, in_nest=is_nest)
        if not is_nest:
            work.steps += 1
        total.add(work, steps)
        total.nests += is_nest and not in_nest


def _count(total: Work, operation: str, is_wide: bool) -> None:
    if cost_of(operation) > 1:
        if is_wide:
            total.wide_slow += 1
        else:
            total.slow += 1
    elif is_wide:
        total.wide_operations += 1
    else:
        total.operations += 1


def _steps(extent: int | Index) -> int:
    """How often a loop runs; of one in a triangle, half of the most."""
    return extent if isinstance(extent, int) else max(extent.bounds[1] // 2, 1)
