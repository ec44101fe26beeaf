"""`experimental.random`: the generator that keeps its own state, against the keys it draws from."""

from __future__ import annotations

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.errors import ShapeError
from morphax.experimental import random as stateful

BASE = jax.random.key(42)


def key_of_draw(number):
    return jax.random.fold_in(BASE, number)


def words(keys):
    return np.asarray(jax.random.key_data(keys))


DRAWS = {
    "key": (lambda g: words(g.key()), words),
    "keys": (lambda g: words(g.key((2, 3))), lambda k: words(jax.random.split(k, (2, 3)))),
    "random": (lambda g: g.random(3), lambda k: jax.random.uniform(k, (3,))),
    "uniform": (
        lambda g: g.uniform(np.arange(3), 7),
        lambda k: jax.random.uniform(k, (3,), minval=jnp.arange(3), maxval=7),
    ),
    "normal": (
        lambda g: g.normal(2, np.ones((2, 1)), dtype="float16"),
        lambda k: 2 + jax.random.normal(k, (2, 1), "float16"),
    ),
    "integers": (lambda g: g.integers(5, size=4), lambda k: jax.random.randint(k, (4,), 0, 5)),
    "integers between": (
        lambda g: g.integers(5, np.array([7, 8])),
        lambda k: jax.random.randint(k, (2,), 5, np.array([7, 8])),
    ),
    "spawn": (
        lambda g: np.array([child.uniform() for child in g.spawn(3)]),
        lambda k: [jax.random.uniform(jax.random.fold_in(c, 0)) for c in jax.random.split(k, 3)],
    ),
    "split": (
        lambda g: jax.vmap(lambda child: child.uniform())(g.split(3)),
        lambda k: [jax.random.uniform(jax.random.fold_in(c, 0)) for c in jax.random.split(k, 3)],
    ),
}


@pytest.mark.parametrize("name", DRAWS)
def test_draw_n_uses_the_nth_key(name):
    draw, expected = DRAWS[name]
    rng = stateful.stateful_rng(42)
    for number in range(2):
        np.testing.assert_array_equal(draw(rng), np.asarray(expected(key_of_draw(number))))
    assert int(rng._counter[...]) == 2


def test_state_changes_in_compiled_functions_and_loops():
    expected = np.array([jax.random.uniform(key_of_draw(n)) for n in range(6)])
    rng = stateful.stateful_rng(42)
    drawn = [jax.jit(rng.uniform)(), jax.jit(lambda g: g.uniform())(rng)]
    _, more = jax.lax.scan(lambda c, _: (c, rng.uniform()), 0, None, length=3)
    last = jax.lax.cond(True, lambda: rng.uniform(), lambda: jnp.zeros(()))
    np.testing.assert_array_equal(np.array([*drawn, *more, last]), expected)


def test_a_derivative_sees_numbers():
    rng = stateful.stateful_rng(42)
    slope = jax.grad(lambda x: x * rng.uniform())(1.0)
    assert slope == jax.random.uniform(key_of_draw(0))


def test_it_is_a_tree():
    rng = stateful.stateful_rng(1, impl="rbg")
    leaves, structure = jax.tree.flatten(rng)
    assert len(leaves) == 2
    again = structure.unflatten(leaves)
    assert again._counter is rng._counter
    paths = [jax.tree_util.keystr(p) for p, _ in jax.tree_util.tree_leaves_with_path(rng)]
    assert paths == ["._base_key", "._counter"]


def test_generators_without_a_seed_differ():
    first, second = stateful.stateful_rng(), stateful.stateful_rng()
    assert (words(first.key()) != words(second.key())).any()


BAD = {
    "no seed in jit": (TypeError, lambda g: jax.jit(lambda: stateful.stateful_rng().key())()),
    "seed of floats": (TypeError, lambda g: stateful.stateful_rng(1.5)),
    "returned": (ValueError, lambda g: jax.jit(lambda: stateful.stateful_rng(0))()),
    "many at once": (ValueError, lambda g: g.split(2).uniform()),
    "raw key": (
        ValueError,
        lambda g: stateful.StatefulPRNG(jax.random.PRNGKey(0), jax.new_ref(0)),
    ),
    "counter": (ValueError, lambda g: stateful.StatefulPRNG(BASE, 2)),
    "floating counter": (ValueError, lambda g: stateful.StatefulPRNG(BASE, jax.new_ref(0.5))),
    "shapes": (ShapeError, lambda g: g.uniform(np.zeros(3), np.zeros(2))),
    "size": (ShapeError, lambda g: g.normal(np.zeros(3), 1, (2,))),
    "unmapped": (TypeError, lambda g: jax.vmap(lambda x: x * g.uniform())(jnp.ones(2))),
}


@pytest.mark.parametrize("name", BAD)
def test_refusals(name):
    error, attempt = BAD[name]
    with pytest.raises(error, match="expected:"):
        attempt(stateful.stateful_rng(42))
