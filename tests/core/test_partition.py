"""Partition of a program between two passes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

import morphax as jax
import morphax.numpy as jnp
from morphax.core import Equation, Jaxpr, check_jaxpr
from morphax.core.partition import Partition, needed, partition, program
from morphax.transforms.known_parts import dependence

CONSTANT = np.ones(3, np.float32)


def example() -> Jaxpr:
    def f(x: Any, y: Any) -> Any:
        a = jnp.sin(x)
        b = jnp.cos(a)
        return a * CONSTANT, b * y, jnp.exp(y)

    return jax.make_jaxpr(f)(CONSTANT, CONSTANT)


def names(eqns: Iterable[Equation]) -> list[str]:
    return [eqn.primitive.name for eqn in eqns]


def repeated(eqn: Equation, live: Sequence[bool], asked: Sequence[bool]) -> Partition:
    return Partition((eqn,) if any(live) else (), (eqn,))


def test_what_the_second_pass_asks_for_is_saved() -> None:
    jaxpr = example()
    parts = partition(jaxpr, jaxpr.outvars[:1], jaxpr.outvars[1:2])
    assert names(parts.first) == ["sin", "cos", "mul", "mul"]
    assert parts.second == ()
    assert parts.saved == jaxpr.outvars[1:2]


def test_what_the_second_pass_asks_for_is_repeated() -> None:
    jaxpr = example()
    parts = partition(jaxpr, jaxpr.outvars[:1], jaxpr.outvars[1:2], divide=repeated)
    assert names(parts.first) == ["sin", "mul"]
    assert names(parts.second) == ["sin", "cos", "mul"]
    assert parts.saved == ()


def test_both_passes_are_programs_with_the_constants_that_they_need() -> None:
    jaxpr = example()
    live, asked = jaxpr.outvars[:1], jaxpr.outvars[1:2]

    def cos_is_saved(eqn: Equation, live: Sequence[bool], asked: Sequence[bool]) -> Partition:
        if eqn.primitive.name == "cos":
            return Partition((eqn,), (), eqn.outvars)
        return repeated(eqn, live, asked)

    parts = partition(jaxpr, live, asked, divide=cos_is_saved)
    first = program(jaxpr, parts.first, jaxpr.invars, (*live, *parts.saved))
    second = program(jaxpr, parts.second, (*jaxpr.invars, *parts.saved), asked)
    check_jaxpr(first)
    check_jaxpr(second)
    assert names(second.eqns) == ["mul"]
    assert (len(first.consts), len(second.consts)) == (1, 0)
    assert needed(jaxpr.invars, parts.second, asked) == [False, True]


def test_equations_that_wait_go_to_the_second_pass() -> None:
    jaxpr = example()
    waiting = dependence(jaxpr, (False, True))
    asked = [a for a in jaxpr.outvars if a in waiting.variables]
    parts = partition(jaxpr, (), asked, waiting.equations)
    assert names(parts.first) == ["sin", "cos"]
    assert names(parts.second) == ["mul", "exp"]


def test_the_known_part_of_what_waits_is_carried_out_if_it_is_read() -> None:
    def f(x: Any, y: Any) -> Any:
        known, unknown = jax.jit(lambda x, y: (jnp.sin(x), x * y))(x, y)
        return jnp.cos(known), unknown

    jaxpr = jax.make_jaxpr(f)(1.0, 2.0)
    waiting = dependence(jaxpr, (False, True))
    assert [a in waiting.variables for a in jaxpr.outvars] == [False, True]
    parts = partition(jaxpr, jaxpr.outvars[:1], jaxpr.outvars[1:], waiting.equations)
    assert names(parts.first) == ["jit", "cos"]
    assert names(parts.first[0].params["jaxpr"].eqns) == ["sin"]
    assert names(parts.second) == ["jit"]
    assert partition(jaxpr, (), jaxpr.outvars[1:], waiting.equations).first == ()


def test_effects_of_what_waits_happen_once() -> None:
    def f(x: Any, y: Any) -> Any:
        def body(x: Any, y: Any) -> Any:
            jax.debug.print("{}", x)
            return x * 2.0, x * y

        return jax.jit(body)(x, y)[1]

    jaxpr = jax.make_jaxpr(f)(1.0, 2.0)
    waiting = dependence(jaxpr, (False, True)).equations
    both = partition(jaxpr, (), jaxpr.outvars, waiting)
    assert (names(both.first), names(both.second)) == ([], ["jit"])
    known = partition(jaxpr, (), (), waiting)
    assert (names(known.first), names(known.second)) == (["jit"], [])
