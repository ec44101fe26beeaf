"""Two lowerings of running combinations: a loop along the axis, and windows that reach its end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core import ShapedArray
from ...core.dims import upper_bound
from ...engines.xla.stablehlo import Builder, Value, i64_array, i64_matrix
from ..ground.families import compare

Combine = Callable[[Builder, Value, Value], Value]


def _start(identity: Any) -> Any:
    """What a combination starts from: of sums −0, since 0 + −0 is 0, which the first −0 is not."""
    number = np.asarray(identity)
    return -number if number.dtype.kind in "fcV" and number == 0 else number


def lower_as_loop(
    b: Builder,
    combine: Combine,
    x: Value,
    carry_dtype: Any,
    identity: Any,
    axis: int,
    reverse: bool,
) -> Value:
    """A `while` loop that replaces each row of `x` along `axis` by the combination so far.

    Args:
        b: the builder.
        combine: writes the operation, on values of one aval.
        x: the array; its axis has at least one element.
        carry_dtype: dtype in which the combination is carried.
        identity: of the operation.
        axis: the axis.
        reverse: whether to run from the end.
    """
    size = x.aval.shape[axis]
    row = x.aval.update(shape=tuple([1 if i == axis else n for i, n in enumerate(x.aval.shape)]))
    total = row.update(dtype=carry_dtype)
    counter = ShapedArray((), np.int32 if upper_bound(size) < 2**31 else np.int64)
    state = (counter, total, x.aval)

    def condition(inner: Builder, i: Value, *_: Value) -> Sequence[Value]:
        flag = counter.update(dtype=np.dtype(bool))
        return [compare(inner, flag, "LT", i, inner.constant(size, counter))]

    def body(inner: Builder, i: Value, combined: Value, rows: Value) -> Sequence[Value]:
        place = i
        if reverse:
            last = inner.constant(size - 1, counter)
            place = inner.elementwise("stablehlo.subtract", counter, last, i)
        zero = inner.constant(0, counter)
        start = [place if a == axis else zero for a in range(x.aval.ndim)]
        current = inner.dynamic_slice(rows, row, start, row.shape)
        combined = combine(inner, combined, inner.convert(current, carry_dtype))
        stored = inner.convert(combined, row.dtype)
        rows = inner.op("stablehlo.dynamic_update_slice", x.aval, rows, stored, *start)
        following = inner.elementwise("stablehlo.add", counter, i, inner.constant(1, counter))
        return [following, combined, rows]

    initial = [b.constant(0, counter), b.full(_start(identity), total), x]
    regions = [b.region(state, condition), b.region(state, body)]
    return b.ops("stablehlo.while", state, *initial, regions=regions)[2]


def lower_as_window(
    b: Builder, combine: Combine, x: Value, identity: Any, axis: int, reverse: bool
) -> Value:
    """A `reduce_window` whose windows reach from each element to the start (the end) of `axis`."""
    element = x.aval.update(shape=())
    body = b.region((element, element), lambda inner, *pair: [combine(inner, *pair)])
    window = [n if i == axis else 1 for i, n in enumerate(x.aval.shape)]
    before = [0 if i != axis or reverse else n - 1 for i, n in enumerate(x.aval.shape)]
    after = [0 if i != axis or not reverse else n - 1 for i, n in enumerate(x.aval.shape)]
    return b.op(
        "stablehlo.reduce_window",
        x.aval,
        x,
        b.constant(_start(identity), element),
        regions=[body],
        window_dimensions=i64_array(window),
        padding=i64_matrix(list(zip(before, after, strict=True))),
    )
