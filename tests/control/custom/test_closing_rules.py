"""Rules that close over values of an outer transformation, in the body of an operation.

Nothing that an operation holds may refer to a value that is being traced.  So the outcome is the
number that is right, or `UnexpectedTracerError`; never a value taken for a constant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.errors import UnexpectedTracerError

POINTS = np.arange(1.0, 3.0, dtype=np.float32)


# Functions x ↦ x sin(y) with a rule that closes over y.
def jvp_reading(y: Any) -> Any:
    f = jax.custom_jvp(lambda x: x * jnp.sin(y))
    f.defjvp(lambda p, t: (p[0] * jnp.sin(y), t[0] * jnp.sin(y)))
    return f


def jvp_calling(y: Any) -> Any:
    f = jax.custom_jvp(lambda x: x * jnp.sin(y))
    f.defjvp(lambda p, t: (f(*p), t[0] * jnp.sin(y)))
    return f


def vjp_forward(y: Any) -> Any:
    f = jax.custom_vjp(lambda x: x * jnp.sin(y))
    f.defvjp(lambda x: (x * jnp.sin(y), jnp.sin(y)), lambda s, ct: (ct * s,))
    return f


def vjp_backward(y: Any) -> Any:
    f = jax.custom_vjp(lambda x: x * jnp.sin(y))
    f.defvjp(lambda x: (x * jnp.sin(y), None), lambda _, ct: (ct * jnp.sin(y),))
    return f


def batching(y: Any) -> Any:
    f = jax.custom_batching.custom_vmap(lambda x: x * jnp.sin(y))
    f.def_vmap(lambda _, batched, x: (x * jnp.sin(y), batched[0]))
    return f


# Functions of the same values as twice `f`, in a program.
def in_jit(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: 2 * jax.jit(f)(x)


def in_checkpoint(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: 2 * jax.checkpoint(f)(x)


def in_scan(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: lax.scan(lambda c, _: (c + f(x), None), 0.0, None, length=2)[0]


def in_carry(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def whole(x: Any) -> Any:
        return lax.scan(lambda c, a: ((c[0] + f(a), c[1]), None), (0.0, x), jnp.stack([x, x]))[0][0]

    return whole


def in_cond(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: lax.cond(jnp.sum(x) > 0, lambda x: 2 * f(x), jnp.sum, x)


def in_while(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def whole(x: Any) -> Any:
        with jax.reverse_while(max_steps=4):
            return lax.while_loop(
                lambda c: c[0] < 2, lambda c: (c[0] + 1, c[1] + f(x)), (0, jnp.zeros(()))
            )[1]

    return whole


def in_jit_of_scan(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return jax.jit(in_scan(jax.checkpoint(f)))


BODIES = [in_jit, in_checkpoint, in_scan, in_carry, in_cond, in_while, in_jit_of_scan]


def evaluated(f: Callable[[Any], Any], x: Any) -> Any:
    closed = jax.make_jaxpr(f)(x)
    (out,) = jax.core.eval_jaxpr(closed.jaxpr, closed.consts, x)
    return out


OUTER: dict[str, Callable[..., Any]] = {
    "jit": lambda f, x: jax.jit(f)(x),
    "vmap": lambda f, x: jax.vmap(f)(jnp.stack([x, x + 1]))[0],
    "make_jaxpr": evaluated,
    "grad": lambda f, x: jax.grad(lambda x: jnp.sum(f(x)))(x),
    "jit of grad": lambda f, x: jax.jit(jax.grad(lambda x: jnp.sum(f(x))))(x),
    "jvp": lambda f, x: jax.jvp(f, (x,), (jnp.ones_like(x),))[1],
}
DERIVATIVES = {"grad", "jit of grad", "jvp"}


@pytest.mark.parametrize("outer", OUTER)
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("rule", [jvp_reading, jvp_calling, vjp_forward, vjp_backward])
def test_derivatives(rule: Any, body: Any, outer: str) -> None:
    def main(y: Any) -> Any:
        return jax.grad(body(lambda x: jnp.sum(rule(y)(3 * x))))(y)

    expected = 6 * (np.cos if outer in DERIVATIVES else np.sin)(POINTS.astype(float))
    # A function that its rule calls keeps the rule, which does not know the derivative by y.
    calls_itself = rule is jvp_calling and outer in DERIVATIVES
    check(main, outer, expected, refused=body is in_while or calls_itself)


@pytest.mark.parametrize("outer", OUTER)
@pytest.mark.parametrize("body", BODIES)
def test_batches(body: Any, outer: str) -> None:
    def main(y: Any) -> Any:
        return jax.vmap(body(lambda x: jnp.sum(batching(y)(3 * x))))(jnp.stack([POINTS, y]))[1]

    y = POINTS.astype(float)
    value = 6 * np.sum(y * np.sin(y))
    slope = 6 * (np.sin(y) + y * np.cos(y))
    expected = {"jvp": np.sum(slope)}.get(outer, slope if outer in DERIVATIVES else value)
    check(main, outer, expected, refused=False)


def check(main: Any, outer: str, expected: Any, *, refused: bool) -> None:
    x = jnp.asarray(POINTS)
    if refused:
        with pytest.raises(UnexpectedTracerError, match=r"given:(.|\n)*expected:(.|\n)*fix:"):
            OUTER[outer](main, x)
    else:
        np.testing.assert_allclose(OUTER[outer](main, x), expected, rtol=1e-4)


def test_refusal_names_the_value_and_the_line() -> None:
    def main(y: Any) -> Any:
        return jax.grad(in_while(lambda x: jnp.sum(vjp_backward(y)(x))))(y)

    with pytest.raises(UnexpectedTracerError) as caught:
        jax.jit(main)(POINTS)
    text = str(caught.value)
    assert "the argument y of the function main" in text
    assert "reads it at" in text
    assert __file__ in text
    assert "Pass the value to the function with the rule as an argument" in text


def test_an_outer_program_is_traced_anew() -> None:
    """What a rule closes over in one trace must not be found in the next."""

    def main(y: Any) -> Any:
        return jax.grad(in_jit(lambda x: jnp.sum(vjp_backward(y)(3 * x))))(y)

    for x in (POINTS, POINTS + 1, POINTS[:1]):
        np.testing.assert_allclose(jax.jit(main)(x), 6 * np.sin(x), rtol=1e-4)
        slope = jax.grad(lambda y: jnp.sum(main(y)))(x)
        np.testing.assert_allclose(slope, 6 * np.cos(x), rtol=1e-4)
