"""Numbers in the order that JAX had before `jax_threefry_partitionable`: those that it gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
from morphax import random

BITS = [
    ("uint8", [90, 158, 185, 51, 12]),
    ("uint16", [40538, 13241, 30476]),
    ("uint32", [795667951, 868740625, 2300365598]),
    ("uint64", [3046301308350124833, 1630591696577853043, 11637731320648947440]),
    ("uint64", [3417367830320696094, 1411253134597950912]),
    ("uint32", []),
]
DRAWS: dict[str, tuple[Callable[[Any], Any], list[Any]]] = {
    "split": (
        lambda k: random.key_data(random.split(k)),
        [[3594430910, 534832770], [1784718894, 3813648515]],
    ),
    "permutation": (lambda k: random.permutation(k, 11), [6, 0, 1, 10, 4, 5, 8, 9, 3, 7, 2]),
    "normal": (lambda k: random.normal(k, (3,)), [0.98177063, -0.63384831, -0.21332364]),
    "gamma": (lambda k: random.gamma(k, 2.0, (9,))[:3], [4.005853, 7.0001984, 5.6897674]),
    "poisson": (lambda k: random.poisson(k, 30.0, (9,)), [33, 36, 31, 35, 28, 32, 39, 35, 34]),
    "binomial": (
        lambda k: random.binomial(k, 100, 0.4, (9,)),
        [43, 46, 41, 45, 38, 42, 48, 44, 44],
    ),
}


@pytest.mark.parametrize(("dtype", "expected"), BITS)
def test_bits(dtype: str, expected: list[int]) -> None:
    with jax.enable_x64(True), jax.threefry_partitionable(False):
        key = random.key(12345)
        draw = lambda key: random.bits(key, (len(expected),), dtype)  # noqa: E731
        np.testing.assert_array_equal(draw(key), np.array(expected, dtype))
        np.testing.assert_array_equal(jax.jit(draw)(key), np.array(expected, dtype))


@pytest.mark.parametrize("name", DRAWS)
def test_what_is_made_of_bits(name: str) -> None:
    draw, expected = DRAWS[name]
    key = random.key(5)
    usual = draw(key)
    with jax.threefry_partitionable(False):
        drawn, compiled = draw(key), jax.jit(draw)(key)
        staged = jax.jit(draw).trace(key)
    np.testing.assert_allclose(drawn, expected, rtol=1e-6)
    np.testing.assert_array_equal(staged.lower().compile()(key), compiled)
    np.testing.assert_allclose(compiled, drawn, rtol=1e-6)
    # The order is part of what a program is remembered by.
    np.testing.assert_array_equal(draw(key), usual)
    assert not np.array_equal(usual, drawn)


def test_keys_of_a_batch_and_of_rbg() -> None:
    with jax.threefry_partitionable(False):
        keys = random.split(random.key(5), 6)
        drawn = jax.vmap(lambda key: random.bits(key, (5,), "uint16"))(keys)
        halves = random.key_data(random.split(random.key(3, impl="rbg"), 3))[:, 2:]
    np.testing.assert_array_equal(drawn[2], [11558, 39127, 58618, 44398, 50733])
    expected = [[877192987, 1614509672], [1950127089, 3448417067], [2823528474, 3529024829]]
    np.testing.assert_array_equal(halves, expected)


def test_gamma_numbers_move_with_their_parameter() -> None:
    key = random.key(5)
    with jax.threefry_partitionable(False):
        slope = jax.grad(lambda a: random.gamma(key, a, (9,))[0])(2.0)
        drawn = random.gamma(key, 2.0, (9,))[0]
    assert np.isclose(slope, jax.lax.random_gamma_grad(2.0, drawn), rtol=1e-5)
