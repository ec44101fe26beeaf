"""The stages of `jit`: what they know, their text, and the checks of compiled functions."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax, stages
from morphax.control.jit.compiled import CompiledProgram
from morphax.core import Format, Jaxpr, Layout, ShapedArray
from morphax.runtime.sharding import SingleDeviceSharding
from morphax.transforms import flattening

VECTOR = np.arange(3, dtype=np.float32)
F32_3 = ShapedArray((3,), np.float32)
WEAK_I32 = ShapedArray((), np.int32, weak_type=True)


def function(x: Any, y: Any, *, scale: float = 1.0) -> Any:
    return {"a": x * scale + 1.0, "b": y}


@pytest.fixture
def traced() -> stages.Traced:
    return jax.jit(function, donate_argnums=0).trace(VECTOR, 2)


@pytest.fixture
def compiled() -> stages.Compiled:
    return jax.jit(function).lower(VECTOR, 2).compile()


def failing(kind: type[Exception], call: Callable[[], Any]) -> str:
    with pytest.raises(kind) as caught:
        call()
    text = str(caught.value)
    assert re.search(rf"\(at {re.escape(__file__)}:\d+ \(.*\n +given: .*\n +expected: ", text)
    return text


def test_what_all_stages_know(traced: stages.Traced) -> None:
    lowered = traced.lower()
    for stage in (traced, lowered, lowered.compile()):
        assert stage.in_tree == jax.tree.structure(((0, 0), {}))
        assert stage.out_tree == jax.tree.structure({"a": 0, "b": 0})
        assert stage.in_avals == ((F32_3, WEAK_I32), {})
        assert stage.donate_argnums == (0,)
        (x, y), named = stage.args_info
        assert (x, y, named) == (stages.ArgInfo(F32_3, True), stages.ArgInfo(WEAK_I32, False), {})
        assert (x.shape, x.dtype, x.donated) == ((3,), np.float32, True)
        formats = getattr(stage, "output_formats", {"a": None, "b": None})
        assert stage.out_info == {
            "a": jax.ShapeDtypeStruct((3,), np.float32, sharding=formats["a"]),
            "b": jax.ShapeDtypeStruct((), np.int32, sharding=formats["b"], weak_type=True),
        }


def test_traced(traced: stages.Traced) -> None:
    assert isinstance(traced.jaxpr, Jaxpr)
    assert traced.fun_name == "function"
    assert traced.out_avals == {"a": F32_3, "b": WEAK_I32}
    known = ("jaxpr", "args_info", "fun_name", "out_info", "out_tree")
    assert all([getattr(traced.lojax, name) == getattr(traced, name) for name in known])
    assert repr(stages.ArgInfo(F32_3, False)) == (
        "ArgInfo(_aval=ShapedArray(float32[3]), donated=False)"
    )


def test_protocol() -> None:
    assert isinstance(jax.jit(function), stages.Wrapped)
    assert not isinstance(function, stages.Wrapped)


@pytest.mark.parametrize("x", [VECTOR, jax.ShapeDtypeStruct((3,), np.float32), F32_3])
def test_arguments_with_shape_and_dtype(x: Any) -> None:
    jitted = jax.jit(function, static_argnames="scale")
    assert jitted.eval_shape(x, 2, scale=3.0)["a"] == jax.ShapeDtypeStruct((3,), np.float32)
    assert jitted.trace(x, 2, scale=3.0).in_avals == ((F32_3, WEAK_I32), {})
    compiled = jitted.lower(x, 2, scale=3.0).compile()
    assert compiled(VECTOR, 2)["a"].tolist() == [1.0, 4.0, 7.0]


def test_shapes_are_no_arguments_of_a_call() -> None:
    with pytest.raises(TypeError, match="argument x"):
        jax.jit(function)(jax.ShapeDtypeStruct((3,), np.float32), 2)


def test_static_arguments_are_no_arguments_of_later_stages() -> None:
    jitted = jax.jit(lambda x, n, *, name: x * n, static_argnums=1, static_argnames="name")
    traced = jitted.trace(1.0, 3, name="k")
    assert traced.in_tree == jax.tree.structure(((0,), {}))
    compiled = traced.lower().compile()
    assert compiled(2.0) == 6.0
    text = failing(TypeError, lambda: compiled(2.0, 3, name="k"))
    assert "static arguments not at all" in text


def test_arguments_by_name() -> None:
    compiled = jax.jit(function).lower(VECTOR, y=2).compile()
    assert compiled(VECTOR, y=3)["b"] == 3
    assert "for which it was compiled" in failing(TypeError, lambda: compiled(VECTOR, 3))


def test_weak_types_and_wide_arrays_are_accepted(compiled: stages.Compiled) -> None:
    assert repr(compiled(VECTOR.astype(np.float64), np.int32(5))["b"]).startswith("Array(5, ")
    assert compiled.call(VECTOR, 5)["a"].tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("args", "name", "given"),
    [
        ((VECTOR[:2], 2), "x", "float32[2]"),
        ((VECTOR.astype(np.int32), 2), "x", "int32[3]"),
        ((VECTOR, 2.0), "y", "~float32[]"),
        ((VECTOR, "text"), "y", "'text' of type str"),
    ],
)
def test_wrong_arguments_of_a_compiled_function(
    args: Any, name: str, given: str, compiled: stages.Compiled
) -> None:
    text = failing(TypeError, lambda: compiled(*args))
    assert re.match(rf"compiled function at .*, argument {name} \(at ", text)
    assert f"given:    {given}\n" in text


def test_names_of_a_function_that_is_gone() -> None:
    compiled = jax.jit(lambda params: params["w"]).lower({"w": 1.0}).compile()
    assert ", argument params['w'] (at " in failing(TypeError, lambda: compiled({"w": VECTOR}))


@pytest.mark.parametrize("transform", [jax.jit, jax.grad, jax.vmap])
def test_compiled_functions_cannot_be_transformed(transform: Any) -> None:
    compiled = jax.jit(lambda x: x * 2).lower(1.0).compile()
    argument = VECTOR if transform is jax.vmap else 1.0
    text = failing(TypeError, lambda: transform(lambda x: compiled(x))(argument))
    assert "a compiled function cannot be transformed" in text


def test_donation_by_a_compiled_function() -> None:
    x = jax.jit(lambda x: x + 1)(VECTOR)
    compiled = jax.jit(lambda x: x * 2, donate_argnums=0).lower(x).compile()
    assert compiled(x).tolist() == [2.0, 4.0, 6.0]
    assert x.is_deleted()


def test_captured_tracers_cannot_be_lowered() -> None:
    def outer(x: Any) -> Any:
        return jax.jit(lambda y: x * y).lower(1.0)

    assert "the argument x of the function outer" in failing(TypeError, lambda: jax.jit(outer)(1.0))


# Text and analysis.


def test_text() -> None:
    lowered = jax.jit(lambda x: lax.sin(x)).lower(VECTOR)
    text = lowered.as_text()
    assert text == lowered.as_text("stablehlo") == lowered.as_text(dialect="stablehlo")
    assert "stablehlo.sine" in text
    assert __file__ not in text
    assert lowered.as_text("hlo").startswith("HloModule jit__lambda_, ")
    assert "sine" in lowered.compile().as_text()
    assert "unknown" in failing(ValueError, lambda: lowered.as_text("unknown"))


def test_text_with_source_lines() -> None:
    def named(x: Any) -> Any:
        with jax.named_scope("layer"):
            y = lax.sin(x)
        return lax.fori_loop(0, 3, lambda i, c: c * y, y)

    text = jax.jit(named).lower(VECTOR).as_text(debug_info=True)
    line = named.__code__.co_firstlineno + 2
    assert f'stablehlo.sine %1 : tensor<3xf32> loc("layer/sin"("{__file__}":{line}:0))' in text
    assert len(re.findall(r" loc\(.* loc\(.*\n", text)) == 0
    text = jax.jit(named).lower(VECTOR).as_text("hlo", debug_info=True)
    assert re.search(r"sine\(.*op_name=\"layer/sin\"", text)
    assert __file__ in text
    module = jax.jit(named).lower(VECTOR).compiler_ir()
    assert module.operation.verify()


def test_compiler_ir() -> None:
    lowered = jax.jit(lambda x: lax.sin(x)).lower(VECTOR)
    assert "stablehlo.sine" in str(lowered.compiler_ir())
    assert "sine" in lowered.compiler_ir("hlo").as_hlo_text()


def test_analysis() -> None:
    lowered = jax.jit(lambda x: x @ x).lower(np.ones((16, 16), np.float32))
    assert lowered.cost_analysis()["flops"] == 2 * 16**3
    compiled = lowered.compile()
    assert compiled.cost_analysis()["flops"] == 2 * 16**3
    assert compiled.memory_analysis().argument_size_in_bytes == 4 * 16**2
    assert compiled.runtime_executable() is compiled.runtime_executable()


def test_compiler_options() -> None:
    lowered = jax.jit(lambda x: x + 1, compiler_options={"xla_cpu_enable_fast_math": False}).lower(
        1.0
    )
    assert lowered.compile({"xla_embed_ir_in_executable": True})(1.0) == 2.0
    with pytest.raises(RuntimeError, match="xla_no_such"):
        lowered.compile(compiler_options={"xla_no_such": 1})


@pytest.mark.parametrize("level", [jax.CompilerEffortLevel.O1, "O3", 29, "UNKNOWN"])
@pytest.mark.parametrize("name", ["optimization_level", "memory_fitting_level"])
def test_levels_of_effort(name: str, level: Any) -> None:
    assert jax.jit(lambda x: x + 1, compiler_options={name: level})(1.0) == 2.0
    assert jax.jit(lambda x: x - 1).lower(1.0).compile({name: level})(1.0) == 0.0


def test_wrong_levels_of_effort() -> None:
    for wrong in ("O9", 1.5, None, True):
        with pytest.raises(ValueError, match=r"(?s)optimization_level.*fix:"):
            jax.jit(lambda x: x + 1, compiler_options={"optimization_level": wrong})(1.0)


def test_platforms() -> None:
    traced = jax.jit(lambda x: x + 1).trace(1.0)
    assert traced.lower(lowering_platforms=("cuda",)).as_text() == traced.lower().as_text()
    text = failing(ValueError, lambda: traced.lower(lowering_platforms=("cpu", "cuda")))
    assert "one platform" in text


# Placement.


def test_shardings_and_formats() -> None:
    jitted = jax.jit(lambda m, unused, same: (m @ m, same, 1.0))
    compiled = jitted.lower(np.ones((2, 2)), 1.0, VECTOR).compile()
    sharding = SingleDeviceSharding(jax.devices()[0])
    matrix, vector, number = (Format(Layout.row_major(n), sharding) for n in (2, 1, 0))
    assert compiled.input_formats == ((matrix, Format(), vector), {})
    assert compiled.output_formats == (matrix, vector, number)
    assert compiled.input_shardings == ((sharding, None, sharding), {})
    assert compiled.output_shardings == (sharding, sharding, sharding)


@pytest.mark.parametrize(
    ("text", "layout"),
    [
        ("{}", Layout((), ())),
        ("{1,0}", Layout((0, 1), ())),
        ("{0,1,2}", Layout((2, 1, 0), ())),
        ("{1,0:T(8,128)(4,1)}", Layout((0, 1), ((8, 128), (4, 1)))),
        ("{1,0:T(8,128)E(4)}", Layout((0, 1), ((8, 128),), 4)),
    ],
)
def test_layouts_of_xla(text: str, layout: Layout) -> None:
    assert Layout.from_xla(text) == layout
    assert layout.update(tiling=None).tiling is None


def test_stages_are_made_of_what_jax_names() -> None:
    """The constructors take what those of JAX take; other code may use the stages' parts."""
    traced = jax.jit(lambda x, y: x + y, donate_argnums=0).trace(jnp.ones(3), 1.0)
    lowered = traced.lower()
    again = jax.stages.Lowered(lowered._lowering, lowered.args_info, lowered.out_tree)
    assert again.as_text() == lowered.as_text()
    assert again.donate_argnums == (0,)
    positional = jax.stages.Lowered(
        lowered._lowering, lowered.args_info, lowered.out_tree, no_kwargs=True
    ).compile()
    assert positional(jnp.ones(3), 1.0).tolist() == [2, 2, 2]
    with pytest.raises(NotImplementedError, match="y by name"):
        positional(jnp.ones(3), y=1.0)
    compiled = lowered.compile()
    program = CompiledProgram("f", compiled._plan, ["x", "y"], traced.bind)
    with pytest.raises(ValueError, match="const_args"):
        jax.stages.Compiled(program, [jnp.ones(3)], compiled.args_info, compiled.out_tree)
    made = jax.stages.Compiled(program, [], compiled.args_info, compiled.out_tree)
    assert made(jnp.ones(3), 2.0).tolist() == [3, 3, 3]
    assert (made.in_avals, made.out_info) == (compiled.in_avals, compiled.out_info)


def test_names_of_many_arguments_are_worked_out_together(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[int] = []

    def names(function: Any, tree: Any, complete: Any = None) -> list[str]:
        counts.append(tree.num_leaves)
        return own(function, tree, complete)

    own = flattening.argument_names
    monkeypatch.setattr(flattening, "argument_names", names)
    lowered = jax.jit(lambda tree: tree).lower({str(i): VECTOR for i in range(300)})
    assert counts == [300]
    assert lowered.args_info[0][0]["7"].shape == (3,)
