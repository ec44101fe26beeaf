"""Shapes and dtypes taken over from values."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import morphax as jax
from morphax import lax


@pytest.mark.parametrize("shape", [(), (3,), (1, 3), (2, 1), (2, 3)])
def test_broadcast_like(shape: tuple[int, ...]) -> None:
    x = np.arange(np.prod(shape, dtype=int), dtype=np.int8).reshape(shape)
    given = jax.jit(lax.broadcast_like)(x, np.zeros((2, 3)))
    np.testing.assert_array_equal(given, np.broadcast_to(x, (2, 3)))
    assert given.dtype == np.int8


@pytest.mark.parametrize("shape", [(2,), (4, 3), (1, 2, 3)])
def test_broadcast_like_refuses(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"lax\.broadcast_like"):
        lax.broadcast_like(np.zeros(shape), np.zeros((2, 3)))


def test_dtype() -> None:
    for x, expected in [(1, "i4"), (True, "?"), (1j, "c8"), ("float32", "f4"), (np.int8, "i1")]:
        assert lax.dtype(x) == expected
    assert lax.dtype(ml_dtypes.bfloat16) == ml_dtypes.bfloat16
    assert jax.jit(lambda x: lax.full((), 1, lax.dtype(x)))(np.int16(3)).dtype == np.int16
    for x, error in [(None, ValueError), ([1.0], TypeError)]:
        with pytest.raises(error, match=r"lax\.dtype"):
            lax.dtype(x)
