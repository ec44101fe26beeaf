"""Staging: what becomes a literal, a constant or an operand, and what a tracer refuses."""

from __future__ import annotations

import gc
import pickle
import re
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax.numpy as jnp
from morphax import errors, lax
from morphax.config.contexts import enable_x64
from morphax.control.jit.jit import jit
from morphax.control.loops.while_loops import fori_loop
from morphax.core import (
    DebugInfo,
    Literal,
    ShapedArray,
    StagingTracer,
    apply_jaxpr,
    aval_of,
    check_jaxpr,
    close,
    constants_as_arguments,
    stage,
    stage_with_operands,
)
from morphax.core.trace import extended_name_stack
from morphax.lax import tanh
from morphax.transforms.derivatives import jvp, vjp
from morphax.transforms.make_jaxpr import make_jaxpr
from morphax.transforms.vmap import vmap

VECTOR = ShapedArray((3,), np.float32)
SCALAR = ShapedArray((), np.float32)
NUMBERS = np.arange(3, dtype=np.float32)


@pytest.mark.parametrize(
    ("number", "aval"),
    [
        (True, ShapedArray((), bool)),
        (2, ShapedArray((), np.int32, weak_type=True)),
        (2.5, ShapedArray((), np.float32, weak_type=True)),
        (2j, ShapedArray((), np.complex64, weak_type=True)),
        (np.float16(2.5), ShapedArray((), np.float16)),
        (np.float64(2.5), ShapedArray((), np.float32)),
        (np.bool_(True), ShapedArray((), bool)),
    ],
)
def test_numbers_become_literals(number: Any, aval: ShapedArray) -> None:
    jaxpr, consts = stage(lambda: [number], [])
    (out,) = jaxpr.outvars
    assert type(out) is Literal
    assert out.val == number
    assert out.aval is aval
    assert consts == []


@pytest.mark.parametrize("number", [True, 2, 2.5, 2j, np.float64(2.5), np.int64(2)])
@pytest.mark.parametrize("x64", [False, True])
def test_literals_keep_their_types_when_options_change(number: Any, x64: bool) -> None:
    with enable_x64(x64):
        jaxpr, _ = stage(lambda: [number], [])
        expected = aval_of(number)
    (literal,) = jaxpr.outvars
    with enable_x64(not x64):
        assert aval_of(literal.val) is expected
        (again,) = stage(lambda: [literal.val], [])[0].outvars
        assert again.aval is expected
    assert pickle.loads(pickle.dumps(literal.val)) == number


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: vjp(tanh, x)[1](x)[0],
        lambda x: jvp(lambda y: lax.mul(lax.sin(y), 2.0), (x,), (x,))[1],
        lambda x: vmap(lambda y: lax.add(lax.integer_pow(y, 3), 1.0))(x),
        lambda x: fori_loop(0, 3, lambda i, y: lax.mul(y, 0.5), x),
    ],
)
def test_fragments_serve_under_other_options(function: Callable[[Any], Any], x64: bool) -> None:
    x = np.array([0.5, 1.5], np.float32)
    expected = function(jnp.asarray(x))
    with enable_x64(x64):
        found = function(jnp.asarray(x))
    again = function(jnp.asarray(x))
    assert found.dtype == again.dtype == expected.dtype == np.float32
    np.testing.assert_array_equal(found, expected)


def test_arrays_become_constants_one_per_object() -> None:
    twin = NUMBERS.copy()
    jaxpr, consts = stage(
        lambda x: [lax.add(lax.mul(x, NUMBERS), lax.add(twin, NUMBERS))], [VECTOR]
    )
    assert [c is v for c, v in zip(consts, (NUMBERS, twin), strict=True)] == [True, True]
    assert jaxpr.consts == ()
    closed = close(jaxpr, consts)
    check_jaxpr(closed)
    assert closed.consts[0] is NUMBERS
    np.testing.assert_allclose(
        apply_jaxpr(closed, NUMBERS)[0].to_host(), NUMBERS * NUMBERS + twin + NUMBERS
    )


def test_closing_without_constants_is_the_identity() -> None:
    jaxpr, consts = stage(lambda x: [x], [VECTOR])
    assert close(jaxpr, consts) is jaxpr


def test_constants_as_arguments() -> None:
    jaxpr = close(*stage(lambda x: [lax.add(x, NUMBERS)], [VECTOR]))
    opened = constants_as_arguments(jaxpr)
    check_jaxpr(opened)
    assert opened.invars == jaxpr.constvars + jaxpr.invars
    assert opened.consts == opened.constvars == ()


