"""The operations that draw counts: in place and by their programs, one key and many, refusals."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import random
from morphax.random import _loop_draws
from morphax.random._count_numbers import random_binomial_p, random_poisson_p

KEY = random.key(3)
NAN, INF = np.nan, np.inf
RATES = (0.0, 1e-40, 0.3, 9.99, 10.0, 57.0, 1e5, 1e7, 3e38, INF, -INF, NAN, -1.0)
TRIALS = (0.0, 1.0, 10.5, 70.0, 1e6, 1e38, INF, -INF, NAN, -1.0)
CHANCES = (0.0, 1e-37, 1e-7, 0.3, 0.5, 0.9, 1.0, 1.5, -0.1, NAN)
PAIRS = np.array(list(itertools.product(TRIALS, CHANCES)), np.float32).T

# Enough numbers of each parameter that rounds are many and blocks more than one.
DRAWS: dict[str, tuple[Any, list[Any]]] = {
    "poisson": (random_poisson_p, [np.tile(np.array(RATES, np.float32), 100)]),
    "few": (random_poisson_p, [np.linspace(0, 9.9, 1100, dtype=np.float32)]),
    "many": (random_poisson_p, [np.full(1100, 30, np.float32)]),
    "binomial": (random_binomial_p, [np.tile(x, 12) for x in PAIRS]),
    "rare": (random_binomial_p, [np.full(1100, n, np.float32) for n in (30, 0.1)]),
    "frequent": (random_binomial_p, [np.full(1100, n, np.float32) for n in (1e4, 0.6)]),
}


def written_out(primitive: Any) -> Any:
    """The program itself, with the roundings of XLA."""
    return jax.jit(primitive.draw, compiler_options={"jax_cpu_engine": "xla"})


@pytest.mark.parametrize("name", DRAWS)
def test_numbers_drawn_in_place_are_those_of_the_program(name: str) -> None:
    primitive, parameters = DRAWS[name]
    drawn = primitive.bind(KEY, *parameters)
    np.testing.assert_array_equal(drawn, written_out(primitive)(KEY, *parameters))
    np.testing.assert_array_equal(drawn, jax.jit(primitive.bind)(KEY, *parameters))


@pytest.mark.parametrize("name", ["binomial", "rare", "frequent"])
def test_so_are_those_of_float64(name: str) -> None:
    primitive, parameters = DRAWS[name]
    n, p = [x.astype(np.float64) for x in parameters]
    # Of more trials the last digits of logarithms would decide.
    usual = ~(np.isfinite(n) & (n > 1e7))
    with jax.enable_x64(True):
        drawn = primitive.bind(KEY, n[usual], p[usual])
        expected = written_out(primitive)(KEY, n[usual], p[usual])
        np.testing.assert_array_equal(drawn, expected)
        compiled = jax.jit(primitive.bind)(KEY, n[usual], p[usual])
        np.testing.assert_array_equal(drawn, compiled)


@pytest.mark.parametrize("name", ["many", "rare"])
def test_each_key_has_rounds_of_its_own(name: str) -> None:
    primitive, parameters = DRAWS[name]
    keys, rows = random.split(KEY, 4), [x.reshape(4, -1) for x in parameters]
    alone = np.stack([primitive.bind(k, *xs) for k, *xs in zip(keys, *rows, strict=True)])
    np.testing.assert_array_equal(primitive.bind(keys, *rows), alone)
    np.testing.assert_array_equal(jax.vmap(primitive.bind)(keys, *rows), alone)
    np.testing.assert_array_equal(jax.jit(primitive.bind)(keys, *rows), alone)
    np.testing.assert_array_equal(written_out(primitive)(keys, *rows), alone)


def test_the_programs_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = random.poisson(KEY, 20.0, (6,)), random.binomial(KEY, 9, 0.2, (6,))
    monkeypatch.setattr(_loop_draws, "native", None)
    drawn = random.poisson(KEY, 20.0, (1, 6))[0], random.binomial(KEY, 9, 0.2, (1, 6))[0]
    np.testing.assert_array_equal(drawn, expected)


def test_outcomes_drawn_one_after_another_are_those_of_the_loop() -> None:
    n, p = jnp.array([7.0, 100.0]), jnp.array([0.2, 0.0, 0.5, 0.3])

    def draw(n: Any) -> Any:
        return random.multinomial(KEY, n, p, shape=(2,))

    drawn = draw(n)
    np.testing.assert_array_equal(drawn, jax.jit(draw)(n))
    np.testing.assert_array_equal(drawn.sum(-1), n)
    assert random.multinomial(KEY, n, jnp.ones((2, 0))).shape == (2, 0)


@pytest.mark.parametrize("dtype", ["bfloat16", "float64"])
def test_counts_of_other_dtypes(dtype: str) -> None:
    with jax.enable_x64(True):
        drawn = random.binomial(KEY, 40, 0.5, (3,), dtype)
        assert drawn.dtype == dtype
        assert ((drawn > 5) & (drawn < 35)).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_counts_are_drawn_in_the_precision_of_their_parameters(dtype: str) -> None:
    single = np.float32(100), np.float32(0.5)
    with jax.enable_x64(True):
        drawn = [random.binomial(random.key(5), *x, (7,), dtype) for x in (single, (100, 0.5))]
        assert all(x.dtype == dtype for x in drawn)
        # JAX's.
        np.testing.assert_array_equal(drawn[0], [58, 49, 43, 54, 44, 59, 50])
        np.testing.assert_array_equal(drawn[1], [55, 51, 51, 46, 47, 56, 47])
        weights = np.array([0.2, 0.3, 0.5], np.float32)
        with jax.enable_x64(False):
            narrow = random.multinomial(random.key(5), 50, weights)
        np.testing.assert_array_equal(random.multinomial(random.key(5), 50, weights), narrow)


def test_counts_do_not_move_with_their_parameters() -> None:
    def total(n: Any, p: Any) -> Any:
        return random.binomial(KEY, n, p, (3,)).sum() + random.poisson(KEY, p, (3,)).sum()

    assert jax.grad(total, (0, 1))(20.0, 0.3) == (0, 0)
    assert jax.jit(jax.grad(total, (0, 1)))(20.0, 0.3) == (0, 0)


def test_refusals() -> None:
    keys = random.split(KEY)
    with pytest.raises(ValueError, match=r"random_poisson(.|\n)*keys of shape \(2,\)(.|\n)*fix:"):
        random_poisson_p.bind(keys, jnp.ones(3))
    with pytest.raises(ValueError, match=r"random_binomial(.|\n)*\(2,\) and \(3,\)"):
        random_binomial_p.bind(KEY, jnp.ones(3), jnp.ones(2))
    with pytest.raises(TypeError, match="random_binomial, operand 2"):
        random_binomial_p.bind(KEY, jnp.ones(3), jnp.ones(3, int))
