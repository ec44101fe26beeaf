"""Running sums, products, extremes and log-sums, and running combinations of any kind."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from morphax.lax.elementwise.arithmetic import add, mul
from morphax.lax.reduction.associative_scan import associative_scan
from morphax.lax.reduction.cumulative import cumlogsumexp, cummax, cummin, cumprod, cumsum

from .op_case import COMPLEXES, FLOATS, INEXACT, INTEGERS, NUMBERS, OpCase, Operand

SHAPE = (3, 5, 2)
PLAIN = Operand(SHAPE)
FACTORS = Operand(SHAPE, 0.5, 1.5)
DISTINCT = Operand(SHAPE, distinct=True)


def _accumulated(ufunc: np.ufunc, axis: int, reverse: bool, x: Any) -> Any:
    ahead = np.flip(x, axis) if reverse else x
    out = ufunc.accumulate(ahead, axis, x.dtype)
    return np.flip(out, axis) if reverse else out


def _cases(
    function: Callable[..., Any], ufunc: np.ufunc, operand: Operand, dtypes: tuple[str, ...]
) -> list[OpCase]:
    return [
        OpCase(
            f"{function.__name__}/axis {axis}{' reverse' if reverse else ''}",
            partial(function, axis=axis, reverse=reverse),
            partial(_accumulated, ufunc, axis, reverse),
            (operand,),
            dtypes=dtypes,
        )
        for axis, reverse in ((0, False), (1, False), (1, True), (2, True))
    ]


def _of_shape(function: Callable[..., Any], ufunc: np.ufunc, shape: tuple[int, ...]) -> OpCase:
    return OpCase(
        f"{function.__name__}/of shape {shape}",
        partial(function, axis=1),
        partial(_accumulated, ufunc, 1, False),
        (Operand(shape),),
        dtypes=("float64", "float32"),
    )


def _complex_log_sums(x: Any) -> Any:
    return np.log(np.cumsum(np.exp(x), axis=1))


def _affine(x: Any, y: Any) -> Any:
    """The composition of the maps t ↦ x₀ t + x₁ and t ↦ y₀ t + y₁."""
    return mul(x[0], y[0]), add(mul(x[1], y[0]), y[1])


def _affine_truth(slopes: Any, offsets: Any) -> Any:
    slope, offset = np.ones_like(slopes[:, 0]), np.zeros_like(slopes[:, 0])
    rows = []
    for a, b in zip(np.moveaxis(slopes, 1, 0), np.moveaxis(offsets, 1, 0), strict=True):
        slope, offset = slope * a, offset * a + b
        rows.append((slope, offset))
    return tuple(np.stack(parts, 1) for parts in zip(*rows, strict=True))


CASES = (
    *_cases(cumsum, np.add, PLAIN, NUMBERS),
    *_cases(cumprod, np.multiply, FACTORS, INEXACT + INTEGERS),
    *_cases(cummax, np.maximum, DISTINCT, FLOATS + INTEGERS),
    *_cases(cummin, np.minimum, DISTINCT, FLOATS + INTEGERS),
    *_cases(cumlogsumexp, np.logaddexp, PLAIN, FLOATS),
    OpCase(
        "cumlogsumexp/complex",
        partial(cumlogsumexp, axis=1),
        _complex_log_sums,
        (Operand(SHAPE, -1.0, 1.0),),
        dtypes=COMPLEXES,
    ),
    *[
        _of_shape(function, ufunc, shape)
        for function, ufunc in ((cumsum, np.add), (cumprod, np.multiply), (cummax, np.maximum))
        for shape in ((2, 0), (2, 1), (0, 3))
    ],
    OpCase(
        "associative_scan/affine maps",
        lambda a, b: associative_scan(_affine, (a, b), axis=1),
        _affine_truth,
        (Operand((2, 7)), Operand((2, 7))),
    ),
    *[
        OpCase(
            f"associative_scan/size {size}",
            lambda x: associative_scan(add, x, reverse=True, axis=-1),
            lambda x: np.flip(np.cumsum(np.flip(x, -1), -1), -1),
            (Operand((2, size)),),
            dtypes=("float64", "float32"),
        )
        for size in (0, 1, 2, 3, 6, 9)
    ],
)
