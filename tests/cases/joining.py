"""Joining arrays and taking them apart."""

from __future__ import annotations

import numpy as np

from morphax import lax

from .op_case import ALL, COMPLEXES, FLOATS, OpCase, Operand

MOVED = (*FLOATS, *COMPLEXES, "int32", "bool")

CASES = (
    OpCase(
        "concatenate",
        lambda x, y, z: lax.concatenate([x, y, z], 1),
        lambda x, y, z: np.concatenate([x, y, z], 1),
        (Operand((2, 3)), Operand((2, 0)), Operand((2, 1))),
        ALL,
    ),
    OpCase(
        "concatenate/first_axis",
        lambda x, y: lax.concatenate((x, y), 0),
        lambda x, y: np.concatenate([x, y]),
        (Operand((2,)), Operand((3,))),
    ),
    OpCase("concatenate/one", lambda x: lax.concatenate([x], 0), lambda x: x),
    OpCase(
        "concatenate/same_operand",
        lambda x: lax.concatenate([x, x], 0),
        lambda x: np.concatenate([x, x]),
    ),
    OpCase(
        "concatenate/array",
        lambda x: lax.concatenate(x, 0),
        lambda x: x.reshape(-1),
        (Operand((2, 3)),),
        batched=False,
    ),
    OpCase(
        "split",
        lambda x: lax.split(x, (1, 0, 3), axis=1),
        lambda x: [x[:, :1], x[:, 1:1], x[:, 1:]],
        dtypes=ALL,
    ),
    OpCase("split/one", lambda x: lax.split(x, (3,), axis=-2), lambda x: [x]),
    OpCase("split/empty", lambda x: lax.split(x, (0, 0)), lambda x: [x, x], (Operand((0, 2)),)),
    OpCase(
        "split/one_result_used",
        lambda x: lax.split(x, (1, 2))[1],
        lambda x: x[1:],
    ),
    OpCase(
        "stack",
        lambda x, y: lax.stack([x, y], axis=-1),
        lambda x, y: np.stack([x, y], -1),
        (Operand(), Operand()),
        ALL,
    ),
    OpCase(
        "stack/rank_0",
        lambda x, y: lax.stack([x, y]),
        lambda x, y: np.stack([x, y]),
        (Operand(()), Operand(())),
    ),
    OpCase("unstack", lambda x: lax.unstack(x, 1), lambda x: list(x.T), dtypes=ALL),
    OpCase("unstack/rank_1", lax.unstack, list, (Operand((3,)),)),
    OpCase("unstack/one_result_used", lambda x: lax.unstack(x)[1], lambda x: x[1]),
    OpCase("tile", lambda x: lax.tile(x, (2, 3)), lambda x: np.tile(x, (2, 3)), dtypes=MOVED),
    OpCase("tile/once", lambda x: lax.tile(x, (1, 1)), lambda x: x),
    OpCase("tile/never", lambda x: lax.tile(x, (0, 1)), lambda x: x[:0]),
    OpCase("tile/rank_0", lambda x: lax.tile(x, ()), lambda x: x, (Operand(()),)),
)
