"""Parts of lowerings that several operations on matrices write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core import ShapedArray
from ...core.dims import Dim
from ...engines.xla.stablehlo import Builder, Value
from ..ground.families import compare

INT32 = np.dtype(np.int32)
BOOL = np.dtype(bool)

Step = Callable[..., Sequence[Value]]


def counted_loop(b: Builder, count: Dim, step: Step, *start: Value) -> list[Value]:
    """The last state of ``state = step(b, i, *state)`` for i from 0 to `count`, a `while` loop."""
    counter = ShapedArray((), INT32)
    avals = (counter, *[x.aval for x in start])

    def is_open(inner: Builder, i: Value, *_: Value) -> list[Value]:
        end = inner.size(count, counter)
        return [compare(inner, counter.update(dtype=BOOL), "LT", i, end)]

    def body(inner: Builder, i: Value, *state: Value) -> list[Value]:
        found = step(inner, i, *state)
        return [inner.op("stablehlo.add", counter, i, inner.constant(1, counter)), *found]

    regions = [b.region(avals, is_open), b.region(avals, body)]
    return b.ops("stablehlo.while", avals, b.constant(0, counter), *start, regions=regions)[1:]


def numbered(b: Builder, out: Any, axis: int) -> Value:
    """The number of each element along an axis."""
    return b.iota(out, axis)


def upper_triangle(b: Builder, x: Value) -> Value:
    """The upper triangle of each matrix, with its diagonal; zero elsewhere."""
    return b.op("stablehlo.select", x.aval, where_numbers(b, x.aval, "LE"), x, b.full(0, x.aval))


def identity(b: Builder, out: Any) -> Value:
    """Ones on the diagonal of each matrix, which need not be square."""
    return b.convert(where_numbers(b, out, "EQ"), out.dtype)


def where_numbers(b: Builder, out: Any, direction: str) -> Value:
    """Where the number of the row compares so with that of the column."""
    rows, columns = [numbered(b, out.update(dtype=INT32), out.ndim - i) for i in (2, 1)]
    return compare(b, out.update(dtype=BOOL), direction, rows, columns)
