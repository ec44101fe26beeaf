"""What a loop program does, counted from its text: operations, bytes, and how often."""

from __future__ import annotations

from functools import cache
from typing import Final, final

from ..loops.callees import Routine
from ..loops.memory import local_buffers
from ..loops.operations import cost_of
from ..loops.program import (
    Assign,
    Call,
    Copy,
    DType,
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
from .divisions import DIVISIONS, is_by_floats
from .function_times import picoseconds
from .functions.table import is_ours
from .llvm_scalars import is_library_function
from .loop_plans import LoopPlans
from .packs import packed
from .vector_loops import STRIDES, VectorLoop
from .work import Work

STEPS_OF_WHILE: Final = 100
"""So many steps a `while` is taken to make."""

LARGE: Final = 1 << 17
"""Arrays of more elements do not stay in the first caches."""

# How far apart elements are that are a vector, or are picked out of vectors.
_NEXT: Final = (0, 1, -1)
_NEAR: Final = (*_NEXT, *STRIDES)

# What a function of the C library takes.
_NANOSECONDS: Final = {"erf": 3, "erfc": 3, "fmod": 2, "lgamma": 7, "asin": 4, "acos": 4}
_USUAL_NANOSECONDS: Final = 8


def work_of(
    program: LoopProgram, steps_of_while: int = STEPS_OF_WHILE, plans: LoopPlans | None = None
) -> Work:
    """What a program does; `plans` are those of its loops, where they are known."""
    plans = plans or LoopPlans(program.body, local_buffers(program))
    return _Count(steps_of_while, plans).of(program.body, vectors=None, in_nest=False)


def work_of_loop(loop: For, plans: LoopPlans) -> Work:
    """What a loop that stands in no other does."""
    return _Count(STEPS_OF_WHILE, plans).of_loop(loop, vectors=None, in_nest=False)


@final
class _Count:
    def __init__(self, steps_of_while: int, plans: LoopPlans) -> None:
        self.steps_of_while = steps_of_while
        self.plans = plans

    def of(self, body: tuple[Statement, ...], *, vectors: VectorLoop | None, in_nest: bool) -> Work:
        """The work of a block, in a loop that is one of vectors or not."""
        total = Work(statements=len(body))
        for statement in body if vectors is not None else packed(body):
            if type(statement) is Assign:
                _count(total, statement, vectors)
                continue
            match statement:
                case tuple():
                    # Calls of one function on several scalars are one on a vector.
                    total.wide_slow += len(statement)
                case Load(_, buffer, index) | Store(buffer, index):
                    total.moved += buffer.dtype.itemsize
                    is_whole = vectors is not None and not vectors.has_members
                    near = _NEAR if type(statement) is Load or is_whole else _NEXT
                    is_single = vectors is None or vectors.factor(index) not in near
                    total.accesses += is_single
                    total.far += is_single and buffer.size > LARGE
                case Copy() | Product() | Call():
                    _count_whole(total, statement, in_nest=in_nest)
                case For():
                    total.add(self.of_loop(statement, vectors=vectors, in_nest=in_nest), 1)
                case While(condition, _, inner, most):
                    work = self.of(condition, vectors=vectors, in_nest=in_nest)
                    work.add(self.of(inner, vectors=vectors, in_nest=in_nest), 1)
                    work.steps += not in_nest
                    steps = self.steps_of_while
                    total.add(work, steps if most is None else min(most, steps))
                case If():
                    total.add(self.of_branches(statement, vectors=vectors, in_nest=in_nest), 1)
        return total

    def of_branches(self, choice: If, *, vectors: VectorLoop | None, in_nest: bool) -> Work:
        """The work of the longer one of two branches, and the text of both."""
        branches = [
            self.of(block, vectors=vectors, in_nest=in_nest)
            for block in (choice.then, choice.otherwise)
        ]
        branches.sort(key=lambda work: work.operations + work.wide_operations)
        shorter, longer = branches
        longer.statements += shorter.statements
        return longer.where_rare() if choice.is_rare and vectors is not None else longer

    def of_loop(self, loop: For, *, vectors: VectorLoop | None, in_nest: bool) -> Work:
        """The work of a loop."""
        is_outside = vectors is None and not in_nest and self.steps_of_while == STEPS_OF_WHILE
        known = self.plans.works.get(loop) if is_outside else None
        if known is not None:
            return known
        loops = [x for x in loop.body if type(x) in (For, While, If, Copy, Product)]
        is_nest = (
            in_nest or loop.is_independent or (len(loops) <= 1 and While not in map(type, loops))
        )
        plan = self.plans.of(loop) if vectors is None else None
        if plan is not None and not plan.has_members:
            # Loops in one another may be one, and short rows are written out.
            body, steps = plan.body, plan.extent
        else:
            body, steps = loop.body, _steps(loop.extent)
        once = self.of(body, vectors=vectors or plan, in_nest=is_nest)
        if not is_nest:
            once.steps += 1
        work = Work(nests=is_nest and not in_nest)
        work.add(once, steps)
        if is_outside:
            self.plans.works[loop] = work
        return work


def _count_whole(total: Work, statement: Copy | Product | Call, *, in_nest: bool) -> None:
    match statement:
        case Copy(buffer, _, size):
            total.moved += 2 * size * buffer.dtype.itemsize
            total.nests += not in_nest
        case Product(_, _, _, (m, n, k)):
            # A library multiplies and adds at once.
            total.wide_operations += m * n * k
            total.nests += not in_nest
        case Call(Routine() as routine):
            total.library += routine.nanoseconds


def _count(total: Work, statement: Assign, vectors: VectorLoop | None) -> None:
    operation = statement.operation
    # With members, and by numbers, integers are divided otherwise.
    is_timed = vectors is not None and (
        operation not in DIVISIONS
        or (not vectors.has_members and is_by_floats(operation, statement.operands))
    )
    counted = _counted_as(operation, statement.result.dtype, vectors is not None, is_timed)
    for name, much in counted:
        setattr(total, name, getattr(total, name) + much)


@cache
def _counted_as(
    operation: str, dtype: DType, is_wide: bool, is_timed: bool
) -> tuple[tuple[str, int], ...]:
    """As which kinds of work an operation counts, and how much of them."""
    if operation == "index":
        return ()
    times = picoseconds(operation, dtype) if is_timed else None
    if times is not None:
        return ("functions", 1), ("natively", times[0]), ("by_xla", times[1])
    if is_library_function(operation) and not is_ours(operation, dtype):
        return (("library", _NANOSECONDS.get(operation, _USUAL_NANOSECONDS)),)
    if cost_of(operation) > 1:
        return (("wide_slow" if is_wide else "slow", 1),)
    return (("wide_operations" if is_wide else "operations", 1),)


def _steps(extent: int | Index) -> int:
    """How often a loop runs; of one in a triangle, half of the most."""
    return extent if isinstance(extent, int) else max(extent.bounds[1] // 2, 1)
