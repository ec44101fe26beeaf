"""Staging functions, in whole and in part; dead code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.core import ShapedArray, check_jaxpr, close
from morphax.extend import linear_util
from morphax.extend.core import Primitive
from morphax.interpreters import ad
from morphax.interpreters import partial_eval as pe

VECTOR = ShapedArray((3,), np.float32)
SCALAR = ShapedArray((), np.float32)
NUMBERS = jnp.arange(3.0)


def products(x: Any, y: Any) -> list[Any]:
    return [x * y, jnp.sin(x)]


def shifted(x: Any) -> list[Any]:
    return [x * NUMBERS, x + 1.0]


@pytest.mark.parametrize("function", [products, linear_util.wrap_init(products)])
def test_staging(function: Any) -> None:
    jaxpr, out_avals, consts = pe.trace_to_jaxpr_dynamic(function, [VECTOR, VECTOR])
    check_jaxpr(jaxpr)
    assert str(jaxpr) == str(jax.make_jaxpr(products)(NUMBERS, NUMBERS))
    assert (out_avals, consts) == ([VECTOR, VECTOR], [])


def test_constants_are_handed_over() -> None:
    jaxpr, _, consts = pe.trace_to_jaxpr_dynamic(shifted, [VECTOR])
    assert consts == [NUMBERS] or consts[0] is NUMBERS
    first, _ = jax.core.eval_jaxpr(jaxpr, consts, NUMBERS)
    np.testing.assert_array_equal(first, NUMBERS * NUMBERS)
    check_jaxpr(close(jaxpr, consts))


def test_options_of_staging() -> None:
    def wasteful(x: Any, y: Any) -> list[Any]:
        _ = jnp.cos(x) * NUMBERS
        return [x]

    jaxpr, _, consts = pe.trace_to_jaxpr_dynamic(wasteful, [VECTOR, VECTOR], auto_dce=True)
    assert (jaxpr.eqns, consts) == ((), [])
    jaxpr, _, _ = pe.trace_to_jaxpr_dynamic(wasteful, [VECTOR] * 2, keep_inputs=[True, False])
    assert len(jaxpr.invars) == 1


@pytest.mark.parametrize(
    ("used", "instantiate", "kept", "primitives"),
    [
        ([True, False], False, [True, True], ["mul"]),
        ([False, True], False, [True, False], ["sin"]),
        ([False, True], True, [True, True], ["sin"]),
        ([False, True], [False, True], [True, True], ["sin"]),
        (True, False, [True, True], ["mul", "sin"]),
        (False, False, [False, False], []),
    ],
)
def test_dead_code(used: Any, instantiate: Any, kept: list[bool], primitives: list[str]) -> None:
    jaxpr, _, _ = pe.trace_to_jaxpr_dynamic(products, [VECTOR, VECTOR])
    smaller, takes = pe.dce_jaxpr(jaxpr, used, instantiate)
    check_jaxpr(smaller)
    assert takes == kept
    assert len(smaller.invars) == sum(kept)
    assert [eqn.primitive.name for eqn in smaller.eqns] == primitives


@pytest.mark.parametrize(("used", "kept"), [([True, False], [True]), ([False, True], [False])])
def test_dead_constants(used: list[bool], kept: list[bool]) -> None:
    jaxpr, _, _ = pe.trace_to_jaxpr_dynamic(shifted, [VECTOR])
    smaller, consts, inputs = pe.dce_jaxpr_consts(jaxpr, used)
    assert (consts, inputs) == (kept, [True])
    assert len(smaller.constvars) == sum(kept)


def test_dead_code_of_an_open_program() -> None:
    jaxpr, _, _ = pe.trace_to_jaxpr_dynamic(shifted, [VECTOR])
    with pytest.raises(ValueError, match="1 constants that have no values"):
        pe.dce_jaxpr(jaxpr, [True, True])


def test_known_arguments_are_computed_with() -> None:
    known, unknown = pe.PartialVal.known(np.float32(2.0)), pe.PartialVal.unknown(SCALAR)
    jaxpr, outs, consts = pe.trace_to_jaxpr_nounits(products, [known, unknown])
    assert [out.is_known() for out in outs] == [False, True]
    np.testing.assert_allclose(outs[1].get_known(), np.sin(2.0), rtol=1e-6)
    assert [out.get_aval().shape for out in outs] == [(), ()]
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["mul"]
    assert jax.core.eval_jaxpr(jaxpr, consts, 5.0) == [10.0]


def test_known_results_can_be_staged() -> None:
    known, unknown = pe.PartialVal.known(np.float32(2.0)), pe.PartialVal.unknown(SCALAR)
    jaxpr, outs, consts = pe.trace_to_jaxpr_nounits(products, [known, unknown], instantiate=True)
    assert not any(out.is_known() for out in outs)
    assert len(jax.core.eval_jaxpr(jaxpr, consts, 5.0)) == 2


def test_rules_of_dead_code_elimination() -> None:
    p = Primitive("pair")
    p.multiple_results = True
    p.def_impl(lambda *xs: list(xs))
    p.def_abstract_eval(lambda *avals: list(avals))
    program = jax.make_jaxpr(lambda x, y: p.bind(x, y))(1.0, 2.0)
    whole, used = pe.dce_jaxpr(program, [True, False])
    assert (used, len(whole.eqns[0].invars)) == ([True, True], 2)
    assert p not in pe.dce_rules

    def rule(used_outputs: Any, eqn: Any) -> Any:
        kept = [i for i, on in enumerate(used_outputs) if on]
        if not kept:
            return used_outputs, None
        parts = [[atoms[i] for i in kept] for atoms in (eqn.invars, eqn.outvars)]
        return used_outputs, eqn.replace(invars=parts[0], outvars=parts[1])

    pe.dce_rules[p] = rule
    assert pe.dce_rules[p] is rule
    smaller, used = pe.dce_jaxpr(program, [True, False])
    assert (used, len(smaller.eqns[0].invars)) == ([True, False], 1)
    assert pe.dce_jaxpr(program, [False, False])[0].eqns == ()


def _twice(**rules: Any) -> Primitive:
    p = Primitive("twice")
    p.def_impl(lambda x: x * 2.0)
    p.def_abstract_eval(lambda x: x)
    ad.deflinear(p, lambda ct: [p.bind(ct)])
    return p


def test_rules_that_divide_an_equation() -> None:
    p, asked = _twice(), []
    assert p not in pe.partial_eval_jaxpr_custom_rules

    def only_first(saveable: Any, unknown: Any, at_hand: Any, eqn: Any) -> Any:
        asked.append((list(unknown), list(at_hand), eqn.primitive))
        if unknown[0]:
            return None, eqn, [True], [True], []
        return eqn, None, [False], [False], list(eqn.outvars)

    pe.partial_eval_jaxpr_custom_rules[p] = only_first
    assert pe.partial_eval_jaxpr_custom_rules[p] is only_first

    def f(x: Any) -> Any:
        return jnp.sin(p.bind(x))

    text = str(jax.make_jaxpr(jax.grad(jax.checkpoint(f)))(1.0))
    assert ([False], [True], p) in asked
    # The second pass is given what the first one has computed.
    assert text.count("= twice a") == 1
    assert jax.grad(jax.checkpoint(f))(1.0) == jax.grad(lambda x: jnp.sin(x * 2.0))(1.0)
    # What no pass needs is dead code all the same.
    assert "twice" not in str(jax.jit(lambda x: (p.bind(x), x)[1]).lower(1.0).as_text())
    del pe.partial_eval_jaxpr_custom_rules[p]
    assert p not in pe.partial_eval_jaxpr_custom_rules


def test_rules_for_unknown_operands() -> None:
    p = _twice()

    def rule(trace: Any, x: Any) -> Any:
        return trace.default_process_primitive(lax.neg_p, [x], {})

    pe.custom_partial_eval_rules[p] = rule
    pvals = [pe.PartialVal.unknown(SCALAR), pe.PartialVal.known(jnp.float32(3.0))]
    jaxpr, outs, _ = pe.trace_to_jaxpr_nounits(lambda x, y: [p.bind(x), p.bind(y)], pvals)
    assert [eqn.primitive for eqn in jaxpr.eqns] == [lax.neg_p]
    assert (outs[0].is_known(), outs[1].get_known()) == (False, 6.0)