def test_captured_tracers_become_leading_operands() -> None:
    hoisted = []

    def outer(x: Any, y: Any) -> Any:
        jaxpr, captured = stage_with_operands(
            lambda z: [lax.add(lax.mul(z, y), lax.mul(NUMBERS, x)), x], [VECTOR]
        )
        hoisted.append(jaxpr)
        assert [c is v for c, v in zip(captured, (y, x), strict=True)] == [True, True]
        return apply_jaxpr(jaxpr, *captured, NUMBERS)

    whole = make_jaxpr(outer)(NUMBERS, NUMBERS)
    (jaxpr,) = hoisted
    check_jaxpr(jaxpr)
    check_jaxpr(whole)
    assert len(jaxpr.invars) == 3
    # A copy, which nobody changes.
    (constant,) = jaxpr.consts
    assert constant is not NUMBERS
    assert not constant.flags.writeable
    np.testing.assert_array_equal(constant, NUMBERS)
    np.testing.assert_allclose(
        apply_jaxpr(whole, NUMBERS, NUMBERS + 1)[0].to_host(), NUMBERS * (2 * NUMBERS + 1)
    )


def test_without_captured_tracers_there_are_no_leading_operands() -> None:
    jaxpr, captured = stage_with_operands(lambda z: [lax.mul(z, NUMBERS)], [VECTOR])
    assert captured == []
    assert len(jaxpr.invars) == 1
    check_jaxpr(jaxpr)


def test_equations_carry_source_and_scopes() -> None:
    def function(x: Any) -> Any:
        with extended_name_stack("outer"), extended_name_stack("inner"):
            y = lax.sin(x)
        return [lax.cos(y)]

    sin, cos = stage(function, [SCALAR])[0].eqns
    first = function.__code__.co_firstlineno
    assert sin.source is not None
    assert cos.source is not None
    assert (sin.source.line, cos.source.line) == (first + 2, first + 3)
    assert sin.source.file == __file__
    assert (sin.name_stack, cos.name_stack) == (("outer", "inner"), ())


def test_debug_info() -> None:
    info = DebugInfo("scan", "body at model.py:7", lambda: ["carry['h']"])
    assert info.function_name == "body"
    assert info.argument_name(0) == "carry['h']"
    assert info.argument_name(1) == "number 1"
    assert DebugInfo("scan", "body").argument_name(0) == "number 0"


def place(function: Callable[..., Any], line: int) -> str:
    code = function.__code__
    return f"{code.co_filename}:{code.co_firstlineno + line} ({code.co_qualname})"


def label(function: Callable[..., Any]) -> str:
    code = function.__code__
    return f"{code.co_name} at {code.co_filename}:{code.co_firstlineno}"


CONCRETE = [
    (bool, "bool()", errors.TracerBoolConversionError, "Use jnp.where, lax.cond"),
    (int, "int()", errors.ConcretizationTypeError, "Keep the computation in jnp"),
    (float, "float()", errors.ConcretizationTypeError, "Keep the computation in jnp"),
    (complex, "complex()", errors.ConcretizationTypeError, "Keep the computation in jnp"),
    ([1, 2].__getitem__, "use as a Python int", errors.TracerIntegerConversionError, "Sizes, sh"),
    (range, "use as a Python int", errors.TracerIntegerConversionError, "Sizes, shapes and axes"),
    (np.sin, "conversion to a NumPy array", errors.TracerArrayConversionError, "Use jnp funct"),
    (np.asarray, "conversion to a NumPy array", errors.TracerArrayConversionError, "Use jnp fu"),
]


@pytest.mark.parametrize("transform", [jit, make_jaxpr], ids=["jit", "make_jaxpr"])
@pytest.mark.parametrize(("use", "where", "error", "fix"), CONCRETE)
def test_numbers_of_traced_values_are_unknown(
    transform: Any, use: Any, where: str, error: type[Exception], fix: str
) -> None:
    """The text names the argument, the function and the user's lines."""

    def function(scale: Any, params: Any) -> Any:
        return use(params["w"][1])

    with pytest.raises(error) as caught:
        transform(function)(1.0, {"b": 1, "w": (2, 3)})
    lines = str(caught.value).splitlines()
    assert lines[:3] == [
        f"{where} (at {place(function, 1)})",
        f"  given:    the argument params['w'][1] of the function {label(function)} "
        f"traced by {transform.__name__} with shape and dtype i32[]",
        "  expected: a concrete value, known while the function is traced",
    ]
    assert lines[3].startswith(f"  fix:      {fix}")


