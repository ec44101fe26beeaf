"""A scan as a `while` with a counter, for the compiler."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import Jaxpr, ShapedArray, apply_jaxpr, memoize_fragment, stage_closed
from ...lax.elementwise.arithmetic import add, sub
from ...lax.elementwise.comparison import lt
from ...lax.ground.linear_structure import zeros
from ...lax.indexing.dynamic_slicing import dynamic_index_in_dim, dynamic_update_index_in_dim
from ...lax.shape.filling import size_value
from ..bodies.wiring import stacked_aval
from .while_primitive import while_p

_COUNTER = ShapedArray((), np.int32)


@memoize_fragment
def scan_as_while(params: tuple[tuple[str, Any], ...]) -> Jaxpr:
    """The program that computes a scan with these parameters by a `while`."""
    named = dict(params)
    jaxpr, length = named["jaxpr"], named["length"]
    n, m = named["num_consts"], named["num_carry"]
    xs_avals = [stacked_aval(a, length) for a in jaxpr.in_avals[n + m :]]
    ys_avals = [stacked_aval(a, length) for a in jaxpr.out_avals[m:]]
    avals = [*jaxpr.in_avals[: n + m], *xs_avals]
    if length == 0:
        return stage_closed(lambda *x: [*x[n : n + m], *map(zeros, ys_avals)], avals)
    per_iteration = min(int(named["unroll"]), length) if type(length) is int else 1
    whole = length - length % per_iteration
    start = n + len(xs_avals) + 1

    def one_step(i: Any, consts: Any, xs: Any, carry: Any, ys: Any) -> tuple[list[Any], list[Any]]:
        position = sub(size_value(length - 1, _COUNTER.dtype), i) if named["reverse"] else i
        # Without the choice for negative positions the compiler sees that they count up.
        slices = [
            dynamic_index_in_dim(x, position, 0, keepdims=False, allow_negative_indices=False)
            for x in xs
        ]
        outs = apply_jaxpr(jaxpr, *consts, *carry, *slices)
        written = [
            dynamic_update_index_in_dim(y, out, position, 0, allow_negative_indices=False)
            for y, out in zip(ys, outs[m:], strict=True)
        ]
        return outs[:m], written

    def body(*operands: Any) -> list[Any]:
        consts, (*xs, i), rest = operands[:n], operands[n:start], list(operands[start:])
        carry, ys = rest[:m], rest[m:]
        for _ in range(per_iteration):
            carry, ys = one_step(i, consts, xs, carry, ys)
            i = add(i, np.int32(1))
        return [i, *carry, *ys]

    state_avals = [_COUNTER, *avals[n : n + m], *ys_avals]
    body_program = stage_closed(body, [*avals[:n], *xs_avals, *state_avals])
    condition = stage_closed(lambda i, *_: [lt(i, size_value(whole, _COUNTER.dtype))], state_avals)

    def whole_scan(*operands: Any) -> list[Any]:
        consts, carry, xs = operands[:n], list(operands[n : n + m]), operands[n + m :]
        _, *state = while_p.bind(
            *consts,
            *xs,
            np.int32(0),
            *carry,
            *map(zeros, ys_avals),
            cond_jaxpr=condition,
            cond_nconsts=0,
            body_jaxpr=body_program,
            body_nconsts=n + len(xs),
        )
        carry, ys = state[:m], state[m:]
        for i in range(length - whole):
            carry, ys = one_step(np.int32(whole + i), consts, xs, carry, ys)
        return [*carry, *ys]

    return stage_closed(whole_scan, avals)
