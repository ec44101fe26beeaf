"""`custom_vjp`: symbolic zeros, arguments without derivative, checks of what rules return."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.config import override
from morphax.custom_derivatives import (
    CustomVJPPrimal,
    SymbolicZero,
    custom_vjp_primal_tree_values,
    zero_from_primal,
)
from morphax.errors import UnexpectedTracerError

WRAPPERS = [pytest.param(lambda f: f, id="eager"), pytest.param(jax.jit, id="jit")]


def product(seen: list[Any]) -> Any:
    """x y, whose forward rule notes which arguments are differentiated."""
    f = jax.custom_vjp(lambda x, y: x * y)

    def forward(x: CustomVJPPrimal, y: CustomVJPPrimal) -> Any:
        seen.append((x.perturbed, y.perturbed))
        return x.value * y.value, (x.value, y.value)

    f.defvjp(forward, lambda r, ct: (ct * r[1], ct * r[0]), symbolic_zeros=True)
    return f


@pytest.mark.parametrize("wrap", WRAPPERS)
@pytest.mark.parametrize(
    ("argnums", "perturbed"), [(0, (True, False)), (1, (False, True)), ((0, 1), (True, True))]
)
def test_forward_rule_learns_what_is_differentiated(
    wrap: Any, argnums: Any, perturbed: Any
) -> None:
    seen: list[Any] = []
    f = product(seen)
    assert wrap(f)(2.0, 3.0) == 6.0
    assert not seen
    want = jax.grad(lambda x, y: x * y, argnums)(2.0, 3.0)
    assert wrap(jax.grad(f, argnums))(2.0, 3.0) == want
    assert jax.grad(wrap(f), argnums)(2.0, 3.0) == want
    assert set(seen) == {perturbed}


def test_perturbed_inside_loops_and_batches() -> None:
    seen: list[Any] = []
    f = product(seen)
    xs = jnp.arange(1.0, 4.0)
    gradient = jax.grad(lambda x: jax.lax.scan(lambda c, y: (f(c, y), None), x, xs)[0])
    assert gradient(1.0) == 6.0
    np.testing.assert_array_equal(jax.vmap(jax.grad(f), (0, None))(xs, 3.0), [3.0, 3.0, 3.0])
    assert set(seen) == {(True, False)}
    assert jax.grad(product(seen))(2.0, 3) == 3.0


@pytest.mark.parametrize("wrap", WRAPPERS)
def test_backward_rule_sees_and_returns_symbolic_zeros(wrap: Any) -> None:
    seen: list[Any] = []
    f = jax.custom_vjp(lambda x, y: (x, y, jnp.int32(1)))

    def backward(_: Any, cts: Any) -> Any:
        seen.append([type(ct) is SymbolicZero for ct in cts])
        return tuple(ct if type(ct) is SymbolicZero else 2 * ct for ct in cts[:2])

    forward = lambda x, y: ((x.value, y.value, jnp.int32(1)), None)  # noqa: E731
    f.defvjp(forward, backward, symbolic_zeros=True)
    assert wrap(jax.grad(lambda x, y: f(x, y)[0], (0, 1)))(2.0, 3.0) == (2.0, 0.0)
    assert seen == [[False, True, True]]
    mapped = jax.vmap(jax.grad(lambda x, y: f(x, y)[1], (0, 1)))(jnp.ones(2), jnp.ones(2))
    np.testing.assert_array_equal(mapped, [[0.0, 0.0], [2.0, 2.0]])
    assert seen[1:] == [[True, False, True]]


def test_cotangents_of_integers_are_float0_arrays() -> None:
    seen: list[Any] = []
    f = jax.custom_vjp(lambda x, n: (x * n, n))

    def backward(n: Any, cts: Any) -> Any:
        seen.append(cts[1])
        return cts[0] * n, np.zeros((), jax.float0)

    f.defvjp(lambda x, n: (f(x, n), n), backward)
    assert jax.grad(lambda x: f(x, 3)[0])(2.0) == 3.0
    assert seen[0].dtype == jax.float0
    key = jax.random.key(0)
    g = jax.custom_vjp(lambda k, x: jax.random.normal(k) * x)
    g.defvjp(lambda k, x: (g(k, x), k), lambda k, ct: (None, ct * jax.random.normal(k)))
    assert jax.grad(g, 1)(key, 2.0) == jax.random.normal(key)


def test_symbolic_zero() -> None:
    zero = SymbolicZero.from_primal_value(jnp.ones((2, 3)))
    assert (zero.shape, zero.dtype, zero.ndim, zero.size) == ((2, 3), np.float32, 2, 6)
    assert SymbolicZero.from_primal_value(3).dtype == jax.float0
    assert type(zero_from_primal(2.0, symbolic_zeros=True)) is SymbolicZero
    assert zero_from_primal(3).dtype == jax.float0
    assert zero_from_primal(2.0).weak_type
    zeros = zero_from_primal({"a": (2.0, None), "b": 3})
    assert zeros["a"] == (0.0, None)
    assert zeros["b"].dtype == jax.float0
    assert zero_from_primal(jnp.ones(2)).tolist() == [0.0, 0.0]
    primals = {"a": CustomVJPPrimal(2.0, True), "b": [CustomVJPPrimal(3.0, False)]}
    assert jax.tree.leaves(primals) == [CustomVJPPrimal(2.0, True), CustomVJPPrimal(3.0, False)]
    assert custom_vjp_primal_tree_values(primals) == {"a": 2.0, "b": [3.0]}
    with pytest.raises(TypeError, match="symbolic_zeros"):
        custom_vjp_primal_tree_values({"a": 2.0})


def test_jvp_rule_with_symbolic_zeros() -> None:
    seen: list[Any] = []
    f = jax.custom_jvp(lambda x, y: x * y)

    def rule(primals: Any, tangents: Any) -> Any:
        seen.append([type(t) is SymbolicZero for t in tangents])
        x, y = primals
        return x * y, tangents[0] * y if seen[-1][1] else tangents[1]

    f.defjvp(rule, symbolic_zeros=True)
    assert jax.jvp(lambda x: f(x, 3.0), (2.0,), (1.0,)) == (6.0, 3.0)
    assert jax.jit(jax.grad(lambda x: f(x, 3.0)))(2.0) == 3.0
    assert seen[0] == [False, True]
    returned = jax.custom_jvp(lambda x, y: x * y)
    returned.defjvp(lambda p, t: (p[0] * p[1], t[1]), symbolic_zeros=True)
    assert jax.grad(returned)(2.0, 3.0) == 0.0


def test_zeros_given_to_rules_are_arrays() -> None:
    f = jax.custom_jvp(lambda x, y: x * y)
    f.defjvp(lambda p, t: (p[0] * p[1], t[0] * p[1] + t[1].at[...].add(0.0)))
    assert jax.grad(f)(2.0, 3.0) == 3.0


def test_nondiff_arguments_by_number_and_name() -> None:
    def f(scale: Any, x: Any, y: Any = 1.0) -> Any:
        return x * y

    for options in ({"nondiff_argnums": (0,)}, {"nondiff_argnames": ("scale",)}):
        rule = jax.custom_vjp(f, **options)
        assert rule.nondiff_argnums == (0,)
        rule.defvjp(lambda s, x, y: (x * y, y), lambda s, y, ct: (s("a") * ct * y, None))
        assert jax.grad(lambda x, r=rule: r(len, x))(2.0) == 1.0
        assert jax.grad(lambda x, r=rule: r(x=x, scale=len, y=3.0))(2.0) == 3.0
    jvp_rule = jax.custom_jvp(f, nondiff_argnames=["scale"])
    assert jvp_rule.nondiff_argnames == ("scale",)
    # An array may be one, and for custom_jvp so may a tracer.
    jvp_rule.defjvp(lambda s, p, t: (p[0] * p[1], s.ndim * t[0]))
    assert jax.grad(lambda x: jvp_rule(jnp.ones(2), x))(2.0) == 1.0
    assert jax.jit(jax.grad(lambda x: jvp_rule(x, x)))(2.0) == 0.0


def test_rules_are_no_methods() -> None:
    class Model:
        activation = jax.custom_jvp(lambda x: 2 * x)

    Model.activation.defjvp(lambda p, t: (2 * p[0], 5 * t[0]))
    assert jax.grad(lambda x: Model().activation(x))(1.0) == 5.0


def test_keyword_only_arguments_keep_their_defaults() -> None:
    f = jax.custom_jvp(lambda x, *, k=2.0: x * k)
    f.defjvp(lambda p, t: (p[0], t[0]))
    assert f(3.0) == 6.0
    with pytest.raises(TypeError, match="keyword-only"):
        f(3.0, k=1.0)


def test_optimize_remat_runs_the_function_where_residuals_are_not_needed() -> None:
    f = jax.custom_vjp(jnp.sin)
    forward = lambda x: (jnp.exp(jnp.log(jnp.sin(x))), jnp.cos(x))  # noqa: E731
    f.defvjp(forward, lambda r, ct: (3.0 * ct * r,), optimize_remat=True)
    saved = jax.checkpoint(f)
    first_pass = str(jax.make_jaxpr(lambda x: jax.vjp(saved, x)[0])(1.0))
    assert "sin" in first_pass
    assert "log" not in first_pass
    assert "log" in str(jax.make_jaxpr(lambda x: jax.vjp(f, x)[0])(1.0))
    for g in (f, saved, jax.jit(f), jax.jit(saved)):
        assert np.allclose(jax.grad(g)(1.0), 3 * np.cos(1.0))
        assert np.allclose(jax.grad(jax.grad(g))(1.0), -3 * np.sin(1.0))
        mapped = jax.vmap(jax.grad(g))(jnp.array([0.5, 1.0]))
        np.testing.assert_allclose(mapped, 3 * np.cos([0.5, 1.0]), rtol=1e-6)


TREE = {"a": np.float32(2.0), "b": [np.float32(3.0)]}


def _pulled(backward: Any, *args: Any, forward: Any = None, **options: Any) -> Any:
    args = args or (TREE,)

    def value(d: Any) -> Any:
        return d["a"] * d["b"][0]

    def call() -> Any:
        f = jax.custom_vjp(value)
        f.defvjp(forward or (lambda d: (value(d), d)), backward, **options)
        return jax.grad(f)(*args)

    return call


def test_none_stands_for_the_zero_of_a_part() -> None:
    assert _pulled(lambda d, ct: ({"a": ct, "b": None},))() == {"a": 1.0, "b": [0.0]}
    assert _pulled(lambda d, ct: [None])() == {"a": 0.0, "b": [0.0]}
    assert _pulled(lambda d, ct: (ct,))() == {"a": 1.0, "b": [1.0]}, "a prefix, as in JAX"
    with override(disable_bwd_checks=True):
        loose = _pulled(lambda d, ct: ({"a": jnp.float16(1), "b": [ct]},))()
    assert loose["a"].dtype == np.float16


ERRORS = [
    pytest.param(_pulled(lambda d, ct: None), TypeError, "a tuple with one", id="none"),
    pytest.param(_pulled(lambda d, ct: ()), TypeError, "a tuple with one", id="short"),
    pytest.param(_pulled(lambda d, ct: (ct, ct)), TypeError, "a tuple with one", id="long"),
    pytest.param(
        _pulled(lambda d, ct: ({"a": {"x": ct}, "b": [ct]},)),
        TypeError,
        r"\*\]\},\)\)",
        id="tree for a leaf",
    ),
    pytest.param(_pulled(lambda d, ct: ({"a": ct, "c": ct},)), TypeError, "'c': ", id="other keys"),
    pytest.param(
        _pulled(lambda d, ct: ({"a": ct, "b": [jnp.ones(3)]},)),
        ValueError,
        r"cotangent of d\['b'\]\[0\]",
        id="shape",
    ),
    pytest.param(
        _pulled(lambda d, ct: ({"a": jnp.int32(1), "b": [ct]},)),
        TypeError,
        r"cotangent of d\['a'\]",
        id="dtype",
    ),
    pytest.param(
        _pulled(lambda d, ct: ({"a": "x", "b": [ct]},)), TypeError, "of type str", id="no array"
    ),
    pytest.param(
        _pulled(len, forward=lambda d: d["a"]), TypeError, r"\(result, residuals\)", id="pair"
    ),
    pytest.param(
        lambda: jax.custom_vjp(lambda x: x, nondiff_argnames="y"), ValueError, "names", id="name"
    ),
    pytest.param(
        lambda: jax.custom_jvp(lambda x: x, nondiff_argnums=(-1,)), ValueError, "from 0", id="-1"
    ),
    pytest.param(
        lambda: jax.custom_jvp(lambda s, x: x, nondiff_argnums=(0,)).defjvps(None, None),
        TypeError,
        "defjvp",
        id="defjvps",
    ),
]


@pytest.mark.parametrize(("call", "error", "text"), ERRORS)
def test_errors(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text) as caught:
        call()
    assert "fix:" in str(caught.value)


@pytest.mark.parametrize("wrap", [lambda f: jax.grad(f), jax.jit, lambda f: jax.jit(jax.grad(f))])
@pytest.mark.parametrize("inside", [lambda x: x, lambda x: {"a": [x]}])
def test_tracers_are_refused_among_nondiff_arguments(wrap: Any, inside: Any) -> None:
    f = jax.custom_vjp(lambda s, x: x, nondiff_argnums=(0,))
    f.defvjp(lambda s, x: (x, None), lambda s, r, ct: (ct,))
    with pytest.raises(UnexpectedTracerError, match="nondiff_argnums"):
        wrap(lambda x: f(inside(x), x))(1.0)


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (lambda x: (x,), "structure"),
        (lambda x: jnp.ones(2), "leaf 0"),
        (lambda x: jnp.float16(1), "leaf 0"),
    ],
)
def test_rules_return_what_the_staged_function_returns(result: Any, text: str) -> None:
    by_vjp = jax.custom_vjp(lambda x: x)
    by_vjp.defvjp(lambda x: (result(x), None), lambda r, ct: (ct,))
    by_jvp = jax.custom_jvp(lambda x: x)
    by_jvp.defjvp(lambda p, t: (result(p[0]), result(t[0])))
    for f in (by_vjp, by_jvp):
        with pytest.raises(TypeError, match=text):
            jax.grad(lambda x, f=f: jax.jit(f)(x).sum())(1.0)


def test_forward_mode_is_refused() -> None:
    f = jax.custom_vjp(jnp.sin)
    f.defvjp(lambda x: (jnp.sin(x), x), lambda x, ct: (ct * jnp.cos(x),))
    push = jax.linearize(f, 1.0)[1]
    for call in (
        lambda: jax.jvp(f, (1.0,), (1.0,)),
        lambda: jax.jacfwd(f)(1.0),
        lambda: push(1.0),
        lambda: jax.jit(push)(1.0),
    ):
        with pytest.raises(TypeError, match="custom_vjp rule"):
            call()


@pytest.mark.parametrize("how", ["eager", "jit"])
def test_rules_run_for_cotangents_that_are_zero(how: str) -> None:
    """Rules may give more than a derivative, such as the largest value that was seen."""

    @jax.custom_vjp
    def watched(x: Any) -> Any:
        return 2 * x

    watched.defvjp(lambda x: (2 * x, None), lambda _, ct: (ct + 7.0,))

    @jax.custom_vjp
    def second(x: Any, y: Any) -> Any:
        return 1.0 * y

    second.defvjp(lambda x, y: (1.0 * y, None), lambda _, ct: (None, ct))
    gradient = jax.grad(lambda x: second(watched(x), x))
    assert (jax.jit(gradient) if how == "jit" else gradient)(3.0) == 8.0


def test_rules_see_numbers_of_programs_as_arrays() -> None:
    shapes: list[Any] = []

    @jax.custom_vjp
    def scaled(x: Any, n: Any, flag: Any) -> Any:
        return x * n

    def forward(x: Any, n: Any, flag: Any) -> Any:
        shapes.append((x.shape, n.shape, n.dtype, flag.shape, flag.dtype))
        return x * n, n

    scaled.defvjp(forward, lambda n, ct: (ct * n, None, None))

    @jax.jit
    def program(x: Any) -> Any:
        return scaled(x, jnp.asarray(3), jnp.asarray(True))

    assert jax.grad(program)(2.0) == 3
    assert shapes == [((), (), jnp.int32, (), jnp.bool_)]
