"""Long programs as several functions, one after the other.

Some of LLVM's passes take more than linear time in the length of a function.  So the outermost
block of a long program is cut into *segments*.  What a segment computes and a later one uses goes
through memory; temporaries that one segment alone accesses are its own.

The statements and their order stay what they are, so results do, to the bit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, final

from ..loops.memory import touched_by
from ..loops.program import (
    Assign,
    Buffer,
    For,
    Index,
    Load,
    Name,
    Operand,
    Statement,
    While,
    operands_of,
    walk,
)
from .llvm_scalars import scalar_type
from .module_parts import function_text

if TYPE_CHECKING:
    from .llvm_statements import StatementPrinter

Body = tuple[Statement, ...]

# Of so many statements, at least, are programs that are cut, and segments but the last.
_LONG, _SEGMENT = 4000, 1000
# Segments that would take a pointer for each so many statements are not worth their calls: where
# carries and results are thousands of scalars, code was made in a third of the time without.
_FEWEST_FOR_A_POINTER = 4


@final
class Segment(NamedTuple):
    """Statements that are a function.

    Args:
        body: the statements.
        buffers: that they access, but for their own.
        own: local buffers that nothing else accesses.
        taken: scalars that earlier segments compute.
        given: scalars that later segments take.
    """

    body: Body
    buffers: tuple[Buffer, ...]
    own: tuple[Buffer, ...]
    taken: tuple[Name, ...]
    given: tuple[Name, ...]


def segments_of(body: Body, local: Iterable[Buffer]) -> list[Segment]:
    """The segments of a program with these local buffers.

    There are none if it is short, or if they would share much.
    """
    if sum([1 for _ in islice(walk(body), _LONG)]) < _LONG:
        return []
    pieces = _pieces(body)
    everywhere: Counter[Buffer] = Counter()
    for piece in pieces:
        everywhere.update(piece.touched)
    known, needed, segments = set(local), set[Name](), list[Segment]()
    for piece in reversed(pieces):
        owned = {x for x, n in piece.touched.items() if x in known and n == everywhere[x]}
        segments.append(
            Segment(
                tuple(piece.body),
                tuple([x for x in piece.touched if x not in owned]),
                tuple([x for x in piece.touched if x in owned]),
                tuple([name for name in piece.used if name not in piece.made]),
                tuple([name for name in piece.made if name in needed]),
            )
        )
        needed.update(segments[-1].taken)
    pointers = sum([len(x.buffers) + len(x.taken) + len(x.given) for x in segments])
    if _FEWEST_FOR_A_POINTER * pointers > sum([piece.size for piece in pieces]):
        return []
    return segments[::-1]


@final
class _Piece:
    """Statements, and what they access, use and make, each in the order of the text."""

    def __init__(self) -> None:
        self.body: list[Statement] = []
        self.size = 0
        self.touched: Counter[Buffer] = Counter()
        self.used: dict[Name, None] = {}
        self.made: dict[Name, None] = {}

    def add(self, statement: Statement) -> None:
        """A statement, with all that it holds."""
        self.body.append(statement)
        for inner in walk((statement,)):
            self.size += 1
            for buffer in touched_by(inner):
                self.touched[buffer] += 1
            for x in operands_of(inner):
                self._use(x)
            if isinstance(inner, (Assign, Load)):
                self.made[inner.result] = None
            elif isinstance(inner, For):
                self.made[inner.counter] = None
            elif isinstance(inner, While):
                self._use(inner.goes_on)

    def _use(self, x: Operand | Index) -> None:
        if type(x) is Name:
            self.used[x] = None
        elif type(x) is Index:
            for name, _ in x.terms:
                self.used[name] = None


def _pieces(body: Body) -> list[_Piece]:
    """The statements in pieces of about the same length."""
    pieces = [_Piece()]
    for statement in body:
        if pieces[-1].size >= _SEGMENT:
            pieces.append(_Piece())
        pieces[-1].add(statement)
    return pieces


def write_segments(p: StatementPrinter, segments: Sequence[Segment]) -> None:
    """A function for each segment, and the calls of them."""
    cells: dict[Name, str] = {}
    for segment in segments:
        for scalar in segment.given:
            cells[scalar] = p.variables.new(scalar_type(scalar.dtype))
        function = _write(p, segment)
        pointers = [p.buffers[x] for x in segment.buffers]
        pointers += [cells[x] for x in (*segment.taken, *segment.given)]
        p.line(f"call fastcc void {function}({', '.join([f'ptr {x}' for x in pointers])})")


def _write(p: StatementPrinter, segment: Segment) -> str:
    """The function of a segment; its name."""
    pointers = {x: f"%b{i}" for i, x in enumerate(segment.buffers)}
    own = [(f"%v{i}", x) for i, x in enumerate(segment.own)]
    cells = {x: f"%n{i}" for i, x in enumerate((*segment.taken, *segment.given))}
    inner = type(p)(pointers | {x: pointer for pointer, x in own}, p.plans, p.parts)
    for x in segment.taken:
        inner.texts[x] = inner.new(f"load {scalar_type(x.dtype)}, ptr {cells[x]}")
    inner.block(segment.body)
    for x in segment.given:
        inner.line(f"store {scalar_type(x.dtype)} {inner.operand(x)}, ptr {cells[x]}")
    name = f"@segment{len(p.parts.texts)}"
    memory = [
        f"ptr noalias noundef captures(none) {x}" for x in (*pointers.values(), *cells.values())
    ]
    text = function_text(
        name, memory, own, [*inner.variables.lines, *inner.lines], convention="fastcc "
    )
    p.parts.texts.append(text)
    p.elsewhere += len(text) + inner.elsewhere
    p.repeats += inner.repeats
    return name