def test_derived_values_name_the_line_that_made_them() -> None:
    def function(x: Any) -> Any:
        y = lax.sin(x)
        z = lax.cos(y)
        if z:
            return x
        return y

    with pytest.raises(errors.TracerBoolConversionError) as caught:
        make_jaxpr(function)(1.0)
    text = str(caught.value)
    assert text.startswith(f"bool() (at {place(function, 3)})")
    assert f"a result of cos at {place(function, 2)} in the function {label(function)}" in text


def test_constants_say_so() -> None:
    def function() -> Any:
        return bool(jit(lambda: NUMBERS)())

    with pytest.raises(errors.TracerBoolConversionError, match=r"a result of jit at .*\(test_con"):
        make_jaxpr(function)()


def test_flags_control_flow_of_assignment_and_pickle() -> None:
    def assign(x: Any) -> Any:
        x[0] = 1.0

    with pytest.raises(TypeError, match=r"f32\[3\], an immutable array[^$]*x.at\[index\].set"):
        make_jaxpr(assign)(NUMBERS)
    with pytest.raises(TypeError, match=r"pickle \(at .*\n.*the argument x of the function"):
        make_jaxpr(lambda x: pickle.dumps(x))(NUMBERS)
    with pytest.raises(TypeError, match="unhashable"):
        make_jaxpr(lambda x: {x})(NUMBERS)


def test_what_a_tracer_knows() -> None:
    def function(x: Any) -> Any:
        assert type(x) is StagingTracer
        assert (x.shape, x.dtype, x.ndim, x.size, len(x)) == ((2, 3), np.float32, 2, 6, 2)
        assert x.weak_type is False
        assert x.concrete() is None
        assert repr(x) == str(x) == f"{x:.2f}" == "JitTracer(float32[2,3])"
        return x

    make_jaxpr(function)(np.ones((2, 3), np.float32))


def leaked(how: Callable[[Any], Any]) -> tuple[Any, Callable[..., Any]]:
    kept = []

    def function(x: Any) -> Any:
        kept.append(how(x))
        return x

    jit(function)(1.0)
    return kept[0], function


USES = [
    ("eager", lax.sin),
    ("eager, second operand", lambda x: lax.add(1.0, x)),
    ("another trace", lambda x: make_jaxpr(lambda y: lax.add(x, y))(1.0)),
    ("result of another trace", lambda x: make_jaxpr(lambda: x)()),
    ("jit", lambda x: jit(lambda y: lax.add(y, x))(1.0)),
    ("argument of jit", jit(lax.sin)),
]


@pytest.mark.parametrize("use", [pytest.param(use, id=name) for name, use in USES])
def test_leaked_argument(use: Callable[[Any], Any]) -> None:
    tracer, function = leaked(lambda x: x)
    with pytest.raises(errors.UnexpectedTracerError) as caught:
        use(tracer)
    text = str(caught.value)
    assert f"the argument x of the function {label(function)} traced by jit" in text
    assert "used after its trace ended" in text
    assert re.match(rf"leaked tracer \(at {re.escape(__file__)}:\d+ \(", text)


@pytest.mark.parametrize("use", [pytest.param(use, id=name) for name, use in USES])
def test_leaked_result_names_the_line_that_made_it(use: Callable[[Any], Any]) -> None:
    tracer, function = leaked(lambda x: lax.sin(x))
    with pytest.raises(errors.UnexpectedTracerError, match="a result of sin at ") as caught:
        use(tracer)
    assert f" in the function {label(function)} traced by jit, f32[]," in str(caught.value)


def test_trace_ends_when_the_function_raises() -> None:
    kept = []

    def function(x: Any) -> Any:
        kept.append(x)
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        make_jaxpr(function)(1.0)
    with pytest.raises(errors.UnexpectedTracerError):
        lax.sin(kept[0])


def test_tracers_of_outer_traces_may_be_used_in_inner_ones() -> None:
    def outer(x: Any) -> Any:
        return jit(lambda y: lax.add(lax.sin(x), y))(x)

    check_jaxpr(make_jaxpr(outer)(1.0))


def test_finished_trace_keeps_no_tracers_alive() -> None:
    references = []

    def function(x: Any) -> Any:
        constant = NUMBERS.copy()
        references.append(weakref.ref(constant))
        return lax.reduce_sum(lax.mul(x, constant), (0,))

    jaxpr = make_jaxpr(function)(NUMBERS)
    assert references[0]() is not None
    del jaxpr
    gc.collect()
    assert references[0]() is None
