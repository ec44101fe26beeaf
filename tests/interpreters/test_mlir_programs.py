"""Whole programs as MLIR, tokens of ordered effects, constants and contexts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.core import AbstractValue, Effect, ShapedArray
from morphax.extend import lowering
from morphax.extend.core import Primitive
from morphax.extend.mlir import ir
from morphax.extend.mlir.dialects import func, hlo
from morphax.interpreters import mlir

VECTOR = np.array([0.5, 1.0, 2.0], np.float32)
LARGE = np.arange(100_000, dtype=np.float32)
SCALAR = ShapedArray((), np.float32)


class Recorded(Effect):
    """An ordered effect of the user."""

    ordered = True

    def __init__(self, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        return self.name


FIRST, SECOND = Recorded("First"), Recorded("Second")
LOG: list[tuple[str, float]] = []


def recording(*effects: Effect, name: str = "record") -> Primitive:
    """The identity, which records its operand when the program runs."""
    p = Primitive(name)
    p.def_effectful_abstract_eval(lambda x, *, tag: (x, set(effects)))

    def rule(ctx: Any, x: Any, *, tag: str) -> Any:
        after = {}
        for effect in effects:
            outs, after[effect], _ = mlir.emit_python_callback(
                ctx,
                lambda array: (LOG.append((tag, float(array))), [array])[1],
                ctx.tokens_in.get(effect),
                [x],
                ctx.avals_in,
                ctx.avals_out,
                has_side_effect=True,
            )
        ctx.set_tokens_out(ctx.tokens_in.update_tokens(mlir.TokenSet(after)))
        return outs

    mlir.register_lowering(p, rule, cacheable=False)
    return p


record_p = recording(FIRST)
both_p = recording(FIRST, SECOND, name="both")


def in_scan(x: Any) -> Any:
    return jax.lax.scan(lambda c, y: (record_p.bind(c + y, tag="s"), None), x, VECTOR)[0]


def in_branch(x: Any) -> Any:
    return jax.lax.cond(x > 0, lambda y: record_p.bind(y, tag="t"), lambda y: y, x)


def in_call(x: Any) -> Any:
    return jax.jit(lambda y: record_p.bind(y, tag="j"))(x)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (in_scan, [("s", 1.5), ("s", 2.5), ("s", 4.5)]),
        (in_branch, [("t", 1.0)]),
        (in_call, [("j", 1.0)]),
        (lambda x: both_p.bind(x, tag="b"), [("b", 1.0), ("b", 1.0)]),
    ],
)
def test_ordered_effects_happen_in_order(function: Any, expected: list[Any]) -> None:
    def program(x: Any) -> Any:
        record_p.bind(x * 10, tag="before")
        out = function(x)
        record_p.bind(x * 20, tag="after")
        return out

    LOG.clear()
    jax.jit(program)(1.0).block_until_ready()
    jax.effects_barrier()
    assert LOG == [("before", 10.0), *expected, ("after", 20.0)]


def test_rules_by_functions_with_ordered_effects() -> None:
    p = Primitive("twice")
    p.def_effectful_abstract_eval(lambda x: (x, {FIRST}))

    def twice(x: Any) -> Any:
        return record_p.bind(record_p.bind(x, tag="1") * 2, tag="2")

    mlir.register_lowering(p, mlir.lower_fun(twice, multiple_results=False))
    LOG.clear()
    assert jax.jit(lambda x: p.bind(p.bind(x)))(1.0) == 4.0
    jax.effects_barrier()
    assert LOG == [("1", 1.0), ("2", 2.0), ("1", 2.0), ("2", 4.0)]


def test_a_rule_that_gives_no_token() -> None:
    p = Primitive("forgetful")
    p.def_effectful_abstract_eval(lambda x: (x, {FIRST}))
    mlir.register_lowering(p, lambda ctx, x: [x])
    with pytest.raises(ValueError, match="rule of forgetful, tokens") as caught:
        jax.jit(p.bind)(1.0)
    assert "also those of First, which are ordered" in str(caught.value)


def test_effects_that_the_primitive_does_not_declare() -> None:
    p = Primitive("secretive")
    p.def_abstract_eval(lambda x: x)
    rule = mlir.lower_fun(lambda x: record_p.bind(x, tag=""), multiple_results=False)
    mlir.register_lowering(p, rule)
    with pytest.raises(ValueError, match="Declare the effects"):
        jax.jit(p.bind)(1.0)


def test_sets_of_tokens() -> None:
    with mlir.make_ir_context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            tokens = mlir.TokenSet.create([FIRST, SECOND])
            again = tokens.update_tokens(mlir.TokenSet.create([SECOND]))
    assert len(mlir.TokenSet()) == 0
    assert tokens.effects() == {FIRST, SECOND}
    assert str(tokens.get(FIRST).type) == "!stablehlo.token"
    assert again.get(FIRST) == tokens.get(FIRST)
    assert again.get(SECOND) != tokens.get(SECOND)
    assert dict(tokens.subset([FIRST]).items()) == {FIRST: tokens.get(FIRST)}
    with pytest.raises(KeyError):
        tokens.subset([FIRST]).get(SECOND)


def lowered_by(rule: Callable[..., Any], x: Any) -> Any:
    """The result of a primitive whose result is like its operand, by its lowering rule."""
    p = Primitive("made")
    p.def_abstract_eval(lambda aval: aval)
    mlir.register_lowering(p, rule)
    return jax.jit(p.bind)(x)


@pytest.mark.parametrize("constant", [VECTOR, LARGE], ids=["written", "passed"])
def test_a_program_as_a_function(constant: Any) -> None:
    program = jax.make_jaxpr(lambda x: (x * 2, x + constant))(constant)

    def rule(ctx: Any, x: Any) -> Any:
        def function() -> Any:
            return mlir.lower_jaxpr_to_fun(
                ctx.module_context, "f", program, [], num_const_args=0, in_avals=ctx.avals_in
            )

        first, second = function(), function()
        assert first.name.value != second.name.value
        doubled, _ = func.CallOp(first, [x]).results
        return [func.CallOp(second, [doubled]).results[1]]

    np.testing.assert_array_equal(lowered_by(rule, constant), constant * 2 + constant)


def test_a_function_that_takes_its_constants() -> None:
    program = jax.make_jaxpr(lambda x: x + VECTOR)(VECTOR)

    def rule(ctx: Any, x: Any) -> Any:
        function = mlir.lower_jaxpr_to_fun(
            ctx.module_context, "f", program, [], num_const_args=1, in_avals=ctx.avals_in * 2
        )
        return func.CallOp(function, [mlir.ir_constant(2 * VECTOR), x]).results

    np.testing.assert_array_equal(lowered_by(rule, VECTOR), 3 * VECTOR)


def test_a_function_with_ordered_effects() -> None:
    program = jax.make_jaxpr(lambda x: record_p.bind(x, tag="f"))(1.0)
    p = Primitive("calling")
    p.def_effectful_abstract_eval(lambda x: (x, {FIRST}))

    def rule(ctx: Any, x: Any) -> Any:
        function = mlir.lower_jaxpr_to_fun(
            ctx.module_context, "f", program, [FIRST], num_const_args=0, in_avals=ctx.avals_in
        )
        token, out = func.CallOp(function, [ctx.tokens_in.get(FIRST), x]).results
        ctx.set_tokens_out(mlir.TokenSet({FIRST: token}))
        return [out]

    mlir.register_lowering(p, rule)
    LOG.clear()
    assert jax.jit(lambda x: p.bind(p.bind(x) + 1))(1.0) == 2.0
    jax.effects_barrier()
    assert LOG == [("f", 1.0), ("f", 2.0)]


def as_module(program: Any, **options: Any) -> Any:
    arguments: dict[str, Any] = {
        "num_const_args": 0,
        "in_avals": program.in_avals,
        "ordered_effects": [],
        "platforms": ("cpu",),
        "backend": None,
        "axis_context": mlir.ShardingContext(1),
        "donated_args": [False] * len(program.in_avals),
        "lowering_parameters": mlir.LoweringParameters(),
    }
    return mlir.lower_jaxpr_to_module("named", program, **(arguments | options))


def test_a_program_as_a_module() -> None:
    program = jax.make_jaxpr(jax.jit(lambda x: x * LARGE))(LARGE)
    result = as_module(program, donated_args=[True])
    text = str(result.module)
    result.module.operation.verify()
    assert text.startswith("module @named {")
    assert "@main(%arg0: tensor<100000xf32> {jax.buffer_donor = true})" in text
    assert (result.keepalive, result.host_callbacks, result.shape_poly_state) == ([], [], None)


def test_a_module_with_callbacks() -> None:
    result = as_module(jax.make_jaxpr(lambda x: jax.debug.print("{}", x))(1.0))
    assert len(result.host_callbacks) == 1


@pytest.mark.parametrize(
    "options",
    [
        {"arg_shardings": [object()]},
        {"input_output_aliases": [0]},
        {"lowering_parameters": mlir.LoweringParameters(((jax.lax.sin_p, print),))},
    ],
)
def test_options_that_the_module_cannot_have(options: Any) -> None:
    with pytest.raises(ValueError, match="None for each of these"):
        as_module(jax.make_jaxpr(jnp.sin)(1.0), **options)


def parsed(text: str) -> Any:
    return ir.Module.parse(text)


def module_text(*functions: tuple[str, str]) -> str:
    """A module of functions f32 → f32, each of which returns what it calls, or its argument."""
    lines = []
    for name, callee in functions:
        call = f"%0 = func.call @{callee}(%x) : (tensor<f32>) -> tensor<f32>" if callee else ""
        lines.append(
            f"func.func public @{name}(%x: tensor<f32>) -> tensor<f32> {{ {call} "
            f"return {'%0' if callee else '%x'} : tensor<f32> }}"
        )
    return "module { " + "\n".join(lines) + " }"


@pytest.mark.parametrize(
    ("target", "source", "wish", "name", "names"),
    [
        ([("main", "")], [("main", "f"), ("f", "")], "g", "g", ["main", "g", "f"]),
        (
            [("main", "f"), ("f", "")],
            [("main", "f"), ("f", "")],
            "f",
            "f_0",
            ["main", "f", "f_0", "f_1"],
        ),
        ([("main", "")], [("main", "")], "main", "main_0", ["main", "main_0"]),
    ],
)
def test_two_modules_as_one(
    target: Any, source: Any, wish: str, name: str, names: list[str]
) -> None:
    with mlir.make_ir_context():
        into, given = parsed(module_text(*target)), parsed(module_text(*source))
        assert mlir.merge_mlir_modules(into, wish, given, ir.SymbolTable(into.operation)) == name
        into.operation.verify()
        assert [op.name.value for op in into.body.operations] == names
        added = list(into.body.operations)[len(target) :]
        assert {op.attributes["sym_visibility"].value for op in added} == {"private"}
        assert not list(given.body.operations)


class Pair:
    """A constant of somebody else's type."""

    def __init__(self, value: float) -> None:
        self.value = value


