"""The bits of arrays, read as numbers of another width."""

from __future__ import annotations

from typing import Any

from .builder import Builder
from .outer_memory import outer_dtype, received, sent
from .program import Index, Operand
from .scalars import unsigned
from .values import Indices, Value


def reinterpreted(b: Builder, out: Any, x: Value) -> Value:
    """The bits as numbers of another dtype; parts of wider ones lie on the last axis, low first."""
    (given,) = b.operand_avals
    bits = out.update(dtype=outer_dtype(b, out))
    return received(b, _reinterpreted(b, bits, sent(b, x, given)), out)


def _reinterpreted(b: Builder, out: Any, x: Value) -> Value:
    """The same of dtypes that are held as they are."""
    dtype, w = out.dtype, b.writer
    if dtype == x.dtype:
        return x
    old, new = unsigned(x.dtype), unsigned(dtype)
    if old == new:
        return b.elementwise(out, lambda v: w.bitcast(v, dtype), x)
    x = b.settled(x)
    width = 8 * min(old.itemsize, new.itemsize)

    def part(indices: Indices) -> Operand:
        whole = w.bitcast(b.fusion.read(x, indices[:-1]), old)
        distance = w.convert(w.index_value(indices[-1].times(width)), old)
        return w.bitcast(w.convert(w.op("shift_right", whole, distance), new), dtype)

    def whole(indices: Indices) -> Operand:
        total: Operand = w.number(0, new)
        for i in range(new.itemsize // old.itemsize):
            bits = w.bitcast(b.fusion.read(x, (*indices, Index.of(i))), old)
            moved = w.op("shift_left", w.convert(bits, new), w.number(i * width, new))
            total = w.op("or", total, moved)
        return w.bitcast(total, dtype)

    element = part if old.itemsize > new.itemsize else whole
    return b.fusion.pending(out.shape, dtype, element, [x], cost=3)
