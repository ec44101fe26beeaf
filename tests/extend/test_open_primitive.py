"""`Primitive("name")`: what is missing says so, rules are set one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
from morphax import core, lax
from morphax.core import Effect, ShapedArray
from morphax.extend.core import Primitive
from morphax.interpreters import ad, mlir


class Printed(Effect):
    """An effect of the user."""


def identity_primitive() -> Primitive:
    p = Primitive("same")
    p.def_impl(lambda x: x)
    p.def_abstract_eval(lambda x: x)
    return p


def linear_without_transpose() -> Primitive:
    p = identity_primitive()
    ad.primitive_jvps[p] = lambda primals, tangents: (p.bind(*primals), p.bind(*tangents))
    return p


@pytest.mark.parametrize(
    ("make", "call", "asked_by", "fix"),
    [
        (lambda: Primitive("same"), lambda p: p.bind(1.0), "eager", "primitive.def_impl(function)"),
        (
            lambda: Primitive("same"),
            lambda p: jax.make_jaxpr(p.bind)(1.0),
            "tracing",
            "primitive.def_abstract_eval(rule)",
        ),
        (
            identity_primitive,
            lambda p: jax.jit(p.bind)(1.0),
            "compilation",
            "mlir.register_lowering(primitive, rule)",
        ),
        (
            identity_primitive,
            lambda p: jax.jvp(p.bind, (1.0,), (1.0,)),
            "differentiation",
            "ad.primitive_jvps[primitive] = rule",
        ),
        (
            linear_without_transpose,
            lambda p: jax.grad(p.bind)(1.0),
            "transposition",
            "ad.primitive_transposes[primitive] = rule",
        ),
        (
            identity_primitive,
            lambda p: jax.vmap(p.bind)(np.ones(3)),
            "batching",
            "batching.primitive_batchers[primitive] = rule",
        ),
    ],
)
def test_missing_rule_says_how_to_set_it(
    make: Callable[[], Primitive], call: Callable[[Primitive], Any], asked_by: str, fix: str
) -> None:
    with pytest.raises(NotImplementedError) as caught:
        call(make())
    where, given, _, last = str(caught.value).splitlines()
    assert where.startswith(asked_by)
    assert f" of same (at {call.__code__.co_filename}:" in where
    assert given == "  given:    a program that applies same"
    assert last == f"  fix:      Set it: {fix}."


def test_eager_mode_needs_no_type_rule() -> None:
    p = Primitive("twice")
    p.def_impl(lambda x: 2 * x)
    result = p.bind(3.0)
    assert result == 6.0
    assert isinstance(result, jax.Array)


def test_instances() -> None:
    assert isinstance(lax.sin_p, Primitive)
    assert isinstance(Primitive("p"), core.Primitive)
    assert not isinstance("sin", Primitive)


def test_decorators_return_the_function() -> None:
    p = Primitive("p")

    def rule(x: Any) -> Any:
        return x

    assert p.def_impl(rule) is rule
    assert p.impl is rule
    assert p.def_abstract_eval(rule) is rule
    assert p.def_effectful_abstract_eval(rule) is rule
    assert p.def_effectful_abstract_eval2(rule) is rule


def effectful(define: Callable[[Primitive], Any]) -> Primitive:
    p = identity_primitive()
    define(p)
    mlir.register_lowering(p, lambda ctx, x: [x])
    return p


@pytest.mark.parametrize(
    "define",
    [
        lambda p: p.def_effectful_abstract_eval(lambda x: (x, {Printed()})),
        lambda p: p.def_effectful_abstract_eval2(lambda x: x),
    ],
)
def test_effects(define: Callable[[Primitive], Any]) -> None:
    p = effectful(define)

    def unused(x: Any) -> Any:
        p.bind(x)
        return 2 * x

    jaxpr = jax.make_jaxpr(unused)(1.0)
    core.check_jaxpr(jaxpr)
    assert len(jaxpr.effects) == 1
    assert jaxpr.eqns[0].effects == jaxpr.effects
    assert "same" in jax.jit(unused).lower(1.0).as_text()
    assert jax.jit(unused)(2.0) == 4.0


def test_a_type_rule_without_effects_replaces_one_with_effects() -> None:
    p = effectful(lambda p: p.def_effectful_abstract_eval(lambda x: (x, {Printed()})))
    p.def_abstract_eval(lambda x: x)
    assert not jax.make_jaxpr(p.bind)(1.0).effects


def test_bind_with_trace() -> None:
    p = identity_primitive()
    avals = []

    @p.def_bind_with_trace
    def bind(trace: Any, args: Any, given: Any, params: Any) -> Any:
        avals.extend(given)
        return trace.process_primitive(p, args, params)

    assert p.bind(2.0) == 2.0
    assert str(jax.make_jaxpr(p.bind)(1.0)).count("same") == 1
    assert [a.shape for a in avals] == [(), ()]
    assert lax.neg_p.bind_with_trace(core.root_trace(), (2.0,), (), {}) == -2.0


def test_impl_of_ordinary_primitives() -> None:
    assert lax.neg_p.impl(np.float32(2.0)) == -2.0


def test_types_are_those_of_the_rule() -> None:
    p = Primitive("summary")
    p.multiple_results = True
    p.def_abstract_eval(lambda x: [ShapedArray((), x.dtype), ShapedArray((2,), np.int32)])
    assert jax.eval_shape(p.bind, np.ones(3, np.float32))[1].shape == (2,)
