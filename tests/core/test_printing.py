"""The text of programs against JAX's, and the options of `pretty_print`."""

from __future__ import annotations

import inspect
import itertools
import re
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, final

import numpy as np
import pytest

from morphax import core, lax
from morphax.control.jit.jit import jit
from morphax.core import Equation, Jaxpr, Literal, Primitive, ShapedArray, Var
from morphax.core.trace import extended_name_stack
from morphax.lax import cos, mul, scan, sin
from morphax.transforms.make_jaxpr import make_jaxpr

from .printed_programs import PROGRAMS, SCALAR

JAX = SimpleNamespace(jit=jit, lax=lax)
SECTIONS = re.split(
    r"^== (\w+)\n", Path(__file__).with_name("printing_golden.txt").read_text(), flags=re.M
)
GOLDEN = dict(zip(SECTIONS[1::2], [text.rstrip("\n") for text in SECTIONS[2::2]], strict=True))


def traced(name: str) -> Jaxpr:
    function, arguments = PROGRAMS[name](JAX)
    return make_jaxpr(function)(*arguments)


def test_each_program_has_a_golden_text() -> None:
    assert list(GOLDEN) == list(PROGRAMS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_golden(name: str) -> None:
    assert str(traced(name)) == GOLDEN[name]


def test_str_repr_and_pretty_print_agree() -> None:
    jaxpr = traced("scanned")
    assert str(jaxpr) == repr(jaxpr) == jaxpr.pretty_print() == f"{jaxpr}"


def test_text_does_not_depend_on_what_was_printed_before() -> None:
    jaxpr = traced("call_in_call")
    str(jaxpr.eqns[0])
    assert str(jaxpr) == GOLDEN["call_in_call"]


def test_equation() -> None:
    jaxpr = traced("equations_in_order")
    assert [str(eqn) for eqn in jaxpr.eqns] == [
        "a:f32[] = mul b 2.0:f32[]",
        "a:f32[] = sin b",
        "a:f32[] = add b c",
    ]


def test_equation_with_a_program_names_its_results_first() -> None:
    assert str(traced("chosen").eqns[-1]) == inspect.cleandoc("""
        a:f32[] = cond[
          branches=(
            { lambda ; b:f32[]. let c:f32[] = sin b; d:f32[] = neg c in (d,) }
            { lambda ; e:f32[]. let
                f:f32[] = mul e e
                g:f32[] = mul f 2.0:f32[]
                h:f32[] = sin g
              in (h,) }
          )
        ] i j
    """)


def test_call_names_its_operands_first() -> None:
    assert str(traced("call").eqns[0]) == inspect.cleandoc("""
        b:f32[] = jit[
          name=double
          jaxpr={ lambda ; a:f32[]. let b:f32[] = mul a 2.0:f32[] in (b,) }
        ] a
    """)


def test_variables_and_literals() -> None:
    assert re.fullmatch(r"Var\(id=\d+\):f32\[3\]", repr(Var(ShapedArray((3,), "float32"))))
    assert repr(Literal(np.float32(0.1), ShapedArray((), "float32"))) == "0.10000000149011612:f32[]"


def test_without_shapes() -> None:
    jaxpr = traced("call_with_unused_result")
    assert jaxpr.pretty_print(print_shapes=False) == inspect.cleandoc("""
        { lambda ; a. let
            b _ = jit[
              name=<lambda>
              jaxpr={ lambda ; a. let b = sin a; _ = cos a in (b, _) }
            ] a
          in (b,) }
    """)


def test_all_params() -> None:
    text = traced("params_that_say_nothing").pretty_print(custom_pp_eqn_rules=False)
    assert "broadcast_dimensions=()\n      shape=(3, 4)\n      sharding=None\n" in text


def test_source_and_scopes_stand_in_a_column() -> None:
    def function(x: Any) -> Any:
        with extended_name_stack("outer"):
            y = sin(x)
            with extended_name_stack("inner"):
                return scan(lambda c, _: (cos(c), None), y, None, length=3)[0]

    jaxpr = make_jaxpr(function)(SCALAR)
    text = jaxpr.pretty_print(source_info=True, name_stack=True)
    code = function.__code__
    lines = text.splitlines()
    column = max(len(line) for line in str(jaxpr).splitlines())
    assert {line.index(" # ") for line in lines if "#" in line} == {column}
    comments = [line[column + 3 :] for line in lines if "#" in line]
    first = f"{code.co_filename}:{code.co_firstlineno + 2} ({code.co_qualname})"
    assert comments[:2] == [first, "[outer]"]
    assert comments[3] == "[outer/inner]"
    assert str(jaxpr).splitlines() == [
        line[:column].rstrip() for line in lines if line[:column].strip()
    ]


def test_comments_of_equations_on_one_line_stand_below_each_other() -> None:
    jaxpr = traced("unused_result")
    lines = jaxpr.pretty_print(name_stack=True).splitlines()
    code = GOLDEN["unused_result"]
    assert [line.partition(" # ")[0] for line in lines] == [code, " " * len(code)]


def test_equation_without_source() -> None:
    nowhere = core.SourceInfo(None, core.NameStack())
    jaxpr = traced("on_one_line")
    bare = jaxpr.replace(eqns=tuple(eqn.replace(source_info=nowhere) for eqn in jaxpr.eqns))
    assert bare.pretty_print(source_info=True).endswith("in (b,) } # unknown")


def test_colour() -> None:
    assert traced("on_one_line").pretty_print(use_color=True) == (
        "{ \x1b[34;1mlambda \x1b[39;22m; a\x1b[35m:f32[]\x1b[39m. \x1b[34;1mlet\x1b[39;22m "
        "b\x1b[35m:f32[]\x1b[39m = sin a \x1b[34;1min \x1b[39;22m(b,) }"
    )


def test_width() -> None:
    assert traced("on_one_line").pretty_print(width=30) == inspect.cleandoc("""
        { lambda ; a:f32[]. let
            b:f32[] = sin a
          in (b,) }
    """)


@final
class Announce(Primitive):
    """Has an effect, no result, and a parameter whose text holds an address."""

    name = "announce"
    multiple_results = True

    def abstract_eval(self, x: Any, **params: Any) -> list[Any]:
        return []

    def effects(self, **params: Any) -> core.Effects:
        return frozenset({core.DebugEffect()})


def test_effects_addresses_and_equations_without_results() -> None:
    announce = Announce()

    def function(x: Any) -> Any:
        announce.bind(x, callback=object(), name="hello")
        return x

    jaxpr = make_jaxpr(function)(SCALAR)
    assert jaxpr.pretty_print(print_effects=True) == inspect.cleandoc("""
        { lambda ; a:f32[]. let
            announce[callback=<object object at 0xXXXXXXXXXXXX> name=hello] a
          in (a,) : { Debug } }
    """)


def test_program_of_the_name_of_another() -> None:
    def repeated(name: str, factor: float) -> Any:
        def inner(x: Any) -> Any:
            return mul(x, factor)

        inner.__name__ = name
        return jit(inner)

    a, b, c = repeated("f", 2.0), repeated("f", 3.0), repeated("f1", 4.0)
    text = str(make_jaxpr(lambda x: a(a(b(b(c(c(x)))))))(SCALAR))
    assert re.findall("^let (\\w+) =", text, flags=re.M) == ["f1", "f", "f2"]


def test_repeated_bodies() -> None:
    (eqn,) = traced("scanned_call").eqns
    outvars = tuple(Var(v.aval) for v in eqn.outvars)
    again = eqn.replace(invars=eqn.outvars, outvars=outvars)
    twice = Jaxpr(eqn.invars, outvars, (eqn, again))
    assert str(twice) == inspect.cleandoc("""
        let jaxpr = { lambda ; a:f32[] b:f32[]. let
            c:f32[] = jit[name=<lambda> jaxpr=lambda] a
            d:f32[] = jit[name=<lambda> jaxpr=lambda] b
          in (c, d) } in
        let lambda = { lambda ; e:f32[]. let f:f32[] = sin e in (f,) } in
        { lambda ; g:f32[] h:f32[3]. let
            i:f32[] j:f32[3] = scan[
              jaxpr=jaxpr
              length=3
              num_carry=1
              num_consts=0
              reverse=False
              unroll=1
            ] g h
            k:f32[] l:f32[3] = scan[
              jaxpr=jaxpr
              length=3
              num_carry=1
              num_consts=0
              reverse=False
              unroll=1
            ] i j
          in (k, l) }
    """)


def test_tuple_with_shared_and_own_programs() -> None:
    jaxpr = traced("chosen")
    clamp, cond = jaxpr.eqns
    first, second = cond.params["branches"]
    cond = cond.replace(params={"branches": (second, second, first)})
    assert str(jaxpr.replace(eqns=(clamp, cond))) == inspect.cleandoc("""
        let jaxpr = { lambda ; a:f32[]. let
            b:f32[] = mul a a
            c:f32[] = mul b 2.0:f32[]
            d:f32[] = sin c
          in (d,) } in
        { lambda ; e:i32[] f:f32[]. let
            g:i32[] = clamp 0:i32[] e 1:i32[]
            h:f32[] = cond[
              branches=(
                jaxpr
                jaxpr
                { lambda ; i:f32[]. let j:f32[] = sin i; k:f32[] = neg j in (k,) }
              )
            ] g f
          in (h,) }
    """)


def test_ill_typed_programs_are_printed_too() -> None:
    x, y = Var(ShapedArray((), "float32")), Var(ShapedArray((), "float32"))
    inner = traced("on_one_line")
    call = traced("call_of_lambda").eqns[0]
    too_many = Equation(call.primitive, (x, y), (), {**call.params, "jaxpr": inner})
    assert str(Jaxpr((x,), (), (too_many,))) == inspect.cleandoc("""
        { lambda ; a:f32[]. let
            jit[name=<lambda> jaxpr={ lambda ; a:f32[]. let b:f32[] = sin a in (b,) }] a
              c
          in () }
    """)


def chain(length: int) -> Jaxpr:
    aval = ShapedArray((), "float32")
    variables = [Var(aval) for _ in range(length + 1)]
    primitive = traced("on_one_line").eqns[0].primitive
    eqns = tuple(Equation(primitive, (x,), (y,), {}) for x, y in itertools.pairwise(variables))
    return Jaxpr((variables[0],), (variables[-1],), eqns)


def test_cost_is_linear(record_property: Any) -> None:
    """The times are recorded, not judged: machines are noisy."""
    for length in (1_000, 10_000):
        jaxpr = chain(length)
        start = time.perf_counter()
        text = str(jaxpr)
        record_property(f"seconds for {length} equations", time.perf_counter() - start)
        assert text.count("\n") == length + 1


def test_deep_sharing_is_printed_once() -> None:
    """2^30 occurrences of the innermost program."""
    function = sin
    for _ in range(30):
        function = jit(lambda x, inner=function: inner(inner(x)))
    text = str(make_jaxpr(function)(SCALAR))
    assert text.count("= sin") == 2
