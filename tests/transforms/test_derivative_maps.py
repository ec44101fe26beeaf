"""What `vjp`, `linearize` and `fwd_and_bwd` return, as values: their leaves are the residuals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp


def f(x: Any, y: Any) -> Any:
    return {"a": jnp.sin(x) * y, "b": y}


CT = {"a": 2.0, "b": 3.0}
WANT = (2 * np.cos(1.0) * 5.0, 2 * np.sin(1.0) + 3.0)


def test_leaves_are_the_residuals() -> None:
    _, pullback = jax.vjp(f, 1.0, 5.0)
    residuals = jax.tree.leaves(pullback)
    assert len(residuals) == 3
    np.testing.assert_allclose(sorted(residuals), sorted([np.cos(1.0), 5.0, np.sin(1.0)]))
    # What no result depends on is not kept.
    _, of_constant = jax.vjp(lambda x: (jnp.exp(jnp.sin(x)), 1.0)[1], 2.0)
    assert jax.tree.leaves(of_constant) == []
    doubled = jax.tree.map(lambda x: 2 * x, jax.vjp(jnp.sin, 1.0)[1])
    assert np.allclose(doubled(1.0), 2 * np.cos(1.0))


def test_maps_pass_through_jit() -> None:
    value, pullback = jax.jit(lambda x, y: jax.vjp(f, x, y))(1.0, 5.0)
    assert np.allclose(value["a"], 5 * np.sin(1.0))
    np.testing.assert_allclose(pullback(CT), WANT, rtol=1e-6)
    np.testing.assert_allclose(jax.jit(lambda g, ct: g(ct))(pullback, CT), WANT, rtol=1e-6)
    push = jax.jit(lambda x: jax.linearize(jnp.sin, x)[1])(1.0)
    assert np.allclose(push(2.0), 2 * np.cos(1.0))
    assert np.allclose(jax.jit(lambda g, t: g(t))(push, 2.0), 2 * np.cos(1.0))


@pytest.mark.parametrize("derivative", [jax.vjp, jax.linearize])
def test_programs_that_take_maps_are_traced_once(derivative: Any) -> None:
    traces = []

    @jax.jit
    def apply(g: Any, t: Any) -> Any:
        traces.append(1)
        return g(t)

    for x in (1.0, 2.0, 3.0):
        result = apply(derivative(lambda x: jnp.sin(x) * x, x)[1], 1.0)
        assert np.allclose(result, np.sin(x) + x * np.cos(x))
    assert len(traces) == 1


def test_maps_under_vmap_and_scan() -> None:
    xs = jnp.arange(3.0)
    maps = jax.vmap(lambda x: jax.vjp(jnp.sin, x)[1])(xs)
    (rows,) = jax.vmap(lambda g, ct: g(ct))(maps, jnp.ones(3))
    np.testing.assert_allclose(rows, np.cos(xs), rtol=1e-6)
    total, _ = jax.lax.scan(lambda c, g: (g(c)[0], None), 1.0, maps)
    np.testing.assert_allclose(total, np.prod(np.cos(xs)), rtol=1e-5)


def test_maps_hold_custom_rules() -> None:
    g = jax.custom_vjp(lambda x: x)
    g.defvjp(lambda x: (x, x), lambda x, ct: (7.0 * ct * x,))
    pullback = jax.jit(lambda x: jax.vjp(g, x)[1])(3.0)
    assert pullback(2.0) == (42.0,)
    assert jax.grad(lambda ct: pullback(ct)[0])(2.0) == 21.0


def test_residuals_are_differentiated() -> None:
    def product_of_slopes(x: Any) -> Any:
        _, pullback = jax.vjp(jnp.sin, x)
        return pullback(pullback(1.0)[0])[0]

    for wrap in (lambda g: g, jax.jit):
        assert np.allclose(wrap(jax.grad(product_of_slopes))(0.5), -np.sin(1.0))


@pytest.mark.parametrize("jitted", [False, True])
def test_fwd_and_bwd(jitted: bool) -> None:
    fwd, bwd = jax.fwd_and_bwd(f, (0, 1), jitted=jitted)
    value, residuals = fwd(1.0, 5.0)
    assert np.allclose(value["a"], 5 * np.sin(1.0))
    np.testing.assert_allclose(bwd(residuals, CT), WANT, rtol=1e-6)
    fwd, bwd = jax.fwd_and_bwd(f, -1, jitted=jitted)
    assert np.allclose(bwd(fwd(1.0, 5.0)[1], CT), WANT[1])
    fwd, bwd = jax.fwd_and_bwd(lambda x, k: (k * x, {"n": k}), 0, has_aux=True, jitted=jitted)
    value, residuals, aux = fwd(2.0, k=3.0)
    assert (value, aux, bwd(residuals, 1.0)) == (6.0, {"n": 3.0}, 3.0)


def test_tangents_of_integers_and_keys() -> None:
    key, none = jax.random.key(0), np.zeros((), jax.float0)

    def noisy(key: Any, n: Any, x: Any) -> Any:
        return jax.random.normal(key) * n * x

    noise = jax.random.normal(key)
    assert np.allclose(jax.jvp(noisy, (key, 3, 2.0), (none, none, 1.0))[1], 3 * noise)
    assert np.allclose(jax.linearize(noisy, key, 3, 2.0)[1](none, none, 1.0), 3 * noise)
    of_key, of_n, of_x = jax.vjp(noisy, key, 3, 2.0)[1](1.0)
    assert of_key.dtype == of_n.dtype == jax.float0
    assert np.allclose(of_x, 3 * noise)
    assert jax.grad(noisy, (0, 2), allow_int=True)(key, 3, 2.0)[0].dtype == jax.float0
    # The cotangent of an integer result may be of any dtype.
    _, pullback = jax.vjp(lambda x: (x, jnp.int32(x)), 2.0)
    assert pullback((1.0, 7)) == pullback((1.0, none)) == (1.0,)


def test_wide_numpy_tangents_are_narrowed() -> None:
    x = jnp.ones(2)
    for result in (
        jax.jvp(jnp.sin, (x,), (np.ones(2),))[1],
        jax.vjp(jnp.sin, x)[1](np.ones(2))[0],
        jax.linearize(jnp.sin, x)[1](np.ones(2)),
    ):
        np.testing.assert_allclose(result, np.cos(np.ones(2)), rtol=1e-6)
        assert result.dtype == np.float32


def test_zeros_keep_weak_types() -> None:
    assert jax.grad(lambda x: 1.0)(2.0).weak_type
    assert not jax.grad(lambda x: 1.0)(jnp.float32(2.0)).weak_type


def test_repr_names_types() -> None:
    assert repr(jax.vjp(jnp.sin, 1.0)[1]) == "<VJP of (f32[]) -> (f32[]), 1 residuals>"


ERRORS = [
    pytest.param(
        lambda: jax.linearize(lambda x: {"a": x}, 3.0)[1](1.0, 2.0),
        TypeError,
        "structure of the primals",
        id="linearize structure",
    ),
    pytest.param(
        lambda: jax.linearize(lambda d: d["w"], {"w": 3.0})[1]({"w": 1}),
        TypeError,
        r"tangent of d\['w'\]",
        id="linearize dtype",
    ),
    pytest.param(
        lambda: jax.linearize(lambda x: x, 3.0)[1](jnp.ones(2)), ValueError, "x", id="shape"
    ),
    pytest.param(
        lambda: jax.linearize(lambda n: n * 1.0, 3)[1](1), TypeError, r"float0\[\]", id="integer"
    ),
    pytest.param(
        lambda: jax.vjp(lambda x: {"a": [x]}, 3.0)[1]({"a": [1]}),
        TypeError,
        r"result\['a'\]\[0\]",
        id="vjp dtype",
    ),
    pytest.param(
        lambda: jax.vjp(jnp.sin, 1.0, reduce_axes=("i",)), NotImplementedError, "psum", id="axes"
    ),
    pytest.param(
        lambda: jax.linear_transpose(lambda k: k, jax.random.key(0)), TypeError, "key", id="key"
    ),
    pytest.param(
        lambda: jax.linear_transpose(lambda x: jnp.ones(2), 3), TypeError, "only", id="kinds"
    ),
    pytest.param(lambda: jax.fwd_and_bwd(3, 0), TypeError, "a callable", id="fwd_and_bwd"),
]


@pytest.mark.parametrize(("call", "error", "text"), ERRORS)
def test_errors(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text) as caught:
        call()
    assert "fix:" in str(caught.value)


def test_a_pullback_takes_one_argument() -> None:
    _, pullback = jax.vjp(lambda x: (x, x), 1.0)
    with pytest.raises(TypeError, match=r"(?s)pullback of vjp.*2 arguments.*one.*as a tuple"):
        pullback(1.0, 1.0)
