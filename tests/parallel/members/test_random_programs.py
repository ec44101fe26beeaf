"""Programs of members against their meaning on one device, with derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.config import enable_x64
from morphax.sharding import Mesh
from tests.parallel.members.member_programs import by_members, by_vmap, member_of, random_steps
from tests.sampling import few

X, W, B = np.linspace(-1, 1.5, 16), np.linspace(0.4, 1.1, 4), np.linspace(-0.7, 0.9, 8)
ARGUMENTS = (X, W, B)


def scalar(f: Any) -> Any:
    """A number that depends on both results."""

    def of_both(*arguments: Any) -> Any:
        out, total = f(*arguments)
        return total + jnp.sum(out * jnp.arange(16.0))

    return of_both


def hessian_product(f: Any) -> Any:
    def of_w(w: Any) -> Any:
        return jax.grad(scalar(f), argnums=1)(X, w, B)

    return lambda: jax.jvp(of_w, (W,), (W,))


WAYS = {
    "value": lambda f: f(*ARGUMENTS),
    "jit": lambda f: jax.jit(f)(*ARGUMENTS),
    "jvp": lambda f: jax.jvp(f, ARGUMENTS, (X * 0.1, W * 0.2, B + 1)),
    "grad": lambda f: jax.grad(scalar(f), argnums=(0, 1, 2))(*ARGUMENTS),
    "vmap": lambda f: jax.vmap(f, in_axes=(0, None, None))(np.stack([X, 2 * X]), W, B),
    "second": lambda f: hessian_product(f)(),
}


@pytest.mark.parametrize("seed", few(range(12), 5))
def test_members_compute_what_vmap_does(seed: int, square: Mesh) -> None:
    member = member_of(random_steps(seed))
    ways = list(WAYS) if seed % 4 == 0 else ["value", "grad", ("jvp", "vmap", "jit")[seed % 3]]
    with enable_x64(True):
        for way in ways:
            expected = WAYS[way](by_vmap(member))
            for check_vma in (True, False):
                found = WAYS[way](by_members(member, square, check_vma))
                jax.tree.map(
                    lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9),
                    found,
                    expected,
                )
