"""Sorting by one or several keys, and the largest elements."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from morphax.lax.ordering.approximate import approx_max_k, approx_min_k
from morphax.lax.ordering.sorting import sort, sort_key_val, top_k

from .op_case import ALL, BOOL, FLOATS, INTEGERS, OpCase, Operand

SHAPE = (3, 5, 2)
DISTINCT = Operand(SHAPE, distinct=True)
ORDERED = FLOATS + INTEGERS + BOOL
# Few different numbers, so that a second key or the stability of the sort matters.
COARSE = Operand(SHAPE, 0, 3, dtype="int32", differentiable=False)


def _sorted_pair(axis: int, x: Any, y: Any) -> tuple[Any, Any]:
    order = np.argsort(x, axis, kind="stable")
    return np.take_along_axis(x, order, axis), np.take_along_axis(y, order, axis)


def _sorted_by_two(axis: int, x: Any, y: Any, z: Any) -> tuple[Any, ...]:
    order = np.lexsort((y, x), axis)
    return tuple(np.take_along_axis(v, order, axis) for v in (x, y, z))


def _largest(k: int, axis: int, x: Any) -> list[Any]:
    order = np.flip(np.argsort(np.flip(x, axis), axis, kind="stable"), axis)
    places = np.take(x.shape[axis] - 1 - order, range(k), axis)
    return [np.take_along_axis(x, places, axis), places]


CASES = (
    *[
        OpCase(
            f"sort/axis {axis}",
            partial(sort, dimension=axis),
            partial(np.sort, axis=axis),
            (DISTINCT,),
            dtypes=ALL if axis == 1 else ORDERED,
        )
        for axis in (0, 1, -1)
    ],
    OpCase("sort/unstable", partial(sort, is_stable=False), np.sort, (DISTINCT,), dtypes=FLOATS),
    *[
        OpCase(
            f"sort/shape {shape}",
            partial(sort, dimension=0),
            partial(np.sort, axis=0),
            (Operand(shape),),
            dtypes=("float64", "int32"),
        )
        for shape in ((0, 3), (3, 0), (1, 3))
    ],
    OpCase(
        "sort/one key",
        lambda x, y: sort((x, y), 1),
        partial(_sorted_pair, 1),
        (COARSE, Operand(SHAPE)),
        dtypes=ALL,
    ),
    OpCase(
        "sort/float key",
        lambda x, y: sort((x, y), 0),
        partial(_sorted_pair, 0),
        (DISTINCT, Operand(SHAPE, -9, 9, dtype="int32")),
        dtypes=ORDERED,
    ),
    OpCase(
        "sort/two keys",
        lambda x, y, z: sort((x, y, z), 1, num_keys=2),
        partial(_sorted_by_two, 1),
        (COARSE, DISTINCT, Operand(SHAPE)),
        dtypes=ORDERED,
    ),
    OpCase(
        "sort_key_val",
        partial(sort_key_val, dimension=0),
        partial(_sorted_pair, 0),
        (DISTINCT, Operand(SHAPE)),
        dtypes=FLOATS,
    ),
    *[
        OpCase(
            f"top_k/{k} along {axis}",
            partial(top_k, k=k, axis=axis),
            partial(_largest, k, axis),
            (DISTINCT,),
            dtypes=ORDERED,
        )
        for k, axis in ((2, 1), (5, 1), (0, 1), (1, 0), (2, -1))
    ],
    *[
        OpCase(
            f"{function.__name__}/{k} along {axis}",
            partial(function, k=k, reduction_dimension=axis),
            truth,
            (DISTINCT,),
            dtypes=FLOATS,
        )
        for function, k, axis, truth in (
            (approx_max_k, 2, -1, partial(_largest, 2, -1)),
            (approx_min_k, 1, 0, lambda x: [-_largest(1, 0, -x)[0], _largest(1, 0, -x)[1]]),
        )
    ],
)
