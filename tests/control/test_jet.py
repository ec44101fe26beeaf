"""Taylor series through every kind of operation, against nested jvp and closed forms."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.core import Primitive, ShapedArray, check_jaxpr
from morphax.experimental.jet import def_comp, def_deriv, deflinear, defzero, jet, jet_rules

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _double() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


def nested(f: Any, primals: Any, series: Any) -> list[Any]:
    """The derivatives of f along the curve, by jvp of jvp."""

    def along(t: Any) -> Any:
        return f(
            *[
                x + sum(c * t**k / math.factorial(k) for k, c in enumerate(terms, start=1))
                for x, terms in zip(primals, series, strict=True)
            ]
        )

    derivatives = []
    for _ in range(len(series[0])):
        along = pushed(along)
        derivatives.append(along(0.0))
    return derivatives


def pushed(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda t: jax.jvp(f, (t,), (1.0,))[1]


def random_series(primals: Any, order: int) -> list[list[Any]]:
    return [[RNG.normal(size=np.shape(x)) for _ in range(order)] for x in primals]


def check_series(f: Any, *primals: Any, order: int = 3, rtol: float = 1e-7) -> None:
    primals = [np.asarray(x, np.float64) for x in primals]
    series = random_series(primals, order)
    expected = nested(f, primals, series)
    for run in (jet, jax.jit(jet, static_argnums=0)):
        value, terms = run(f, primals, series)
        np.testing.assert_allclose(value, f(*primals), rtol=1e-12)
        assert len(terms) == order
        for given, wanted in zip(terms, expected, strict=True):
            np.testing.assert_allclose(given, wanted, rtol=rtol, atol=rtol)


X = np.array([0.3, -0.7, 0.9])
POSITIVE = np.array([0.4, 1.7, 2.9])
LARGE = POSITIVE + 1.0

UNARY = {
    **dict.fromkeys(
        "sin cos tan sinh cosh tanh asin atan asinh atanh exp exp2 expm1 log1p logistic erf erfc"
        " erf_inv square neg abs sign floor ceil round bessel_i0e bessel_i1e".split(),
        X,
    ),
    **dict.fromkeys("log sqrt rsqrt cbrt lgamma digamma reciprocal".split(), POSITIVE),
    "acos": X,
    "acosh": LARGE,
}


@pytest.mark.parametrize("name", UNARY)
def test_elementwise_of_one_operand(name: str) -> None:
    check_series(getattr(lax, name), UNARY[name], order=5)


BINARY = {
    "add": (X, POSITIVE),
    "sub": (X, POSITIVE),
    "mul": (X, POSITIVE),
    "div": (X, POSITIVE),
    "rem": (X * 10, POSITIVE),
    "max": (X, X[::-1]),
    "min": (X, X[::-1]),
    "pow": (POSITIVE, X),
    "atan2": (X, POSITIVE),
}


@pytest.mark.parametrize("name", BINARY)
def test_elementwise_of_two_operands(name: str) -> None:
    f, (x, y) = getattr(lax, name), BINARY[name]
    check_series(f, x, y, order=5)
    check_series(lambda x: f(x, jnp.asarray(y)), x)
    check_series(lambda y: f(jnp.asarray(x), y), y)


MATRIX = RNG.normal(size=(3, 4))
CUBE = RNG.normal(size=(2, 3, 4))
INDICES = np.array([[2], [0], [2]])

STRUCTURE = {
    "integer_pow": (lambda x: lax.integer_pow(x, 3), X),
    "inverse_pow": (lambda x: lax.integer_pow(x, -2), X),
    "clamp": (lambda x: lax.clamp(-0.5, x, 0.5), X),
    "select": (lambda x, y: lax.select(x > 0, x * y, y), X, POSITIVE),
    "convert": (lambda x: lax.convert_element_type(x, np.float64) * x, X),
    "stop_gradient": (lambda x: lax.stop_gradient(x) * x, X),
    "complex": (lambda x: jnp.abs(jnp.exp(lax.complex(x, 2 * x))) + jnp.imag(x + 1j * x), X),
    "reshape": (lambda x: jnp.sin(x.reshape(2, 6).T), MATRIX),
    "broadcast": (lambda x: jnp.exp(x[:, None]) * x, X),
    "rev": (lambda x: lax.rev(x, (0,)) * x, X),
    "slice": (lambda x: lax.slice(x, (0, 1), (3, 4), (2, 1)), MATRIX),
    "pad": (lambda x: lax.pad(x, x[0], ((1, 2, 1),)), X),
    "concatenate": (lambda x, y: lax.concatenate([x, y, x * y], 0), X, POSITIVE),
    "split": (lambda x: lax.split(x, (1, 2))[1], X),
    "sort": (lambda x: lax.sort(x * x), X),
    "sort_pairs": (lambda x, y: lax.sort((x, y), num_keys=1)[1], X, POSITIVE),
    "top_k": (lambda x: lax.top_k(x, 2)[0], MATRIX),
    "gather": (lambda x: x[INDICES[:, 0]] ** 2, X),
    "dynamic_slice": (lambda x: lax.dynamic_slice(x, (1,), (2,)), X),
    "dynamic_update_slice": (lambda x, y: lax.dynamic_update_slice(x, y[:2], (1,)), X, POSITIVE),
    "scatter": (lambda x, y: jnp.asarray(x).at[INDICES[:2, 0]].set(y[:2]), X, POSITIVE),
    "scatter_add": (lambda x, y: jnp.asarray(x).at[INDICES[:, 0]].add(y), X, POSITIVE),
    "scatter_mul": (
        lambda x, y: jnp.asarray(x).at[INDICES[:2, 0]].multiply(y[:2], unique_indices=True),
        X, POSITIVE),
    "reduce_sum": (lambda x: lax.reduce_sum(jnp.sin(x), (0,)), MATRIX),
    "reduce_max": (lambda x: lax.reduce_max(x * x, (1,)), MATRIX),
    "reduce_min": (lambda x: lax.reduce_min(x, (0, 1)), MATRIX),
    "reduce_prod": (lambda x: lax.reduce_prod(x, (1,)), MATRIX),
    "argmax": (lambda x: x[jnp.argmax(x)], X),
    "cumsum": (lambda x: lax.cumsum(x * x, 1), MATRIX),
    "cumprod": (lambda x: lax.cumprod(x, 0), MATRIX),
    "cummax": (lambda x: lax.cummax(x * x, 0), MATRIX),
    "cumlogsumexp": (lambda x: lax.cumlogsumexp(x, 0), MATRIX),
    "reduce_window_sum": (
        lambda x: lax.reduce_window(x, 0.0, lax.add, (2, 2), (1, 1), "VALID"), MATRIX),
    "dot": (lambda x, y: jnp.tanh(x @ y), MATRIX, MATRIX.T),
    "batched_dot": (lambda x, y: jnp.einsum("bij,bkj->bik", x, y), CUBE, CUBE[:, ::-1]),
    "conv": (
        lambda x, y: lax.conv(x[None, None], y[None, None], (1, 1), "SAME"), MATRIX, MATRIX[:2, :2]
    ),
    "norm": (lambda x: jnp.sqrt(jnp.sum(x * x)), X),
    "softmax": (lambda x: jnp.exp(x - x.max()) / jnp.exp(x - x.max()).sum(), X),
    "erf_of_sum": (lambda x, y: lax.erf(x + jnp.log(y)), X, POSITIVE),
}  # fmt: skip


@pytest.mark.parametrize("name", STRUCTURE)
def test_structure_and_reductions(name: str) -> None:
    check_series(*STRUCTURE[name])


@jax.custom_jvp
def strange(x: Any) -> Any:
    return jnp.sin(x)


strange.defjvp(lambda p, t: (strange(p[0]), t[0] * strange(p[0]) * p[0]))


def scanned(x: Any, y: Any) -> Any:
    def body(c: Any, row: Any) -> Any:
        return jnp.sin(c) * row + y, c * row

    carry, rows = lax.scan(body, x, jnp.stack([x, y, x * y]))
    return carry + rows.sum(0)


def looped(x: Any, y: Any) -> Any:
    return lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * jnp.cos(y)), (0, x))[1]


BODIES = {
    "jit": (jax.jit(lambda x, y: jnp.sin(x) * jax.jit(jnp.exp)(y)), X, POSITIVE),
    "cond": (lambda x: lax.cond(x.sum() > 0, jnp.sin, lambda x: x, x) * x, X),
    "switch": (lambda x: lax.switch(1, [jnp.cos, lambda x: x[0] * jnp.ones(3)], x), X),
    "scan": (scanned, X, POSITIVE),
    "while": (looped, X, POSITIVE),
    "fori": (lambda x: lax.fori_loop(0, 3, lambda i, c: c * x + i, x), X),
    "checkpoint": (jax.checkpoint(lambda x, y: jnp.sin(x) * y), X, POSITIVE),
    "checkpoint_under_jvp": (
        lambda x: jax.jvp(jax.checkpoint(jnp.sin), (x,), (x,))[1], X),
    "custom_jvp": (strange, X),
    "custom_jvp_in_scan": (
        lambda x: lax.scan(lambda c, _: (strange(c), None), x, None, length=2)[0], X),
    "jvp": (lambda x: jax.jvp(jnp.sin, (x,), (x,))[1], X),
    "grad": (jax.grad(lambda x: jnp.sum(jnp.sin(x) ** 2)), X),
    "vmap": (jax.vmap(lambda x: x * jnp.exp(x)), X),
}  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
def test_operations_with_bodies(name: str) -> None:
    check_series(*BODIES[name])


def test_custom_vjp_is_differentiated_as_it_is() -> None:
    f = jax.custom_vjp(jnp.sin)
    f.defvjp(lambda x: (f(x), x), lambda x, ct: (0.0 * ct,))
    given, expected = jet(f, (0.5,), ([1.0, 0.0],)), jet(jnp.sin, (0.5,), ([1.0, 0.0],))
    np.testing.assert_allclose(given[1], expected[1])


def test_other_transformations() -> None:
    def second(x: Any) -> Any:
        return jet(jnp.exp, (2 * x,), ([2.0, 0.0],))[1][1]

    xs = jnp.arange(3.0)
    np.testing.assert_allclose(jax.vmap(second)(xs), 4 * np.exp(2 * xs))
    np.testing.assert_allclose(jax.grad(second)(1.0), 8 * np.exp(2.0))
    np.testing.assert_allclose(jet(second, (1.0,), ([1.0, 0.0],))[1][1], 16 * np.exp(2.0))
    check_jaxpr(jax.make_jaxpr(lambda x: jet(scanned, (x, x), ([x, x], [x, x])))(X))


def test_coefficients_without_factorials() -> None:
    value, terms = jet(jnp.exp, (0.0,), ([1.0, 0.0, 0.0, 0.0],), factorial_scaled=False)
    np.testing.assert_allclose(terms, [1 / math.factorial(k) for k in range(1, 5)])
    assert value == 1.0


def test_results_are_trees_of_arrays() -> None:
    def f(x: Any, y: Any) -> Any:
        return {"a": (x * y, 3.0), "b": [jnp.floor(x), x]}

    value, terms = jet(f, (2, np.ones(2)), ([1.0, 0], [0.0, 1.0]))
    assert jax.tree.structure(value) == jax.tree.structure(f(1.0, 1.0))
    assert all(type(x) is type(jnp.ones(1)) for x in jax.tree.leaves((value, terms)))
    np.testing.assert_array_equal(terms["a"][0], [[1.0, 1.0], [2.0, 2.0]])
    np.testing.assert_array_equal(terms["a"][1], [0.0, 0.0])
    np.testing.assert_array_equal(terms["b"], [[0.0, 0.0], [1.0, 0.0]])
    assert jet(jnp.sin, (0.0,), ([],)) == (0.0, [])


def test_complex_curves() -> None:
    value, terms = jet(jnp.exp, (0.5,), ([1j, 0.0, 0.0],))
    np.testing.assert_allclose(terms, np.exp(0.5) * np.array([1j, -1, -1j]))
    assert value.dtype == np.complex128


def test_the_number_of_operations_grows_slowly() -> None:
    def operations(f: Any, n: int) -> int:
        terms = [1.0] + [0.0] * (n - 1)
        return len(jax.make_jaxpr(lambda x: jet(f, (x,), ([*terms],)))(1.0).eqns)

    for f in (jnp.exp, jnp.sin, jnp.tanh, jnp.log, jnp.sqrt, jnp.arctan, lambda x: 1 / x):
        short, long = operations(f, 5), operations(f, 10)
        assert long < 4.2 * short


@pytest.mark.parametrize(
    ("primals", "series", "match"),
    [
        (({"a": 1.0},), ([1.0],), "expected: an array"),
        ((1.0, 2.0), ([1.0],), "the same number of terms"),
        ((1.0, 2.0), ([1.0], [1.0, 2.0]), "the same number of terms"),
    ],
)
def test_arguments_that_do_not_fit(primals: Any, series: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        jet(jnp.add, primals, series)


class Outside(Primitive):
    """A primitive of a user, with nothing but its value."""

    name = "outside"
    multiple_results = False

    def __init__(self, function: Any) -> None:
        self.function = function

    def abstract_eval(self, x: Any, **_: Any) -> ShapedArray:
        return ShapedArray(x.shape, x.dtype)

    def evaluate(self, x: Any, **_: Any) -> Any:
        return np.asarray(self.function(x))


SERIES = ([1.0, 0.5, 3.0],)


@pytest.mark.parametrize(
    ("function", "define", "same"),
    [
        (np.sin, lambda p: def_deriv(p, jnp.cos), jnp.sin),
        (np.sin, lambda p: def_comp(p, jnp.sin), jnp.sin),
        (np.negative, deflinear, jnp.negative),
        (np.floor, defzero, jnp.floor),
    ],
)
def test_rules_of_users(function: Any, define: Any, same: Any) -> None:
    p = Outside(function)
    define(p)
    assert p in jet_rules
    for f, g in ((p.bind, same), (lambda x: p.bind(x * x, k=3), lambda x: same(x * x))):
        given, expected = jet(f, (0.5,), SERIES), jet(g, (0.5,), SERIES)
        np.testing.assert_allclose(given[0], expected[0])
        np.testing.assert_allclose(given[1], expected[1])
    del jet_rules[p]


def test_rule_of_a_user_sees_coefficients_without_factorials() -> None:
    p, seen = Outside(np.negative), []

    def rule(primals: Any, series: Any, **params: Any) -> Any:
        seen.append((primals, series, params))
        return primals[0], series[0]

    jet_rules[p] = rule
    assert jet(lambda x: p.bind(x, k=3), (0.5,), SERIES) == (0.5, [1.0, 0.5, 3.0])
    ((primals, series, params),) = seen
    assert (list(primals), params) == ([0.5], {"k": 3})
    np.testing.assert_allclose(series, [[1.0, 0.25, 0.5]])
    del jet_rules[p]


def test_rules_of_users_may_change() -> None:
    p = Outside(np.negative)
    inside = jax.jit(lambda x: x + p.bind(x) * 0)
    deflinear(p)
    jaxpr = jax.make_jaxpr(lambda x: jet(inside, (x,), ([x],)))
    assert str(jaxpr(1.0)) == str(jaxpr(1.0))
    before = str(jaxpr(1.0))
    defzero(p)
    assert str(jaxpr(1.0)) != before
    del jet_rules[p]


def test_primitive_without_any_rule() -> None:
    with pytest.raises((TypeError, NotImplementedError), match="differentiation of outside"):
        jet(Outside(np.sin).bind, (0.5,), SERIES)
