"""Calls of one function on several scalars, which are made together, as one call on a vector.

A function of a vector takes hardly longer than that of one number.  So the statements of a block
are put into another order: first what calls wait for, then the calls of a kind side by side.  A
statement stays behind those that compute what it uses, and behind accesses of its buffer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, final

from ..loops.program import (
    Assign,
    Buffer,
    DType,
    Index,
    Load,
    Name,
    Statement,
    Store,
    operands_of,
)
from .functions.table import is_ours
from .llvm_scalars import scalar_type, wide

if TYPE_CHECKING:
    from .llvm_statements import StatementPrinter

Pack = tuple[Assign, ...]

# Fewer calls are made one after the other; so many are waited for at most.
_FEWEST, _MOST_CALLS = 3, 64
# Of a vector.
_BYTES = 32


def packed(body: Sequence[Statement]) -> Iterator[Statement | Pack]:
    """The statements of a block, with calls that are made together."""
    if sum([type(x) is Assign and _is_call(x) for x in body]) < _FEWEST:
        yield from body
        return
    straight = _Straight()
    for statement in body:
        if not isinstance(statement, (Assign, Load, Store)) or straight.calls == _MOST_CALLS:
            yield from straight.ordered()
            straight = _Straight()
        if isinstance(statement, (Assign, Load, Store)):
            straight.add(statement)
        else:
            yield statement
    yield from straight.ordered()


def calls_together(printer: StatementPrinter, pack: Pack) -> dict[Name, str]:
    """The results of calls of one function, made on one vector, which the first one fills."""
    dtype = pack[0].result.dtype
    width = 4 if len(pack) <= 4 else _BYTES // dtype.itemsize
    type_ = scalar_type(dtype)
    vectors = []
    for position in range(len(pack[0].operands)):
        scalars = [printer.operand(x.operands[position]) for x in pack]
        vector = "poison"
        for i in range(width):
            scalar = scalars[i] if i < len(pack) else scalars[0]
            vector = printer.new(
                f"insertelement {wide(type_, width)} {vector}, {type_} {scalar}, i64 {i}"
            )
        vectors.append(vector)
    result = printer.call(pack[0].operation, dtype, vectors, width)
    return {
        statement.result: printer.new(f"extractelement {wide(type_, width)} {result}, i64 {i}")
        for i, statement in enumerate(pack)
    }


@final
class _Straight:
    """Statements without loops and branches, in rounds: the calls of one wait for those before.

    Attributes:
        calls: how many there are.
    """

    def __init__(self) -> None:
        self.calls = 0
        self._given: list[Statement] = []
        self._rounds: list[tuple[list[Statement], dict[tuple[str, DType], list[Assign]]]] = []
        # In which round a name is known, and buffers were loaded and stored last.
        self._known: dict[Name, int] = {}
        self._loaded: dict[Buffer, int] = {}
        self._stored: dict[Buffer, int] = {}

    def add(self, statement: Assign | Load | Store) -> None:
        """Put a statement into the first round that it can be in."""
        self._given.append(statement)
        round_ = max([self._known.get(name, 0) for name in _names_in(statement)], default=0)
        match statement:
            case Load(_, buffer):
                round_ = max(round_, self._stored.get(buffer, 0))
                self._loaded[buffer] = max(round_, self._loaded.get(buffer, 0))
            case Store(buffer):
                last = self._stored.get(buffer, 0), self._loaded.get(buffer, 0)
                round_ = self._stored[buffer] = max(round_, *last)
        while len(self._rounds) <= round_:
            self._rounds.append(([], {}))
        others, calls = self._rounds[round_]
        if isinstance(statement, Assign) and _is_call(statement):
            self.calls += 1
            key = statement.operation, statement.result.dtype
            calls.setdefault(key, []).append(statement)
            self._known[statement.result] = round_ + 1
            return
        others.append(statement)
        if not isinstance(statement, Store):
            self._known[statement.result] = round_

    def ordered(self) -> Iterator[Statement | Pack]:
        """The statements, round by round, if any calls are made together then."""
        kinds = [calls for _, of_kinds in self._rounds for calls in of_kinds.values()]
        if all([len(calls) < _FEWEST for calls in kinds]):
            yield from self._given
            return
        for others, of_kinds in self._rounds:
            yield from others
            for (_, dtype), calls in of_kinds.items():
                size = _BYTES // dtype.itemsize
                for start in range(0, len(calls), size):
                    pack = tuple(calls[start : start + size])
                    if len(pack) < _FEWEST:
                        yield from pack
                    else:
                        yield pack


def _is_call(statement: Assign) -> bool:
    """Whether it calls a function that is written for vectors."""
    return is_ours(statement.operation, statement.result.dtype)


def _names_in(statement: Statement) -> Iterator[Name]:
    for x in operands_of(statement):
        if type(x) is Name:
            yield x
        elif type(x) is Index:
            yield from [name for name, _ in x.terms]
