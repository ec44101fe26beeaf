"""Programs and questions under the names that other people's code knows."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import core, lax
from morphax.core import ShapedArray
from morphax.errors import ConcretizationTypeError
from morphax.extend import core as jex
from morphax.extend.source_info_util import new_source_info

NUMBERS = np.arange(3, dtype=np.float32)
MATRIX = ShapedArray((3, 2), np.float32)


def program() -> Any:
    return jax.make_jaxpr(lambda x: jnp.sin(x) * NUMBERS)(NUMBERS)


def test_one_class_is_both_programs() -> None:
    closed = program()
    assert isinstance(closed, jex.ClosedJaxpr)
    assert isinstance(closed.jaxpr, jex.Jaxpr)
    assert issubclass(core.Jaxpr, jex.Jaxpr)
    assert not isinstance(closed.eqns[0], jex.Jaxpr)
    assert closed.literals == closed.consts
    assert jex.Jaxpr.eqns is core.Jaxpr.eqns
    assert len(closed.jaxpr.constvars) == 1


def test_programs_from_their_parts() -> None:
    closed = program()
    opened = jex.Jaxpr(
        list(closed.constvars), list(closed.invars), list(closed.outvars), list(closed.eqns)
    )
    again = jex.ClosedJaxpr(opened, closed.consts)
    core.check_jaxpr(again)
    assert str(again) == str(closed)
    np.testing.assert_allclose(jex.jaxpr_as_fun(again)(NUMBERS)[0], np.sin(NUMBERS) * NUMBERS)
    with pytest.raises(ValueError, match="one for each of"):
        jex.ClosedJaxpr(opened, [])
    assert closed.replace(consts=[2 * NUMBERS]).consts[0][1] == 2.0
    assert closed.replace(jaxpr=opened).consts is closed.consts


def test_effects_of_a_program_are_those_of_its_equations() -> None:
    closed = jax.make_jaxpr(lambda x: jax.debug.print("{}", x))(1.0)
    parts = closed.constvars, closed.invars, closed.outvars, closed.eqns
    assert jex.Jaxpr(*parts).effects == closed.effects != jex.no_effects
    assert jex.Jaxpr(*parts, closed.effects).effects == closed.effects


def test_equations() -> None:
    (sin, mul) = program().eqns
    assert isinstance(sin, jex.JaxprEqn)
    parts = sin.invars, sin.outvars, sin.primitive, sin.params, sin.effects
    copy = jex.JaxprEqn(*parts, sin.source_info, sin.ctx)
    assert (copy.source, copy.name_stack) == (sin.source, sin.name_stack)
    here = jex.new_jaxpr_eqn(*parts)
    assert here.source_info.traceback.line == inspect.currentframe().f_lineno - 1
    assert jex.new_jaxpr_eqn(*parts, new_source_info()).source is None
    cos = sin.replace(primitive=lax.cos_p, invars=list(mul.invars[:1]))
    assert (cos.primitive, cos.invars, cos.outvars) == (lax.cos_p, mul.invars[:1], sin.outvars)
    with sin.ctx.manager:
        assert sin.primitive.get_bind_params(sin.params) == sin.params


def test_variables_and_literals() -> None:
    scalar = ShapedArray((), np.float32)
    new = jex.gensym()
    assert new(scalar) is not new(scalar)
    assert isinstance(jex.DropVar(scalar), jex.Var)
    assert jex.Literal(2.0, scalar).hash == hash(2.0)
    assert jex.Literal(NUMBERS, scalar).hash is None
    closed = program()
    drop = closed.eqns[0].replace(outvars=[jex.DropVar(closed.out_avals[0])])
    core.check_jaxpr(closed.replace(eqns=(*closed.eqns, drop)))


def test_programs_inside_programs() -> None:
    jaxpr = jax.make_jaxpr(jax.jit(jnp.sin))(1.0)
    (inner,) = jex.subjaxprs(jaxpr)
    assert [eqn.primitive for eqn in inner.eqns] == [lax.sin_p]
    assert list(jex.jaxprs_in_params(jaxpr.eqns[0].params)) == [inner]


@pytest.mark.parametrize(
    ("x", "expected"), [(1.0, True), (NUMBERS, True), ("s", False), (None, False), (2**80, False)]
)
def test_valid_values(x: Any, expected: bool) -> None:
    assert jex.valid_jaxtype(x) is expected


def test_array_types() -> None:
    assert {np.ndarray, np.float32, type(jnp.ones(1))} <= jex.array_types
    assert float not in jex.array_types


def test_avals_of_batches() -> None:
    assert jex.mapped_aval(3, 0, MATRIX).shape == (2,)
    assert jex.mapped_aval(3, None, MATRIX) is MATRIX
    assert jex.unmapped_aval(5, 1, MATRIX).shape == (3, 5, 2)
    assert jex.unmapped_aval(5, None, MATRIX) is MATRIX
    with pytest.raises(AssertionError):
        jex.mapped_aval(4, 0, MATRIX)


def test_concrete_values() -> None:
    assert jex.concrete_or_error(int, jnp.int32(3)) == 3
    assert jex.concrete_or_error(None, 3.5) == 3.5
    seen = []
    jax.grad(lambda x: seen.append(jex.concrete_or_error(float, x)) or x)(2.0)
    assert seen == [2.0]
    with pytest.raises(ConcretizationTypeError, match="number of steps"):
        jax.jit(lambda x: jex.concrete_or_error(int, x, "number of steps"))(3)


def test_traces() -> None:
    state, root = jex.get_opaque_trace_state(), core.root_trace()
    seen: dict[str, Any] = {}

    def look(x: Any) -> Any:
        seen["state"] = jex.get_opaque_trace_state()
        seen["jit"] = jex.unsafe_am_i_under_a_jit_DO_NOT_USE()
        seen["vmap"] = jex.unsafe_am_i_under_a_vmap_DO_NOT_USE()
        seen["names"] = jex.unsafe_get_axis_names_DO_NOT_USE()
        seen["any"] = jex.nonempty_axis_env_DO_NOT_USE()
        with jex.take_current_trace() as trace:
            seen["trace"] = trace is not root and core.current_trace() is root
        return x

    assert state == jex.get_opaque_trace_state()
    assert jex.find_top_trace(()) is root
    jax.jit(look)(1.0)
    assert (seen["jit"], seen["vmap"], seen["names"], seen["any"]) == (True, False, [], False)
    assert seen["trace"]
    assert seen["state"] != state
    jax.vmap(look, axis_name="i")(NUMBERS)
    assert (seen["jit"], seen["vmap"], seen["names"], seen["any"]) == (False, True, ["i"], True)


def test_small_questions() -> None:
    assert jex.primal_dtype_to_tangent_dtype("float32") == np.float32
    assert jex.primal_dtype_to_tangent_dtype("int32") == jax.dtypes.float0


def test_debug_info() -> None:
    info = jex.DebugInfo("jit", "f at a/b.py:12", ("x", "y"), lambda: ("r",))
    assert isinstance(info, jex.DebugInfo)
    assert (info.traced_for, info.func_src_info) == ("jit", "f at a/b.py:12")
    assert (info.func_name, info.func_filename, info.func_lineno) == ("f", "a/b.py", 12)
    assert (info.arg_names, info.result_paths) == (("x", "y"), ("r",))
    assert info.filter_arg_names([True, False]) == ("x",)
    assert info.filter_result_paths([False]) == ()
    assert info.safe_arg_names(2) == ("x", "y")
    assert info.replace_func_name("g").func_src_info == "g at a/b.py:12"
    assert info.resolve_result_paths() is info
    paths = info.set_result_paths([1, {"a": 2}]).result_paths
    assert paths == ("result[0]", "result[1]['a']")
    with pytest.raises(AssertionError):
        info.assert_arg_names(3)
    with pytest.raises(AssertionError):
        info.safe_result_paths(2)
    unknown = info.with_unknown_names()
    assert (unknown.arg_names, unknown.filter_arg_names([True])) == (None, None)
    assert (unknown.safe_arg_names(2), unknown.safe_result_paths(1)) == (("", ""), ("",))
    nameless = jex.DebugInfo("jit", "f", None, None)
    assert (nameless.func_filename, nameless.func_lineno) == (None, None)
    assert nameless.replace_func_name("g").func_src_info == "g"


def test_names_of_traced_arguments() -> None:
    info = jax.make_jaxpr(lambda a, b: a)(1.0, 2.0).debug_info
    assert info.traced_for == "make_jaxpr"
    assert info.func_filename == __file__


@pytest.mark.parametrize(
    ("name", "primitive"),
    [
        ("sin_p", lax.sin_p),
        ("add_jaxvals_p", lax.add_any_p if hasattr(lax, "add_any_p") else None),
        ("scan_p", None),
        ("jit_p", None),
        ("remat_p", None),
        ("custom_jvp_call_p", None),
    ],
)
def test_primitives_by_name(name: str, primitive: Any) -> None:
    found = getattr(jex.primitives, name)
    assert isinstance(found, jex.Primitive)
    assert primitive is None or found is primitive


def test_every_listed_primitive_is_one() -> None:
    names = [name for name in vars(jex.primitives) if name.endswith("_p")]
    assert len(names) > 140
    assert all(isinstance(getattr(jex.primitives, name), core.Primitive) for name in names)
