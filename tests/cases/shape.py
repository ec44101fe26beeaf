"""Operations on the shape alone."""

from __future__ import annotations

import numpy as np

from morphax import lax

from .op_case import ALL, COMPLEXES, FLOATS, OpCase, Operand

MOVED = (*FLOATS, *COMPLEXES, "int32", "bool")

CASES = (
    OpCase("reshape", lambda x: lax.reshape(x, (2, 6)), lambda x: x.reshape(2, 6), dtypes=ALL),
    OpCase(
        "reshape/dimensions",
        lambda x: lax.reshape(x, (4, 6), dimensions=(2, 0, 1)),
        lambda x: x.transpose(2, 0, 1).reshape(4, 6),
        (Operand((2, 3, 4)),),
        MOVED,
    ),
    OpCase(
        "reshape/rank_0",
        lambda x: lax.reshape(x, (1, 1)),
        lambda x: x.reshape(1, 1),
        (Operand(()),),
    ),
    OpCase(
        "reshape/to_rank_0",
        lambda x: lax.reshape(x, ()),
        lambda x: x.reshape(()),
        (Operand((1, 1)),),
    ),
    OpCase(
        "reshape/empty",
        lambda x: lax.reshape(x, (0, 5)),
        lambda x: x.reshape(0, 5),
        (Operand((3, 0)),),
    ),
    OpCase(
        "squeeze",
        lambda x: lax.squeeze(x, (0, -2)),
        lambda x: x.squeeze((0, 2)),
        (Operand((1, 3, 1, 2)),),
        MOVED,
    ),
    OpCase("squeeze/none", lambda x: lax.squeeze(x, ()), lambda x: x),
    OpCase(
        "expand_dims",
        lambda x: lax.expand_dims(x, (0, -1)),
        lambda x: x[None, ..., None],
        dtypes=MOVED,
    ),
    OpCase(
        "expand_dims/rank_0",
        lambda x: lax.expand_dims(x, (0,)),
        lambda x: x[None],
        (Operand(()),),
    ),
    OpCase("rev", lambda x: lax.rev(x, (1,)), lambda x: x[:, ::-1], dtypes=ALL),
    OpCase("rev/all", lambda x: lax.rev(x, (0, 1)), lambda x: x[::-1, ::-1]),
    OpCase("rev/none", lambda x: lax.rev(x, ()), lambda x: x),
    OpCase("rev/empty", lambda x: lax.rev(x, (0,)), lambda x: x, (Operand((0, 2)),)),
    OpCase(
        "transpose",
        lambda x: lax.transpose(x, (2, 0, 1)),
        lambda x: x.transpose(2, 0, 1),
        (Operand((2, 3, 4)),),
        ALL,
    ),
    OpCase("transpose/identity", lambda x: lax.transpose(x, (0, 1)), lambda x: x),
    OpCase("transpose/rank_0", lambda x: lax.transpose(x, ()), lambda x: x, (Operand(()),)),
    OpCase(
        "transpose/empty", lambda x: lax.transpose(x, (1, 0)), lambda x: x.T, (Operand((0, 2)),)
    ),
    OpCase(
        "collapse",
        lambda x: lax.collapse(x, 1),
        lambda x: x.reshape(2, 12),
        (Operand((2, 3, 4)),),
    ),
    OpCase(
        "collapse/inner",
        lambda x: lax.collapse(x, 0, -1),
        lambda x: x.reshape(6, 4),
        (Operand((2, 3, 4)),),
    ),
    OpCase(
        "collapse/no_axes",
        lambda x: lax.collapse(x, 1, 1),
        lambda x: x[:, None],
        (Operand((2, 3)),),
    ),
    OpCase("broadcast", lambda x: lax.broadcast(x, (2,)), lambda x: np.stack([x, x]), dtypes=ALL),
    OpCase(
        "broadcast/rank_0",
        lambda x: lax.broadcast(x, (2, 3)),
        lambda x: np.full((2, 3), x),
        (Operand(()),),
    ),
    OpCase(
        "broadcast/empty",
        lambda x: lax.broadcast(x, (0,)),
        lambda x: np.zeros((0, 3, 4)),
        derivatives=1,
    ),
    OpCase(
        "broadcast_in_dim/empty",
        lambda x: lax.broadcast_in_dim(x, (2, 0), (1,)),
        lambda x: np.zeros((2, 0)),
        (Operand((0,)),),
        derivatives=1,
    ),
    OpCase(
        "broadcast_in_dim",
        lambda x: lax.broadcast_in_dim(x, (2, 3, 4), (1, 2)),
        lambda x: np.broadcast_to(x, (2, 3, 4)),
        (Operand((3, 1)),),
        MOVED,
    ),
    OpCase(
        "broadcast_to_rank",
        lambda x: lax.broadcast_to_rank(x, 3),
        lambda x: x[None],
    ),
    OpCase("copy", lax.copy_p.bind, lambda x: x, dtypes=ALL),
    OpCase(
        "full",
        lambda x: lax.full((2, 3), x),
        lambda x: np.full((2, 3), x),
        (Operand(()),),
        MOVED,
    ),
    OpCase("full/rank_0", lambda x: lax.full((), x), lambda x: x, (Operand(()),)),
    OpCase(
        "full_like",
        lambda x: lax.full_like(x, 2),
        lambda x: np.full_like(x, 2),
        dtypes=ALL,
        derivatives=0,
    ),
    OpCase(
        "iota",
        lambda x: lax.broadcasted_iota(x.dtype, (3, 4), 1),
        lambda x: np.broadcast_to(np.arange(4), (3, 4)),
        dtypes=(*FLOATS, *COMPLEXES, "int8", "uint32"),
        derivatives=0,
        batched=False,
    ),
    OpCase(
        "empty",
        lambda x: lax.empty((3, 4), x.dtype),
        lambda x: np.zeros((3, 4)),
        dtypes=ALL,
        derivatives=0,
        batched=False,
    ),
)
