"""ffi_call: values in eager mode and compiled, layouts, aliases, effects, vmap, refusals."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.core import Layout, ShapedArray, abstract_token, stage_closed
from morphax.core.dims import symbol
from morphax.engines.xla.executable import Executable
from morphax.engines.xla.symbolic_program import lower_at
from morphax.errors import JaxRuntimeError
from morphax.ffi import ffi_call
from tests.control.foreign.library import handlers, path

ENGINES = pytest.mark.parametrize("engine", [lambda f: f, jax.jit], ids=["eager", "jit"])
X = np.arange(3, dtype=np.float32)
BATCH = np.arange(6, dtype=np.float32).reshape(2, 3)
TWO = np.float32(2)


def spec(*shape: int, dtype: Any = np.float32) -> Any:
    return jax.ShapeDtypeStruct(shape, dtype)


@pytest.fixture(scope="module", autouse=True)
def library() -> ctypes.CDLL:
    return handlers()


@ENGINES
def test_one_result(engine: Any) -> None:
    scale = ffi_call("test_scale", spec(3))
    np.testing.assert_array_equal(engine(lambda x: scale(x, factor=TWO))(X), 2 * X)


@ENGINES
@pytest.mark.parametrize("kind", [list, tuple])
def test_several_results(engine: Any, kind: type) -> None:
    call = ffi_call("test_sum_and_difference", kind([spec(3), spec(3)]))
    outs = engine(lambda x: call(x, 1 + x))(X)
    assert type(outs) is kind
    np.testing.assert_array_equal(outs[0], 1 + 2 * X)
    np.testing.assert_array_equal(outs[1], [-1, -1, -1])


@ENGINES
@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (2, 3, 4)])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "bfloat16", "complex64"])
def test_shapes_and_dtypes(engine: Any, shape: tuple[int, ...], dtype: str) -> None:
    x = jnp.ones(shape, dtype)
    out = engine(ffi_call("test_copy_bytes", x))(x)
    assert (out.shape, out.dtype) == (x.shape, x.dtype)
    np.testing.assert_array_equal(out, x)


def test_the_program() -> None:
    program = jax.make_jaxpr(lambda x: ffi_call("test_scale", spec(3))(x, factor=TWO))(X)
    (eqn,) = program.eqns
    assert eqn.primitive.name == "ffi_call"
    assert eqn.params == {
        "result_avals": (program.out_avals[0],),
        "vmap_method": None,
        "target_name": "test_scale",
        "has_side_effect": False,
        "input_layouts": ((0,),),
        "output_layouts": ((0,),),
        "input_output_aliases": (),
        "custom_call_api_version": 4,
        "legacy_backend_config": None,
        "attributes": (("factor", np.float32(2)),),
    }


TEXT = 'ü\n"\\\x00~'


@ENGINES
def test_attributes(engine: Any) -> None:
    call = ffi_call("test_attributes", spec(10))
    given = {
        "i": -5,
        "j": np.int32(6),
        "u": np.uint64(2**64 - 1),
        "d": -0.5,
        "b": True,
        "text": TEXT,
        "array": np.array([1.5, np.inf], np.float32),
        "inner": {"q": 9},
    }
    length, last = len(TEXT.encode()), ord("~")
    expected = [-5, 6, 15, -0.5, 1, length, last, 2, np.inf, 9]
    np.testing.assert_array_equal(engine(lambda: call(**given))(), expected)


def test_attributes_are_told_apart_by_type_and_bits() -> None:
    scale = ffi_call("test_scale", spec(3))
    np.testing.assert_array_equal(scale(X, factor=TWO), 2 * X)
    # A Python float is a double, which the handler does not take.
    with pytest.raises(JaxRuntimeError, match=r"expected F32 but got F64(.|\n)*fix:"):
        scale(X, factor=2.0)
    signs = [np.signbit(scale(X, factor=np.float32(zero))[1]) for zero in (0.0, -0.0)]
    assert signs == [False, True]


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (object(), TypeError),
        (None, TypeError),
        (1j, TypeError),
        ([1, 2], TypeError),
        (np.dtype("float32"), TypeError),
        (np.array(["a"]), TypeError),
        (np.complex64(1), TypeError),
        ({1: 2}, TypeError),
        (jnp.float32(1), TypeError),
        (2**63, OverflowError),
    ],
)
def test_attributes_that_are_refused(value: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="attribute factor"):
        ffi_call("test_scale", spec(3))(X, factor=value)


def test_traced_attributes_are_refused() -> None:
    with pytest.raises(TypeError, match="pass what is traced as an operand"):
        jax.jit(lambda f: ffi_call("test_scale", spec(3))(X, factor=f))(TWO)


@ENGINES
@pytest.mark.parametrize("columns", [(1, 0), [1, 0], Layout((1, 0))])
def test_layouts(engine: Any, columns: Any) -> None:
    def copied(**layouts: Any) -> Any:
        return engine(ffi_call("test_copy_bytes", spec(2, 3), **layouts))(BATCH)

    by_columns = BATCH.ravel(order="F").reshape(2, 3)
    np.testing.assert_array_equal(copied(), BATCH)
    np.testing.assert_array_equal(copied(input_layouts=[None]), BATCH)
    np.testing.assert_array_equal(copied(input_layouts=[columns]), by_columns)
    np.testing.assert_array_equal(
        copied(output_layouts=columns), BATCH.ravel().reshape(2, 3, order="F")
    )
    np.testing.assert_array_equal(copied(input_layouts=[columns], output_layouts=columns), BATCH)


def test_layouts_of_batches() -> None:
    call = ffi_call(
        "test_copy_bytes",
        spec(2, 3),
        vmap_method="broadcast_all",
        input_layouts=[(1, 0)],
        output_layouts=(1, 0),
    )
    x = np.arange(24, dtype=np.float32).reshape(2, 4, 3)
    np.testing.assert_array_equal(jax.vmap(call, 1)(x), x.transpose(1, 0, 2))
    params = jax.make_jaxpr(jax.vmap(call))(jnp.ones((4, 2, 3))).eqns[0].params
    assert params["input_layouts"] == params["output_layouts"] == ((1, 2, 0),)


@ENGINES
def test_aliases(engine: Any) -> None:
    x = jnp.arange(3.0)
    call = ffi_call("test_add_one_in_place", spec(3), input_output_aliases={0: 0})
    np.testing.assert_array_equal(engine(call)(x), X + 1)
    # What is still needed is copied before.
    np.testing.assert_array_equal(engine(lambda x: call(x) + call(x) + x)(x), 3 * X + 2)
    np.testing.assert_array_equal(x, X)
    with pytest.raises(JaxRuntimeError, match="the memory is not shared"):
        engine(ffi_call("test_add_one_in_place", spec(3)))(x)


@pytest.mark.parametrize("side_effect", [False, True])
def test_side_effects_happen_if_results_are_not_used(
    library: ctypes.CDLL, side_effect: bool
) -> None:
    call = ffi_call("test_copy_bytes", spec(3), has_side_effect=side_effect)
    program = jax.jit(lambda x: (call(x), x + 1)[1])
    before = library.number_of_calls()
    program(X).block_until_ready()
    assert library.number_of_calls() - before == side_effect
    assert [str(e) for e in jax.make_jaxpr(program)(X).effects] == ["FFI"] * side_effect


METHODS = ["sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized"]


@ENGINES
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("axes", [(0, None), (1, None), (None, 0), (0, 1)])
def test_vmap(engine: Any, method: str, axes: Any) -> None:
    call = ffi_call("test_combine", spec(3), vmap_method=method)
    operands = [X if a is None else np.moveaxis(BATCH + a, 0, a) for a in axes]
    members = [X + np.zeros((2, 1)) if a is None else BATCH + a for a in axes]
    if method == "legacy_vectorized" and axes == (None, 0):
        members[0] = np.resize(X, (2, 3))
    out = engine(jax.vmap(call, axes))(*operands)
    np.testing.assert_array_equal(out, 10 * members[0] + members[1])


def test_empty_batches() -> None:
    call = ffi_call("test_copy_bytes", spec(3), vmap_method="sequential")
    assert jax.vmap(call)(np.zeros((0, 3), np.float32)).shape == (0, 3)


def test_vmap_needs_a_method() -> None:
    with pytest.raises(NotImplementedError, match=r"vmap of ffi_call of 'test_copy_bytes'"):
        jax.vmap(ffi_call("test_copy_bytes", spec(3)))(BATCH)


@pytest.mark.parametrize("transform", [jax.grad, lambda f: lambda x: jax.jvp(f, (x,), (x,))])
def test_derivatives_are_refused(transform: Any) -> None:
    call = ffi_call("test_scale", spec(3))
    with pytest.raises(ValueError, match=r"differentiation of ffi_call of 'test_scale'"):
        transform(lambda x: call(x, factor=TWO).sum())(X)


def test_derivatives_by_rule() -> None:
    @jax.custom_vjp
    def scale(x: Any) -> Any:
        return ffi_call("test_scale", spec(3), vmap_method="broadcast_all")(x, factor=TWO)

    scale.defvjp(lambda x: (scale(x), None), lambda _, ct: (scale(ct),))
    np.testing.assert_array_equal(jax.jit(jax.grad(lambda x: scale(x).sum()))(X), [2, 2, 2])
    rows = jax.vmap(jax.grad(lambda x: scale(x).sum()))(BATCH)
    np.testing.assert_array_equal(rows, np.full((2, 3), 2))


def test_in_loops_and_branches() -> None:
    call = ffi_call("test_scale", spec(3))

    def step(x: Any, _: Any) -> Any:
        return jax.lax.cond(x[1] < 8, lambda x: call(x, factor=TWO), lambda x: x, x), x[1]

    out, seen = jax.lax.scan(step, X, length=5)
    np.testing.assert_array_equal(out, 8 * X)
    np.testing.assert_array_equal(seen, [1, 2, 4, 8, 8])


def test_tokens() -> None:
    call = ffi_call("test_copy_bytes", [spec(3), abstract_token])
    avals = jax.make_jaxpr(call)(X).out_avals
    assert str(avals[1]) == "Tok"
    assert "!stablehlo.token" in jax.jit(call).lower(X).as_text()


def test_failures_of_handlers() -> None:
    with pytest.raises(JaxRuntimeError, match=r"INVALID_ARGUMENT(.|\n)*the handler refuses this"):
        ffi_call("test_refuse", spec(3))(X)
    with pytest.raises(JaxRuntimeError, match=r"(?s)NOT_FOUND.*no_such.*register_ffi_target"):
        ffi_call("no_such", spec(3))(X)
    with pytest.raises(JaxRuntimeError, match="expected F32 but got S32"):
        ffi_call("test_scale", spec(3))(np.arange(3), factor=TWO)
    with pytest.raises(JaxRuntimeError, match="expected 1 but got 0"):
        ffi_call("test_scale", spec(3))(X)


REFUSED: dict[str, tuple[Any, type[Exception], str]] = {
    "target": (lambda: ffi_call(3, spec(3)), TypeError, "argument target_name"),
    "result of a dict": (lambda: ffi_call("f", {"a": spec(3)}), ValueError, "number 0"),
    "result of None": (lambda: ffi_call("f", None), ValueError, "result_shape_dtypes"),
    "method": (lambda: ffi_call("f", X, vmap_method="no"), ValueError, "vmap_method"),
    "version": (lambda: ffi_call("f", X, custom_call_api_version=5), ValueError, "0 to 4"),
    "text": (lambda: ffi_call("f", X, legacy_backend_config="a"), ValueError, "legacy_backend"),
    "attribute": (
        lambda: ffi_call("f", X, custom_call_api_version=1)(X, a=1),
        ValueError,
        "older interfaces have no attributes",
    ),
    "operand": (lambda: ffi_call("f", X)([1.0]), TypeError, "argument number 0"),
    "layouts": (lambda: ffi_call("f", X, input_layouts=[])(X), ValueError, "1 layouts"),
    "layout": (lambda: ffi_call("f", X, output_layouts=(1,)), ValueError, "output_layouts"),
    "axes": (lambda: ffi_call("f", X, input_layouts=["a"])(X), ValueError, "input_layouts"),
    "alias of no operand": (
        lambda: ffi_call("f", X, input_output_aliases={1: 0})(X),
        ValueError,
        "1: 0, for 1 operands",
    ),
    "alias of another shape": (
        lambda: ffi_call("f", spec(4), input_output_aliases={0: 0})(X),
        ValueError,
        r"float32\[3\]: float32\[4\]",
    ),
    "alias used twice": (
        lambda: ffi_call("f", spec(3), input_output_aliases={0: 0, 1: 0})(X, X),
        ValueError,
        "which no other operand becomes",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    call, error, text = REFUSED[name]
    with pytest.raises(error, match=text) as raised:
        call()
    assert all(part in str(raised.value) for part in ("given:", "expected:", "fix:"))


def test_older_interfaces() -> None:
    call = ffi_call("f", spec(3), custom_call_api_version=2, legacy_backend_config="a\n")
    text = jax.jit(call).lower(X).as_text()
    assert r'backend_config = "a\0A"' in text
    assert "api_version = 2" in text


def test_compiled_programs_are_kept(tmp_path: Any) -> None:
    """Another process loads the program by name; one without the function says so."""
    script = """
