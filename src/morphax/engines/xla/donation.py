"""Donation: results take over the memory of operands that the caller gives away.

The module says which results may (`lowering`), XLA does it, and the operand is deleted: its later
use raises an error that says which call took it.  XLA keeps off memory that a NumPy view still
shows; such an operand stays as it was.

Memory that two arrays share is not given away.  A forwarded result shares the memory of its
operand; `Array.placed` marks the buffer of both, and a marked operand is donated by way of a NumPy
view.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from ...array import Array
from ...runtime.sharding import Sharding
from ..donated import donated_to, refuse_given_twice
from .lowering import LoweredProgram


@final
class Donation:
    """A run of a program that was lowered with donated operands.

    Args:
        program: the program.
        operands: its operands.
    """

    __slots__ = ("_operands", "_program", "_were_shared", "given")

    given: list[Array]
    """The operands to run it on."""

    def __init__(self, program: LoweredProgram, operands: Sequence[Array]) -> None:
        if len(set(map(id, operands))) < len(operands):
            refuse_given_twice(operands, program.donated, program.info)
        self._program, self._operands = program, operands
        self.given = list(operands)
        for i in program.donated:
            x = operands[i]
            if x._buffer is None or _is_shared(x):
                self.given[i] = x = _unshared(x, program.places.operands[i])
            # A NumPy view of the buffer would keep XLA from using its memory.
            x._host = None
        self._were_shared = [_is_shared(operands[i]) for i in program.aliased]

    def complete(self) -> None:
        """Mark the operands whose memory is gone as deleted, once the results are there."""
        program, operands = self._program, self._operands
        gone = donated_to(program.info.function)
        for i in program.donated:
            if self.given[i]._buffer.is_deleted():
                operands[i].give_up(gone)
        for i, was_shared in zip(program.aliased, self._were_shared, strict=True):
            # One result is all that is left of the operand: its memory is not shared any more.
            if not was_shared and _is_shared(operands[i]):
                del operands[i]._buffer.is_shared
            operands[i].give_up(gone)


def _is_shared(x: Array) -> bool:
    return hasattr(x._buffer, "is_shared")


def _unshared(x: Array, place: Sharding) -> Array:
    """The numbers of `x` as an array of its own, with a buffer that XLA will not write to."""
    return Array(x.aval, None, Array(x.aval, x.to_host()).buffer_at(place), place)
