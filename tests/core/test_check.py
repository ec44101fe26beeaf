"""The type checker: well-typed programs pass, and each fault is told with its place."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any, final

import numpy as np
import pytest

from morphax import lax
from morphax.config import override
from morphax.control.jit.jit import jit
from morphax.core import (
    DebugEffect,
    Effects,
    Equation,
    Jaxpr,
    Literal,
    Primitive,
    ShapedArray,
    Var,
    check_jaxpr,
    current_trace,
)
from morphax.errors import JaxprTypeError
from morphax.transforms.gradients import grad
from morphax.transforms.make_jaxpr import make_jaxpr
from morphax.transforms.vmap import vmap

VECTOR = ShapedArray((3,), np.float32)
SCALAR = ShapedArray((), np.float32)
INTEGER = ShapedArray((), np.int32)
CALLBACK = frozenset({DebugEffect()})


@final
class Announce(Primitive):
    """Returns its operand and has an effect."""

    name = "announce"

    def abstract_eval(self, x: Any) -> Any:
        return x

    def effects(self) -> Effects:
        return CALLBACK


announce_p = Announce()


def equation(primitive: Primitive, invars: Any, outvars: Any, **rest: Any) -> Equation:
    return Equation(primitive, tuple(invars), tuple(outvars), rest.pop("params", {}), **rest)


def program(invars: Any, outvars: Any, *eqns: Equation, **rest: Any) -> Jaxpr:
    return Jaxpr(tuple(invars), tuple(outvars), eqns, **rest)


def unbound_operand() -> Jaxpr:
    x, y, z = Var(VECTOR), Var(VECTOR), Var(VECTOR)
    return program([x], [y], equation(lax.sin_p, [z], [y]))


def use_before_binding() -> Jaxpr:
    x, y, z = Var(VECTOR), Var(VECTOR), Var(VECTOR)
    return program([x], [z], equation(lax.sin_p, [y], [z]), equation(lax.cos_p, [x], [y]))


def own_result() -> Jaxpr:
    x = Var(VECTOR)
    return program([], [x], equation(lax.sin_p, [x], [x]))


def unbound_result() -> Jaxpr:
    x, y = Var(VECTOR), Var(VECTOR)
    return program([x], [y])


def argument_bound_twice() -> Jaxpr:
    x = Var(VECTOR)
    return program([x, x], [x])


def result_bound_twice() -> Jaxpr:
    x, y = Var(VECTOR), Var(VECTOR)
    return program([x], [y], equation(lax.sin_p, [x], [y]), equation(lax.cos_p, [x], [y]))


def argument_bound_again() -> Jaxpr:
    x = Var(VECTOR)
    return program([x], [x], equation(lax.sin_p, [x], [x]))


def literal_among_binders() -> Jaxpr:
    x = Var(SCALAR)
    return program([x], [x], equation(lax.sin_p, [x], [Literal(1.0, SCALAR)]))


def number_as_operand() -> Jaxpr:
    x, y = Var(SCALAR), Var(SCALAR)
    return program([x], [y], equation(lax.add_p, [x, 1.0], [y]))


def number_as_result() -> Jaxpr:
    return program([], [1.0])


def literal_of_another_kind() -> Jaxpr:
    return program([], [Literal(1.5, INTEGER)])


def literal_with_a_shape() -> Jaxpr:
    return program([], [Literal(1.5, VECTOR)])


def literal_array() -> Jaxpr:
    return program([], [Literal(np.ones(3, np.float32), VECTOR)])


def constants_left_out() -> Jaxpr:
    x = Var(VECTOR)
    return program([], [x], constvars=(x,))


def too_many_constants() -> Jaxpr:
    x = Var(VECTOR)
    return program([x], [x], consts=(np.ones(3, np.float32),))


def constant_of_another_shape() -> Jaxpr:
    x = Var(VECTOR)
    return program([], [x], constvars=(x,), consts=(np.ones(4, np.float32),))


def constant_of_another_dtype() -> Jaxpr:
    x = Var(VECTOR)
    return program([], [x], constvars=(x,), consts=(np.ones(3, np.int32),))


def operands_that_do_not_fit() -> Jaxpr:
    x, y, z = Var(VECTOR), Var(ShapedArray((4,), np.float32)), Var(VECTOR)
    return program([x, y], [z], equation(lax.add_p, [x, y], [z]))


def dtype_that_does_not_fit() -> Jaxpr:
    x, y = Var(INTEGER), Var(INTEGER)
    return program([x], [y], equation(lax.sin_p, [x], [y]))


def too_few_operands() -> Jaxpr:
    x, y = Var(VECTOR), Var(VECTOR)
    return program([x], [y], equation(lax.select_n_p, [x], [y]))


def unknown_parameter() -> Jaxpr:
    x, y = Var(VECTOR), Var(VECTOR)
    params = {"permutation": (0,), "perm": (0,)}
    return program([x], [y], equation(lax.transpose_p, [x], [y], params=params))


def wrong_parameter() -> Jaxpr:
    x, y = Var(VECTOR), Var(VECTOR)
    params = {"permutation": (1,)}
    return program([x], [y], equation(lax.transpose_p, [x], [y], params=params))


def result_of_another_shape() -> Jaxpr:
    x, y, z = Var(VECTOR), Var(VECTOR), Var(ShapedArray((4,), np.float32))
    return program([x], [z], equation(lax.sin_p, [x], [y]), equation(lax.cos_p, [y], [z]))


def result_of_another_dtype() -> Jaxpr:
    x, y = Var(VECTOR), Var(ShapedArray((3,), np.float16))
    return program([x], [y], equation(lax.sin_p, [x], [y]))


def too_many_results() -> Jaxpr:
    x, y, z = Var(VECTOR), Var(VECTOR), Var(VECTOR)
    return program([x], [y], equation(lax.sin_p, [x], [y, z]))


def no_result_bound() -> Jaxpr:
    x = Var(VECTOR)
    return program([x], [x], equation(lax.sin_p, [x], []))


def effect_left_out_of_an_equation() -> Jaxpr:
    x, y = Var(VECTOR), Var(VECTOR)
    return program([x], [y], equation(announce_p, [x], [y]))


def effect_without_cause() -> Jaxpr:
    x, y = Var(VECTOR), Var(VECTOR)
    pure = equation(lax.sin_p, [x], [y], effects=CALLBACK)
    return program([x], [y], pure, effects=CALLBACK)


def effect_left_out_of_the_program() -> Jaxpr:
    x, y = Var(VECTOR), Var(VECTOR)
    return program([x], [y], equation(announce_p, [x], [y], effects=CALLBACK))


def fault_in_an_inner_program() -> Jaxpr:
    outer = make_jaxpr(jit(lax.sin))(np.ones(3, np.float32))
    (call,) = outer.eqns
    params = call.params | {"jaxpr": result_of_another_dtype()}
    out = Var(ShapedArray((3,), np.float16))
    return outer.replace(eqns=(call.replace(params=params, outvars=(out,)),), outvars=(out,))


TABLE: list[tuple[Callable[[], Jaxpr], str, str, str]] = [
    # What is wrong, what the text says was given and expected, and the line that it marks.
    (
        unbound_operand,
        "c:f32[3], used but not bound before",
        "an earlier result",
        "b:f32[3] = sin c",
    ),
    (use_before_binding, "c:f32[3], used but not bound before", "earlier", "b:f32[3] = sin c"),
    (own_result, "a:f32[3], used but not bound before", "earlier", "a:f32[3] = sin a"),
    (unbound_result, "b:f32[3], used but not bound before", "earlier", "in (b,)"),
    (argument_bound_twice, "a:f32[3], bound a second time", "one binding", "lambda ; a:f32[3] a"),
    (result_bound_twice, "b:f32[3], bound a second time", "one binding", "b:f32[3] = cos a"),
    (argument_bound_again, "a:f32[3], bound a second time", "one binding", "a:f32[3] = sin a"),
    (literal_among_binders, "1.0:f32[] of type Literal among", "a variable", "= sin a"),
    (number_as_operand, "1.0 of type float as an operand", "a variable or a literal", "= add a"),
    (number_as_result, "1.0 of type float as an operand", "a variable or a literal", "in ("),
    (literal_of_another_kind, "literal 1.5 of type ~float32[], declared int32[]", "kind", "in ("),
    (literal_with_a_shape, "literal 1.5 of type ~float32[], declared float32[3]", "scalar", "in ("),
    (literal_array, "of type float32[3], declared float32[3]", "a scalar", "in ("),
    (constants_left_out, "0 values for 1 constant variables", "one value", "lambda a:f32[3]; ."),
    (too_many_constants, "1 values for 0 constant variables", "one value", "lambda ; a:f32[3]."),
    (constant_of_another_shape, "type float32[4] for a:f32[3]", "float32[3]", "lambda a:f32[3]; ."),
    (constant_of_another_dtype, "type int32[3] for a:f32[3]", "float32[3]", "lambda a:f32[3]; ."),
    (operands_that_do_not_fit, "add of float32[3], float32[4]", "equal shapes", "= add a b"),
    (dtype_that_does_not_fit, "sin of int32[]", "floating", "b:i32[] = sin a"),
    (too_few_operands, "select_n of float32[3]", "accepts; it says", "= select_n a"),
    (unknown_parameter, "transpose of float32[3]", "'perm'", "= transpose[perm=(0,)"),
    (
        wrong_parameter,
        "transpose of float32[3]",
        "each of the axes",
        "= transpose[permutation=(1,)]",
    ),
    (result_of_another_shape, "of type float32[4]", "float32[3], by the rule of cos", "= cos b"),
    (result_of_another_dtype, "of type float16[3]", "float32[3], by the rule of sin", "= sin a"),
    (too_many_results, "float32[3], float32[3]", "float32[3], by the rule of sin", "= sin a"),
    (no_result_bound, "results of type nothing", "float32[3], by the rule of sin", "sin a"),
    (effect_left_out_of_an_equation, "the effects {}", "{Debug}", "= announce a"),
    (effect_without_cause, "the effects {Debug}", "sin declares: {}", "= sin a"),
    (effect_left_out_of_the_program, "the effects {}", "equations: {Debug}", "in (b,)"),
    (fault_in_an_inner_program, "of type float16[3]", "float32[3], by the rule of sin", "= sin a"),
]


@pytest.mark.parametrize(
    ("build", "given", "expected", "marked"),
    [pytest.param(*row, id=row[0].__name__) for row in TABLE],
)
def test_invalid(build: Callable[[], Jaxpr], given: str, expected: str, marked: str) -> None:
    with pytest.raises(JaxprTypeError) as caught:
        check_jaxpr(build())
    text = str(caught.value)
    four_parts = r"check_jaxpr, .*\n  given:    (.*)\n  expected: (.*)\n  fix:      [^\n]*\n(.*)"
    parts = re.fullmatch(four_parts, text, flags=re.S)
    assert parts is not None, text
    assert given in parts[1]
    assert expected in parts[2]
    (line,) = [line for line in parts[3].splitlines() if line.startswith("  --> ")]
    assert marked in line


def test_text() -> None:
    """The whole text once: two equations on either side of the fault, and the user's lines."""

    def function(x: Any) -> Any:
        y = lax.neg(lax.cos(lax.sin(lax.neg(x))))
        return lax.cos(lax.sin(y))

    jaxpr = make_jaxpr(function)(np.ones(3, np.float32))
    wrong = jaxpr.eqns[3].replace(outvars=(Var(SCALAR),))
    with pytest.raises(JaxprTypeError) as caught:
        check_jaxpr(jaxpr.replace(eqns=(*jaxpr.eqns[:3], wrong, *jaxpr.eqns[4:])))
    code = function.__code__
    place = f"{code.co_filename}:{code.co_firstlineno + 1} ({code.co_qualname})"
    after = place.replace(f":{code.co_firstlineno + 1} ", f":{code.co_firstlineno + 2} ")
    where, *lines = str(caught.value).splitlines()
    assert where.startswith("check_jaxpr, program of function (make_jaxpr) (at ")
    assert lines == [
        "  given:    results of type float32[]",
        "  expected: float32[3], by the rule of neg",
        "  fix:      Bind results of the avals that the primitive infers.",
        f"      c:f32[3] = sin b # {place}",
        f"      d:f32[3] = cos c # {place}",
        f"  --> e:f32[] = neg d # {place}",
        f"      f:f32[3] = sin g # {after}",
        f"      h:f32[3] = cos f # {after}",
    ]


