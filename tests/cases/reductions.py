"""Reductions along axes, and the places of extreme elements."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from morphax.lax.reduction import argreductions, reductions

from .op_case import ANY_INTEGER, BOOL, FLOATS, INEXACT, INTEGERS, NUMBERS, OpCase, Operand

SHAPE = (3, 4, 2)
BITS = BOOL + ANY_INTEGER
AXES = {"one": (1,), "two": (2, 0), "all": (0, 1, 2), "none": ()}
EMPTY = Operand((3, 0, 2))
# Products of 24 such factors stay in the range of float16.
FACTORS = Operand(SHAPE, 0.5, 1.5)
DISTINCT = Operand(SHAPE, -2.0, 2.0, distinct=True)


def _reduced(ufunc: np.ufunc, axes: tuple[int, ...], x: Any) -> Any:
    """The reduction by `ufunc`, in the dtype of the operand."""
    return ufunc.reduce(x, axes, x.dtype)


def _cases(
    function: Callable[..., Any],
    ufunc: np.ufunc,
    operand: Operand,
    dtypes: tuple[str, ...],
    derivatives: int = 2,
) -> list[OpCase]:
    return [
        OpCase(
            f"{function.__name__}/{label}",
            partial(function, axes=axes),
            partial(_reduced, ufunc, axes),
            (operand,),
            dtypes=dtypes,
            derivatives=derivatives,
        )
        for label, axes in AXES.items()
    ]


def _empty(
    function: Callable[..., Any], value: Any, dtypes: tuple[str, ...], derivatives: int = 1
) -> OpCase:
    return OpCase(
        f"{function.__name__}/empty",
        lambda x: function(x, (1,)),
        lambda x: np.full((3, 2), value, np.result_type(x.dtype, type(value))),
        (EMPTY,),
        dtypes=dtypes,
        derivatives=derivatives,
    )


def _scalar(function: Callable[..., Any]) -> OpCase:
    return OpCase(
        f"{function.__name__}/rank 0",
        lambda x: function(x, ()),
        lambda x: x,
        (Operand(()),),
    )


def exp_shift(x: Any, axes: Any) -> Any:
    return reductions.exp_shift_p.bind(x, axes=axes)


_ARGUMENTS = (
    (argreductions.argmax, np.argmax),
    (argreductions.argmin, np.argmin),
)

CASES = (
    *_cases(reductions.reduce_sum, np.add, Operand(SHAPE), NUMBERS),
    *_cases(reductions.reduce_prod, np.multiply, FACTORS, NUMBERS),
    *_cases(reductions.reduce_max, np.maximum, DISTINCT, FLOATS + INTEGERS + BOOL),
    *_cases(reductions.reduce_min, np.minimum, DISTINCT, FLOATS + INTEGERS + BOOL),
    *_cases(reductions.reduce_and, np.bitwise_and, Operand(SHAPE, -100, 100), BITS, 0),
    *_cases(reductions.reduce_or, np.bitwise_or, Operand(SHAPE, -100, 100), BITS, 0),
    *_cases(reductions.reduce_xor, np.bitwise_xor, Operand(SHAPE, -100, 100), BITS, 0),
    OpCase(
        "reduce_max/complex",
        lambda x: reductions.reduce_max(x, (1,)),
        lambda x: np.max(x, 1),
        (Operand(SHAPE),),
        dtypes=("complex64", "complex128"),
    ),
    _empty(reductions.reduce_sum, 0, NUMBERS),
    _empty(reductions.reduce_prod, 1, NUMBERS),
    *_cases(exp_shift, np.maximum, DISTINCT, FLOATS),
    _empty(reductions.reduce_max, -np.inf, FLOATS, 0),
    _empty(reductions.reduce_min, np.inf, INEXACT, 0),
    _empty(reductions.reduce_max, -128, ("int8",), 0),
    _empty(reductions.reduce_min, 255, ("uint8",), 0),
    _empty(reductions.reduce_and, True, BOOL, 0),
    _empty(reductions.reduce_or, 0, ("int32", "uint8"), 0),
    *[_scalar(f) for f in (reductions.reduce_sum, reductions.reduce_prod, reductions.reduce_max)],
    *[
        OpCase(
            f"{function.__name__}/axis {axis}",
            partial(function, axis=axis, index_dtype=np.int32),
            partial(truth, axis=axis),
            (Operand(SHAPE, -3, 3),),
            dtypes=FLOATS + INTEGERS + BOOL,
            derivatives=0,
        )
        for function, truth in _ARGUMENTS
        for axis in range(3)
    ],
)
