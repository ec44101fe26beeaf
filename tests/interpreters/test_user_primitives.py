"""A primitive written the JAX way works under every transformation, on both engines."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.core import check_jaxpr
from morphax.test_util import check_grads

from .user_primitives import halves_primitive, multiply_add_primitive

multiply_add_p, halves_p = multiply_add_primitive(), halves_primitive()
VECTOR = np.linspace(0.5, 2.0, 4, dtype=np.float32)


def f(x: Any, y: Any) -> Any:
    """x y + x, by one user-defined operation."""
    return multiply_add_p.bind(x, y, x)


def plain(x: Any, y: Any) -> Any:
    """The same by ordinary operations."""
    return x * y + x


def g(x: Any) -> Any:
    """x/2 · 3x, by a user-defined operation with two results."""
    half, scaled = halves_p.bind(x, scale=3.0)
    return half * scaled


def plain_g(x: Any) -> Any:
    return (x / 2) * (x * 3.0)


def scanned(h: Callable[..., Any]) -> Callable[..., Any]:
    def loop(x: Any, y: Any) -> Any:
        return lax.scan(lambda c, a: (h(c, a), c), x, jnp.stack([y, y + 1.0]))[0]

    return loop


def branched(h: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, y: lax.cond(jnp.sum(x) > 0, h, lambda a, b: b, x, y)


def looped(h: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, y: lax.fori_loop(0, 3, lambda i, c: h(c, y), x)


TRANSFORMATIONS: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "eager": lambda h: h,
    "jit": jax.jit,
    "grad": lambda h: jax.grad(lambda x, y: jnp.sum(h(x, y)), argnums=(0, 1)),
    "jit of grad": lambda h: jax.jit(jax.grad(lambda x, y: jnp.sum(h(x, y)), argnums=(0, 1))),
    "grad of jit": lambda h: jax.grad(lambda x, y: jnp.sum(jax.jit(h)(x, y)), argnums=1),
    "jvp": lambda h: lambda x, y: jax.jvp(h, (x, y), (y, x)),
    "linearize": lambda h: lambda x, y: jax.linearize(h, x, y)[1](y, x),
    "vmap": jax.vmap,
    "vmap of one operand": lambda h: jax.vmap(h, in_axes=(0, None)),
    "vmap of grad": lambda h: jax.vmap(jax.grad(h)),
    "jit of vmap of grad": lambda h: jax.jit(jax.vmap(jax.grad(h))),
    "second derivative": lambda h: jax.vmap(jax.grad(jax.grad(h))),
    "hessian": lambda h: jax.hessian(lambda x, y: jnp.sum(h(x, y))),
    "scan": scanned,
    "grad of scan": lambda h: jax.grad(lambda x, y: jnp.sum(scanned(h)(x, y))),
    "jit of scan": lambda h: jax.jit(scanned(h)),
    "cond": branched,
    "grad of cond": lambda h: jax.grad(lambda x, y: jnp.sum(branched(h)(x, y))),
    "fori_loop": looped,
    "jvp of fori_loop": lambda h: lambda x, y: jax.jvp(looped(h), (x, y), (y, x)),
    "remat": lambda h: jax.grad(lambda x, y: jnp.sum(jax.checkpoint(h)(x, y))),
}


@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_transformations(name: str) -> None:
    if name == "vmap of one operand":
        arguments = (VECTOR, np.float32(2.0))
    else:
        arguments = (VECTOR, VECTOR[::-1].copy())
    transform = TRANSFORMATIONS[name]
    given = jax.tree.leaves(transform(f)(*arguments))
    expected = jax.tree.leaves(transform(plain)(*arguments))
    for a, b in zip(given, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)
    check_jaxpr(jax.make_jaxpr(transform(f))(*arguments))


UNARY: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "eager": lambda h: h,
    "jit": jax.jit,
    "grad": lambda h: jax.grad(lambda x: jnp.sum(h(x))),
    "vmap": jax.vmap,
    "jit of vmap of grad": lambda h: jax.jit(jax.vmap(jax.grad(h))),
    "second derivative": lambda h: jax.vmap(jax.grad(jax.grad(h))),
    "scan": lambda h: lambda x: lax.scan(lambda c, _: (h(c), None), x, None, length=2)[0],
}


@pytest.mark.parametrize("name", UNARY)
def test_multiple_results(name: str) -> None:
    given, expected = UNARY[name](g)(VECTOR), UNARY[name](plain_g)(VECTOR)
    np.testing.assert_allclose(given, expected, rtol=1e-5)
    check_jaxpr(jax.make_jaxpr(UNARY[name](g))(VECTOR))


def test_derivatives_against_differences() -> None:
    with jax.enable_x64(True):
        check_grads(f, (np.float64(0.7), np.float64(1.3)), order=2)
        check_grads(g, (np.float64(0.7),), order=2)


def test_rules_see_concrete_values_in_eager_mode() -> None:
    p = multiply_add_primitive()
    seen = []

    def jvp(primals: Any, tangents: Any) -> Any:
        seen.append(bool(primals[0] > 0))
        return p.bind(*primals), tangents[0]

    jax.interpreters.ad.primitive_jvps[p] = jvp
    assert jax.jvp(lambda x: p.bind(x, 1.0, 1.0), (2.0,), (1.0,))[1] == 1.0
    assert jax.grad(lambda x: p.bind(x, 1.0, 1.0))(-2.0) == 1.0
    assert seen == [True, False]


def test_a_rule_that_is_replaced_takes_effect() -> None:
    p = multiply_add_primitive()
    call = jax.jit(lambda x: p.bind(x, x, x))
    assert call(2.0) == 6.0
    jax.interpreters.mlir.register_lowering(p, lambda ctx, x, y, z: [z])
    assert call(2.0) == 2.0


def test_parameters_need_not_be_hashable() -> None:
    p = jax.extend.core.Primitive("scaled")
    p.def_impl(lambda x, *, factors: np.asarray(x) * factors[0])
    p.def_abstract_eval(lambda x, *, factors: x)
    lowering = jax.interpreters.mlir.lower_fun(
        lambda x, *, factors: x * factors[0], multiple_results=False
    )
    jax.interpreters.mlir.register_lowering(p, lowering)
    jax.interpreters.ad.deflinear(p, lambda ct, *, factors: [p.bind(ct, factors=factors)])
    jax.interpreters.batching.defvectorized(p)

    def scaled(x: Any) -> Any:
        return p.bind(x, factors=[3.0])

    assert scaled(2.0) == jax.jit(scaled)(2.0) == 6.0
    assert jax.jit(jax.grad(scaled))(2.0) == 3.0
    np.testing.assert_allclose(jax.vmap(scaled)(VECTOR), 3 * VECTOR)


def test_primitives_are_not_kept_alive() -> None:
    p = multiply_add_primitive("short_lived")
    assert "short_lived" in map(str, jax.interpreters.ad.primitive_jvps)
    reference = weakref.ref(p)
    del p
    gc.collect()
    assert reference() is None
