"""Edges of argmax and argmin: NaN, ties, signed zeros, narrow index dtypes; error texts."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import numpy as np
import pytest

from morphax.core import ShapedArray
from morphax.lax.reduction.argreductions import argmax, argmax_p, argmin, argmin_p
from tests.lax.engines import array, check_engines_agree

FLOATS = ("float32", "float64", "float16", "bfloat16")


def places(function: Any, x: Any, index_dtype: Any = np.int32) -> list[int]:
    last = np.ndim(x) - 1
    return check_engines_agree(lambda v: function(v, last, index_dtype), x).tolist()


ROWS = [
    [1, 3, 3, 1],
    [np.nan, 1, np.nan, 2],
    [1, -np.nan, np.inf, -np.inf],
    [-0.0, 0.0, -0.0, 0.0],
    [0.0, -0.0, 0.0, -0.0],
    [-np.inf] * 4,
    [np.inf] * 4,
]


@pytest.mark.parametrize("dtype", FLOATS)
def test_first_nan_then_first_extreme(dtype: str) -> None:
    x = array(ROWS, dtype)
    assert places(argmax, x) == [1, 0, 1, 0, 0, 0, 0]
    assert places(argmin, x) == [0, 0, 1, 0, 0, 0, 0]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "uint64", "bool"])
def test_ends_of_integers(dtype: str) -> None:
    low, high = (0, 1) if dtype == "bool" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    x = np.array([[low, high, low, high], [low] * 4, [high] * 4, [high, low, low, high]], dtype)
    assert places(argmax, x) == [1, 0, 0, 0]
    assert places(argmin, x) == [0, 0, 0, 1]


def test_nan_among_many() -> None:
    x = np.zeros(20_000, np.float32)
    x[[7_000, 9_000]] = np.nan
    assert places(argmax, x) == places(argmin, x) == 7_000


# Long rows are gone through by groups of 64, and axes behind beside each other.
SHAPES = [(255,), (256,), (257,), (383,), (1000,), (3, 700), (700, 3), (2, 300, 4), (300, 1)]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "bool"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_first_of_equal_ones_wherever_they_are(shape: tuple[int, ...], dtype: str) -> None:
    rng = np.random.default_rng(len(shape) + shape[0])
    for share in (0.0, 0.003, 0.5):
        x = array(rng.integers(-1, 2, shape), dtype)
        if dtype.startswith("float"):
            x = np.where(x == 0, rng.choice([-0.0, 0.0], shape), x).astype(x.dtype)
            x[rng.random(shape) < share] = np.nan
        # NumPy's own places of narrow floats come from a loop of their own.
        plain = x.astype(np.float64) if dtype.startswith("float") else x
        for axis, (function, expected) in itertools.product(
            range(x.ndim), [(argmax, np.argmax), (argmin, np.argmin)]
        ):
            found = check_engines_agree(partial(function, axis=axis, index_dtype=np.int32), x)
            np.testing.assert_array_equal(found, expected(plain, axis))


@pytest.mark.parametrize("shape", [(100, 10), (65, 31), (3, 40, 5), (2, 5000), (70_000, 4)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint64", "bool", "int32"])
def test_eager_places_are_those_of_numpy(shape: tuple[int, ...], dtype: str) -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 4, shape).astype(dtype)
    if "float" in dtype:
        x = np.where(rng.random(shape) < 0.1, rng.choice([np.nan, -0.0, np.inf], shape), x)
    x = x.astype(dtype)
    for axis, (primitive, expected) in itertools.product(
        range(x.ndim), [(argmax_p, np.argmax), (argmin_p, np.argmin)]
    ):
        params = {"axes": (axis,), "index_dtype": np.dtype(np.int32)}
        found = primitive.kernel(ShapedArray(shape, x.dtype), **params)
        for v in (x, np.asfortranarray(x)):
            np.testing.assert_array_equal(found(v), expected(v, axis))


def test_places_wrap_around_in_narrow_dtypes() -> None:
    assert places(argmax, np.arange(600.0), np.uint8) == 599 % 256


def test_empty_other_axes() -> None:
    assert places(argmax, np.zeros((0, 3), np.float32)) == []


def test_empty_axis_is_refused() -> None:
    with pytest.raises(ValueError, match=r"lax\.argmax.*\n.*float32\[2,0\], which is empty"):
        argmax(np.zeros((2, 0), np.float32), 1, np.int32)


@pytest.mark.parametrize("axis", [-1, 2])
def test_wrong_axes_are_refused(axis: int) -> None:
    with pytest.raises(ValueError, match=r"lax\.argmin, argument axes"):
        argmin(np.zeros((2, 3), np.float32), axis, np.int32)


def test_wrong_dtypes_are_refused() -> None:
    with pytest.raises(TypeError, match=r"lax\.argmax, operand 0"):
        argmax(np.zeros(3, np.complex64), 0, np.int32)
    with pytest.raises(TypeError, match="argument index_dtype"):
        argmax(np.zeros(3, np.float32), 0, np.float32)
