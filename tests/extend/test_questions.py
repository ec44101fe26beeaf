"""What user code asks of values, traces and tables."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import core, lax
from morphax.core import ShapedArray
from morphax.errors import ConcretizationTypeError, TracerBoolConversionError

SCALAR = ShapedArray((), np.float32)
Transformed = Callable[[Callable[[Any], Any]], Any]
TRANSFORMATIONS: list[tuple[str, Transformed, bool]] = [
    ("jit", lambda f: jax.jit(f)(1.0), False),
    ("grad", lambda f: jax.grad(f)(1.0), True),
    ("jvp", lambda f: jax.jvp(f, (1.0,), (1.0,)), True),
    ("vmap", lambda f: jax.vmap(f)(np.ones(3, np.float32)), False),
    ("grad of jit", lambda f: jax.grad(jax.jit(f))(1.0), False),
]


def seen_by(
    transformed: Callable[[Callable[[Any], Any]], Any], question: Callable[..., Any]
) -> Any:
    """The answer to a question about a value inside a transformed function."""
    answers = []

    def function(x: Any) -> Any:
        answers.append(question(x))
        return x

    transformed(function)
    return answers[0]


@pytest.mark.parametrize(("name", "transformed", "expected"), TRANSFORMATIONS)
def test_is_concrete(name: str, transformed: Any, expected: bool) -> None:
    assert seen_by(transformed, core.is_concrete) is expected
    assert core.is_concrete(1.0)
    assert core.is_concrete(jnp.ones(2))


@pytest.mark.parametrize(("name", "transformed", "expected"), TRANSFORMATIONS)
def test_the_state_of_tracing(name: str, transformed: Any, expected: bool) -> None:
    def question(x: Any) -> Any:
        context = core.trace_ctx
        return context.is_top_level(), context.trace is core.find_top_trace((x,)) is x._trace

    assert seen_by(transformed, question) == (False, True)
    assert core.trace_ctx.is_top_level()


def test_the_named_axes() -> None:
    def question(x: Any) -> Any:
        env = core.trace_ctx.axis_env
        return env.axis_names(), env.axis_sizes, env.axis_exists("i"), env.axis_size("i")

    def mapped(f: Any) -> Any:
        return jax.vmap(f, axis_name="i")(np.ones(3, np.float32))

    assert seen_by(mapped, question) == (("i",), {"i": 3}, True, 3)
    assert not core.trace_ctx.axis_env.axis_exists("i")


def test_setting_the_trace() -> None:
    root = core.root_trace()
    trace = core.StagingTrace()
    try:
        core.trace_ctx.set_trace(trace)
        assert core.trace_ctx.trace is trace
    finally:
        core.trace_ctx.set_trace(root)


@pytest.mark.parametrize(
    ("fun", "suggest", "error", "text"),
    [
        (float, False, ConcretizationTypeError, "fix:      Mark the argument"),
        (bool, False, TracerBoolConversionError, r"bool\(\)"),
        (int, True, ConcretizationTypeError, r"x\.astype\(int\)"),
    ],
)
def test_the_error_of_a_conversion(fun: Any, suggest: bool, error: Any, text: str) -> None:
    refuse = core.concretization_function_error(fun, suggest)
    with pytest.raises(error, match=text):
        jax.jit(lambda x: refuse(None, x))(1.0)


@pytest.mark.parametrize(
    ("size", "expected"), [(3, True), (np.int32(3), True), ("n", False), (2.0, False)]
)
def test_constant_sizes(size: Any, expected: bool) -> None:
    assert core.is_constant_dim(size) is expected
    assert core.is_constant_shape((2, size)) is expected


def test_names_for_outside_are_loaded_on_demand() -> None:
    program = "import sys, morphax; print('morphax.extend' in sys.modules)"
    command = [sys.executable, "-W", "error", "-c", program]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "False\n"
    assert "valid_jaxtype" in dir(core)
    with pytest.raises(AttributeError, match="absent"):
        core.absent  # noqa: B018


class Wrapped:
    """A value of somebody else's type."""

    def __init__(self, number: float) -> None:
        self.number = number


def test_the_table_of_avals_by_type() -> None:
    table = core.pytype_aval_mappings
    assert table[np.ndarray](np.ones(3, np.float32)) is ShapedArray((3,), np.float32)
    assert table[np.float32](np.float32(1)) is SCALAR
    assert table[type(jnp.ones(2))](jnp.ones(2)) is ShapedArray((2,), np.float32)
    assert float in table
    assert len(table) == len(list(table))
    with pytest.raises(KeyError):
        table[Wrapped]
    table[Wrapped] = lambda x: SCALAR
    try:
        assert core.valid_jaxtype(Wrapped(1.0))
        assert jax.make_jaxpr(lambda: lax.sin(Wrapped(1.0)))().out_avals == (SCALAR,)
    finally:
        del table[Wrapped]
    assert not core.valid_jaxtype(Wrapped(1.0))


def test_types_of_literals() -> None:
    class Number(float):
        pass

    def stage() -> Any:
        return jax.make_jaxpr(lambda x: lax.mul(x, Number(2.0)))(1.0)

    assert len(stage().consts) == 1
    core.literalable_types.add(Number)
    try:
        jax.clear_caches()
        assert "2.0:f32[]" in str(stage())
        assert not stage().consts
    finally:
        core.literalable_types.remove(Number)


def test_writing_equations() -> None:
    new = core.gensym()
    x, y = new(SCALAR), new(SCALAR)
    eqn = core.new_jaxpr_eqn([x], [y], lax.sin_p, {}, set())
    program = core.Jaxpr((x,), (y,), (eqn,))
    core.check_jaxpr(program)
    assert core.eval_jaxpr(program, (), 0.0)[0] == 0.0
    assert __file__.endswith(eqn.source_info.traceback.file.rsplit("/", 1)[-1])


@pytest.mark.parametrize(
    "aval", [SCALAR, core.abstract_token, core.AbstractValue(), core.AbstractRef(SCALAR)]
)
def test_what_every_aval_answers(aval: Any) -> None:
    assert aval.is_high is False
    assert aval.update() == aval
    assert aval.update_weak_type(False) == aval.strip_weak_type() == aval
    assert aval.str_short(short_dtypes=True, mesh_axis_types=True)


def test_an_aval_without_fields() -> None:
    with pytest.raises(TypeError, match="no fields shape"):
        core.abstract_token.update(shape=())
