"""Static slices and padding."""

from __future__ import annotations

from typing import Any

import numpy as np

from morphax import lax

from .op_case import ALL, COMPLEXES, FLOATS, OpCase, Operand

MOVED = (*FLOATS, *COMPLEXES, "int32", "bool")


def padded(x: Any, value: Any, config: Any) -> Any:
    """`pad`, element by element."""
    pairs = list(zip(x.shape, config, strict=True))
    shape = [low + high + n + interior * max(n - 1, 0) for n, (low, high, interior) in pairs]
    out = np.full(shape, value, x.dtype)
    for place in np.ndindex(*x.shape):
        to = [low + i * (interior + 1) for i, (low, _, interior) in zip(place, config, strict=True)]
        if all(0 <= i < n for i, n in zip(to, shape, strict=True)):
            out[tuple(to)] = x[place]
    return out


def pad_case(label: str, shape: tuple[int, ...], config: Any, dtypes: Any = FLOATS) -> OpCase:
    return OpCase(
        f"pad/{label}",
        lambda x, value: lax.pad(x, value, config),
        lambda x, value: padded(x, value, config),
        (Operand(shape), Operand(())),
        dtypes,
    )


CASES = (
    OpCase(
        "slice",
        lambda x: lax.slice(x, (1, 0), (3, 4), (1, 3)),
        lambda x: x[1:3, ::3],
        dtypes=ALL,
    ),
    OpCase("slice/strides_left_out", lambda x: lax.slice(x, (1, 1), (2, 4)), lambda x: x[1:2, 1:4]),
    OpCase("slice/all", lambda x: lax.slice(x, (0, 0), (3, 4)), lambda x: x),
    OpCase("slice/nothing", lambda x: lax.slice(x, (3, 2), (3, 2), (2, 2)), lambda x: x[:0, :0]),
    OpCase(
        "slice/empty",
        lambda x: lax.slice(x, (0, 0), (0, 2)),
        lambda x: x[:, :2],
        (Operand((0, 3)),),
    ),
    OpCase("slice/rank_0", lambda x: lax.slice(x, (), ()), lambda x: x, (Operand(()),)),
    OpCase(
        "slice/long_stride",
        lambda x: lax.slice(x, (1,), (7,), (9,)),
        lambda x: x[1:7:9],
        (Operand((8,)),),
    ),
    OpCase(
        "slice_in_dim", lambda x: lax.slice_in_dim(x, 1, -1, 2, axis=-1), lambda x: x[:, 1:-1:2]
    ),
    OpCase("slice_in_dim/open", lambda x: lax.slice_in_dim(x, None, None), lambda x: x),
    OpCase("index_in_dim", lambda x: lax.index_in_dim(x, -1, axis=1), lambda x: x[:, -1:]),
    OpCase(
        "index_in_dim/dropped", lambda x: lax.index_in_dim(x, 2, keepdims=False), lambda x: x[2]
    ),
    pad_case("edges", (3, 4), ((1, 2, 0), (0, 3, 0)), ALL),
    pad_case("interior", (3, 4), ((0, 0, 2), (1, 1, 1)), MOVED),
    pad_case("negative", (3, 4), ((-1, 2, 0), (1, -2, 0))),
    pad_case("negative_interior", (3, 4), ((-1, 0, 1), (-2, -3, 2))),
    pad_case("nothing_left", (3, 4), ((-1, -2, 0), (0, 0, 0))),
    pad_case("no_element_left", (3,), ((-6, 2, 1),)),
    pad_case("empty", (0, 2), ((1, 1, 3), (0, 0, 1))),
    pad_case("rank_0", (), ()),
)
