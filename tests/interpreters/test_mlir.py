"""Lowering rules that emit MLIR operations."""

from __future__ import annotations

import re
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.extend import mlir as bindings
from morphax.extend.core import Effect, Primitive
from morphax.extend.mlir import dialects, ir
from morphax.extend.mlir.dialects import func, hlo
from morphax.interpreters import mlir, xla
from morphax.interpreters.effect_types import EffectTypeSet

VECTOR = np.arange(3, dtype=np.float32)


def primitive(rule: Any = None, **options: Any) -> Primitive:
    """Of one operand and a result like it, with a parameter."""
    p = Primitive("scaled")
    p.def_impl(lambda x, *, scale: np.asarray(x) * scale)
    p.def_abstract_eval(lambda x, *, scale: x)
    if rule is not None:
        mlir.register_lowering(p, rule, **options)
    return p


def times_scale(ctx: mlir.LoweringRuleContext, x: Any, *, scale: float) -> Any:
    (aval,) = ctx.avals_out
    factor = mlir.ir_constant(np.full(aval.shape, scale, aval.dtype))
    return hlo.MulOp(x, factor).results


def compiled(p: Primitive) -> Any:
    return jax.jit(lambda x: p.bind(x, scale=2.0))


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8", "bfloat16", "complex64", "bool"])
def test_constants_and_types(dtype: str) -> None:
    values = jnp.asarray([1, 0, 1], dtype)

    def rule(ctx: Any, x: Any, *, scale: float) -> Any:
        constant = mlir.ir_constant(values)
        assert constant.type == x.type == mlir.aval_to_ir_type(ctx.module_context, ctx.avals_in[0])
        assert x.type.element_type == mlir.dtype_to_ir_type(values.dtype)
        assert mlir.aval_to_ir_types(ctx.module_context, ctx.avals_in[0]) == (x.type,)
        return mlir.ir_constants(values)

    out = compiled(primitive(rule))(jnp.zeros(3, dtype))
    assert (out == values).all()
    assert out.dtype == values.dtype


def test_what_the_rule_is_told() -> None:
    told = []

    def rule(ctx: Any, x: Any, *, scale: float) -> Any:
        told.append(ctx)
        return [x]

    p = primitive(rule)
    jax.jit(jax.named_scope("layer")(lambda x: p.bind(x, scale=2.0)))(VECTOR)
    (ctx,) = told
    assert ctx.primitive is p
    assert [a.shape for a in (*ctx.avals_in, *ctx.avals_out)] == [(3,), (3,)]
    assert ctx.module_context.platforms == ("cpu",)
    assert not ctx.is_forward_compat()
    assert ctx.replace(primitive=None).primitive is None
    assert ctx.module_context.replace(platforms=("tpu",)).platforms == ("tpu",)


def test_equal_equations_share_what_is_emitted() -> None:
    def twice(p: Primitive) -> str:
        function = jax.jit(lambda x: p.bind(p.bind(x, scale=2.0), scale=2.0))
        np.testing.assert_array_equal(function(VECTOR), 4 * VECTOR)
        return str(function.lower(VECTOR).as_text())

    assert twice(primitive(times_scale)).count("func.func private") == 1
    assert twice(primitive(times_scale, cacheable=False)).count("func.func private") == 2


def test_rules_by_platform() -> None:
    p = primitive(times_scale)
    mlir.register_lowering(p, lambda ctx, x, *, scale: [x], platform="cuda")
    np.testing.assert_array_equal(compiled(p)(VECTOR), 2 * VECTOR)
    mlir.register_lowering(p, lambda ctx, x, *, scale: [x], platform="cpu")
    np.testing.assert_array_equal(compiled(p)(VECTOR), VECTOR)


def test_no_rule_for_the_platform() -> None:
    p = primitive(times_scale, platform="gpu")
    with pytest.raises(NotImplementedError, match="compilation of scaled"):
        compiled(p)(VECTOR)


