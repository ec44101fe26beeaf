"""Custom derivative rules: obeyed under every transformation, checked when they are wrong."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.errors import UnexpectedTracerError

XS = np.linspace(0.0, 1.0, 4).astype(np.float32)


@jax.custom_jvp
def doubled_sine(x: Any) -> Any:
    """sin, with twice its derivative, so that one sees which rule was used."""
    return jnp.sin(x)


@doubled_sine.defjvp
def _doubled_sine_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    return doubled_sine(x), 2.0 * jnp.cos(x) * t


@jax.custom_vjp
def product(x: Any, y: Any) -> Any:
    """x y, with thrice the cotangent of x."""
    return x * y


product.defvjp(lambda x, y: (x * y, (x, y)), lambda res, ct: (3.0 * ct * res[1], ct * res[0]))

WRAPPERS = [
    pytest.param(lambda f: f, id="eager"),
    pytest.param(jax.jit, id="jit"),
]


@pytest.mark.parametrize("wrap", WRAPPERS)
def test_jvp_rule_is_obeyed(wrap: Any) -> None:
    slope = 2 * np.cos(XS)
    assert np.allclose(wrap(doubled_sine)(1.0), np.sin(1.0))
    assert np.allclose(wrap(jax.grad(doubled_sine))(1.0), 2 * np.cos(1.0))
    assert np.allclose(jax.grad(wrap(doubled_sine))(1.0), 2 * np.cos(1.0))
    np.testing.assert_allclose(wrap(jax.vmap(jax.grad(doubled_sine)))(XS), slope, rtol=1e-6)
    inner = jax.grad(lambda x: wrap(jax.vmap(doubled_sine))(x).sum())
    np.testing.assert_allclose(inner(XS), slope, rtol=1e-6)
    out, tangent = jax.jvp(wrap(doubled_sine), (1.0,), (1.0,))
    assert np.allclose([out, tangent], [np.sin(1.0), 2 * np.cos(1.0)])
    # The rule calls doubled_sine's cosine, an ordinary function: second order is -2 sin.
    assert np.allclose(wrap(jax.grad(jax.grad(doubled_sine)))(1.0), -2 * np.sin(1.0))


@pytest.mark.parametrize("wrap", WRAPPERS)
def test_vjp_rule_is_obeyed(wrap: Any) -> None:
    assert wrap(product)(2.0, 5.0) == 10.0
    assert wrap(jax.grad(product, (0, 1)))(2.0, 5.0) == (15.0, 2.0)
    assert jax.grad(wrap(product))(2.0, 5.0) == 15.0
    mapped = wrap(jax.vmap(jax.grad(product), (0, None)))
    np.testing.assert_array_equal(mapped(XS, 2.0), np.full(4, 6.0))
    shared = jax.grad(lambda x, y: wrap(jax.vmap(product, (0, None)))(x, y).sum(), 1)
    np.testing.assert_allclose(shared(XS, 2.0), XS.sum(), rtol=1e-6)
    in_scan = jax.grad(
        lambda x: jax.lax.scan(lambda c, y: (product(c, y), None), x, jnp.array([2.0, 3.0]))[0]
    )
    assert wrap(in_scan)(1.0) == 9 * 6.0


def test_python_control_flow_on_concrete_values_in_rules() -> None:
    @jax.custom_vjp
    def f(x: Any) -> Any:
        return x

    def backward(positive: Any, ct: Any) -> Any:
        return (ct if positive else -ct,)

    f.defvjp(lambda x: (x, x > 0), backward)
    assert jax.grad(f)(2.0) == 1.0
    assert jax.grad(f)(-2.0) == -1.0


def test_nondiff_arguments() -> None:
    def apply(f: Any, x: Any) -> Any:
        return f(x)

    jvp_apply = jax.custom_jvp(apply, nondiff_argnums=(0,))
    jvp_apply.defjvp(lambda f, primals, tangents: (f(*primals), 7.0 * tangents[0]))
    assert jax.grad(lambda x: jvp_apply(jnp.sin, x))(1.0) == 7.0
    vjp_apply = jax.custom_vjp(apply, nondiff_argnums=(0,))
    vjp_apply.defvjp(lambda f, x: (f(x), None), lambda f, res, ct: (5.0 * ct,))
    assert jax.grad(lambda x: vjp_apply(jnp.sin, x))(1.0) == 5.0


def test_defjvps_and_none_cotangents() -> None:
    @jax.custom_jvp
    def f(x: Any, y: Any) -> Any:
        return x * y

    f.defjvps(lambda t, out, x, y: 2.0 * t * y, None)
    assert jax.grad(f, (0, 1))(2.0, 3.0) == (6.0, 0.0)

    @jax.custom_vjp
    def g(x: Any, y: Any) -> Any:
        return x * y

    g.defvjp(lambda x, y: (x * y, None), lambda res, ct: (None, ct))
    assert jax.grad(g, (0, 1))(2.0, 3.0) == (0.0, 1.0)


def test_trees_and_keyword_arguments() -> None:
    @jax.custom_vjp
    def f(params: Any, scale: Any = 2.0) -> Any:
        return {"out": params["w"] * scale}

    f.defvjp(
        lambda params, scale: (f(params, scale), params),
        lambda params, ct: ({"w": 10.0 * ct["out"]}, 0.0),
    )
    given = jax.grad(lambda p: f(p, scale=3.0)["out"])({"w": 2.0})
    assert given == {"w": 10.0}


def jvp_rule_of_closure(x: Any, y: Any) -> Any:
    f = jax.custom_jvp(lambda x: x * y)
    f.defjvp(lambda p, t: (p[0] * y, 3.0 * t[0] * y))
    return f(x)


def vjp_rule_of_closure(x: Any, y: Any) -> Any:
    f = jax.custom_vjp(lambda x: x * y)
    f.defvjp(lambda x: (x * y, y), lambda y, ct: (3.0 * ct * y,))
    return f(x)


@pytest.mark.parametrize("f", [jvp_rule_of_closure, vjp_rule_of_closure])
def test_rules_that_close_over_traced_values(f: Any) -> None:
    ys = jnp.arange(1.0, 4.0)
    assert jax.jit(jax.grad(f))(2.0, 5.0) == 15.0
    np.testing.assert_array_equal(jax.vmap(jax.grad(f), (None, 0))(2.0, ys), 3 * ys)
    around = jax.grad(lambda x: jax.vmap(lambda y: f(x, y))(ys).sum())
    assert around(2.0) == jax.jit(around)(2.0) == 18.0
    twice = jax.vmap(lambda a: jax.vmap(lambda y: f(1.0 * a, y * a))(ys))
    np.testing.assert_allclose(twice(ys), np.outer(ys**2, ys))


@pytest.mark.parametrize("f", [jvp_rule_of_closure, vjp_rule_of_closure])
def test_rules_must_not_close_over_differentiated_values(f: Any) -> None:
    for call in (
        lambda: jax.grad(f, 1)(2.0, 5.0),
        lambda: jax.grad(jax.jit(f))(2.0, 5.0),
        lambda: jax.grad(lambda x: jax.lax.scan(lambda c, y: (f(c, y), None), x, jnp.ones(2))[0])(
            2.0
        ),
    ):
        with pytest.raises(UnexpectedTracerError, match="fix:"):
            call()


def test_rules_inside_loops_branches_and_checkpoint() -> None:
    def steps(x: Any) -> Any:
        return jax.lax.while_loop(
            lambda c: c[0] < 2, lambda c: (c[0] + 1, product(c[1], x)), (0, x)
        )[1]

    def branch(x: Any) -> Any:
        return jax.lax.cond(x > 0, doubled_sine, jnp.cos, x)

    assert np.allclose(jax.jvp(lambda x: branch(x), (1.0,), (1.0,))[1], 2 * np.cos(1.0))
    for wrap in (lambda f: f, jax.jit, jax.checkpoint, lambda f: jax.checkpoint(jax.jit(f))):
        assert np.allclose(jax.grad(wrap(branch))(1.0), 2 * np.cos(1.0))
        assert np.allclose(jax.grad(wrap(lambda x: product(x, 3.0)))(2.0), 9.0)
    with jax.reverse_while(max_steps=2):
        # x ↦ (x x) x with the cotangent of each first factor tripled: 9 x² + 3 x² + x².
        assert np.allclose(jax.grad(steps)(2.0), 13 * 4.0)


def _with_jvp(rule: Any) -> Any:
    f = jax.custom_jvp(lambda x: x)
    f.defjvp(rule)
    return lambda: jax.grad(f)(1.0)


def _with_vjp(forward: Any, backward: Any) -> Any:
    f = jax.custom_vjp(lambda x: x)
    f.defvjp(forward, backward)
    return lambda: jax.grad(f)(1.0)


ERRORS = [
    pytest.param(lambda: jax.custom_jvp(abs)(1.0), AttributeError, "defjvp", id="no jvp rule"),
    pytest.param(lambda: jax.custom_vjp(abs)(1.0), AttributeError, "defvjp", id="no vjp rule"),
    pytest.param(_with_jvp(lambda p, t: p[0]), TypeError, r"a pair \(result", id="jvp pair"),
    pytest.param(
        _with_jvp(lambda p, t: (p[0], (t[0],))), TypeError, "structure", id="jvp structure"
    ),
    pytest.param(
        _with_jvp(lambda p, t: (p[0], jnp.ones(2))), TypeError, "a tangent", id="jvp shape"
    ),
    pytest.param(
        _with_vjp(lambda x: x, lambda r, ct: (ct,)), TypeError, r"a pair \(result", id="vjp pair"
    ),
    pytest.param(
        _with_vjp(lambda x: (x, None), lambda r, ct: ct), TypeError, "a tuple with", id="vjp tuple"
    ),
    pytest.param(
        lambda: jax.jvp(product, (1.0, 2.0), (1.0, 1.0)), TypeError, "custom_jvp", id="forward"
    ),
]


@pytest.mark.parametrize(("call", "error", "text"), ERRORS)
def test_errors(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text) as caught:
        call()
    assert "fix:" in str(caught.value)


def test_integers_beside_a_derivative_are_constants() -> None:
    @jax.custom_jvp
    def square_and_count(x: Any) -> Any:
        return x * x, jnp.int32(3)

    @square_and_count.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        out = square_and_count(*primals)
        return out, (2 * primals[0] * tangents[0], np.zeros((), jax.dtypes.float0))

    def scaled(x: Any) -> Any:
        square, count = square_and_count(x)
        return square * (2 * count)

    assert jax.grad(scaled)(2.0) == jax.jit(jax.grad(scaled))(2.0) == 24
    assert jax.jvp(scaled, (2.0,), (1.0,))[1] == 24


def test_a_linear_function_with_a_rule_is_transposed_as_it_stands() -> None:
    @jax.custom_jvp
    def double(x: Any, a: Any) -> Any:
        return 2.0 * a * x

    double.defjvp(lambda primals, tangents: (double(*primals), 100.0 * tangents[0]))
    a = jnp.array([1.0, 3.0])
    transposed = jax.linear_transpose(lambda x: 3.0 * double(x, a), a)
    np.testing.assert_allclose(transposed(a)[0], 6.0 * a * a)
    np.testing.assert_allclose(jax.jit(transposed)(a)[0], 6.0 * a * a)
    cts = jnp.stack([a, 2.0 * a])
    np.testing.assert_allclose(jax.vmap(transposed)(cts)[0], 6.0 * a * cts)


def test_arguments_by_name_may_leave_out_some_in_between() -> None:
    @partial(jax.custom_jvp, nondiff_argnums=(1, 3))
    def f(x: Any, power: int = 1, shift: Any = 0.0, negative: bool = False) -> Any:
        return (-1.0 if negative else 1.0) * x**power + shift

    f.defjvp(lambda power, negative, p, t: (f(p[0], power, p[1], negative), 7.0 * t[0]))
    assert f(2.0, negative=True) == -2.0
    assert f(x=2.0, shift=1.0) == 3.0
    assert jax.grad(lambda x: f(x, negative=True, power=2))(2.0) == 7.0


class Doubled:
    """A callable that has no name."""

    def __call__(self, x: Any) -> Any:
        return 2 * x


@pytest.mark.parametrize("function", [partial(lambda n, x: n * x, 2.0), Doubled()])
def test_callables_without_a_name_have_rules(function: Any) -> None:
    forward, backward = jax.custom_jvp(function), jax.custom_vjp(function)
    forward.defjvp(lambda primals, tangents: (function(*primals), 3 * tangents[0]))
    backward.defvjp(lambda x: (function(x), None), lambda _, ct: (3 * ct,))
    for f in (forward, backward):
        assert (f(1.0), jax.jit(f)(1.0), jax.grad(f)(1.0), jax.grad(jax.jit(f))(1.0)) == (
            2,
            2,
            3,
            3,
        )
        assert jax.vmap(jax.grad(f))(jnp.ones(2)).tolist() == [3, 3]
