"""The algebra of transformations, on random programs.

Hypothesis builds programs from elementwise operations, reductions and matrix products; every law
holds eagerly and compiled, and every program that a transformation makes type-checks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.core import check_jaxpr

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

LAWS: dict[str, Callable[[Callable[[Any], Any]], tuple[Any, Any]]] = {
    "jit changes nothing": lambda f: (jax.jit(f)(X), f(X)),
    "grad of jit is jit of grad": lambda f: (
        jax.grad(jax.jit(scalar(f)))(X),
        jax.jit(jax.grad(scalar(f)))(X),
    ),
    "vmap is a loop": lambda f: (jax.vmap(f)(XS), jnp.stack([f(x) for x in XS])),
    "jit of vmap is a loop": lambda f: (jax.jit(jax.vmap(f))(XS), jnp.stack([f(x) for x in XS])),
    "vmap of grad stacks gradients": lambda f: (
        jax.vmap(jax.grad(scalar(f)))(XS),
        jnp.stack([jax.grad(scalar(f))(x) for x in XS]),
    ),
    "linearize is jvp": lambda f: (jax.linearize(f, X)[1](V), jax.jvp(f, (X,), (V,))[1]),
    "vjp transposes jvp": lambda f: (
        jnp.dot(jax.vjp(f, X)[1](V)[0], V),
        jnp.dot(V, jax.jvp(f, (X,), (V,))[1]),
    ),
    "jacfwd is jacrev": lambda f: (jax.jacfwd(f)(X), jax.jacrev(f)(X)),
    "hessians agree in all modes": lambda f: (
        jax.hessian(scalar(f))(X),
        jax.jacrev(jax.jacfwd(scalar(f)))(X),
    ),
    "grad of vmap is vmap of grad": lambda f: (
        jax.grad(lambda xs: jax.vmap(scalar(f))(xs).sum())(XS),
        jax.vmap(jax.grad(scalar(f)))(XS),
    ),
}


@pytest.mark.parametrize("law", list(LAWS.values()), ids=list(LAWS))
@given(steps=STEPS)
@settings(max_examples=12, deadline=None, derandomize=True)
def test_law(law: Callable[[Callable[[Any], Any]], tuple[Any, Any]], steps: Any) -> None:
    with jax.enable_x64(True):
        same(*law(build(steps)))


@given(steps=STEPS)
@settings(max_examples=25, deadline=None, derandomize=True)
def test_transformed_programs_type_check(steps: Any) -> None:
    f = build(steps)
    with jax.enable_x64(True):
        for g in (f, jax.vmap(f)):
            check_jaxpr(jax.make_jaxpr(g)(XS if g is not f else X))
        check_jaxpr(jax.make_jaxpr(lambda x: jax.jvp(f, (x,), (V,)))(X))
        check_jaxpr(jax.make_jaxpr(jax.grad(scalar(f)))(X))
        check_jaxpr(jax.make_jaxpr(jax.hessian(scalar(f)))(X))
