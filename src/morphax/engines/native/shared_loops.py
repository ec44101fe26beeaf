"""Loops that a program has several times, which become one function.

Where Python repeats a step, so does the program that is traced of it: the same loops, over other
memory.  Two loops are the same if one becomes the other when names and buffers are renamed, one to
one; so a function that is written from the first of them, of the memory and the scalars that it
takes from outside, does what the others do.  Names and buffers are numbered in the order in which
they come, and what is compared, the *form*, is all that a loop is made of, with the numbers for
names and buffers: so equal forms say that renaming is one to one, and that nothing else differs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from functools import cached_property
from itertools import islice
from typing import NamedTuple, final

from ...util.records import dataclass
from ..loops.memory import touched_by
from ..loops.program import (
    Assign,
    Buffer,
    Call,
    Const,
    Copy,
    For,
    If,
    Index,
    Load,
    Name,
    Operand,
    Product,
    Statement,
    Store,
    While,
    blocks_of,
    operands_of,
    walk,
)
from .vector_loops import VectorLoop

Body = tuple[Statement, ...]
Plans = Callable[[For], VectorLoop | None]

# So many statements, of vectors or of scalars, take much longer than a call.
_LEAST_WORK = 64
# Each statement is looked at once for each loop around it; longer loops are not compared.
_MOST_STATEMENTS = 512
# Of fewer steps, small arrays that loops in the loop run through are in memory too.  So these do
# something when they run once, and much when they are in loops.
_FEW_STEPS, _LEAST_ONCE, _LEAST_OFTEN = 17, 1, 256


@final
@dataclass(frozen=True, slots=True)
class SharedLoop:
    """What one of several equal loops takes from outside, in the order of the parameters.

    Args:
        form: what they have in common.
        buffers: that it accesses.
        names: scalars that are known outside.
        own: local buffers that nothing else accesses.
    """

    form: Hashable
    buffers: tuple[Buffer, ...]
    names: tuple[Name, ...]
    own: tuple[Buffer, ...]


@final
class _Candidate(NamedTuple):
    """A loop that may be a function.

    Args:
        size: how many steps and statements it has.
        counters: that addresses are computed of, which so are no registers.
    """

    size: Hashable
    counters: set[Name]


@final
class SharedLoops:
    """The loops that a program has several times.

    Args:
        body: of the program.
        local: its local buffers, of which compilers may make registers.
        plan_of: which loops become vectors.
        work_of: how many statements the steps of a short loop have; 0 if it may be written out.
    """

    def __init__(
        self,
        body: Body,
        local: Iterable[Buffer],
        plan_of: Plans,
        work_of: Callable[[For], int],
    ) -> None:
        self._body, self._plan_of = body, plan_of
        self._work_of = work_of
        self._local = frozenset(local)
        self._found: dict[For, SharedLoop] = {}
        self._forms: set[Hashable] = set()
        self._repeated: set[Hashable] = set()
        self._candidates: dict[For, _Candidate] = {}
        self._sizes: Counter[Hashable] = Counter()
        self._count(body, _LEAST_ONCE)
        self._visit(body)

    def of(self, loop: For) -> SharedLoop | None:
        """The function that a loop is a call of; `None` if it is written where it stands."""
        found = self._found.get(loop)
        return found if found is not None and found.form in self._repeated else None

    def _count(self, body: Body, least: int) -> None:
        """Find the loops that may be functions, and how many there are of each size.

        Loops of one form have one size, so what there is once needs no form.  Those of few steps
        must do at `least` so much.
        """
        for statement in body:
            if type(statement) is For:
                candidate = self._candidate(statement, least)
                if candidate is not None:
                    self._candidates[statement] = candidate
                    self._sizes[candidate.size] += 1
                if self._plan_of(statement) is not None:
                    continue
            for block in blocks_of(statement):
                self._count(block, least if type(statement) is If else _LEAST_OFTEN)

    def _visit(self, body: Body) -> None:
        for statement in body:
            if type(statement) is For:
                shared = self._shared(statement)
                if shared is not None:
                    self._found[statement] = shared
                    if shared.form in self._forms:
                        self._repeated.add(shared.form)
                        continue
                    self._forms.add(shared.form)
                if self._plan_of(statement) is not None:
                    continue
            for block in blocks_of(statement):
                self._visit(block)

    def _shared(self, loop: For) -> SharedLoop | None:
        """What a loop takes from outside; `None` if a call of it would not gain."""
        candidate = self._candidates.get(loop)
        if candidate is None or self._sizes[candidate.size] == 1:
            return None
        form, in_memory, counters = _Form(), set(), candidate.counters
        form.block((loop,))
        for statement in walk(loop.body):
            if type(statement) is Call:
                # What it leaves when Python fails is the program.
                return None
            if isinstance(statement, (Load, Store)):
                if any([name in counters for name, _ in statement.index.terms]):
                    in_memory.add(statement.buffer)
        own = {x for x, count in form.touched.items() if self._touched.get(x) == count}
        if not self._local.intersection(form.touched) <= own | in_memory:
            # They may become registers, to which a function has no pointer.
            return None
        return form.finished(own)

    @cached_property
    def _touched(self) -> Counter[Buffer]:
        """How many statements of the program access each local buffer."""
        each = [touched_by(x) for x in walk(self._body)]
        return Counter([x for buffers in each for x in buffers if x in self._local])

    def _candidate(self, loop: For, least: int) -> _Candidate | None:
        """What is looked at before the form; `None` for loops too short or too long."""
        plan, extent = self._plan_of(loop), loop.extent
        statements = list(islice(walk(loop.body), _MOST_STATEMENTS))
        if len(statements) == _MOST_STATEMENTS:
            return None
        if plan is not None:
            steps, counters = plan.extent // plan.width, {plan.counter, *plan.outer}
            is_short = steps <= 2 or steps * len(statements) < _LEAST_WORK
        elif isinstance(extent, Index):
            return None
        elif extent < _FEW_STEPS:
            # What these gain by arrays in registers is little beside what they are.
            counters = {x.counter for x in (loop, *statements) if type(x) is For}
            is_short = self._work_of(loop) < least
        else:
            counters = {loop.counter}
            is_short = extent * len(statements) < _LEAST_WORK
        return None if is_short else _Candidate((extent, len(statements)), counters)


def taken_by(loop: For, own: Iterable[Buffer]) -> SharedLoop:
    """What a loop takes from outside, where some of the buffers belong to it."""
    form = _Form()
    form.block((loop,))
    return form.finished(set(own))


@final
class _Form:
    """What statements are made of, with numbers for names and buffers.

    Attributes:
        touched: how many statements access each buffer.
    """

    def __init__(self) -> None:
        self.touched: Counter[Buffer] = Counter()
        self._parts: list[Hashable] = []
        self._buffers: dict[Buffer, int] = {}
        self._names: dict[Name, int] = {}
        self._outer: list[Name] = []

    def block(self, body: Body) -> None:
        """The statements of a block, and where it ends."""
        for statement in body:
            self._statement(statement)
        self._parts.append(None)

    def finished(self, own: set[Buffer]) -> SharedLoop:
        """All that was added, where some of the buffers belong to it."""
        memory = tuple([(x.dtype.str, x.size, x in own) for x in self._buffers])
        outer = tuple([(self._names[x], x.dtype.str) for x in self._outer])
        return SharedLoop(
            (tuple(self._parts), memory, outer),
            tuple([x for x in self._buffers if x not in own]),
            tuple(self._outer),
            tuple([x for x in self._buffers if x in own]),
        )

    def _statement(self, statement: Statement) -> None:
        parts: list[Hashable] = [type(statement).__name__]
        for x in touched_by(statement):
            self.touched[x] += 1
            parts.append(self._buffers.setdefault(x, len(self._buffers)))
        parts += [self._operand(x) for x in operands_of(statement)]
        match statement:
            case Assign(result, operation):
                parts += [operation, self._defined(result)]
            case Load(result):
                parts.append(self._defined(result))
            case Copy(_, _, size):
                parts.append(size)
            case Product(target, left, right, sizes):
                parts += [sizes, *[(x.rows, x.columns) for x in (target, left, right)]]
            case For(counter, extent):
                steps = None if isinstance(extent, Index) else extent
                parts += [self._defined(counter), steps, statement.is_independent]
        self._parts.append(tuple(parts))
        for block in blocks_of(statement):
            self.block(block)
        if type(statement) is While:
            self._parts.append(self._operand(statement.goes_on))

    def _defined(self, name: Name) -> Hashable:
        number = self._names[name] = len(self._names)
        return number, name.dtype.str, name.low, name.high

    def _operand(self, x: Operand | Index) -> Hashable:
        if type(x) is Const:
            return x.key
        if type(x) is Index:
            return x.offset, tuple([(self._used(name), factor) for name, factor in x.terms])
        return self._used(x)

    def _used(self, name: Name) -> int:
        number = self._names.get(name)
        if number is None:
            number = self._names[name] = len(self._names)
            self._outer.append(name)
        return number
