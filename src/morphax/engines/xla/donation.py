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
from typing import Any

from ...array import Array
from ...util.messages import message
from .executable import Executable


def call_donating(
    executable: Executable,
    operands: Sequence[Array],
    donated: Sequence[int],
    function: str,
    argument_name: Callable[[int], str],
    *,
    committed: bool = False,
) -> list[Array]:
    """Run a program on operands of which those at the positions `donated` are given away.

    Args:
        executable: a program lowered with the same donations.
        operands: its operands.
        donated: positions in `operands`.
        function: name and place of the user's function.
        argument_name: the name of the operand at a position, for error text.
        committed: whether the results are bound to the device.
    """
    _refuse_twice(operands, donated, function, argument_name)
    given = list(operands)
    for i in donated:
        given[i] = _to_give(operands[i], executable.device)
    were_shared = [_is_shared(x) for x in given]
    results = executable(given, committed)
    forwarded = [f.operand for f in executable.program.forwarded if f is not None]
    computed_with = set(executable.program.kept_operands)
    for i in donated:
        if i in forwarded:
            # One result is all that is left of the operand: its memory is not shared any more.
            if forwarded.count(i) == 1 and not were_shared[i] and _is_shared(given[i]):
                del given[i]._buffer.is_shared
        elif i not in computed_with or not given[i]._buffer.is_deleted():
            continue
        operands[i].delete(f"it was donated to {function}")
    return results


def _is_shared(x: Array) -> bool:
    return x._buffer is not None and hasattr(x._buffer, "is_shared")


def _to_give(x: Array, device: Any) -> Array:
    """The array to pass for a donated operand."""
    if _is_shared(x):
        x = Array(x.aval, x.to_host())
    if x._device is None or x._device is device:
        x.on_device(device)
    if x._device is not device:
        x = x.placed(device, committed=False)
    # A NumPy view of the buffer would keep XLA from using its memory.
    x._host = None
    return x


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