def test_the_rule_of_an_ordinary_primitive_can_be_replaced_on_one_platform() -> None:
    sin_p = jax.lax.sin_p
    mlir.register_lowering(sin_p, lambda ctx, x, **_: hlo.CosineOp(x).results, platform="cpu")
    try:
        assert jax.jit(lambda x: jax.lax.sin(x) + 0.0)(0.0) == 1.0
    finally:
        del sin_p.lower
        jax.clear_caches()
    assert jax.jit(lambda x: jax.lax.sin(x) + 0.0)(0.0) == 0.0


@pytest.mark.parametrize(
    ("rule", "error", "text"),
    [
        (lambda ctx, x, **_: x, TypeError, "a BlockArgument"),
        (lambda ctx, x, **_: [mlir.ir_constant(np.int32(1))], ValueError, "type of return operand"),
        (lambda ctx, x, **_: [], ValueError, "the lowering rule of scaled"),
    ],
)
def test_wrong_rules(rule: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=re.escape(text)):
        compiled(primitive(rule))(VECTOR)


def test_functions_of_the_rule_get_names_of_their_own() -> None:
    def rule(ctx: Any, x: Any, *, scale: float) -> Any:
        with ir.InsertionPoint(ctx.module_context.module.body):
            inner = func.FuncOp("main", ([x.type], [x.type]), visibility="private")
        block = inner.add_entry_block()
        with ir.InsertionPoint(block):
            func.ReturnOp(times_scale(ctx, block.arguments[0], scale=scale))
        return func.CallOp([x.type], ir.FlatSymbolRefAttr.get("main"), [x]).results

    np.testing.assert_array_equal(compiled(primitive(rule))(VECTOR), 2 * VECTOR)


LARGE = np.arange(40_000, dtype=np.float32)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, *, scale: x * scale,
        lambda x, *, scale: x * scale + 0.0 * jnp.sum(jnp.asarray(LARGE)),
        lambda x, *, scale: jax.lax.fori_loop(0, 1, lambda i, c: c * scale, x),
        lambda x, *, scale: jax.jit(lambda y: y * scale)(x),
    ],
)
def test_lowering_of_a_function(function: Any) -> None:
    p = primitive(mlir.lower_fun(function, multiple_results=False))
    np.testing.assert_array_equal(compiled(p)(VECTOR), 2 * VECTOR)


def test_lowering_of_a_function_inside_a_rule() -> None:
    double = mlir.lower_fun(lambda x, **_: [x + x, x - x])

    def rule(ctx: Any, x: Any, *, scale: float) -> Any:
        twice, zero = double(ctx, x)
        return hlo.AddOp(twice, zero).results

    np.testing.assert_array_equal(compiled(primitive(rule))(VECTOR), 2 * VECTOR)


def test_lowering_of_programs_inside_a_rule() -> None:
    program = jax.make_jaxpr(lambda x: x + LARGE[:3])(VECTOR)

    def rule(ctx: Any, x: Any, *, scale: float) -> Any:
        (once,) = mlir.core_call_lowering(ctx, x, name="shifted", call_jaxpr=program)
        consts = [mlir.ir_constants(LARGE[:3])]
        outs, tokens = mlir.jaxpr_subcomp(
            ctx.module_context,
            program.jaxpr,
            ctx.name_stack,
            ctx.tokens_in,
            consts,
            once,
            dim_var_values=(),
            const_lowering={},
            outer_traceback=None,
        )
        assert tokens is ctx.tokens_in
        return outs

    np.testing.assert_array_equal(compiled(primitive(rule))(VECTOR), 3 * VECTOR)


def calling(callback: Any) -> Any:
    """A rule that calls a Python function of array and scale."""

    def rule(ctx: Any, x: Any, *, scale: float) -> Any:
        outs, token, keepalive = mlir.emit_python_callback(
            ctx,
            lambda array: (callback(array, scale),),
            None,
            [x],
            ctx.avals_in,
            ctx.avals_out,
            has_side_effect=True,
        )
        assert token is None
        assert keepalive is None
        return outs

    return rule


@pytest.mark.parametrize("x", [VECTOR, np.float32(3.0), np.ones((2, 3), np.float32)])
def test_python_callback(x: Any) -> None:
    p = primitive(calling(np.multiply))
    np.testing.assert_array_equal(compiled(p)(x), 2 * x)


