"""Calls of Python: operands and results have memory of their own.

So nothing that the program computes with has an address that others know, and compilers keep it in
registers wherever no call is made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .builder import Builder
from .callees import Callee
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
    given = [b.fusion.copied(x, "given").buffer for x in operands]
    made = [Place.whole(b.writer.buffer("made", x.shape, b.dtype_of(x))) for x in outs]
    callee = Callee(
        function,
        tuple([(x.dtype, x.shape) for x in given]),
        tuple([(x.buffer.dtype, x.buffer.shape) for x in made]),
    )
    b.writer.write(Call(len(b.callees), tuple(given), tuple([x.buffer for x in made])))
    b.callees.append(callee)
    return [b.placed(x.shape, place) for x, place in zip(outs, made, strict=True)]
