"""Small random programs of one vector, for laws that are tried in many nestings.

For programs of all operations see `random_programs`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

import morphax as jax
import morphax.numpy as jnp
from morphax import lax

N = 3
UNARY: tuple[Callable[[Any], Any], ...] = (
    jnp.sin,
    jnp.cos,
    jnp.tanh,
    lambda x: x * x,
    lambda x: -x,
    lambda x: jnp.exp(jnp.sin(x)),
    lambda x: jnp.log1p(x * x),
    lambda x: lax.cumsum(x),
    lambda x: lax.rev(x, (0,)),
    lambda x: x - lax.stop_gradient(x) * 0.5,
    lambda x: jnp.broadcast_to(lax.reduce_sum(x, (0,)), (N,)),
    lambda x: x.at[1].set(x[0] * 2.0),
    lambda x: x[jnp.array([2, 0, 0])],
    jax.jit(lambda x: jnp.sin(x) * x),
    lambda x: lax.scan(lambda c, y: (c * 0.5 + y, jnp.sin(c)), x[0], x)[1],
    lambda x: lax.cond(x[0] > 0, jnp.sin, jnp.cos, x),
    lambda x: jax.vmap(lambda y: y * y + x[0])(x),
)
BINARY: tuple[Callable[[Any, Any], Any], ...] = (
    lambda x, y: x + y,
    lambda x, y: x * y,
    lambda x, y: x - y,
    lambda x, y: x / (1.5 + y * y),
    lambda x, y: jnp.where(x > y, x, 2.0 * y),
    lambda x, y: jnp.dot(x, y) * x,
    lambda x, y: jnp.outer(x, y).sum(0),
)

STEPS = st.lists(
    st.tuples(st.integers(0, len(UNARY) + len(BINARY) - 1), st.integers(0, 99), st.integers(0, 99)),
    min_size=1,
    max_size=7,
)


def build(steps: list[tuple[int, int, int]]) -> Callable[[Any], Any]:
    """The program that applies operations to earlier results, all chosen by numbers."""

    def program(x: Any) -> Any:
        values = [jnp.asarray(x)]
        for operation, first, second in steps:
            a, b = values[first % len(values)], values[second % len(values)]
            if operation < len(UNARY):
                values.append(UNARY[operation](a))
            else:
                values.append(BINARY[operation - len(UNARY)](a, b))
        return values[-1]

    return program


def scalar(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: jnp.sum(jnp.sin(f(x)))


def same(a: Any, b: Any) -> None:
    a, b = np.asarray(a), np.asarray(b)
    scale = max(np.abs(b[np.isfinite(b)]).max(initial=0.0), 1.0)
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-9 * scale)


X = np.array([0.3, -0.7, 1.1])
V = np.array([1.0, 0.5, -2.0])
XS = np.stack([X, 2 * X, X[::-1]])
