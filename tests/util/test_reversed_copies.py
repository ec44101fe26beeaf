"""Copies of views that are read backwards: native code, and its twin."""

from __future__ import annotations

import numpy as np
import pytest

from morphax.util.compiled import part
from morphax.util.host_memory import reversed_copy

pytestmark = pytest.mark.skipif(part("kernels") is None, reason="native code is not there")


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "float16", "float32", "float64", "complex64", "complex128"]
)
@pytest.mark.parametrize(
    "shape", [(1,), (7,), (300_007,), (3, 4), (3, 1, 5), (600, 601), (2, 0), (2, 3, 9000)], ids=str
)
def test_copies_are_those_of_numpy(dtype: str, shape: tuple[int, ...]) -> None:
    x = (np.random.default_rng(0).normal(size=shape) * 50).astype(dtype)
    views = [x[..., ::-1], x[::-1], x[::-1, ...][..., ::-1], x.T[..., ::-1], x[..., ::2][..., ::-1]]
    for view in views:
        copy = reversed_copy(view)
        np.testing.assert_array_equal(copy, view.copy(), strict=True)
        assert copy.flags.c_contiguous
        assert not np.shares_memory(copy, x)
