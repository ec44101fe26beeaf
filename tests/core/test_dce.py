"""Dead code elimination keeps what results and effects depend on."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from morphax import lax
from morphax.core import DebugEffect, Effects, Jaxpr, Primitive, check_jaxpr
from morphax.core.dce import eliminate_dead_code
from morphax.transforms.make_jaxpr import make_jaxpr


@final
class Announce(Primitive):
    """Has an effect and no result."""

    name = "announce"
    multiple_results = True

    def abstract_eval(self, x: Any) -> list[Any]:
        return []

    def effects(self) -> Effects:
        return frozenset({DebugEffect()})


announce_p = Announce()
CONSTANTS = np.ones(3, np.float32), np.zeros(3, np.float32)


def names(jaxpr: Jaxpr) -> list[str]:
    return [eqn.primitive.name for eqn in jaxpr.eqns]


def example() -> Jaxpr:
    def function(x: Any, y: Any, z: Any) -> Any:
        first = lax.add(lax.sin(x), CONSTANTS[0])
        second = lax.mul(lax.cos(y), CONSTANTS[1])
        lax.neg(z)
        return first, second, 1.0

    return make_jaxpr(function)(*CONSTANTS, 1.0)


def test_equations_without_use_are_dropped() -> None:
    jaxpr = example()
    smaller, used = eliminate_dead_code(jaxpr)
    check_jaxpr(smaller)
    assert names(jaxpr) == ["sin", "add", "cos", "mul", "neg"]
    assert names(smaller) == ["sin", "add", "cos", "mul"]
    assert used == [True, True, False]
    assert smaller.invars == jaxpr.invars
    assert smaller.outvars == jaxpr.outvars
    assert len(smaller.consts) == 2


def test_results_that_are_not_used() -> None:
    jaxpr = example()
    smaller, used = eliminate_dead_code(jaxpr, [False, True, False])
    check_jaxpr(smaller)
    assert names(smaller) == ["cos", "mul"]
    assert used == [False, True, False]
    assert smaller.outvars == jaxpr.outvars[1:2]
    assert smaller.consts[0] is CONSTANTS[1]
    assert len(smaller.constvars) == len(smaller.consts) == 1


def test_nothing_used() -> None:
    smaller, used = eliminate_dead_code(example(), [False] * 3)
    assert smaller.eqns == smaller.outvars == smaller.consts == ()
    assert used == [False] * 3


def test_literal_results() -> None:
    smaller, used = eliminate_dead_code(example(), [False, False, True])
    assert str(smaller) == ("{ lambda ; a:f32[3] b:f32[3] c:f32[]. let  in (1.0:f32[],) }")
    assert used == [False] * 3


def test_effects_stay_and_keep_their_operands() -> None:
    def function(x: Any, y: Any) -> Any:
        announce_p.bind(lax.sin(x))
        lax.cos(y)
        return ()

    smaller, used = eliminate_dead_code(make_jaxpr(function)(1.0, 2.0))
    check_jaxpr(smaller)
    assert names(smaller) == ["sin", "announce"]
    assert used == [True, False]


def test_one_used_result_keeps_an_equation() -> None:
    jaxpr = make_jaxpr(lambda x: lax.split(x, (1, 2))[0])(CONSTANTS[0])
    smaller, _ = eliminate_dead_code(jaxpr)
    check_jaxpr(smaller)
    assert len(smaller.eqns[0].outvars) == 2


def test_the_program_itself_stays() -> None:
    jaxpr = example()
    text = str(jaxpr)
    eliminate_dead_code(jaxpr, [False] * 3)
    assert str(jaxpr) == text