def test_handlers_of_constants() -> None:
    mlir.register_constant_handler(
        Pair,
        lambda val, aval: [mlir.ir_constant(np.float32(val.value))] * 2,
    )

    def rule(ctx: Any, x: Any) -> Any:
        first, second = mlir.ir_constants(Pair(2.0))
        return [hlo.MulOp(x, hlo.AddOp(first, second).result).result]

    assert lowered_by(rule, 3.0) == 12.0


class Doubled(AbstractValue):
    """The aval of what two values hold."""


def test_types_of_avals() -> None:
    with mlir.make_ir_context():
        assert str(mlir.aval_to_ir_type(None, SCALAR)) == "tensor<f32>"
        with pytest.raises(TypeError, match="ir_type_handlers"):
            mlir.aval_to_ir_types(None, Doubled())
        mlir.ir_type_handlers[Doubled] = lambda aval: (mlir.aval_to_ir_type(None, SCALAR),) * 2
        try:
            assert len(mlir.aval_to_ir_types(None, Doubled())) == 2
        finally:
            del mlir.ir_type_handlers[Doubled]


def test_the_module_of_a_rule() -> None:
    seen: dict[str, Any] = {}

    def rule(ctx: Any, x: Any) -> Any:
        module = ctx.module_context
        seen.update(
            platforms=module.platforms,
            backend=module.get_backend().platform,
            devices=module.axis_context.num_devices,
            channels=(module.new_channel(), module.new_channel()),
            replaced=module.replace(platforms=("tpu",)).platforms,
            value=isinstance(x, mlir.Value),
        )
        return [x]

    lowered_by(rule, 1.0)
    assert seen == {
        "platforms": ("cpu",),
        "backend": "cpu",
        "devices": 1,
        "channels": (1, 2),
        "replaced": ("tpu",),
        "value": True,
    }
    kinds = mlir.DEVICE_TO_DEVICE_TYPE, mlir.SEND_TO_HOST_TYPE, mlir.RECV_FROM_HOST_TYPE
    assert kinds == (1, 2, 3)


def test_contexts() -> None:
    with lowering.JaxIrContext() as context:
        assert isinstance(mlir.make_ir_context(), lowering.JaxIrContext)
        assert str(ir.Type.parse("!stablehlo.token")) == "!stablehlo.token"
    context.append_dialect_registry(lowering.upstream_dialects)
    with pytest.raises(AttributeError, match="absent"):
        lowering.absent  # noqa: B018
