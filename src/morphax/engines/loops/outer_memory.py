"""Memory of others, operands and results of a program: of narrow floats it has the bits."""

from __future__ import annotations

from functools import partial
from typing import Any

from .builder import Builder
from .narrow import BITS, TO_ROUND, is_narrow, packed, unpacked
from .program import Buffer, DType, Kind
from .values import Value


def outer_dtype(b: Builder, aval: Any) -> DType:
    """The dtype as which such memory is read and written."""
    return BITS if is_narrow(aval) else b.dtype_of(aval)


def outer_buffer(b: Builder, name: str, aval: Any, kind: Kind) -> Buffer:
    """The memory of an operand or a result."""
    seen_as = aval.dtype if is_narrow(aval) else None
    return b.writer.buffer(name, aval.shape, outer_dtype(b, aval), kind, seen_as=seen_as)


def received(b: Builder, value: Value, aval: Any) -> Value:
    """What such memory has, as the program holds it."""
    if not is_narrow(aval):
        return value
    read = partial(unpacked, b.writer, dtype=aval.dtype)
    return b.elementwise(aval, read, value, cost=TO_ROUND)


def sent(b: Builder, value: Value, aval: Any) -> Value:
    """What such memory is to have, of what the program holds."""
    if not is_narrow(aval):
        return value
    write = partial(packed, b.writer, dtype=aval.dtype)
    return b.elementwise(aval.update(dtype=BITS), write, value, cost=TO_ROUND)
