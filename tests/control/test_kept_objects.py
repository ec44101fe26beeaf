"""What programs keep of the user's."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import morphax as jax
from morphax import lax
from morphax import numpy as jnp
from morphax.control.kept_objects import kept_objects


def show(*values: Any) -> None:
    print(*values)


def compute(x: Any) -> Any:
    return np.float32(x)


def ruled(x: Any) -> Any:
    return x * 1.0


def rule(primals: Any, tangents: Any) -> Any:
    return primals[0], tangents[0]


with_rule = jax.custom_jvp(ruled)
with_rule.defjvp(rule)
with_pullback = jax.custom_vjp(ruled)
with_pullback.defvjp(ruled, rule)
shape = jax.ShapeDtypeStruct((), jnp.float32)
log: list[Any] = []


def kind(value: Any) -> str:
    return type(value).__name__


CHANGING = [object(), [], {}, set(), bytearray(), np.ones(2), show]
KEPT: dict[str, tuple[Any, set[Any]]] = {
    "nothing": (lambda x: jnp.sin(x) + jnp.arange(3.0), set()),
    "of the library": (lambda x: jax.nn.relu(x) + jax.nn.softmax(x * jnp.ones(2)), set()),
    "print": (lambda x: jax.debug.print("{}", x), set()),
    "callback": (lambda x: jax.debug.callback(show, x), {show}),
    "in a branch": (
        lambda x: lax.cond(x > 0, lambda: jax.debug.callback(show, x), lambda: None),
        {show},
    ),
    "in a loop": (
        lambda x: lax.scan(lambda c, _: (jax.pure_callback(compute, shape, c), None), x, None, 2),
        {compute},
    ),
    "rule": (with_rule, {ruled, rule}),
    "batched rule": (lambda x: jax.vmap(with_rule)(x * jnp.ones(2)), {ruled, rule}),
    "pullback": (with_pullback, {ruled, rule}),
    "in a jit": (lambda x: jax.jit(with_rule)(x), {ruled, rule}),
}


@pytest.mark.parametrize("name", KEPT)
def test_kept(name: str) -> None:
    function, expected = KEPT[name]
    kept = kept_objects(jax.make_jaxpr(function)(1.0))
    assert kept is not None
    assert set(kept) <= expected
    assert bool(kept) == bool(expected)


def test_mutable_containers_are_kept() -> None:
    kept = kept_objects(jax.make_jaxpr(lambda x: jax.debug.callback(log.append, x))(1.0))
    assert kept == (log.append,) or kept == (log,)


def test_structures_are_kept_with_their_classes_and_data() -> None:
    class Pair(NamedTuple):
        a: Any

    assert kept_objects(jax.tree.structure({"a": [1, None]})) == ()
    assert kept_objects(jax.tree.structure(Pair(1))) == (Pair,)
    partial = jax.tree_util.Partial(show, 1.0)
    assert kept_objects(jax.tree.structure(partial)) == (show,)


@pytest.mark.parametrize("value", CHANGING, ids=kind)
def test_what_may_change_or_be_told_apart_is_kept(value: Any) -> None:
    [kept] = kept_objects((1, (value,))) or ()
    assert kept is value


@pytest.mark.parametrize(
    "value", [1, 2.0, "a", None, lax.sin, jnp.ones(2), np.dtype("f4"), len], ids=kind
)
def test_what_is_inert(value: Any) -> None:
    assert kept_objects((value, (value,))) == ()


def test_tracers_cannot_be_kept() -> None:
    def function(x: Any) -> Any:
        assert kept_objects((x,)) is None
        return x

    jax.make_jaxpr(function)(1.0)
