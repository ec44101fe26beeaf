"""A scan as a `while` with a counter, for the compiler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core import Jaxpr, ShapedArray, apply_jaxpr, stage_closed
from ...lax.arithmetic import add, sub
from ...lax.comparison import lt
from ...lax.dynamic_slicing import dynamic_index_in_dim, dynamic_update_index_in_dim
from ...lax.spine import zeros
from ...util.memo import memoize
from .scan_parts import ScanParts
from .while_primitive import while_p

_COUNTER = ShapedArray((), np.int32)


@memoize
def scan_as_while(params: tuple[tuple[str, Any], ...]) -> Jaxpr:
    """The program that computes a scan with these parameters by a `while`."""
    named = dict(params)
    jaxpr, length = named["jaxpr"], named["length"]
    parts = ScanParts.of(jaxpr.in_avals, **named)
    n, m = len(parts.consts), len(parts.carry)
    ys_avals = [a.with_axis(0, length) for a in jaxpr.out_avals[m:]]
    if length == 0:
        return stage_closed(
            lambda *x: [*x[n : n + m], *map(zeros, ys_avals)], _operand_avals(parts, length)
        )
    per_iteration = min(int(named["unroll"]), length)
    whole = length - length % per_iteration

    def one_step(i: Any, consts: Any, xs: Any, carry: Any, ys: Any) -> tuple[list[Any], list[Any]]:
        position = sub(np.int32(length - 1), i) if named["reverse"] else i
        slices = [dynamic_index_in_dim(x, position, 0, keepdims=False) for x in xs]
        outs = apply_jaxpr(jaxpr, *consts, *carry, *slices)
        written = [
            dynamic_update_index_in_dim(y, out, position, 0)
            for y, out in zip(ys, outs[m:], strict=True)
        ]
        return outs[:m], written

    def body(*operands: Any) -> list[Any]:
        consts, xs, rest = _cut(operands, n, len(parts.xs))
        i, carry, ys = rest[0], rest[1 : 1 + m], rest[1 + m :]
        for _ in range(per_iteration):
            carry, ys = one_step(i, consts, xs, carry, ys)
            i = add(i, np.int32(1))
        return [i, *carry, *ys]

    xs_avals = [a.with_axis(0, length) for a in parts.xs]
    state_avals = [_COUNTER, *parts.carry, *ys_avals]
    body_program = stage_closed(body, [*parts.consts, *xs_avals, *state_avals])
    condition = stage_closed(lambda i, *_: [lt(i, np.int32(whole))], state_avals)

    def whole_scan(*operands: Any) -> list[Any]:
        consts, carry, xs = ScanParts.of(operands, **named)
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
        for i in range(whole, length):
            carry, ys = one_step(np.int32(i), consts, xs, carry, ys)
        return [*carry, *ys]

    return stage_closed(whole_scan, _operand_avals(parts, length))


def _operand_avals(parts: ScanParts, length: int) -> list[Any]:
    return [*parts.consts, *parts.carry, *[a.with_axis(0, length) for a in parts.xs]]


def _cut(values: Sequence[Any], n: int, m: int) -> tuple[list[Any], list[Any], list[Any]]:
    return list(values[:n]), list(values[n : n + m]), list(values[n + m :])