def test_cause_is_the_error_of_the_rule() -> None:
    with pytest.raises(JaxprTypeError) as caught:
        check_jaxpr(operands_that_do_not_fit())
    assert isinstance(caught.value.__cause__, TypeError)
    assert str(caught.value.__cause__).splitlines()[-1] in str(caught.value)


def scanned(x: Any) -> Any:
    inner = jit(lambda c: lax.sin(c))
    start = lax.reduce_sum(x, (0,))
    return lax.scan(lambda c, y: (lax.add(inner(c), y), inner(y)), start, x)[1]


@pytest.mark.parametrize(
    "function",
    [
        lax.sin,
        lambda x: lax.add(x, np.ones(3, np.float32)),
        lambda x: (lax.mul(x, 2.0), 1, 2.0, True, 3j),
        jit(lax.sin),
        scanned,
        vmap(lax.sin),
        lambda x: grad(lambda y: lax.reduce_sum(scanned(y), (0,)))(x),
        lambda x: announce_p.bind(x),
    ],
)
def test_valid(function: Callable[..., Any]) -> None:
    check_jaxpr(make_jaxpr(function)(np.ones(3, np.float32)))


def test_weak_types_may_differ() -> None:
    x, y = Var(SCALAR), Var(SCALAR.update(weak_type=True))
    check_jaxpr(program([x], [y], equation(lax.sin_p, [x], [y])))


@pytest.mark.parametrize("transform", [jit, grad, vmap, make_jaxpr])
def test_programs_are_checked_when_they_are_staged(transform: Callable[..., Any]) -> None:
    """`jax_enable_checks`: a fault is found where it is made."""

    def faulty(x: Any) -> Any:
        def inner(y: Any) -> Any:
            trace: Any = current_trace()
            aval = ShapedArray((7,), np.float32)
            trace.equations.append(equation(lax.sin_p, [y.atom], [Var(aval)]))
            return y

        return jit(inner)(x)

    argument = np.ones(3, np.float32) if transform is vmap else 1.0
    jit(lambda x: x)(argument)
    with override(enable_checks=True), pytest.raises(JaxprTypeError, match="program of inner"):
        transform(faulty)(argument)


def test_inner_programs_are_checked_once(record_property: Any) -> None:
    """2^40 paths lead to the innermost program."""
    function: Any = lax.sin
    for _ in range(40):
        function = jit(lambda x, inner=function: inner(inner(x)))
    jaxpr = make_jaxpr(function)(1.0)
    start = time.perf_counter()
    check_jaxpr(jaxpr)
    record_property("seconds", time.perf_counter() - start)
