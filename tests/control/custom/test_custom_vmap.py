"""custom_vmap: what the rule gets and returns, derivatives, closures; sequential_vmap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.core import check_jaxpr
from morphax.custom_batching import custom_vmap, sequential_vmap

X = np.array([0.5, -1.0, 2.0], np.float32)
Y = np.array([1.0, 2.0, 3.0], np.float32)


def sine_or_cosine(calls: list[Any] | None = None) -> Any:
    """sin x · y, whose batching computes cos x · y instead."""

    @custom_vmap
    def f(x: Any, y: Any) -> Any:
        return jnp.sin(x) * y

    @f.def_vmap
    def rule(axis_size: int, in_batched: list[bool], x: Any, y: Any) -> tuple[Any, bool]:
        if calls is not None:
            calls.append((axis_size, in_batched, np.shape(x), np.shape(y)))
        return jnp.cos(x) * y, True

    return f


def same(given: Any, expected: Any) -> None:
    np.testing.assert_allclose(given, expected, rtol=2e-6, atol=1e-6)


def test_without_a_batch_the_function_runs() -> None:
    calls: list[Any] = []
    f = sine_or_cosine(calls)
    same(f(X, Y), np.sin(X) * Y)
    same(jax.jit(f)(X, Y), np.sin(X) * Y)
    same(jax.grad(f)(0.5, 2.0), 2 * np.cos(0.5))
    same(jax.jit(jax.grad(f))(0.5, 2.0), 2 * np.cos(0.5))
    same(jax.jit(lambda y: jax.jvp(f, (0.5, y), (0.0, 1.0))[1])(2.0), np.sin(0.5))
    same(lax.map(lambda x: f(x, 2.0), X), 2 * np.sin(X))
    assert calls == []


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: jax.vmap(f),
        lambda f: jax.jit(jax.vmap(f)),
        lambda f: jax.vmap(jax.jit(f)),
        lambda f: jax.vmap(lambda x, y: f(x, y=y)),
        lambda f: jax.vmap(lambda x, y: lax.cond(x > -9, f, lambda x, y: x, x, y)),
        lambda f: jax.vmap(lambda x, y: lax.scan(lambda c, _: (c, f(x, y)), 0, None, 1)[1][0]),
        lambda f: jax.vmap(jax.checkpoint(f)),
    ],
    ids=["vmap", "jit of vmap", "vmap of jit", "keywords", "cond", "scan", "checkpoint"],
)
def test_the_rule_is_used_wherever_there_is_a_batch(transform: Any) -> None:
    same(transform(sine_or_cosine())(X, Y), np.cos(X) * Y)


def test_what_the_rule_gets() -> None:
    calls: list[Any] = []
    f = sine_or_cosine(calls)
    xs = np.ones((2, 3), np.float32)
    same(jax.vmap(f, in_axes=(1, None))(xs, 4.0), 4 * np.cos(xs.T))
    assert calls == [(3, [True, False], (3, 2), ())]
    calls.clear()
    jax.vmap(jax.vmap(f), in_axes=(0, None))(xs, X)
    assert calls == [(3, [True, True], (3,), (3,))]
    calls.clear()
    same(jax.vmap(lambda x: x + f(1.0, 2.0))(X), X + 2 * np.sin(1.0))
    assert calls == []


def test_trees() -> None:
    seen = []

    @custom_vmap
    def f(x: Any, tree: Any) -> Any:
        return {"product": x * tree["k"], "k": tree["k"]}

    @f.def_vmap
    def rule(axis_size: int, in_batched: Any, x: Any, tree: Any) -> Any:
        seen.append(in_batched)
        flags = {"product": True, "k": in_batched[1]["k"]}
        return {"product": x * tree["k"] + 1, "k": tree["k"]}, flags

    out = jax.vmap(f, in_axes=(0, None), out_axes={"product": 0, "k": None})(X, {"k": 2.0})
    same(out["product"], 2 * X + 1)
    assert out["k"] == 2.0
    same(jax.vmap(f)(X, {"k": Y})["product"], X * Y + 1)
    assert seen == [[True, {"k": False}], [True, {"k": True}]]


DERIVATIVES = {
    "grad of vmap": lambda f: jax.grad(lambda x: jax.vmap(f)(x, Y).sum())(X),
    "vmap of grad": lambda f: jax.vmap(jax.grad(f))(X, Y),
    "vmap of grad, shared": lambda f: jax.vmap(jax.grad(f), (0, None))(X, 1.0) * Y,
    "jit of vmap of grad": lambda f: jax.jit(jax.vmap(jax.grad(f)))(X, Y),
    "vmap of jit of grad": lambda f: jax.vmap(jax.jit(jax.grad(f)))(X, Y),
    "vmap of jvp": lambda f: jax.vmap(lambda x, y: jax.jvp(lambda x: f(x, y), (x,), (1.0,))[1])(
        X, Y
    ),
    "jvp of vmap": lambda f: jax.jvp(lambda x: jax.vmap(f)(x, Y), (X,), (np.ones_like(X),))[1],
    "vmap of vjp of jit": lambda f: jax.vmap(
        lambda x, y: jax.vjp(jax.jit(f), x, y)[1](np.float32(1))[0]
    )(X, Y),
    "vmap of grad of checkpoint": lambda f: jax.vmap(jax.grad(jax.checkpoint(f)))(X, Y),
}


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives_of_a_batch_are_those_of_the_rule(name: str) -> None:
    same(DERIVATIVES[name](sine_or_cosine()), -np.sin(X) * Y)


def test_second_derivatives() -> None:
    f = sine_or_cosine()
    expected = -np.cos(X) * Y
    same(jax.vmap(jax.grad(jax.grad(f)))(X, Y), expected)
    same(jax.vmap(jax.jacfwd(jax.grad(f)))(X, Y), expected)
    same(jax.hessian(lambda x: jax.vmap(f)(x, Y).sum())(X), np.diag(expected))


def test_cotangents_of_shared_arguments_are_summed() -> None:
    f = sine_or_cosine()
    same(jax.grad(lambda y: jax.vmap(f, (0, None))(X, y).sum())(2.0), np.cos(X).sum())


def test_a_batched_tangent_of_a_shared_primal() -> None:
    f = sine_or_cosine()
    out, tangent = jax.vmap(lambda t: jax.jvp(f, (0.5, 2.0), (t, 0.0)))(X)
    same(out, np.full(3, 2 * np.cos(0.5)))
    same(tangent, -2 * np.sin(0.5) * X)


def test_results_that_are_equal_for_all_members() -> None:
    @custom_vmap
    def f(x: Any, y: Any) -> Any:
        return x * 2, y * y

    @f.def_vmap
    def rule(axis_size: int, in_batched: list[bool], x: Any, y: Any) -> Any:
        return (x * 3, y * y), (True, in_batched[1])

    grads = jax.vmap(jax.grad(lambda x, y: sum(f(x, y)), (0, 1)), (0, None))(X, 2.0)
    same(grads[0], np.full(3, 3.0))
    same(grads[1], np.full(3, 4.0))


def test_integers_have_no_tangents() -> None:
    @custom_vmap
    def f(i: Any, x: Any) -> Any:
        return i + 1, x * i

    f.def_vmap(lambda n, batched, i, x: ((i + 1, 5 * x * i), (batched[0], True)))
    same(jax.vmap(jax.grad(lambda x, i: f(i, x)[1]))(X, np.arange(3)), 5 * np.arange(3))


def test_linear_functions_have_a_transpose() -> None:
    f = custom_vmap(lambda x: 2 * x)
    f.def_vmap(lambda n, batched, x: (3 * x, True))
    transposed = lambda y: jax.linear_transpose(f, 1.0)(y)[0]  # noqa: E731
    assert transposed(1.0) == 2.0
    same(jax.vmap(transposed)(X), 3 * X)


def scaled_by(c: Any) -> Any:
    f = custom_vmap(lambda x: x * c)
    f.def_vmap(lambda n, batched, x: (x * c + 1, True))
    return f


def test_closures() -> None:
    same(jax.jit(lambda c: scaled_by(c)(2.0))(3.0), 6.0)
    same(jax.jit(lambda c: jax.vmap(scaled_by(c))(X))(3.0), 3 * X + 1)
    same(jax.grad(lambda c: jax.vmap(scaled_by(c))(X).sum())(3.0), X.sum())
    same(jax.jit(jax.grad(lambda c: scaled_by(c)(2.0)))(3.0), 2.0)


def test_a_batched_closure_is_refused() -> None:
    with pytest.raises(ValueError, match=r"closes over a value under vmap(.|\n)*as an argument"):
        jax.vmap(lambda c: scaled_by(c)(2.0))(X)


def test_collectives_in_the_function() -> None:
    f = custom_vmap(lambda x: lax.psum(x, "i"))
    f.def_vmap(lambda n, batched, x: (x.sum(), False))
    assert jax.vmap(f, axis_name="i", out_axes=None)(X) == X.sum()


def test_the_printed_equation() -> None:
    """Recorded from JAX 0.10.1, the address of the rule aside."""
    text = str(jax.make_jaxpr(sine_or_cosine())(1.0, 2.0))
    assert " ".join(text.split()).replace("sine_or_cosine.<locals>.", "") == (
        "{ lambda ; a:f32[] b:f32[]. let c:f32[] = custom_vmap_call[ "
        "call={ lambda ; d:f32[] e:f32[]. let f:f32[] = sin d g:f32[] = mul f e in (g,) } "
        "in_tree=PyTreeDef(([], (*, *))) out_tree=PyTreeDef(*) "
        "rule=<function rule at 0xXXXXXXXXXXXX> ] a b in (c,) }"
    )


def test_programs_are_well_typed() -> None:
    f = sine_or_cosine()
    for g in (f, jax.grad(f), jax.grad(jax.grad(f)), lambda x, y: jax.jvp(f, (x, y), (y, x))):
        check_jaxpr(jax.make_jaxpr(g)(1.0, 2.0))
        check_jaxpr(jax.make_jaxpr(jax.vmap(g))(X, Y))


def test_attributes() -> None:
    f = sine_or_cosine()
    assert f.__name__ == "f"
    assert f.fun(0.0, 1.0) == 0.0
    assert f.vmap_rule.__name__ == "rule"
    assert custom_vmap(lambda x: x).vmap_rule is None


def ruled(returned: Any) -> Any:
    f = custom_vmap(lambda x: {"a": x, "b": x})
    f.def_vmap(lambda n, batched, x: returned(x))
    return lambda: jax.vmap(f)(X)


ERRORS = [
    pytest.param(lambda: custom_vmap(lambda x: x)(1.0), AttributeError, "def_vmap", id="no rule"),
    pytest.param(ruled(lambda x: x), ValueError, "a pair", id="no pair"),
    pytest.param(
        ruled(lambda x: ([x, x], [True, True])), ValueError, "a result of structure", id="result"
    ),
    pytest.param(
        ruled(lambda x: ({"a": x, "b": x}, True)), ValueError, "flags of structure", id="flags"
    ),
    pytest.param(
        ruled(lambda x: ({"a": x, "b": x[:2]}, {"a": True, "b": True})),
        ValueError,
        r"result\['b'\](.|\n)*float32\[2\](.|\n)*float32\[3\], for a leaf that is batched",
        id="size",
    ),
    pytest.param(
        ruled(lambda x: ({"a": x, "b": x}, {"a": False, "b": True})),
        ValueError,
        r"result\['a'\](.|\n)*float32\[\], for a leaf that is the same",
        id="flag",
    ),
    pytest.param(
        ruled(lambda x: ({"a": x, "b": x > 0}, {"a": True, "b": True})),
        TypeError,
        r"result\['b'\](.|\n)*bool\[3\]",
        id="dtype",
    ),
    pytest.param(
        ruled(lambda x: ({"a": x, "b": "text"}, {"a": True, "b": True})),
        TypeError,
        "'text'",
        id="no array",
    ),
    pytest.param(lambda: sine_or_cosine()("a", 1.0), TypeError, "argument x", id="argument"),
    pytest.param(lambda: sine_or_cosine()(1.0), TypeError, "'y'", id="missing argument"),
]


@pytest.mark.parametrize(("call", "error", "text"), ERRORS)
def test_errors(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_sequential_vmap_runs_one_member_after_another() -> None:
    f = sequential_vmap(lambda x, t: {"out": jnp.sin(x) * t["k"]})
    assert f.__class__ is custom_vmap
    same(jax.vmap(f)(X, {"k": Y})["out"], np.sin(X) * Y)
    same(jax.vmap(f, (0, None))(X, {"k": 2.0})["out"], np.sin(X) * 2)
    twice = jax.vmap(jax.vmap(f, (None, 0)), (0, None))
    same(twice(X, {"k": Y})["out"], np.outer(np.sin(X), Y))
    text = str(jax.make_jaxpr(jax.vmap(f, (0, None)))(X, {"k": 2.0}))
    assert "scan[" in text
    assert "num_consts=1" in text


def test_derivatives_of_a_sequential_function() -> None:
    f = sequential_vmap(lambda x: jnp.sin(x))
    same(jax.vmap(jax.grad(f))(X), np.cos(X))
    same(jax.jit(jax.vmap(jax.grad(f)))(X), np.cos(X))
    same(jax.jit(jax.grad(lambda x: jax.vmap(f)(x).sum()))(X), np.cos(X))


def test_a_sequential_function_may_call_back_to_python() -> None:
    seen: list[float] = []

    def note(x: Any) -> None:
        seen.append(float(x))

    @sequential_vmap
    def f(x: Any) -> Any:
        jax.debug.callback(note, x, ordered=True)
        return x

    jax.block_until_ready(jax.vmap(f)(X))
    jax.effects_barrier()
    assert seen == X.tolist()