def test_python_callback_with_results_of_a_wrong_shape() -> None:
    p = primitive(calling(lambda array, scale: array[:1]))
    with pytest.raises(ValueError, match=r"a result of shape \(1,\)"):
        compiled(p)(VECTOR).block_until_ready()


class Recorded(Effect):
    """An ordered effect of the user."""

    ordered = True


def test_operations_with_an_ordered_effect() -> None:
    """They are kept where nothing uses their results, and in order, in loops too."""
    log: list[float] = []
    p = Primitive("record")
    p.def_impl(lambda x: (log.append(float(x)), x)[1])
    effect = Recorded()
    p.def_effectful_abstract_eval(lambda x: (x, {effect}))

    def rule(ctx: Any, x: Any) -> Any:
        outs, token, _ = mlir.emit_python_callback(
            ctx,
            lambda array: (log.append(float(array)), [array])[1],
            ctx.tokens_in.get(effect),
            [x],
            ctx.avals_in,
            ctx.avals_out,
            has_side_effect=True,
        )
        ctx.set_tokens_out(ctx.tokens_in.update_tokens(mlir.TokenSet({effect: token})))
        return outs

    mlir.register_lowering(p, rule)

    def function(x: Any) -> Any:
        p.bind(x + 10.0)
        return jax.lax.scan(lambda c, _: (p.bind(c) * 2, None), x, None, length=3)[0]

    for run in (function, jax.jit(function)):
        log.clear()
        assert run(1.0) == 8.0
        assert log == [11.0, 1.0, 2.0, 4.0]


def test_eager_mode_by_compilation() -> None:
    p = primitive(times_scale)
    p.def_impl(lambda x, **params: xla.apply_primitive(p, x, **params))
    np.testing.assert_array_equal(p.bind(VECTOR, scale=3.0), 3 * VECTOR)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, "1 : i64"),
        (True, "true"),
        (2.5, "2.500000e+00 : f64"),
        ("s", '"s"'),
        ([1, 2], "[1, 2]"),
        ((1.0, "a"), '[1.000000e+00, "a"]'),
        ({"a": 1}, "{a = 1 : i64}"),
        (np.int32(3), "3 : i32"),
        (np.float64(2), "2.000000e+00 : f64"),
        (np.arange(3), "dense<[0, 1, 2]> : tensor<3xi64>"),
        (np.dtype("float32"), "f32"),
    ],
)
def test_attributes(value: Any, text: str) -> None:
    with mlir.make_ir_context(), ir.Location.unknown():
        attribute = mlir.ir_attribute(value)
        assert str(attribute) == text
        assert mlir.ir_attribute(attribute) is attribute


def test_a_value_without_attribute() -> None:
    with mlir.make_ir_context(), pytest.raises(TypeError, match=r"mlir\.ir_attribute"):
        mlir.ir_attribute(None)


def test_pieces_of_modules() -> None:
    with mlir.make_ir_context(), ir.Location.unknown():
        assert str(mlir.dense_int_array([1, 2])) == "array<i64: 1, 2>"
        assert str(mlir.dense_int_elements([1, 2])) == "dense<[1, 2]> : tensor<2xi64>"
        assert str(mlir.i32_attr(3)) == "3 : i32"
        assert str(mlir.i64_attr(3)) == "3 : i64"
        assert str(mlir.token_type()) == "!stablehlo.token"
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            x, y, z = map(mlir.ir_constant, (np.arange(3.0), 2, True))
            static = mlir.shape_tensor(None, (1, 2))
            dynamic = mlir.shape_tensor(None, (1, mlir.ir_constant(np.int64(3))))
        assert static.type == dynamic.type == ir.Type.parse("tensor<2xi32>")
        assert mlir.flatten_ir_values([x, (y, z)]) == [x, y, z]
        types = [x.type, (y.type, z.type)]
        assert mlir.flatten_ir_types(types) == [x.type, y.type, z.type]
        assert mlir.unflatten_ir_values_like_types([x, y, z], types) == [x, (y, z)]
        assert mlir.module_to_string(module).startswith("module {")
        assert mlir.module_to_bytecode(module).startswith(b"ML\xefR")


