"""Reductions over sliding windows, and by computations that are no monoid of the library."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from morphax.lax.elementwise import clamping, selection
from morphax.lax.elementwise.arithmetic import add, mul
from morphax.lax.reduction.computed_reductions import reduce
from morphax.lax.window.computed_windows import reduce_window
from morphax.lax.window.window_geometry import Window, canonical_window

from .op_case import COMPLEXES, INTEGERS, NUMBERS, OpCase, Operand

SCIENTIFIC = ("float64", "float32", "float16", "bfloat16")
GEOMETRIES: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    "plain": ((4, 5), {"window_dimensions": (2, 3)}),
    "strides": ((5, 6), {"window_dimensions": (2, 2), "window_strides": (2, 3)}),
    "same": ((5, 4), {"window_dimensions": (3, 2), "window_strides": (2, 1), "padding": "SAME"}),
    "padding": ((4, 3), {"window_dimensions": (2, 2), "padding": ((2, 1), (0, 3))}),
    "cut": ((5, 4), {"window_dimensions": (2, 1), "padding": ((-1, 0), (1, -2))}),
    "base dilation": ((3, 3), {"window_dimensions": (2, 2), "base_dilation": (2, 3)}),
    "window dilation": ((5, 6), {"window_dimensions": (2, 3), "window_dilation": (3, 2)}),
    "everything": (
        (5, 4),
        {
            "window_dimensions": (2, 3),
            "window_strides": (2, 3),
            "padding": ((1, 2), (4, -1)),
            "base_dilation": (2, 3),
            "window_dilation": (3, 2),
        },
    ),
    "long": ((40,), {"window_dimensions": (21,), "window_strides": (2,), "padding": ((3, 2),)}),
    "long dilated": (
        (30,),
        {"window_dimensions": (17,), "window_dilation": (2,), "base_dilation": (2,)},
    ),
    "trivial": ((2, 3), {"window_dimensions": (1, 1)}),
    "rank 0": ((), {"window_dimensions": ()}),
    "too large": ((2, 3), {"window_dimensions": (3, 1)}),
    "empty": ((0, 3), {"window_dimensions": (1, 2)}),
}


def _window(shape: tuple[int, ...], geometry: dict[str, Any]) -> Window:
    defaults = {
        "window_strides": None,
        "padding": "VALID",
        "base_dilation": None,
        "window_dilation": None,
    }
    return canonical_window("test", shape, **(defaults | geometry))


def _truth(ufunc: np.ufunc, start: float, geometry: dict[str, Any], x: Any) -> Any:
    """Every window by itself, element by element."""
    windows = _window(x.shape, geometry).along(x.shape)
    out = np.full([w.count for w in windows], start, x.dtype)
    for place in np.ndindex(*out.shape):
        for offsets in itertools.product(*[range(w.size) for w in windows]):
            index = []
            for w, p, k in zip(windows, place, offsets, strict=True):
                position = p * w.stride + k * w.dilation - w.low
                inside = position % w.base_dilation == 0
                inside = inside and 0 <= position // w.base_dilation < w.length
                index.append(position // w.base_dilation if inside else -1)
            if -1 not in index:
                out[place] = ufunc(out[place], x[tuple(index)])
    return out


def _cases(
    name: str,
    computation: Callable[..., Any],
    ufunc: np.ufunc,
    start: float,
    dtypes: tuple[str, ...],
    operand: Callable[[tuple[int, ...]], Operand],
) -> list[OpCase]:
    return [
        OpCase(
            f"reduce_window/{name} {label}",
            lambda x, g=geometry: _bounded(reduce_window(x, start, computation, **g)),
            lambda x, g=geometry: _bounded_truth(_truth(ufunc, start, g, x)),
            (operand(shape),),
            dtypes=dtypes if label in ("same", "everything") else dtypes[:1],
        )
        for label, (shape, geometry) in GEOMETRIES.items()
    ]


# Beyond all sums and products here: it cuts off the infinite extremes of windows without elements,
# of which differences would be NaN.
_BOUND = 120.0


def _bounded(x: Any) -> Any:
    if x.aval.dtype.kind == "c":
        return x
    low, high = (np.array(bound).astype(x.aval.dtype)[()] for bound in (-_BOUND, _BOUND))
    return clamping.clamp(low, x, high)


def _bounded_truth(x: Any) -> Any:
    return x if x.dtype.kind == "c" else np.clip(x, -_BOUND, _BOUND).astype(x.dtype)


def _distinct(shape: tuple[int, ...]) -> Operand:
    return Operand(shape, distinct=True)


def _factors(shape: tuple[int, ...]) -> Operand:
    return Operand(shape, 0.7, 1.3)


def _extreme(function: Callable[..., Any], ufunc: np.ufunc, low: int) -> list[OpCase]:
    geometry = GEOMETRIES["same"][1]
    return [
        OpCase(
            f"reduce_window/{function.__name__} of {dtype}",
            lambda x, d=dtype: reduce_window(x, _ends(function, d), function, **geometry),
            lambda x, d=dtype: _truth(ufunc, _ends(function, d), geometry, x),
            (Operand((5, 4), low, 100),),
            dtypes=(dtype,),
        )
        for dtype in ("int8", "uint8", "int32")
    ]


def _ends(function: Callable[..., Any], dtype: str) -> int:
    info = np.iinfo(dtype)
    return int(info.min if function is selection.max else info.max)


def _product_and_sum(x: Any, y: Any) -> Any:
    return mul(x[0], y[0]), add(x[1], y[1])


def _reduced_pair(x: Any, y: Any) -> Any:
    return reduce((x, y), (1.0, 0.0), _product_and_sum, (1,))


def _scaled_product(x: Any, y: Any) -> Any:
    """An associative computation that is no single operation: x ∘ y = 2 x y, of identity ½."""
    return mul(mul(x, y), 2)


CASES = (
    *_cases("sum", add, np.add, 0.0, (*SCIENTIFIC, *COMPLEXES, "int32"), Operand),
    *_cases("max", selection.max, np.maximum, -np.inf, SCIENTIFIC, _distinct),
    *_cases("min", selection.min, np.minimum, np.inf, SCIENTIFIC, _distinct),
    *_cases("product", mul, np.multiply, 1.0, ("float64", "float32", "complex64"), _factors),
    *_extreme(selection.max, np.maximum, -100),
    *_extreme(selection.min, np.minimum, -100),
    OpCase(
        "reduce_window/sum from 5",
        lambda x: reduce_window(x, 5, add, (2, 2), padding="SAME"),
        lambda x: _truth(np.add, 5, {"window_dimensions": (2, 2), "padding": "SAME"}, x),
        (Operand((3, 4)),),
        dtypes=("float64", "int32"),
    ),
    OpCase(
        "reduce_window/pair",
        lambda x, y: reduce_window((x, y), (1.0, 0.0), _product_and_sum, (3,), (2,)),
        lambda x, y: (
            _truth(np.multiply, 1.0, {"window_dimensions": (3,), "window_strides": (2,)}, x),
            _truth(np.add, 0.0, {"window_dimensions": (3,), "window_strides": (2,)}, y),
        ),
        (Operand((8,)), Operand((8,))),
        dtypes=("float64", "float32"),
    ),
    OpCase(
        "reduce/sum",
        lambda x: reduce(x, 0, add, (0, 2)),
        lambda x: np.add.reduce(x, (0, 2), x.dtype),
        (Operand((3, 4, 2)),),
        dtypes=NUMBERS,
    ),
    OpCase(
        "reduce/sum from 5",
        lambda x: reduce(x, 5, add, (1,)),
        lambda x: np.add.reduce(x, 1, x.dtype) + 5,
        (Operand((3, 4)),),
        dtypes=("float64", *INTEGERS),
    ),
    OpCase(
        "reduce/pair",
        _reduced_pair,
        lambda x, y: (np.prod(x, 1), np.sum(y, 1)),
        (Operand((3, 5)), Operand((3, 5))),
        dtypes=("float64", "float32", "complex64"),
    ),
    OpCase(
        "reduce/program",
        lambda x: reduce(x, 0.5, _scaled_product, (0,)),
        lambda x: np.prod(2 * x, 0) / 2,
        (Operand((5, 2)),),
        dtypes=("float64", "float32"),
    ),
    OpCase(
        "reduce/program of nothing",
        lambda x: reduce(x, 0.5, _scaled_product, (0,)),
        lambda x: np.full(2, 0.5),
        (Operand((0, 2)),),
        dtypes=("float64",),
    ),
)
