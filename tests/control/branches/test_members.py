"""Members of a batch that do not take a branch have no part in its derivatives, finite or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.core import check_jaxpr

X = np.array([0.0, -1.0, 4.0, 0.25], np.float32)
THETA = np.array([0.5, -2.0], np.float32)
LARGE = np.full((9, 9), 0.5, np.float32)

Branch = Callable[[Any, Any], Any]
# Functions that are not finite, or have no finite slope, at the numbers of X that others take.
BRANCHES: dict[str, list[Branch]] = {
    "root": [lambda x, t: x * 0, lambda x, t: jnp.sqrt(x)],
    "of no operand": [lambda x, t: 3.0, lambda x, t: 1 / x],
    "shared scalar": [lambda x, t: t[0], lambda x, t: t[0] * jnp.log(x)],
    "shared exponent": [lambda x, t: x, lambda x, t: x ** t[1]],
    "shared vector": [lambda x, t: -x, lambda x, t: jnp.sum(t * jnp.sqrt(x))],
    "shared alone": [lambda x, t: jnp.sqrt(t[0]), lambda x, t: jnp.sum(t)],
    "three": [lambda x, t: x * t[0], lambda x, t: jnp.log(x), lambda x, t: jnp.arccosh(x)],
    "nested": [
        lambda x, t: x,
        lambda x, t: lax.cond(x > 1, lambda: jnp.sqrt(x - 1) * t[0], lambda: jnp.log(x)),
    ],
    "loop": [
        lambda x, t: x,
        lambda x, t: lax.scan(lambda c, u: (jnp.sqrt(c) * u, None), x, t * t)[0],
    ],
}


def chosen(name: str) -> Branch:
    """Of 0 and −1 the first branch, of 4 the last."""
    branches = BRANCHES[name]
    return lambda x, t: lax.switch((x > 0) + jnp.int32(x > 1), branches, x, t)


def total(f: Branch) -> Branch:
    return lambda xs, t: jnp.sum(jax.vmap(f, (0, None))(xs, t) * jnp.arange(1.0, 1 + len(xs)))


@pytest.mark.parametrize("name", BRANCHES)
def test_gradients_of_batches_are_those_of_members(name: str) -> None:
    f = chosen(name)
    slopes = [jax.grad(f, (0, 1))(x, THETA) for x in X]
    expected = (
        np.array([(i + 1) * float(dx) for i, (dx, _) in enumerate(slopes)]),
        sum((i + 1) * np.asarray(dt) for i, (_, dt) in enumerate(slopes)),
    )
    assert all(np.isfinite(e).all() for e in expected)
    backward = jax.grad(total(f), (0, 1))
    for g in (backward, jax.jit(backward), jax.grad(jax.jit(total(f)), (0, 1))):
        for got, want in zip(g(X, THETA), expected, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    check_jaxpr(jax.make_jaxpr(backward)(X, THETA))


@pytest.mark.parametrize("name", BRANCHES)
def test_second_derivatives_of_batches_are_those_of_members(name: str) -> None:
    f = chosen(name)
    expected = [float(jax.grad(jax.grad(f))(x, THETA)) * (i + 1) for i, x in enumerate(X)]
    ones = np.ones_like(X)
    curvature = lambda xs: jax.jvp(lambda v: jax.grad(total(f))(v, THETA), (xs,), (ones,))[1]  # noqa: E731
    twice = lambda xs: jax.grad(lambda v: jnp.sum(jax.grad(total(f))(v, THETA)))(xs)  # noqa: E731
    for g in (curvature, twice, jax.jit(twice)):
        np.testing.assert_allclose(g(X), expected, rtol=1e-4, atol=1e-5)


def test_an_operand_that_is_large_is_not_repeated() -> None:
    def f(x: Any, w: Any) -> Any:
        return lax.cond(x[0] > 0, lambda: jnp.sum(w @ x), lambda: jnp.sum(x))

    xs = np.arange(-18.0, 18.0, dtype=np.float32).reshape(4, 9)
    backward = jax.grad(lambda xs, w: jax.vmap(f, (0, None))(xs, w).sum(), (0, 1))
    assert "[4,9,9]" not in str(jax.make_jaxpr(backward)(xs, LARGE))
    expected = sum(np.outer(np.ones(9), x) for x in xs if x[0] > 0)
    np.testing.assert_allclose(backward(xs, LARGE)[1], expected, rtol=1e-6)


def test_a_large_operand_of_a_branch_that_nobody_takes_has_no_part() -> None:
    def f(x: Any, w: Any) -> Any:
        return lax.cond(x > 100, lambda: jnp.sum(jnp.sqrt(w)) * x, lambda: x)

    slope = jax.grad(lambda w: jax.vmap(f, (0, None))(X, w).sum())(np.zeros((9, 9), np.float32))
    np.testing.assert_array_equal(slope, 0)


def test_a_program_that_nobody_differentiates_is_compiled_as_before() -> None:
    f = jax.vmap(lambda x: lax.cond(x > 0, jnp.sqrt, lambda v: v * 2, x))
    lowered = jax.jit(f).lower(X).as_text()
    assert lowered.count("stablehlo.select") == 1
    np.testing.assert_array_equal(jax.jit(f)(X), [0, -2, 2, 0.5])
