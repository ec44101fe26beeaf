"""What floats are made of, for all numbers of the formats of 8 and 4 bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp

SIGNED = [
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float4_e2m1fn",
]
WAYS = pytest.mark.parametrize("way", [lambda f: f, jax.jit], ids=["eager", "jit"])


def numbers(name: str) -> tuple[Any, np.ndarray[Any, Any]]:
    """All finite numbers of a format, and the same in double precision."""
    dtype = np.dtype(getattr(ml_dtypes, name))
    count = 16 if name.startswith("float4") else 256
    x = np.arange(count, dtype=np.uint8).view(dtype)
    x = x[np.isfinite(x.astype(np.float64))]
    return jnp.asarray(x), x.astype(np.float64)


def exact(results: Any) -> list[np.ndarray[Any, Any]]:
    return [np.asarray(x).astype(np.float64) for x in jax.tree.leaves(results)]


@WAYS
@pytest.mark.parametrize("name", SIGNED)
def test_signs(name: str, way: Callable[..., Any]) -> None:
    x, truth = numbers(name)
    np.testing.assert_array_equal(way(jnp.signbit)(x), np.signbit(truth))
    (found,) = exact(way(jnp.copysign)(x, x[::-1]))
    np.testing.assert_array_equal(found, np.copysign(truth, truth[::-1]))


@WAYS
@pytest.mark.parametrize("name", SIGNED)
def test_exponents(name: str, way: Callable[..., Any]) -> None:
    x, truth = numbers(name)
    (found,) = exact(way(lambda x: jnp.ldexp(x, -1))(x))
    np.testing.assert_array_equal(found, (truth / 2).astype(x.dtype).astype(np.float64))
    if name == "float4_e2m1fn":
        with pytest.raises(TypeError, match=r"that can be 0\.75"):
            jnp.frexp(x)
        return
    for mine, theirs in zip(exact(way(jnp.frexp)(x)), np.frexp(truth), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@WAYS
@pytest.mark.parametrize("name", SIGNED)
def test_distances(name: str, way: Callable[..., Any]) -> None:
    x, truth = numbers(name)
    order = np.unique(truth)
    above = np.append(np.diff(order), np.inf)
    if not np.isinf(np.asarray(np.inf, x.dtype).astype(np.float32)):
        above[-1] = above[-2]
    expected = above[np.searchsorted(order, np.abs(truth))]
    (found,) = exact(way(jnp.spacing)(x))
    np.testing.assert_array_equal(found, np.where(truth < 0, -expected, expected))


@WAYS
def test_powers_of_two_have_no_sign(way: Callable[..., Any]) -> None:
    x, truth = numbers("float8_e8m0fnu")
    assert not np.asarray(way(jnp.signbit)(x)).any()
    (found,) = exact(way(jnp.copysign)(x, x[::-1]))
    np.testing.assert_array_equal(found, truth)
