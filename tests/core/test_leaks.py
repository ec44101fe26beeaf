"""Leak checks: what escapes is found and told, what does not is left alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.errors import LeakCheckError
from morphax.experimental import checkify

kept_globally: list[Any] = []


class Layer:
    """Keeps what it computes."""

    hidden: Any = None

    def __call__(self, x: Any) -> Any:
        self.hidden = 2 * x
        return x


def into_list(kept: list[Any]) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        kept.append({"h": (x * 3,)})
        return x

    return f


def scanned(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=2)


TRANSFORMS: dict[str, Callable[..., Any]] = {
    "jit": jax.jit,
    "grad": jax.grad,
    "vmap": lambda f: lambda x: jax.vmap(f)(jnp.stack([x, x])),
    "jvp": lambda f: lambda x: jax.jvp(f, (x,), (x,)),
    "scan": scanned,
    "make_jaxpr": jax.make_jaxpr,
    "jit vmap grad": lambda f: jax.jit(lambda x: jax.vmap(jax.grad(f))(jnp.stack([x, x]))),
}


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS.keys())
def test_leaks_are_found(transform: Callable[..., Any]) -> None:
    kept: list[Any] = []
    with jax.checking_leaks(), pytest.raises(LeakCheckError) as caught:
        transform(into_list(kept))(jnp.float32(1.0))
    told = str(caught.value)
    assert "still referred to after its trace has ended by a tuple, at [0], in a dict" in told
    assert "in the variable kept of into_list" in told


@pytest.mark.usefixtures("thawed")
def test_who_refers_to_the_tracer_is_told() -> None:
    layer = Layer()
    with jax.checking_leaks():
        with pytest.raises(LeakCheckError, match=r"object of type Layer, in the variable layer"):
            jax.jit(lambda x: layer(x))(1.0)
        with pytest.raises(LeakCheckError, match="global variable kept_globally of"):
            jax.jit(lambda x: kept_globally.append(x))(1.0)
    kept_globally.clear()


def test_the_tracer_is_described() -> None:
    kept: list[Any] = []
    with jax.check_tracer_leaks(True), pytest.raises(LeakCheckError) as caught:
        jax.jit(into_list(kept))(1.0)
    assert f"a result of mul at {__file__}:" in str(caught.value)
    assert "traced by jit" in str(caught.value)


def test_methods_of_objects_that_only_frames_refer_to() -> None:
    with jax.checking_leaks(), pytest.raises(LeakCheckError, match="an object of type Layer"):
        jax.jit(Layer().__call__)(1.0)


def test_nothing_is_checked_by_default() -> None:
    kept: list[Any] = []
    jax.jit(into_list(kept))(1.0)
    assert len(kept) == 1


@jax.custom_jvp
def with_rule(x: Any) -> Any:
    return jnp.sin(x)


with_rule.defjvps(lambda t, out, x: t * x)


def cyclic(x: Any) -> Any:
    cycle: list[Any] = [x]
    cycle.append(cycle)
    return 2 * x


CLEAN: dict[str, Callable[[Any], Any]] = {
    "jit": jax.jit(lambda x: x * 2),
    "cycle": jax.jit(cyclic),
    "closures": jax.jit(lambda x: (lambda: x * 2)()),
    "auxiliary data": lambda x: jax.value_and_grad(lambda x: (x, {"a": x * 2}), has_aux=True)(x),
    "vjp": lambda x: jax.vjp(lambda x: jnp.sin(x) * x, x)[1](x),
    "jit of vjp": jax.jit(lambda x: jax.vjp(lambda x: jnp.sin(x) * x, x)[1](x)),
    "linearize": lambda x: jax.linearize(lambda x: jnp.sin(x) * x, x)[1](x),
    "captured by loops": jax.jit(
        jax.grad(lambda x: lax.scan(lambda c, y: (c * y * x, c), x, jnp.ones(3))[0])
    ),
    "captured by branches": jax.jit(lambda x: lax.cond(x > 0, lambda: x, lambda: x * 2)),
    "captured by while": jax.jit(lambda x: lax.while_loop(lambda s: s < x, lambda s: s + x, 0.0)),
    "captured by jit": jax.jit(lambda x: jax.jit(lambda y: x * y)(x)),
    "custom rule": jax.jit(jax.grad(with_rule)),
    "hessian": jax.jit(jax.hessian(lambda x: x**3)),
    "vmap": lambda x: jax.vmap(lambda y: y * x)(jnp.ones(2)),
}


@pytest.mark.parametrize("function", CLEAN.values(), ids=CLEAN.keys())
def test_no_false_alarm(function: Callable[[Any], Any]) -> None:
    with jax.checking_leaks():
        function(jnp.float32(2.0))


def test_errors_of_the_function_come_first() -> None:
    def failing(x: Any) -> Any:
        kept_globally.append(x)
        raise ValueError("mine")

    with jax.checking_leaks(), pytest.raises(ValueError, match="mine"):
        jax.jit(failing)(1.0)
    kept_globally.clear()


def test_checkify_keeps_no_tracers() -> None:
    def f(x: Any) -> Any:
        checkify.check(x > 0, "not positive: {x}", x=x)
        return lax.fori_loop(0, 2, lambda _, c: jnp.log(c) + 3.0, x)

    with jax.checking_leaks():
        error, y = checkify.checkify(jax.jit(f), errors=checkify.all_checks)(1.5)
    assert error.get() is None
    assert y > 0
