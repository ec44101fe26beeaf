"""Pullbacks that add cotangents to references: `with_refs` and the names of `jax.ad`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.ad import DidntWant, DontWant, GradRef, GradValue

X = np.array([1.0, 2.0, 3.0], np.float32)


def product(a: Any, b: Any) -> Any:
    return jnp.sin(a) * b


def test_each_cotangent_goes_where_it_is_wanted() -> None:
    total = jax.new_ref(jnp.ones(3))
    _, pullback = jax.vjp(product, X, X)
    for times in (1, 2):
        outs = pullback.with_refs(total, GradValue())(jnp.ones(3))
        assert outs[0] == GradRef()
        np.testing.assert_allclose(outs[1], np.sin(X), rtol=1e-6)
        np.testing.assert_allclose(total[...], 1.0 + times * X * np.cos(X), rtol=1e-5)
    assert pullback.with_refs(DontWant(), total)(jnp.ones(3)) == (DidntWant(), GradRef())
    np.testing.assert_allclose(pullback(jnp.ones(3))[1], np.sin(X), rtol=1e-6)


def counted(pullback: Any, ct: Any) -> int:
    return str(jax.make_jaxpr(pullback)(ct)).count("dot_general")


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_what_is_not_wanted_is_not_computed(wrap: Any) -> None:
    w, x = jnp.ones((3, 3)), jnp.arange(3.0)
    f = wrap(lambda w, x: jnp.sin(w @ (w @ x)))
    y, pullback = jax.vjp(f, w, x)
    both = pullback(y)
    for chosen, dots in (((GradValue(),) * 2, 4), ((GradValue(), DontWant()), 3)):
        part = pullback.with_refs(*chosen)
        assert counted(part, y) == dots
        np.testing.assert_allclose(part(y)[0], both[0], rtol=1e-6)
    only_x = pullback.with_refs(DontWant(), GradValue())
    assert counted(only_x, y) == 2
    np.testing.assert_allclose(only_x(y)[1], both[1], rtol=1e-6)
    assert counted(pullback.with_refs(DontWant(), DontWant()), y) == 0


def test_rules_of_users_for_what_is_wanted() -> None:
    @jax.custom_vjp
    def f(x: Any, y: Any) -> Any:
        return x * y

    f.defvjp(lambda x, y: (x * y, (x, y)), lambda res, ct: (10.0 * ct * res[1], ct * res[0]))
    _, pullback = jax.vjp(lambda x, y: f(jnp.sin(x), y), X, 2.0 * X)
    outs = pullback.with_refs(DontWant(), GradValue())(jnp.ones(3))
    assert outs[0] == DidntWant()
    np.testing.assert_allclose(outs[1], np.sin(X), rtol=1e-6)
    outs = pullback.with_refs(GradValue(), DontWant())(jnp.ones(3))
    np.testing.assert_allclose(outs[0], 20.0 * X * np.cos(X), rtol=1e-5)


def test_trees_and_parts_of_references() -> None:
    totals = jax.new_ref(jnp.zeros((2, 3)))
    _, pullback = jax.vjp(lambda p: p["a"] * p["b"], {"a": X, "b": 2.0 * X})
    outs = pullback.with_refs({"a": totals.at[1], "b": GradValue()})(jnp.ones(3))
    assert outs[0]["a"] == GradRef()
    np.testing.assert_allclose(outs[0]["b"], X)
    np.testing.assert_allclose(totals[...], [np.zeros(3), 2.0 * X])


def test_arguments_without_influence_leave_references_alone() -> None:
    total = jax.new_ref(jnp.ones(3))
    _, pullback = jax.vjp(lambda a, b: 2.0 * a, X, X)
    assert pullback.with_refs(DontWant(), total)(jnp.ones(3)) == (DidntWant(), GradRef())
    np.testing.assert_allclose(total[...], np.ones(3))


def accumulate(total: Any, x: Any) -> Any:
    def step(carry: Any, row: Any) -> Any:
        _, pullback = jax.vjp(lambda x: (x**2 * row).sum(), x)
        pullback.with_refs(total)(1.0)
        return carry, None

    jax.lax.scan(step, 0, jnp.stack([x, x]))


@pytest.mark.parametrize("outer", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_accumulation_in_a_scan(outer: Any) -> None:
    total = jax.new_ref(jnp.zeros(3))
    outer(accumulate)(total, X)
    np.testing.assert_allclose(total[...], 4.0 * X**2)


def test_derivatives_of_what_is_accumulated() -> None:
    def f(x: Any) -> Any:
        total = jax.new_ref(jnp.zeros(3))
        jax.vjp(product, x, x)[1].with_refs(total, DontWant())(jnp.ones(3))
        return jax.freeze(total).sum()

    np.testing.assert_allclose(jax.grad(f)(X), np.cos(X) - X * np.sin(X), rtol=1e-5)


def test_marks() -> None:
    assert [repr(mark()) for mark in (GradValue, GradRef, DontWant, DidntWant)] == [
        "GradValue()",
        "GradRef()",
        "DontWant()",
        "DidntWant()",
    ]
    assert jax.tree.leaves([GradValue(), GradRef(), DontWant(), DidntWant()]) == [GradValue()]
    assert jax.jit(lambda: GradRef())() == GradRef()


ERRORS: dict[str, tuple[Any, type[Exception], str]] = {
    "too few": (lambda f, r: f.with_refs(r), TypeError, "for each leaf of the arguments"),
    "an array": (lambda f, r: f.with_refs(r, X), TypeError, "GradValue"),
    "a class": (lambda f, r: f.with_refs(r, GradValue), TypeError, "GradValue"),
    "shape": (lambda f, r: f.with_refs(r, r.at[0])(X), ValueError, "addupdate, argument value"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    call, error, text = ERRORS[name]
    with pytest.raises(error, match=text):
        call(jax.vjp(product, X, X)[1], jax.new_ref(X))
