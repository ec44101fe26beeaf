"""Eager and compiled draws have the same bits, wherever only integers and exact steps decide."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import random

SHAPES = ((0,), (3, 5), (300,))
FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("uint8", "int16", "uint32", "int64")

DRAWS = {
    **{f"bits {d}": lambda k, s, d=d: random.bits(k, s, d) for d in INTEGERS if d[0] == "u"},
    **{f"uniform {d}": lambda k, s, d=d: random.uniform(k, s, d) for d in FLOATS},
    **{f"randint {d}": lambda k, s, d=d: random.randint(k, s, 3, 100, d) for d in INTEGERS},
    "randint, all": lambda k, s: random.randint(k, s, -(2**31), 2**31 - 1),
    "randint, arrays": lambda k, s: random.randint(k, s, jnp.int32(-5), jnp.int32(77)),
    **{
        f"bernoulli {d}": lambda k, s, d=d: random.bernoulli(k, jnp.asarray(0.3, d), s)
        for d in FLOATS
    },
    "bernoulli, high": lambda k, s: random.bernoulli(k, 0.3, s, mode="high"),
    "rademacher": random.rademacher,
    "permutation": lambda k, s: random.permutation(k, int(np.prod(s, dtype=int))),
    "permutation of rows": lambda k, s: random.permutation(k, jnp.zeros((*s, 2)) + jnp.arange(2.0)),
    "permutation, independent": lambda k, s: random.permutation(
        k, jnp.broadcast_to(jnp.arange(7), (*s, 7)), axis=-1, independent=True
    ),
    "choice": lambda k, s: random.choice(k, 11, s),
    "choice without replacement": lambda k, s: random.choice(k, 300, s, replace=False),
    "choice of rows": lambda k, s: random.choice(k, jnp.arange(12.0).reshape(6, 2), s),
    "split": lambda k, s: random.key_data(random.split(k, s)),
    "fold_in": lambda k, s: random.key_data(random.fold_in(k, len(s))),
}


@pytest.mark.parametrize("name", DRAWS)
def test_eager_is_compiled(name):
    check(DRAWS[name], random.key(11), SHAPES)


@pytest.mark.parametrize("impl", ["rbg", "unsafe_rbg"])
@pytest.mark.parametrize("name", ["bits uint32", "uniform float32", "randint int64", "permutation"])
def test_other_generators(name, impl):
    check(DRAWS[name], random.key(11, impl=impl), SHAPES[1:2])


def check(draw, key, shapes):
    with jax.enable_x64(True):
        compiled = jax.jit(lambda k: [draw(k, shape) for shape in shapes])(key)
        for shape, there in zip(shapes, compiled, strict=True):
            here = draw(key, shape)
            assert here.dtype == there.dtype
            assert np.asarray(here).tobytes() == np.asarray(there).tobytes(), shape


@pytest.mark.parametrize("draw", [random.gumbel, random.laplace, random.cauchy, random.maxwell])
def test_keys_made_and_used_in_one_program(draw: Callable[[Any], Any]) -> None:
    # Two encryptions of one loop, and functions of what they give: see docs/design/fusion-cuts.md.
    def program(key: Any) -> Any:
        return jax.vmap(draw)(random.split(key, 1500))

    key = random.key(5)
    np.testing.assert_allclose(jax.jit(program)(key), program(key), rtol=2e-5, atol=2e-6)
