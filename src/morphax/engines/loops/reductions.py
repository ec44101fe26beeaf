"""Reductions and running sums as loops.

Where the last axis is summed, one scalar is the sum of a row.  Otherwise rows are added to a row:
memory is passed through in its order, and the inner loop is a sum of vectors.  Long sums are sums
of sums, see `folds`; running ones are carried in a wider dtype, where there is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .builder import Builder
from .folds import Fold
from .operations import result_dtype
from .program import ORIGIN, DType, Index, Operand
from .scalars import converted
from .values import Indices, Value

# A term of no more operations may be written several times.
_CHEAP = 2


def reduced(
    b: Builder, out: Any, x: Value, axes: Sequence[int], operation: str, identity: Operand
) -> Value:
    """The elements along `axes` combined by an operation with an identity."""
    if not x.size:
        return b.uniform(out.shape, identity)
    if all([x.shape[axis] == 1 for axis in axes]):
        # Of one element it is an operation, which joins others; that there is none is said now.
        result_dtype(operation, (identity.dtype, x.dtype))
        return b.elementwise(
            out, lambda value: b.writer.op(operation, identity, value), b.reshape(x, out.shape)
        )
    kept = [i for i in range(x.ndim) if i not in axes]
    long = [i for i in range(x.ndim) if x.shape[i] > 1]
    are_rows = bool(kept and long) and long[-1] in kept
    # Loops around the sum; those inside of it are lanes.
    outer = [i for i in kept if not are_rows or all([i < axis for axis in axes])]
    inner = [i for i in range(x.ndim) if i not in outer]
    lanes = [i in kept for i in inner]
    is_cheap = x.place is not None or (x.cost <= _CHEAP and not x.is_shared)
    fold = Fold([x.shape[i] for i in inner], lanes, operation, identity, is_cheap=is_cheap)
    if fold.reads_twice:
        x = b.settled(x)
    place = b.new(out, name="sum")
    # The only sum is its own result.
    is_direct = any(lanes) or not kept
    total = place.buffer if is_direct else b.writer.buffer("sum", (), x.dtype)

    def sums(*around: Index) -> None:
        indices = dict(zip(outer, around, strict=True))

        def term(there: Indices) -> Operand:
            known = indices | dict(zip(inner, there, strict=True))
            return b.fusion.read(x, tuple([known[i] for i in range(x.ndim)]))

        def at(lane: Indices) -> Index:
            # The axes of lanes are the last ones that are kept.
            return place.at((*around, *lane)) if is_direct else ORIGIN

        fold.write(b, term, total, at)
        if not is_direct:
            b.writer.store(place.buffer, place.at(around), b.writer.load(total))

    b.fusion.nest([x.shape[i] for i in outer], sums, is_independent=True)
    return b.placed(out.shape, place)


def accumulated(
    b: Builder,
    out: Any,
    x: Value,
    axis: int,
    combine: Any,
    carry: DType,
    *,
    reverse: bool,
) -> Value:
    """All partial results along an axis: ``y[i] = combine(y[i - 1], x[i])``, from either end.

    They are carried in the dtype `carry`, and rounded where they are stored.
    """
    place, n, w = b.new(out), x.shape[axis], b.writer
    if not x.size:
        return b.placed(out.shape, place)
    total = w.buffer("sum", (), carry)
    outer = [n for i, n in enumerate(x.shape) if i != axis]

    def row(*others: Index) -> None:
        def at(i: Index) -> tuple[Index, ...]:
            position = i.times(-1).plus(n - 1) if reverse else i
            return (*others[:axis], position, *others[axis:])

        def put(i: Index, value: Operand) -> None:
            w.store(total, ORIGIN, value)
            w.store(place.buffer, place.at(at(i)), converted(w, value, x.dtype))

        def read(i: Index) -> Operand:
            return converted(w, b.fusion.read(x, at(i)), carry)

        def step(i: Index) -> None:
            # The first step is the one before these.
            here = i.plus(1)
            put(here, combine(w.load(total), read(here)))

        put(Index(), read(Index()))
        b.fusion.nest([n - 1], step)

    # Both the first element and the others are read.
    x = b.settled(x)
    b.fusion.nest(outer, row, is_independent=True)
    return b.placed(out.shape, place)
