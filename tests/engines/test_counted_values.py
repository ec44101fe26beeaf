"""Numbers that follow from their places are computed again where they are read, or stored whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import enable_x64, lax

X = np.linspace(0.5, 2.0, 12)

PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "a diagonal, again and again": lambda x: jnp.eye(4) @ x[:4] + (jnp.eye(4) * x[0]).sum(0),
    "a part of it": lambda x: (jnp.eye(4)[1:, :3], jnp.eye(4)[::-1] * x[:4]),
    "one place of many": lambda x: (jnp.arange(12.0)[3] * x, jnp.arange(12.0)[::-1] + x),
    "a triangle": lambda x: jnp.tril(jnp.outer(x, x)) @ x + jnp.tri(12)[2],
    "in a loop": lambda x: lax.fori_loop(0, 5, lambda i, y: y + (jnp.arange(12) == i) * x[i], x),
    "of members": lambda x: jax.vmap(lambda i: (jnp.arange(12) == i) * x)(jnp.arange(12)),
    "systems": lambda x: jnp.linalg.solve(jnp.eye(3) * x[:3] + 0.1, jnp.stack([x[:3]] * 2, 1)),
    "windows": lambda x: [(jnp.arange(12) * 2 + 1)[i : i + 3] * x[i] for i in range(9)],
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("derives", [False, True])
def test_both_engines_agree(name: str, derives: bool) -> None:
    program = PROGRAMS[name]
    if derives:
        program = jax.jacrev(PROGRAMS[name])
    with enable_x64(True):
        found, expected = [
            jax.tree.leaves(jax.jit(program, compiler_options={"jax_cpu_engine": engine})(X))
            for engine in ("native", "xla")
        ]
        for mine, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(mine, theirs, 1e-12, 1e-12)
