"""Programs with references: their text, effects and types; discharge."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.core import (
    AccumEffect,
    InternalRefs,
    ReadEffect,
    ShapedArray,
    Var,
    WriteEffect,
    check_jaxpr,
    discharge,
)
from morphax.core.dce import eliminate_dead_code
from morphax.core.manual_axis_type import ManualAxisType
from morphax.errors import JaxprTypeError
from morphax.ref import AbstractRef

REF = jax.new_ref(np.zeros(3, np.float32))
MATRIX = jax.new_ref(np.zeros((3, 4), np.float32))


def test_avals_are_interned() -> None:
    inner = ShapedArray((2,), "float32")
    aval = AbstractRef(inner)
    assert aval is AbstractRef(ShapedArray((2,), "float32"))
    assert aval is not AbstractRef(inner, "vmem")
    assert aval.update(memory_space="vmem").memory_space == "vmem"
    assert aval.update(kind="k").kind == "k"
    assert aval.update_weak_type(True).inner_aval.weak_type
    assert aval.update_weak_type(True).strip_weak_type() is aval
    varying = ManualAxisType(varying={"i"})
    assert aval.update_manual_axis_type(varying).mat == varying
    assert aval.to_tangent_aval() is aval
    assert (aval.shape, aval.ndim, aval.size, len(aval), aval.is_high) == ((2,), 1, 2, 2, False)
    assert (str(aval), aval.str_short(True)) == ("Ref{float32[2]}", "Ref{f32[2]}")
    assert str(aval.update(memory_space="vmem")) == "Ref<vmem>{float32[2]}"


EQUATIONS: dict[str, tuple[Any, Any, str]] = {
    "get": (REF, lambda r: r[...], "b:f32[3] <- a[...]"),
    "get a place": (REF, lambda r: r[-1], "b:f32[] <- a[2]"),
    "get a row": (MATRIX, lambda r: r[1], "b:f32[4] <- a[1,:]"),
    "get a block": (MATRIX, lambda r: r[1:, :2], "b:f32[2,2] <- a[1:,:2]"),
    "get with a stride": (MATRIX, lambda r: r[::2, 1], "b:f32[2] <- a[::2,1]"),
    "get a part of a part": (MATRIX, lambda r: r.at[0][1], "b:f32[] <- a[0,:][1]"),
    "set": (REF, lambda r: jax.ref.set(r, 0, 1.0), "a[0] <- 1.0:f32[]"),
    "swap": (REF, lambda r: jax.ref.swap(r, 0, 1.0), "b:f32[], a[0] <- a[0], 1.0:f32[]"),
    "get at an array": (
        REF,
        lambda r: (lambda i: r[i])(jnp.zeros(2, int)),
        "b:i32[2] = broadcast_in_dim 0:i32[]\n    c:f32[2] <- a[b]",
    ),
    "get a window": (
        MATRIX,
        lambda r: (lambda i: r[jax.ds(i, 2)])(r[0, 0].astype(int)),
        "b:f32[] <- a[0,0]\n    c:i32[] = convert_element_type[new_dtype=int32 weak_type=False] b"
        "\n    d:f32[2,4] <- a[c:c+2,:]",
    ),
    "add": (REF, lambda r: jax.ref.addupdate(r, 0, 1.0), "a[0] += 1.0:f32[]"),
    "freeze": (REF, jax.freeze, "b:f32[3] = freeze a"),
    "free": (REF, jax.free_ref, "free_ref a"),
}


@pytest.mark.parametrize("name", EQUATIONS)
def test_text_of_equations(name: str) -> None:
    ref, f, expected = EQUATIONS[name]
    text = str(jax.make_jaxpr(f)(ref))
    head, body = text.split(" let", 1)
    assert head == f"{{ lambda ; a:{ref.aval.str_short(True)}."
    assert body.lstrip().startswith(expected)


def test_text_of_new_references() -> None:
    def f(x: Any) -> Any:
        return jax.freeze(jax.new_ref(x, memory_space="vmem", kind="k"))

    assert str(jax.make_jaxpr(f)(1.0)) == (
        "{ lambda ; a:f32[]. let\n"
        "    b:Ref<vmem>{f32[]} = new_ref[kind=k memory_space=vmem] a\n"
        "    c:f32[] = freeze b\n"
        "  in (c,) }"
    )


def test_all_parameters_are_shown_on_demand() -> None:
    jaxpr = jax.make_jaxpr(lambda r: r[0])(REF)
    assert "get[indexers=" in jaxpr.pretty_print(custom_pp_eqn_rules=False)


def update(a: Any, b: Any) -> Any:
    a[0] = b[1]
    jax.ref.addupdate(b, ..., jnp.ones(3))


PROGRAMS: dict[str, tuple[Any, set[Any]]] = {
    "two": (update, {WriteEffect(0), ReadEffect(1), AccumEffect(1)}),
    "called": (jax.jit(update), {WriteEffect(0), ReadEffect(1), AccumEffect(1)}),
    "reversed": (
        lambda a, b: jax.jit(update)(b, a),
        {WriteEffect(1), ReadEffect(0), AccumEffect(0)},
    ),
    "looked up": (lambda a, b: b[0], {ReadEffect(1)}),
    "its own": (
        lambda a, b: update(jax.new_ref(a[...]), b),
        {ReadEffect(0), ReadEffect(1), AccumEffect(1), InternalRefs()},
    ),
    "scan": (
        lambda a, b: jax.lax.scan(lambda c, _: (update(b, a), (c, None))[1], 0, None, length=3),
        {WriteEffect(1), ReadEffect(0), AccumEffect(0)},
    ),
    "cond": (
        lambda a, b: jax.lax.cond(True, lambda: update(a, b), lambda: None),
        {WriteEffect(0), ReadEffect(1), AccumEffect(1)},
    ),
    "while": (
        lambda a, b: jax.lax.while_loop(lambda i: a[0] < i, lambda i: (update(b, a), i)[1], 0.0),
        {WriteEffect(1), ReadEffect(0), AccumEffect(0)},
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_effects(name: str) -> None:
    f, expected = PROGRAMS[name]
    other = jax.new_ref(np.zeros(3, np.float32))
    jaxpr = jax.make_jaxpr(f)(REF, other)
    assert jaxpr.effects == expected
    check_jaxpr(jaxpr)
    pure, changed = discharge(jaxpr)
    check_jaxpr(pure)
    assert not pure.effects
    written = {e.input_index for e in expected if isinstance(e, (WriteEffect, AccumEffect))}
    assert changed == tuple(sorted(written))


def test_effects_are_printed_by_name() -> None:
    text = jax.make_jaxpr(update)(REF, jax.new_ref(np.zeros(3, np.float32)))
    assert text.pretty_print(print_effects=True).endswith(
        "in () : { Accum<b>, Read<b>, Write<a> } }"
    )


def test_dead_code() -> None:
    def f(ref: Any) -> Any:
        ref[0]
        ref[1] = 1.0
        jnp.sin(ref[...])
        return ()

    smaller, used = eliminate_dead_code(jax.make_jaxpr(f)(REF))
    assert [str(eqn.primitive) for eqn in smaller.eqns] == ["swap"]
    assert smaller.effects == {WriteEffect(0)}
    assert used == [True]
    check_jaxpr(smaller)


def test_the_checker_refuses() -> None:
    jaxpr = jax.make_jaxpr(lambda r: r[0])(REF)
    (eqn,) = jaxpr.eqns
    array = Var(REF.aval.inner_aval)
    of_array = (eqn.replace(invars=(array,)),)
    ill_typed = {
        "references are not returned": jaxpr.replace(outvars=jaxpr.invars),
        "the effects": jaxpr.replace(effects=frozenset()),
        "expected: a reference": jaxpr.replace(invars=(array,), eqns=of_array),
    }
    for text, program in ill_typed.items():
        with pytest.raises(JaxprTypeError, match=text):
            check_jaxpr(program)


def test_discharge_passes_values_in_and_out() -> None:
    def f(a: Any, x: Any, b: Any) -> Any:
        a[0] = x
        return b[1]

    pure, changed = discharge(jax.make_jaxpr(f)(REF, 1.0, MATRIX))
    assert changed == (0,)
    assert [a.str_short() for a in pure.in_avals] == ["f32[3]", "f32[]", "f32[3,4]"]
    assert [a.str_short() for a in pure.out_avals] == ["f32[4]", "f32[3]"]


def test_closed_over_references_are_constants() -> None:
    jaxpr = jax.make_jaxpr(lambda x: REF[0] * x)(2.0)
    assert str(jaxpr).startswith("{ lambda a:Ref{f32[3]}; b:f32[]. let")
    check_jaxpr(jaxpr)
    assert jax.core.eval_jaxpr(jaxpr, jaxpr.consts, 2.0) == [0.0]
