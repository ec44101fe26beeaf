"""Primitives that apply a function: eager, staged, transformed, compiled."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import core
from morphax.extend.core import CallPrimitive, Primitive, call_impl
from morphax.extend.core.primitives import call_p, closed_call_p, jit_p
from morphax.extend.linear_util import wrap_init
from morphax.interpreters import mlir, partial_eval

VECTOR = np.array([0.5, 1.0, 2.0], np.float32)
WAYS = [
    ("eager", lambda f, x: f(x)),
    ("jit", lambda f, x: jax.jit(f)(x)),
    ("vmap", lambda f, x: jax.vmap(f)(x)),
    ("jit of vmap", lambda f, x: jax.jit(jax.vmap(f))(x)),
    ("jvp", lambda f, x: jax.jvp(f, (x,), (x,))[1]),
    ("grad", lambda f, x: jax.vmap(jax.grad(f))(x)),
    ("jit of grad", lambda f, x: jax.jit(jax.vmap(jax.grad(f)))(x)),
    ("grad of jit", lambda f, x: jax.vmap(jax.grad(jax.jit(f)))(x)),
    ("grad of grad", lambda f, x: jax.vmap(jax.grad(jax.grad(f)))(x)),
    ("scan", lambda f, x: jax.lax.scan(lambda c, y: (c, f(y)), 0.0, x)[1]),
    ("eval_jaxpr", lambda f, x: core.eval_jaxpr(jax.make_jaxpr(f)(x), (), x)[0]),
]


def own_primitive() -> CallPrimitive:
    p = CallPrimitive("own")
    p.def_impl(call_impl)
    mlir.register_lowering(p, partial(mlir.core_call_lowering, name="own"))
    return p


def plain(x: Any) -> Any:
    return jnp.sin(x) * x


@pytest.mark.parametrize("p", [call_p, closed_call_p, own_primitive()], ids=str)
@pytest.mark.parametrize(("name", "way"), WAYS, ids=[name for name, _ in WAYS])
def test_a_call_is_what_its_function_is(p: Any, name: str, way: Any) -> None:
    def called(x: Any) -> Any:
        return p.bind(x, subfuns=(wrap_init(lambda y: [plain(y)]),))[0]

    np.testing.assert_allclose(way(called, VECTOR), way(plain, VECTOR), rtol=1e-6)


def test_tracers_that_the_function_closes_over() -> None:
    def scaled(x: Any, k: Any) -> Any:
        return call_p.bind(x, subfuns=(wrap_init(lambda y: [y * k]),))[0]

    assert jax.grad(scaled, argnums=(0, 1))(2.0, 3.0) == (3.0, 2.0)
    assert jax.jit(jax.grad(scaled, argnums=1))(2.0, 3.0) == 2.0


def test_the_equation() -> None:
    function = wrap_init(lambda x: [jnp.sin(x), x])
    program = jax.make_jaxpr(lambda x: call_p.bind(x, subfuns=(function,), name="f"))(1.0)
    (eqn,) = program.eqns
    assert set(eqn.params) == {"call_jaxpr", "name"}
    again = eqn.primitive.get_bind_params(eqn.params)
    assert set(again) == {"subfuns", "name"}
    np.testing.assert_allclose(eqn.primitive.bind(1.0, **again)[0], np.sin(1.0), rtol=1e-6)
    core.check_jaxpr(program)


def test_eager_mode_runs_the_implementation() -> None:
    p, seen = CallPrimitive("own"), []

    @p.def_impl
    def impl(function: Any, *args: Any, **params: Any) -> Any:
        seen.append(params)
        return function.call_wrapped(*args)

    assert p.bind(3.0, subfuns=(wrap_init(lambda x: [2 * x]),), level=1) == [6.0]
    assert seen == [{"level": 1}]
    jax.vmap(lambda x: p.bind(x, subfuns=(wrap_init(lambda y: [2 * y]),), level=2)[0])(VECTOR)
    assert seen[1:] == [{"level": 2}]


def test_missing_rules_say_how_to_set_them() -> None:
    p = CallPrimitive("bare")
    function = wrap_init(lambda x: [x])
    with pytest.raises(NotImplementedError, match=r"primitive\.def_impl"):
        p.bind(1.0, subfuns=(function,))
    with pytest.raises(NotImplementedError, match="register_lowering"):
        jax.jit(lambda x: p.bind(x, subfuns=(function,)))(1.0)


def test_what_nothing_uses_is_left_out_of_the_program() -> None:
    function = wrap_init(lambda x, y: [2 * x, 3 * y])
    program = jax.make_jaxpr(lambda x, y: call_p.bind(x, y, subfuns=(function,)))(1.0, 2.0)
    smaller, used = partial_eval.dce_jaxpr(program, [True, False])
    assert used == [True, False]
    (eqn,) = smaller.eqns
    assert len(eqn.params["call_jaxpr"].eqns) == 1
    core.check_jaxpr(smaller)
    assert core.eval_jaxpr(smaller, (), 4.0) == [8.0]
    assert partial_eval.dce_jaxpr_closed_call_rule([False, False], program.eqns[0]) == (
        [False, False],
        None,
    )


def test_kinds_of_primitives() -> None:
    p = own_primitive()
    assert isinstance(p, CallPrimitive)
    assert isinstance(jit_p, Primitive)
    assert not isinstance(jit_p, CallPrimitive)
    assert (p.call_primitive, p.multiple_results, jit_p.call_primitive) == (True, True, False)


@pytest.mark.parametrize(
    ("primitive", "params", "expected"),
    [
        (jax.lax.sin_p, {}, None),
        (Primitive("bare"), {}, None),
        (jit_p, {"jaxpr": jax.make_jaxpr(jnp.sin)(1.0)}, False),
        (jit_p, {"jaxpr": jax.make_jaxpr(lambda x: jax.debug.print("{}", x))(1.0)}, True),
    ],
    ids=str,
)
def test_whether_an_application_has_effects(primitive: Any, params: Any, expected: Any) -> None:
    tells = primitive.is_effectful
    assert tells is expected if expected is None else tells(params) is expected


def test_effects_by_operands() -> None:
    p = Primitive("effectful")
    p.def_effectful_abstract_eval(lambda x: (x, {core.IOEffect()}))
    assert p.is_effectful({})


def test_no_types_of_users() -> None:
    assert not jax.lax.sin_p.is_high(core.ShapedArray((), np.float32))
    np.testing.assert_allclose(jax.lax.sin_p.to_lojax(1.0), np.sin(1.0), rtol=1e-6)
    assert not jax.make_jaxpr(jnp.sin)(1.0).is_high
