"""Calls of Python and of native code: operands and results have memory of their own.

So nothing that the program computes with has an address that others know, and compilers keep it in
registers wherever no call is made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .builder import Builder
from .callees import Callee, Routine
from .program import Call
from .values import Place, Value


def called(
    b: Builder, outs: Sequence[Any], operands: Sequence[Value], function: Callable[..., Any]
) -> list[Value]:
    """The results of a function of arrays, of the operands of the current equation.

    Args:
        b: the builder.
        outs: avals of the results.
        operands: of the equation.
        function: as that of a `Callee`.
    """
    if not b.is_for_this_process:
        b.refuse("there is no Python to call where the program will run")
    for aval in (*b.operand_avals, *outs):
        if b.dtype_of(aval) != aval.dtype:
            b.refuse(f"Python has another form of numbers of the dtype {aval.dtype}")
    call = _written(b, outs, operands, len(b.callees))
    given, made = [
        tuple([(x.dtype, x.shape) for x in buffers]) for buffers in (call.operands, call.results)
    ]
    b.callees.append(Callee(function, given, made))
    return _results(b, call)


def computed(
    b: Builder, outs: Sequence[Any], operands: Sequence[Value], routine: Routine
) -> list[Value]:
    """What a routine computes of the operands of the current equation."""
    return _results(b, _written(b, outs, operands, routine))


def _written(
    b: Builder, outs: Sequence[Any], operands: Sequence[Value], function: int | Routine
) -> Call:
    given = [b.fusion.copied(x, "given").buffer for x in operands]
    made = [b.writer.buffer("made", x.shape, b.dtype_of(x)) for x in outs]
    call = Call(function, tuple(given), tuple(made))
    b.writer.write(call)
    return call


def _results(b: Builder, call: Call) -> list[Value]:
    return [b.placed(x.shape, Place.whole(x)) for x in call.results]