import sys
import numpy as np
import morphax as jax
jax.config.update("jax_compilation_cache_dir", sys.argv[1])
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
if sys.argv[2] == "registered":
    from tests.control.foreign.library import handlers
    handlers(sys.argv[3])
call = jax.ffi.ffi_call("test_scale", jax.ShapeDtypeStruct((3,), np.float32))
print(jax.jit(lambda x: call(x, factor=np.float32(3)))(np.ones(3, np.float32)))
"""

    def run(how: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", script, str(tmp_path), how, path()]
        return subprocess.run(command, capture_output=True, text=True)

    assert run("registered").stdout == run("registered").stdout == "[3. 3. 3.]\n"
    assert "NOT_FOUND" in run("not registered").stderr


def test_symbolic_sizes() -> None:
    """One program for all sizes: results of several shapes, layouts, a batch."""
    n, m = symbol("n"), symbol("m")

    def function(x: Any, y: Any) -> Any:
        both = [jax.ShapeDtypeStruct(x.shape, x.dtype)] * 2
        total, difference = ffi_call("test_sum_and_difference", both)(x, y)
        columns = ffi_call("test_copy_bytes", both[0], input_layouts=[(1, 0)])(total)
        scale = ffi_call("test_scale", spec(m), vmap_method="broadcast_all")
        rows = jax.vmap(lambda x: scale(x, factor=TWO))(difference)
        return columns, rows

    avals = [ShapedArray((n, m), np.float32)] * 2
    jaxpr = stage_closed(function, avals)
    for sizes in ({"n": 2, "m": 3}, {"n": 4, "m": 1}):
        shape = tuple(sizes.values())
        x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        executable = Executable.compile(lower_at(jaxpr, "program", sizes))
        columns, rows = executable.run([jnp.asarray(x), jnp.asarray(x - 3)], False)
        np.testing.assert_array_equal(columns, (2 * x - 3).ravel(order="F").reshape(shape))
        np.testing.assert_array_equal(rows, np.full(shape, 6))
