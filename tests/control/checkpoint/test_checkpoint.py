"""`checkpoint`: changes no value under any transformation, arguments, text, errors, cost."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.ad_checkpoint import checkpoint_name
from morphax.core import check_jaxpr
from tests.sampling import IS_WHOLE
from tests.tracing import work_of
from tests.transforms.small_programs import STEPS, XS, V, X, build, same, scalar

KNOWN = jax.checkpoint_policies
POLICIES = {
    "none": None,
    "everything": KNOWN.everything_saveable,
    "dots": KNOWN.dots_saveable,
    "some": lambda prim, *_, **__: prim.name in ("sin", "mul", "scan"),
}

# What checkpointing must not change: a transformation of f.
OBSERVED: dict[str, Callable[[Callable[[Any], Any]], Any]] = {
    "value": lambda f: f(X),
    "jit": lambda f: jax.jit(f)(X),
    "gradient": lambda f: jax.grad(scalar(f))(X),
    "jit of gradient": lambda f: jax.jit(jax.grad(scalar(f)))(X),
    "gradient of jit": lambda f: jax.grad(jax.jit(scalar(f)))(X),
    "jvp": lambda f: jax.jvp(f, (X,), (V,))[1],
    "linearize": lambda f: jax.linearize(f, X)[1](V),
    "vmap": lambda f: jax.vmap(f)(XS),
    "vmap of gradient": lambda f: jax.vmap(jax.grad(scalar(f)))(XS),
    "gradient of vmap": lambda f: jax.grad(lambda xs: jax.vmap(scalar(f))(xs).sum())(XS),
    "jacfwd": lambda f: jax.jacfwd(f)(X),
    "jacrev": lambda f: jax.jacrev(f)(X),
    "hessian": lambda f: jax.hessian(scalar(f))(X),
    "reverse over reverse": lambda f: jax.jit(jax.jacrev(jax.grad(scalar(f))))(X),
    "gradient of scan": lambda f: jax.grad(
        lambda x: jnp.sum(lax.scan(lambda c, _: (jnp.tanh(f(c)), None), x, None, length=3)[0])
    )(X),
    "gradient of cond": lambda f: jax.grad(
        lambda x: jnp.sum(lax.cond(x[0] > 0, f, lambda x: x * x, x))
    )(X),
    "jvp of while": lambda f: jax.jvp(
        lambda x: lax.while_loop(
            lambda c: c[0] < 3, lambda c: (c[0] + 1, jnp.tanh(f(c[1]))), (0, x)
        ),
        (X,),
        (V,),
    )[1][1],
}


@pytest.mark.parametrize("observe", list(OBSERVED.values()), ids=list(OBSERVED))
@given(steps=STEPS)
@settings(max_examples=6 if IS_WHOLE else 3, deadline=None, derandomize=True)
def test_changes_no_value(observe: Any, steps: Any) -> None:
    f = build(steps)
    with jax.enable_x64(True):
        expected = observe(f)
        for policy in POLICIES.values():
            same(observe(jax.checkpoint(f, policy=policy)), expected)


@given(first=STEPS, second=STEPS)
@settings(max_examples=8, deadline=None, derandomize=True)
def test_nested_checkpoints_change_no_value(first: Any, second: Any) -> None:
    f, g = build(first), build(second)
    with jax.enable_x64(True):
        expected = jax.grad(scalar(lambda x: g(f(x))))(X)
        for outer in POLICIES.values():
            for inner in POLICIES.values():
                nested = jax.checkpoint(
                    lambda x, inner=inner: jax.checkpoint(g, policy=inner)(jax.checkpoint(f)(x)),
                    policy=outer,
                )
                same(jax.grad(scalar(nested))(X), expected)


@given(steps=STEPS)
@settings(max_examples=10, deadline=None, derandomize=True)
def test_transformed_programs_type_check(steps: Any) -> None:
    with jax.enable_x64(True):
        for policy in POLICIES.values():
            f = jax.checkpoint(build(steps), policy=policy)
            check_jaxpr(jax.make_jaxpr(jax.grad(scalar(f)))(X))
            check_jaxpr(jax.make_jaxpr(jax.hessian(scalar(f)))(X))
            check_jaxpr(jax.make_jaxpr(jax.vmap(jax.grad(scalar(f))))(XS))


@jax.custom_jvp
def doubled_sine(x: Any) -> Any:
    """sin with twice its derivative, so that one sees which rule was used."""
    return jnp.sin(x)


doubled_sine.defjvps(lambda t, out, x: 2.0 * t * jnp.cos(x))


@jax.custom_vjp
def tripled_sine(x: Any) -> Any:
    """sin with thrice its cotangent."""
    return jnp.sin(x)


tripled_sine.defvjp(lambda x: (jnp.sin(x), jnp.cos(x)), lambda kept, ct: (3.0 * ct * kept,))


@pytest.mark.parametrize("policy", POLICIES.values(), ids=list(POLICIES))
def test_custom_rules_inside_are_obeyed(policy: Any) -> None:
    f = jax.checkpoint(lambda x: tripled_sine(doubled_sine(x)), policy=policy)
    slope = 6.0 * np.cos(np.sin(0.5)) * np.cos(0.5)
    xs = np.array([0.5, 0.5], np.float32)
    for wrap in (lambda g: g, jax.jit):
        assert np.allclose(wrap(jax.grad(f))(0.5), slope)
        assert np.allclose(wrap(jax.vmap(jax.grad(f)))(xs), slope)
        assert np.allclose(jax.grad(wrap(f))(0.5), slope)


def test_inside_custom_rules() -> None:
    @jax.custom_vjp
    def f(x: Any) -> Any:
        return jnp.sin(x)

    inner = jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)))
    f.defvjp(lambda x: (inner(x), x), lambda x, ct: (ct * jax.grad(inner)(x),))
    assert np.allclose(jax.grad(f)(0.5), jax.grad(inner)(0.5))


def test_collectives_inside() -> None:
    def f(x: Any) -> Any:
        return jnp.sin(x) * lax.psum(jnp.sin(x), "i")

    xs = np.array([0.1, 0.2, 0.3], np.float32)

    def gradient(f: Any) -> Any:
        return jax.grad(lambda xs: jax.vmap(f, axis_name="i")(xs).sum())(xs)

    np.testing.assert_allclose(gradient(jax.checkpoint(f)), gradient(f), rtol=1e-6)


def test_forms_of_arguments() -> None:
    @functools.partial(jax.checkpoint, static_argnums=(1, -1), policy=KNOWN.dots_saveable)
    def f(params: Any, double: bool, x: Any, *, scale: Any = 1.0, negate: bool = False) -> Any:
        """Its docstring."""
        y = params["w"] * jnp.sin(x) * scale
        return {"out": 2.0 * y if double else y}

    assert (f.__name__, f.__doc__) == ("f", "Its docstring.")
    with pytest.raises(TypeError):
        f({"w": 2.0}, True, 0.5, negate="no")

    @functools.partial(jax.remat, static_argnums=(1,))
    def g(params: Any, double: bool, x: Any, scale: Any = 1.0) -> Any:
        y = params["w"] * jnp.sin(x) * scale
        return {"out": (2.0 * y if double else y,)}

    grads = jax.grad(lambda p, x: g(p, True, x, scale=3.0)["out"][0], (0, 1))({"w": 2.0}, 0.5)
    assert np.allclose(grads[0]["w"], 6.0 * np.sin(0.5))
    assert np.allclose(grads[1], 12.0 * np.cos(0.5))
    assert np.allclose(g({"w": 2.0}, False, 0.5)["out"][0], 2.0 * np.sin(0.5))


@pytest.mark.parametrize(
    ("marks", "arguments", "named"),
    [
        ({"static_argnums": 1}, (3.0, [1, 2]), {}),
        ({"static_argnums": (-1,)}, (3.0, (1, 2)), {}),
        ({"static_argnames": "n"}, (3.0,), {"n": (1, 2)}),
        ({"static_argnames": ("n",)}, (), {"x": 3.0, "n": [1, 2]}),
    ],
)
def test_static_arguments(marks: Any, arguments: Any, named: Any) -> None:
    f = jax.checkpoint(lambda x, n: x * x * len(n), **marks)
    assert f(*arguments, **named) == 18.0
    assert jax.grad(lambda s: f(*[s * a if a == 3.0 else a for a in arguments],
                                **{k: s * v if k == "x" else v for k, v in named.items()}))(
        1.0) == 36.0  # fmt: skip


def test_methods_and_wrappers() -> None:
    class Model:
        def __init__(self) -> None:
            self.w = jnp.float32(3.0)

        @jax.checkpoint
        def apply(self, x: Any) -> Any:
            return jnp.sin(x) * 2.0

        @functools.partial(jax.checkpoint, static_argnums=(0,))
        def scaled(self, x: Any) -> Any:
            return jnp.sin(x) * self.w

    model = Model()
    assert np.allclose(jax.grad(model.scaled)(0.5), 3.0 * np.cos(0.5))
    jax.tree_util.register_pytree_node(Model, lambda m: ((), None), lambda *_: model)
    assert np.allclose(jax.grad(model.apply)(0.5), 2.0 * np.cos(0.5))


def test_closures_over_traced_values() -> None:
    def f(x: Any, y: Any) -> Any:
        return jax.checkpoint(lambda z: jnp.sin(x * z) * y)(2.0)

    for wrap in (lambda g: g, jax.jit):
        given = wrap(jax.grad(f, (0, 1)))(0.5, 3.0)
        assert np.allclose(given, (6.0 * np.cos(1.0), np.sin(1.0)))
    mapped = jax.vmap(jax.grad(f), (0, None))(np.array([0.5, 0.5], np.float32), 3.0)
    assert np.allclose(mapped, 6.0 * np.cos(1.0))


def test_integers_and_unused_arguments() -> None:
    f = jax.checkpoint(lambda x, i, unused: jnp.sin(x)[i])
    x = np.array([0.1, 0.2], np.float32)
    dx, di, du = jax.grad(f, (0, 1, 2), allow_int=True)(x, 1, 5.0)
    assert np.allclose(dx, [0.0, np.cos(0.2)])
    assert di.dtype == jax.dtypes.float0
    assert du == 0.0


def test_linear_transpose() -> None:
    assert jax.linear_transpose(jax.checkpoint(lambda x: 3.0 * x), 1.0)(2.0) == (6.0,)


def test_a_function_is_traced_once_per_signature() -> None:
    def rebuilt(x: Any) -> Any:
        for _ in range(3):
            x = jax.checkpoint(lambda x: jnp.sin(x) * 2.0)(x)
        return x

    programs = [eqn.params["jaxpr"] for _ in range(2) for eqn in jax.make_jaxpr(rebuilt)(1.0).eqns]
    assert len(programs) == 6
    assert len(set(programs)) == 1
    (other,) = {eqn.params["jaxpr"] for eqn in jax.make_jaxpr(rebuilt)(X).eqns}
    assert other not in programs


TEXTS = {
    "value": (
        lambda f: f,
        """
        { lambda ; a:f32[]. let
            b:f32[] = remat2[
              differentiated=False
              jaxpr={ lambda ; c:f32[]. let d:f32[] = sin c; e:f32[] = sin d in (e,) }
              policy=None
              prevent_cse=True
            ] a
          in (b,) }""",
    ),
    "gradient": (
        jax.grad,
        """
        { lambda ; a:f32[]. let
            b:f32[] = sin a
            _:f32[] = sin b
            c:f32[] = remat2[
              differentiated=True
              jaxpr={ lambda ; d:f32[] e:f32[]. let
                  f:f32[] = sin d
                  g:f32[] = cos d
                  h:f32[] = cos f
                  i:f32[] = mul e h
                  j:f32[] = mul i g
                in (j,) }
              policy=None
              prevent_cse=True
            ] a 1.0:f32[]
          in (c,) }""",
    ),
    "jvp": (
        lambda f: lambda x: jax.jvp(f, (x,), (1.0,)),
        """
        { lambda ; a:f32[]. let
            b:f32[] c:f32[] = remat2[
              differentiated=False
              jaxpr={ lambda ; d:f32[] e:f32[]. let
                  f:f32[] = sin d
                  g:f32[] = cos d
                  h:f32[] = mul e g
                  i:f32[] = sin f
                  j:f32[] = cos f
                  k:f32[] = mul h j
                in (i, k) }
              policy=None
              prevent_cse=True
            ] a 1.0:f32[]
          in (b, c) }""",
    ),
}


@pytest.mark.parametrize(("transform", "text"), TEXTS.values(), ids=list(TEXTS))
def test_text_is_that_of_jax(transform: Any, text: str) -> None:
    f = transform(jax.checkpoint(lambda x: jnp.sin(jnp.sin(x))))
    assert str(jax.make_jaxpr(f)(1.0)) == inspect.cleandoc(text)


def test_text_of_a_name() -> None:
    named = jax.make_jaxpr(lambda x: checkpoint_name(x, "foo"))(1.0)
    assert str(named) == "{ lambda ; a:f32[]. let b:f32[] = name[name=foo] a in (b,) }"


@pytest.mark.parametrize(
    ("prevent_cse", "operands"),
    [(True, 3), (False, 0), ((True, False), 2), ([False, True], 2), ((False, False), 1)],
    ids=str,
)
def test_barrier_against_merging(prevent_cse: Any, operands: int) -> None:
    f = jax.checkpoint(lambda x, y: jnp.sin(jnp.sin(x["a"] * y)).sum(), prevent_cse=prevent_cse)
    x = np.ones(3, np.float32)
    text = jax.jit(jax.grad(f)).lower({"a": x}, x).as_text()
    barriers = [line for line in text.splitlines() if "optimization_barrier" in line]
    assert len(barriers) == (operands > 0)
    assert sum(line.split("->")[0].count("tensor<") for line in barriers) == operands
    assert text.count("stablehlo.sine") == 1


def test_barriers_of_some_arguments_survive_transformations() -> None:
    f = jax.checkpoint(lambda n, x, y: jnp.sin(x * y) * n, prevent_cse=(True, True, False),
                       static_argnums=(0,))  # fmt: skip
    xs = np.array([0.5, 0.25], np.float32)

    def g(x: Any) -> Any:
        return f(2, x, 3.0)

    plain = jax.hessian(lambda x: jnp.sin(3.0 * x) * 2)
    np.testing.assert_allclose(
        jax.jit(jax.vmap(jax.hessian(g)))(xs), jax.vmap(plain)(xs), rtol=1e-5
    )
    assert np.allclose(jax.jit(jax.grad(jax.grad(g)))(0.5), plain(0.5))
    outer = jax.checkpoint(g, policy=KNOWN.dots_saveable)
    assert np.allclose(jax.jit(jax.grad(jax.grad(outer)))(0.5), plain(0.5))


def chain(count: int) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        for _ in range(count):
            x = jnp.sin(x) * 1.5 + x
        return x

    return f


def _tracing_work(f: Callable[[Any], Any]) -> int:
    jax.clear_caches()
    return work_of(lambda: jax.make_jaxpr(jax.grad(f))(1.0))


@pytest.mark.parametrize("policy", [None, KNOWN.dots_saveable], ids=["none", "dots"])
def test_cost_of_tracing_is_linear(policy: Any) -> None:
    small, large = (_tracing_work(jax.checkpoint(chain(n), policy=policy)) for n in (100, 1000))
    assert large < 11 * small, "ten times the program"
    assert large < 4 * _tracing_work(chain(1000)), "staged, divided, transposed"


ERRORS = [
    pytest.param(lambda: jax.checkpoint(3), TypeError, "a callable", id="callable"),
    pytest.param(
        lambda: jax.checkpoint(jnp.sin, concrete=True),
        NotImplementedError,
        "concrete",
        id="concrete",
    ),
    pytest.param(
        lambda: jax.remat(jnp.sin, concrete=False), NotImplementedError, "removed", id="remat"
    ),
    pytest.param(
        lambda: jax.checkpoint(lambda x: x, static_argnums=5)(1.0),
        ValueError,
        r"number 5 in a call with 1 positional(.|\n)*from -1 to 0",
        id="static number",
    ),
    pytest.param(
        lambda: jax.checkpoint(lambda name, x: x)("relu", 1.0),
        TypeError,
        r"argument name(.|\n)*'relu' of type str",
        id="argument",
    ),
    pytest.param(
        lambda: jax.checkpoint(lambda x: "text")(1.0), TypeError, "checkpoint, result", id="result"
    ),
    pytest.param(
        lambda: jax.checkpoint(lambda x: x if x > 0 else -x)(1.0),
        jax.errors.TracerBoolConversionError,
        "traced by checkpoint",
        id="control flow",
    ),
    pytest.param(
        lambda: jax.checkpoint(lambda x, y: x, prevent_cse=(True,))(1.0, 2.0),
        ValueError,
        "argument prevent_cse",
        id="prevent_cse",
    ),
]


@pytest.mark.parametrize(("call", "error", "text"), ERRORS)
def test_errors(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text) as caught:
        call()
    assert "fix:" in str(caught.value)
