"""What a program does in a run, in numbers of each kind."""

from __future__ import annotations

from dataclasses import fields
from typing import final

from ...util.records import dataclass


@final
@dataclass(slots=True)
class Work:
    """What a program does in a run, if each `while` makes some steps and of two branches one runs.

    Args:
        operations: of scalars, those that take long left out.
        wide_operations: those that are made for several elements at a time.
        slow, wide_slow: operations that take long, such as divisions and sines, likewise.
        functions: those of several elements at a time whose times are measured
            (`function_times.py`).
        natively, by_xla: picoseconds that these take on either engine.
        rare, rare_slow: operations that few vectors need, and XLA makes for all elements.
        library: nanoseconds of those for which the C library is called, element by element, and XLA
            takes about as long.
        accesses: loads and stores of single elements, those in vectors of neighbours left out.
        far: those of them to large arrays, which take longer than others.
        moved: bytes that are loaded and stored.
        nests: loops over elements that are run, each of which would be a kernel of XLA's.
        steps: of loops around them.
        statements: of the text.
    """

    operations: int = 0
    wide_operations: int = 0
    slow: int = 0
    wide_slow: int = 0
    functions: int = 0
    natively: int = 0
    by_xla: int = 0
    rare: int = 0
    rare_slow: int = 0
    library: int = 0
    accesses: int = 0
    far: int = 0
    moved: int = 0
    nests: int = 0
    steps: int = 0
    statements: int = 0

    def add(self, other: Work, times: int) -> None:
        """Count what a block does, so many times."""
        self.statements += other.statements
        for name in _REPEATED:
            setattr(self, name, getattr(self, name) + times * getattr(other, name))

    def where_rare(self) -> Work:
        """The same of a branch that few vectors take."""
        once = Work(statements=self.statements)
        once.add(self, 1)
        once.statements = self.statements
        once.natively //= _FEW
        once.rare, once.wide_operations = once.rare + self.wide_operations, 0
        once.rare_slow, once.wide_slow = once.rare_slow + self.wide_slow, 0
        return once


# Of so many vectors one takes a rare branch.
_FEW = 8

_REPEATED = tuple([x.name for x in fields(Work) if x.name != "statements"])
