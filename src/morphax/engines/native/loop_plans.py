"""How the loops of a program are written: with vectors, step by step, or as loops."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import final
from weakref import WeakKeyDictionary

from ..loops.cleanup import touched_buffers
from ..loops.memory import local_buffers
from ..loops.program import (
    Buffer,
    For,
    Index,
    Kind,
    LoopProgram,
    Statement,
    blocks_of,
    walk,
)
from .masked_loops import Holders, holders_of, masked_loop, members_apart
from .shared_loops import SharedLoops
from .short_rows import loop_of_short_rows
from .vector_loops import VectorLoop, vector_loop
from .work import Work

# Loops of so many steps are written out, if they have no more statements then.
_MOST_STEPS, _MOST_STATEMENTS = 16, 96
# So many statements are added to a program at most.
_BUDGET = 3000


@final
class LoopPlans:
    """What becomes of each loop.

    Args:
        body: of the program.
        local: its local buffers.

    Attributes:
        divided: loops whose steps several threads make, and how each of these makes them.
        works: what loops do, as far as that has been counted.
    """

    def __init__(self, body: tuple[Statement, ...], local: Sequence[Buffer]) -> None:
        self._holders = holders_of(body, local)
        self._known: dict[For, VectorLoop | None] = {}
        self._divisible: dict[For, VectorLoop | None] = {}
        self._budget = _BUDGET
        self._body, self._local = body, local
        self.divided: Mapping[For, VectorLoop] = {}
        self.works: dict[For, Work] = {}

    @cached_property
    def shared(self) -> SharedLoops:
        """The loops that are functions."""
        return SharedLoops(self._body, self._local, self.of, self.work_not_written_out)

    def of(self, loop: For) -> VectorLoop | None:
        """How a loop is written with vectors; `None` if it is not."""
        if loop not in self._known:
            plan = vector_loop(loop) or loop_of_short_rows(loop, self._holders)
            self._known[loop] = plan or masked_loop(loop, self._holders, self.of)
        return self._known[loop]

    def has_pieces(self, loop: For) -> bool:
        """Whether a loop may be divisible, which is known before its work is counted."""
        plan = self.of(loop) if loop.is_independent else None
        return loop.is_independent and (plan is None or plan.extent >= 2 * plan.width)

    def divisible(self, loop: For) -> VectorLoop | None:
        """How threads can make parts of a loop: vectors of steps, or single ones.

        A verdict asks for it, and then the text.
        """
        if loop not in self._divisible:
            self._divisible[loop] = self._divided_alone(loop)
        return self._divisible[loop]

    def _divided_alone(self, loop: For) -> VectorLoop | None:
        extent = loop.extent
        if isinstance(extent, Index) or not loop.is_independent:
            return None
        plan = self.of(loop)
        if plan is None:
            plan = members_apart(loop, extent, 1, self._holders_of_all)
        if plan is None or plan.extent < 2 * plan.width:
            return None
        # The rest is made with the last vector.
        return plan if plan.extent % plan.width == 0 or plan.is_repeatable else None

    @cached_property
    def _holders_of_all(self) -> Holders:
        """Those of all temporaries: in a function of its own, a loop has memory of its own."""
        touched = touched_buffers(self._body)
        return holders_of(self._body, [x for x in touched if x.kind is Kind.TEMPORARY])

    def work_not_written_out(self, loop: For) -> int:
        """How many statements the steps of a loop have; 0 if they may be written one by one."""
        cost = self._cost(loop)
        return cost if cost > _MOST_STATEMENTS else 0

    def is_written_out(self, loop: For) -> bool:
        """Whether the steps are written one by one, which is counted then."""
        cost = self._cost(loop)
        if cost > min(_MOST_STATEMENTS, self._budget):
            return False
        self._budget -= cost
        return True

    def _cost(self, loop: For) -> int:
        """How many statements its steps have; more than enough for long loops."""
        if isinstance(loop.extent, Index) or loop.extent > _MOST_STEPS:
            return _MOST_STATEMENTS + 1
        return loop.extent * self._weight(loop.body)

    def _weight(self, body: Iterable[Statement]) -> int:
        """How many statements a block has when its loops of few steps are written out."""
        total = 0
        for statement in body:
            total += 1
            if total > _MOST_STATEMENTS:
                break
            plan = self.of(statement) if type(statement) is For else None
            if plan is not None:
                count = sum([1 for _ in walk(plan.body)])
                total += count * min(-(-plan.extent // plan.width), 3)
                continue
            steps = 1
            if type(statement) is For and not isinstance(statement.extent, Index):
                steps = statement.extent if statement.extent <= _MOST_STEPS else 1
            total += sum([steps * self._weight(block) for block in blocks_of(statement)])
        return total


# Those that a verdict has made, until the text is written.
_kept: WeakKeyDictionary[LoopProgram, LoopPlans] = WeakKeyDictionary()


def plans_kept(program: LoopProgram) -> LoopPlans:
    """The plans of a program, which `plans_taken` gives once more."""
    plans = _kept[program] = LoopPlans(program.body, local_buffers(program))
    return plans


def plans_taken(program: LoopProgram) -> LoopPlans:
    """Plans of which nothing has been written yet: those that are kept, or new ones."""
    return _kept.pop(program, None) or LoopPlans(program.body, local_buffers(program))
