"""Residuals of loops that are computed again: the same derivatives, from fewer stacks."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax, nn
from morphax.core import Var
from morphax.transforms.derived_residuals import divided, without_unused

Body = Callable[[Any, Any], tuple[Any, Any]]


@contextmanager
def all_kept() -> Iterator[None]:
    """Each residual is stacked."""
    jax.config.update("jax_derive_residuals", False)
    jax.clear_caches()
    try:
        yield
    finally:
        jax.config.update("jax_derive_residuals", True)
        jax.clear_caches()


def stacked(f: Callable[..., Any], *args: Any) -> int:
    """How many arrays the first loop of a derivative stacks."""
    eqns = jax.make_jaxpr(jax.grad(f, (0, 1)))(*args).jaxpr.eqns
    scan = next(e for e in eqns if e.primitive.name == "scan")
    return len(scan.outvars) - int(scan.params["num_carry"])


def loss(body: Body) -> Callable[[Any, Any], Any]:
    def run(c: Any, xs: Any) -> Any:
        c, ys = lax.scan(body, c, xs)
        return c.sum() + (ys * ys).sum()

    return run


def gated(c: Any, x: Any) -> tuple[Any, Any]:
    i, f, g = nn.sigmoid(x), nn.sigmoid(c - x), jnp.tanh(c * x)
    c = f * c + i * g
    return c, c


XS = np.linspace(-3.0, 3.0, 24, dtype=np.float32).reshape(8, 3)
C = np.array([0.5, -1.0, 2.0], np.float32)


def test_what_follows_from_others_is_not_stacked() -> None:
    # The results, c, both gates and the hyperbolic tangent; the slopes of these three follow.
    assert stacked(loss(gated), C, XS) == 5
    with all_kept():
        assert stacked(loss(gated), C, XS) == 8


OPERATIONS: list[Callable[[Any, Any, Any], Any]] = [
    lambda a, b, c: a * b,
    lambda a, b, c: a - b,
    lambda a, b, c: -a * c,
    lambda a, b, c: jnp.where(a > b, c, a * 0.5),
    lambda a, b, c: jnp.maximum(a, b * c),
    lambda a, b, c: jnp.abs(a) + jnp.square(b),
    lambda a, b, c: nn.sigmoid(a),
    lambda a, b, c: jnp.tanh(b) * a,
    lambda a, b, c: jnp.sin(a) * jnp.exp(-b * b),
    lambda a, b, c: a / (1 + b * b),
    lambda a, b, c: jnp.sqrt(jnp.abs(a)) * b,
    lambda a, b, c: jnp.outer(a, b) @ c * 0.1,
    lambda a, b, c: lax.cond(a[0] > 0, lambda: a * b, lambda: c * c),
    lambda a, b, c: jax.jit(lambda a, b: a * b * a)(a, c),
    lambda a, b, c: lax.scan(lambda s, v: (s * v + b, s * s), a, b)[0],
]


def random_body(seed: int) -> Body:
    rng = random.Random(seed)
    steps = [(rng.choice(OPERATIONS), [rng.randrange(3 + i) for _ in range(3)]) for i in range(7)]

    def body(c: Any, x: Any) -> tuple[Any, Any]:
        values = [c, x, jnp.asarray(C)]
        for operation, (i, j, k) in steps:
            values.append(operation(values[i], values[j], values[k]))
        return jnp.tanh(values[-1]) + 0.1 * values[-2], values[-3]

    return body


DERIVATIVES: dict[str, Callable[..., Any]] = {
    "grad": lambda f: jax.grad(f, (0, 1)),
    "jit": lambda f: jax.jit(jax.grad(f, (0, 1))),
    "forward over reverse": lambda f: (
        lambda c, x: jax.jvp(lambda c: jax.grad(f, (0, 1))(c, x), (c,), (jnp.ones_like(c),))
    ),
    "reverse over reverse": lambda f: jax.grad(lambda c, x: (jax.grad(f)(c, x) ** 2).sum(), (0, 1)),
    "batched": lambda f: lambda c, x: jax.vmap(jax.grad(f), (0, None))(jnp.stack([c, -c]), x),
    "linearized": lambda f: lambda c, x: jax.linearize(f, c, x)[1](c, x * 0.5),
    "checkpoint": lambda f: jax.grad(jax.checkpoint(f)),
}


@pytest.mark.parametrize("seed", range(24))
def test_derivatives_of_random_loops_are_those_of_all_residuals(seed: int) -> None:
    name = list(DERIVATIVES)[seed % len(DERIVATIVES)]
    f = DERIVATIVES[name](loss(random_body(seed)))
    with jax.enable_checks(True):
        found = jax.tree.leaves(f(C, XS))
    with all_kept():
        expected = jax.tree.leaves(f(C, XS))
    for a, b in zip(found, expected, strict=True):
        assert (a.dtype, a.weak_type, a.shape) == (b.dtype, b.weak_type, b.shape)
        scale = np.abs(np.asarray(b)[np.isfinite(b)]).max(initial=1.0)
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5 * scale)


@pytest.mark.parametrize("special", [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 3e38])
def test_special_points(special: float) -> None:
    xs = XS.copy()
    xs[3, 1] = special
    found = jax.grad(loss(gated), (0, 1))(C, xs)
    with all_kept():
        expected = jax.grad(loss(gated), (0, 1))(C, xs)
    # One loop may be interpreted and the other compiled, whose exponentials are rounded otherwise.
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_a_value_that_needs_what_is_not_kept_is_kept_itself() -> None:
    program = jax.make_jaxpr(lambda x, y: (x * y - 1.0, jnp.sin(x), -jnp.sin(x) * 2.0))(1.0, 2.0)
    eqns, (difference, sine, twice) = program.jaxpr.eqns, program.jaxpr.outvars
    kept, again = divided(eqns, [difference, sine, twice], lambda _: False)
    assert kept[:1] == [difference]
    given = set(kept)
    for eqn in again:
        assert given.issuperset([a for a in eqn.invars if type(a) is Var])
        given.update(eqn.outvars)
    assert given.issuperset([difference, sine, twice])


def test_only_what_nobody_reads_is_dropped() -> None:
    program = jax.make_jaxpr(lambda x: (x * 2.0 + 1.0, x * 3.0))(1.0).jaxpr
    first, second, third = program.eqns
    assert without_unused(program.eqns, [first, third], [second.outvars[0]]) == [first, second]
    assert without_unused(program.eqns, [first, third], program.outvars) == list(program.eqns)


def test_tracers_that_a_body_closes_over() -> None:
    def f(w: Any, c: Any) -> Any:
        return jax.grad(loss(lambda c, x: (nn.sigmoid(c * w) * (w - c) * x, c * w)))(c, XS).sum()

    found = jax.value_and_grad(f, (0, 1))(jnp.float32(0.7), C)
    with all_kept():
        expected = jax.value_and_grad(f, (0, 1))(jnp.float32(0.7), C)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
