"""Donation: results take over the memory of operands that the caller gives away.

The module says which results may (`lowering`), XLA does it, and the operand is deleted: its later
use raises an error that says which call took it.  XLA keeps off memory that a NumPy view still
shows; such an operand stays as it was.

Memory that two arrays share is not given away.  A forwarded result shares the memory of its
operand; `Array.placed` marks the buffer of both, and a marked operand is donated by way of a NumPy
view.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...array import Array
from ...array.deletion import Deleted
from ...array.sharding import Sharding
from ...util.frames import user_frame
from ...util.messages import message
from .executable import Executable


def call_donating(
    executable: Executable,
    operands: Sequence[Array],
    committed: bool,
    function: str,
    argument_name: Callable[[int], str],
) -> list[Array]:
    """Run a program that was lowered with donated operands.

    Args:
        executable: the program.
        operands: its operands.
        committed: whether the results are bound to the place.
        function: name and place of the user's function.
        argument_name: the name of the operand at a position, for error text.
    """
    program, place = executable.program, executable.place
    if len(set(map(id, operands))) < len(operands):
        _refuse_twice(operands, program.donated, function, argument_name)
    given = list(operands)
    for i in program.donated:
        x = operands[i]
        if x._buffer is None or _is_shared(x):
            given[i] = x = _unshared(x, place)
        # A NumPy view of the buffer would keep XLA from using its memory.
        x._host = None
    were_shared = [_is_shared(operands[i]) for i in program.handed_over]
    results = executable.run(given, committed)
    gone = donated_to(function)
    for i in program.donated:
        if given[i]._buffer.is_deleted():
            operands[i].give_up(gone)
    for i, was_shared in zip(program.handed_over, were_shared, strict=True):
        # One result is all that is left of the operand: its memory is not shared any more.
        if not was_shared and _is_shared(operands[i]):
            del operands[i]._buffer.is_shared
        operands[i].give_up(gone)
    return results


def donated_to(function: str) -> Deleted:
    """Why a donated array has no memory any more."""
    return Deleted(f"it was donated to {function}", user_frame())


def _is_shared(x: Array) -> bool:
    return hasattr(x._buffer, "is_shared")


def _unshared(x: Array, place: Sharding) -> Array:
    """The numbers of `x` as an array of its own, with a buffer that XLA will not write to."""
    return Array(x.aval, None, Array(x.aval, x.to_host()).buffer_at(place), place)


def _refuse_twice(
    operands: Sequence[Array],
    donated: Sequence[int],
    function: str,
    argument_name: Callable[[int], str],
) -> None:
    places: dict[int, int] = {}
    given_away = {id(operands[i]) for i in donated}
    for i, x in enumerate(operands):
        first = places.setdefault(id(x), i)
        if first != i and id(x) in given_away:
            raise ValueError(
                message(
                    f"jit of {function}, donated argument",
                    given=f"one array as the arguments {argument_name(first)} and "
                    f"{argument_name(i)}",
                    expected="donated arrays that are passed once",
                    fix="Pass a copy as one of them, or do not donate the argument.",
                )
            )
