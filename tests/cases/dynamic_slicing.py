"""Slices that start at places known only when the program runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from morphax import lax

from .op_case import ALL, OpCase, Operand

START = Operand((), -6, 6, dtype="int32", differentiable=False)


def block(x: Any, starts: Any, sizes: Any) -> tuple[slice, ...]:
    """Where the block lies: counted from the end if negative, then moved inside."""
    places = []
    for start, n, size in zip(starts, x.shape, sizes, strict=True):
        start = int(start) + n if start < 0 else int(start)
        start = min(max(start, 0), n - size)
        places.append(slice(start, start + size))
    return tuple(places)


def replaced(x: Any, update: Any, *starts: Any) -> Any:
    out = x.copy()
    out[block(x, starts, update.shape)] = update
    return out


CASES = (
    OpCase(
        "dynamic_slice",
        lambda x, i, j: lax.dynamic_slice(x, (i, j), (2, 3)),
        lambda x, i, j: x[block(x, (i, j), (2, 3))],
        (Operand((4, 5)), START, START),
        ALL,
    ),
    OpCase(
        "dynamic_slice/array_of_starts",
        lambda x, i: lax.dynamic_slice(x, i, (1, 5)),
        lambda x, i: x[block(x, i, (1, 5))],
        (Operand((4, 5)), Operand((2,), -6, 6, dtype="int32", differentiable=False)),
    ),
    OpCase(
        "dynamic_slice/known_starts",
        lambda x: lax.dynamic_slice(x, (9, -1), (2, 2)),
        lambda x: x[2:, 3:],
        (Operand((4, 5)),),
    ),
    OpCase(
        "dynamic_slice/not_from_end",
        lambda x, i: lax.dynamic_slice(x, (i, 0), (2, 5), allow_negative_indices=(False, True)),
        lambda x, i: x[block(x, (max(i, 0), 0), (2, 5))],
        (Operand((4, 5)), START),
    ),
    OpCase(
        "dynamic_slice/rank_0", lambda x: lax.dynamic_slice(x, (), ()), lambda x: x, (Operand(()),)
    ),
    OpCase(
        "dynamic_slice/nothing",
        lambda x, i: lax.dynamic_slice(x, (i,), (0,)),
        lambda x, i: x[:0],
        (Operand((3,)), START),
    ),
    OpCase(
        "dynamic_slice/small_index_dtype",
        lambda x, i: lax.dynamic_slice(x, (i,), (3,)),
        lambda x, i: x[block(x, (i,), (3,))],
        (Operand((300,)), Operand((), -100, 100, dtype="int8", differentiable=False)),
    ),
    OpCase(
        "dynamic_slice_in_dim",
        lambda x, i: lax.dynamic_slice_in_dim(x, i, 2, axis=-1),
        lambda x, i: x[block(x, (0, i), (4, 2))],
        (Operand((4, 5)), START),
    ),
    OpCase(
        "dynamic_index_in_dim",
        lambda x, i: lax.dynamic_index_in_dim(x, i, axis=1, keepdims=False),
        lambda x, i: x[block(x, (0, i), (4, 1))][:, 0],
        (Operand((4, 5)), START),
    ),
    OpCase(
        "dynamic_update_slice",
        lambda x, u, i, j: lax.dynamic_update_slice(x, u, (i, j)),
        replaced,
        (Operand((4, 5)), Operand((2, 3)), START, START),
        ALL,
    ),
    OpCase(
        "dynamic_update_slice/rank_0",
        lambda x, u: lax.dynamic_update_slice(x, u, ()),
        lambda x, u: u,
        (Operand(()), Operand(())),
    ),
    OpCase(
        "dynamic_update_slice_in_dim",
        lambda x, u, i: lax.dynamic_update_slice_in_dim(x, u, i, axis=0),
        lambda x, u, i: replaced(x, u, i, np.int32(0)),
        (Operand((4, 3)), Operand((2, 3)), START),
    ),
    OpCase(
        "dynamic_update_index_in_dim",
        lambda x, u, i: lax.dynamic_update_index_in_dim(x, u, i, axis=1),
        lambda x, u, i: replaced(x, u[:, None], np.int32(0), i),
        (Operand((4, 5)), Operand((4,)), START),
    ),
)