Pair = namedtuple("Pair", "first second")


@pytest.mark.parametrize(
    ("tree", "leaves"),
    [
        ([1, ("a", [None])], [1, "a", None]),
        ([Pair(1, (2, 3))], [1, 2, 3]),
        ({"a": 1}, [{"a": 1}]),
        (None, [None]),
        ([], []),
    ],
)
def test_trees_of_values(tree: Any, leaves: list[Any]) -> None:
    registry = mlir.ir_tree_registry
    found, treedef = registry.flatten(tree)
    assert found == leaves
    assert treedef.unflatten(leaves) == tree
    assert [leaf for _, leaf in registry.flatten_with_path(tree)[0]] == leaves
    assert registry.is_node(type(tree)) == isinstance(tree, list)
    one_level = (tree, None) if isinstance(tree, list) else None
    assert registry.flatten_one_level(tree) == one_level
    assert registry.flatten([1, tree], lambda x: x is tree)[0] == [1, tree]


def test_bindings_are_loaded_on_demand() -> None:
    assert mlir.ir is bindings.ir is ir
    assert bindings.passmanager.PassManager
    assert dialects.hlo is dialects.stablehlo
    for module, name in (
        (mlir, "nothing"),
        (xla, "nothing"),
        (bindings, "nothing"),
        (dialects, "nothing"),
    ):
        with pytest.raises(AttributeError, match="nothing"):
            getattr(module, name)
    assert xla.Backend.__name__ == "Client"


def test_types_of_effects() -> None:
    assert mlir.lowerable_effects.contains(Recorded)
    own = EffectTypeSet()
    assert not own.contains(Recorded)
    effect = Recorded()
    assert (own.filter_in([effect]), own.filter_not_in([effect])) == ([], [effect])
    own.add_type(Recorded)
    assert (own.filter_in([effect]), own.filter_not_in([effect])) == ([effect], [])


def test_what_the_rule_is_told_of_devices() -> None:
    told: list[Any] = []

    def rule(ctx: mlir.LoweringRuleContext, x: Any, *, scale: float) -> Any:
        told.append((ctx.module_context.axis_context, ctx.module_context.shape_poly_state))
        is_known = all([type(n) is int for n in ctx.avals_in[0].shape])
        return times_scale(ctx, x, scale=scale) if is_known else [x]

    p = primitive(rule)
    whole = compiled(p)(VECTOR)
    kinds = (jax.sharding.AxisType.Auto,)
    mesh = jax.make_mesh((2,), ("x",), kinds, devices=jax.devices("cpu")[:2])
    x = np.arange(4, dtype=np.float32)
    spread = compiled(p)(jax.device_put(x, jax.NamedSharding(mesh, jax.P("x"))))
    each = jax.shard_map(compiled(p), mesh=mesh, in_specs=jax.P("x"), out_specs=jax.P("x"))
    of_members = jax.jit(each)(x)
    jax.export.export(compiled(p))(jax.ShapeDtypeStruct(jax.export.symbolic_shape("n"), np.float32))
    np.testing.assert_array_equal(whole, 2.0 * VECTOR)
    np.testing.assert_array_equal(spread, 2.0 * x)
    np.testing.assert_array_equal(of_members, 2.0 * x)
    contexts = [context for context, _ in told]
    assert contexts[:2] == [mlir.ShardingContext(1), mlir.ShardingContext(2)]
    assert contexts[2] == mlir.SPMDAxisContext(mesh, frozenset({"x"}))
    assert all([isinstance(context, mlir.AxisContext) for context in contexts])
    *plain, poly = [state for _, state in told]
    assert not any([s.uses_dim_vars or s.has_platform_index_argument for s in plain])
    assert poly == mlir.ShapePolyLoweringState(("n",), ("cpu",))
    assert poly.uses_dim_vars
    assert mlir.ShapePolyLoweringState((), ("cpu", "cuda")).has_platform_index_argument
