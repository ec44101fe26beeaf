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


def read(*parts: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Parts of one matrix, one after the other, beside numbers that are not known."""

    def program(x: Any) -> Any:
        eye = jnp.eye(4)
        return [part(eye) * x[0] for part in parts]

    return program


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "a part and the whole": read(lambda e: e[1:, :3], lambda e: e),
    "the whole and a part": read(lambda e: e, lambda e: e[:, ::2]),
    "two parts": read(lambda e: e[:2], lambda e: e[2:]),
    "an element and a row": read(lambda e: e[1, 1], lambda e: e[1], lambda e: e.T),
    "backwards and sums": read(lambda e: e[::-1], lambda e: e.sum(0), lambda e: e @ e),
    "a diagonal, again and again": lambda x: jnp.eye(4) @ x[:4] + (jnp.eye(4) * x[0]).sum(0),
    "a triangle": lambda x: jnp.tril(jnp.outer(x, x)) @ x + jnp.tri(12)[2],
    "in a loop": lambda x: lax.fori_loop(0, 5, lambda i, y: y + (jnp.arange(12) == i) * x[i], x),
    "of members": lambda x: jax.vmap(lambda i: (jnp.arange(12) == i) * x)(jnp.arange(12)),
    "systems": lambda x: jnp.linalg.solve(jnp.eye(3) * x[:3] + 0.1, jnp.stack([x[:3]] * 2, 1)),
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
