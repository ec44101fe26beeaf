"""The number of points of a window, however it is given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp


@pytest.mark.parametrize(
    "points",
    [5.0, np.float32(5), np.array(5.0), jnp.asarray(5.0), jnp.asarray(5), jnp.asarray(5, "int8")],
    ids=repr,
)
def test_a_number_of_points_in_an_array(points: Any) -> None:
    np.testing.assert_allclose(jnp.bartlett(points), [0, 0.5, 1, 0.5, 0])


def test_a_truth_value_counts_one_or_none() -> None:
    assert jnp.blackman(jnp.asarray(True)).tolist() == [1.0]
    assert jnp.blackman(jnp.asarray(False)).shape == (0,)


@pytest.mark.parametrize("points", [None, jnp.ones(1), [5], jnp.asarray(2.5), jnp.inf], ids=repr)
def test_what_is_no_number_of_points(points: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=r"jnp\.hamming, argument M"):
        jnp.hamming(points)


def test_a_traced_number_of_points() -> None:
    with pytest.raises(jax.errors.ConcretizationTypeError):
        jax.jit(jnp.hanning)(5.0)


@pytest.mark.parametrize("points", [0, 1, 2, 3, 4, 9, 1000])
@pytest.mark.parametrize("name", ["bartlett", "blackman", "hamming", "hanning"])
def test_windows_rise_without_cancelling_and_are_symmetric(name: str, points: int) -> None:
    x = np.pi * np.arange(points) / max(points - 1, 1)
    s = np.sin(np.minimum(x, np.pi - x).clip(0)) ** 2
    expected = {
        "bartlett": 1 - np.abs(2 * x / np.pi - 1),
        "blackman": s * (9 + 16 * s) / 25,
        "hamming": (2 + 23 * s) / 25,
        "hanning": s,
    }[name]
    with jax.enable_x64(True):
        window = np.asarray(getattr(jnp, name)(points))
    np.testing.assert_allclose(window, expected if points > 1 else np.ones(points), 1e-13, 1e-16)
    np.testing.assert_array_equal(window, window[::-1])
