"""The current trace, splicing of programs, and fragments that are made once per signature."""

from __future__ import annotations

import copy
import threading
import weakref
from collections.abc import Sequence
from typing import Any, final

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.core import (
    Jaxpr,
    Primitive,
    ShapedArray,
    StagingTrace,
    Trace,
    apply_jaxpr,
    check_jaxpr,
    current_name_stack,
    current_trace,
    extended_name_stack,
    new_trace,
    set_current_trace,
    without_source,
)
from morphax.transforms.derivatives import jvp, linearize
from morphax.transforms.gradients import grad
from morphax.transforms.make_jaxpr import make_jaxpr
from morphax.transforms.vmap import vmap

NUMBERS = np.arange(1, 4, dtype=np.float32)


@final
class Counted(Primitive):
    """2 x, counting how often each rule runs."""

    name = "counted"

    def __init__(self) -> None:
        self.runs = dict.fromkeys(("abstract_eval", "evaluate", "jvp", "batch"), 0)

    def abstract_eval(self, x: Any) -> Any:
        self.runs["abstract_eval"] += 1
        return x

    def evaluate(self, x: Any) -> Any:
        self.runs["evaluate"] += 1
        return 2 * x

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        self.runs["jvp"] += 1
        return self.bind(*primals), lax.mul(tangents[0], np.float32(2))

    def batch(self, axes: Any, operands: Sequence[Any], dims: Sequence[Any]) -> Any:
        self.runs["batch"] += 1
        return self.bind(*operands), dims[0]


def program() -> Jaxpr:
    """Constants, literals, several results of an equation, an operand returned as it is."""

    def function(x: Any, y: Any) -> Any:
        first, rest = lax.split(x, (1, 2))
        return lax.mul(lax.add(x, NUMBERS), y), rest, x, 2.0, first

    return make_jaxpr(function)(NUMBERS, np.float32(2))


def expected(x: Any, y: Any) -> list[Any]:
    return [(x + NUMBERS) * y, x[1:], x, 2.0, x[:1]]


def test_evaluation_of_a_program() -> None:
    outs = apply_jaxpr(program(), NUMBERS + 1, np.float32(3))
    for out, truth in zip(outs, expected(NUMBERS + 1, 3), strict=True):
        # An operand that is returned comes back as it was given.
        np.testing.assert_allclose(out.to_host() if hasattr(out, "to_host") else out, truth)


def test_splicing_copies_equations_with_fresh_variables() -> None:
    jaxpr = program()
    copy = make_jaxpr(lambda x, y: apply_jaxpr(jaxpr, x, y))(NUMBERS, np.float32(2))
    check_jaxpr(copy)
    assert str(copy) == str(jaxpr)
    assert not set(copy.invars + copy.constvars) & set(jaxpr.invars + jaxpr.constvars)
    bound = {v for eqn in copy.eqns for v in eqn.outvars}
    assert not bound & {v for eqn in jaxpr.eqns for v in eqn.outvars}
    assert copy.consts[0] is jaxpr.consts[0]


def test_splicing_infers_nothing_anew() -> None:
    counted = Counted()
    jaxpr = make_jaxpr(lambda x: counted.bind(counted.bind(x)))(1.0)
    counted.runs["abstract_eval"] = 0
    copy = make_jaxpr(lambda x: apply_jaxpr(jaxpr, *apply_jaxpr(jaxpr, x)))(1.0)
    assert len(copy.eqns) == 4
    assert counted.runs["abstract_eval"] == 0


def test_spliced_equations_keep_their_place_and_take_the_scope_of_the_call() -> None:
    jaxpr = make_jaxpr(lax.sin)(1.0)
    (original,) = jaxpr.eqns

    def function(x: Any) -> Any:
        with extended_name_stack("layer"):
            return apply_jaxpr(jaxpr, x)

    (eqn,) = make_jaxpr(function)(1.0).eqns
    assert eqn.source is not None
    assert eqn.source == original.source
    assert eqn.name_stack == ("layer",)


def test_spliced_equations_without_a_place_take_that_of_the_call() -> None:
    jaxpr = without_source(make_jaxpr(lax.sin))(1.0)
    assert jaxpr.eqns[0].source is None

    def function(x: Any) -> Any:
        return apply_jaxpr(jaxpr, x)

    (eqn,) = make_jaxpr(function)(1.0).eqns
    assert eqn.source is not None
    assert eqn.source.line == function.__code__.co_firstlineno + 1


def test_splicing_takes_numbers_and_constants() -> None:
    jaxpr = program()
    copy = make_jaxpr(lambda: apply_jaxpr(jaxpr, NUMBERS, 3.0))()
    check_jaxpr(copy)
    assert len(copy.consts) == 1


def test_wrong_number_of_operands() -> None:
    with pytest.raises(ValueError, match="zip"):
        apply_jaxpr(program(), NUMBERS)


@pytest.mark.parametrize(
    ("rule", "transformed"),
    [
        ("jvp", lambda f: lambda x: jvp(f, (x,), (x,))),
        ("jvp", lambda f: lambda x: linearize(f, x)[0]),
        ("jvp", lambda f: lambda x: grad(lambda y: lax.reduce_sum(f(y), (0,)))(x)),
        ("batch", vmap),
    ],
)
def test_rule_runs_once_per_signature(rule: str, transformed: Any) -> None:
    counted = Counted()
    function = transformed(lambda x: counted.bind(counted.bind(x)))
    for _ in range(2):
        function(NUMBERS)
        make_jaxpr(function)(NUMBERS)
    assert counted.runs[rule] == 1
    function(np.ones(5, np.float32))
    assert counted.runs[rule] == 2


def test_values_without_tangent_do_not_reach_the_rule() -> None:
    counted = Counted()
    _, tangent = jvp(lambda x: lax.mul(counted.bind(NUMBERS), x), (NUMBERS,), (NUMBERS,))
    assert counted.runs["jvp"] == 0
    np.testing.assert_allclose(tangent.to_host(), 2 * NUMBERS * NUMBERS)


def test_current_trace_is_restored() -> None:
    root, other = current_trace(), StagingTrace()
    with set_current_trace(other) as entered:
        assert entered is current_trace() is other
        assert other.live
    assert current_trace() is root
    with pytest.raises(KeyError), set_current_trace(other):
        raise KeyError
    assert current_trace() is root


def test_new_trace_ends() -> None:
    for error in (None, KeyError("mine")):
        trace = StagingTrace()
        try:
            with new_trace(trace):
                assert trace.live
                if error is not None:
                    raise error
        except KeyError:
            pass
        assert not trace.live


def test_name_stack_is_restored() -> None:
    with extended_name_stack("a"):
        with extended_name_stack("b"):
            assert current_name_stack() == ("a", "b")
        with pytest.raises(KeyError), extended_name_stack("b"):
            raise KeyError
        assert current_name_stack() == ("a",)
    assert current_name_stack() == ()


def test_threads_begin_with_the_root_trace() -> None:
    root, found = current_trace(), []

    def work() -> None:
        found.extend([current_trace(), current_name_stack(), lax.sin(np.float32(0)).to_host()])

    with set_current_trace(StagingTrace()), extended_name_stack("a"):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert found == [root, (), 0.0]


def test_abstract_trace() -> None:
    with pytest.raises(TypeError, match="Trace is abstract"):
        Trace(None).process(lax.sin_p, [1.0], {})


def test_constants_reach_the_bottom() -> None:
    """A literal result of a spliced program is an array in eager mode and a tracer in staging."""
    jaxpr = make_jaxpr(lambda: 2.0)()
    (out,) = apply_jaxpr(jaxpr)
    assert out.aval is ShapedArray((), np.float32, weak_type=True)
    staged = make_jaxpr(lambda: apply_jaxpr(jaxpr))()
    assert str(staged) == "{ lambda ; . let  in (2.0:f32[],) }"


def test_traced_values_can_be_remembered_weakly_and_copied() -> None:
    def function(x: Any) -> Any:
        assert weakref.ref(x)() is x
        assert copy.deepcopy({"x": x})["x"] is not x
        return copy.copy(x) * copy.deepcopy(x)

    assert jax.grad(function)(3.0) == 6.0
    assert jax.jit(function)(3.0) == jax.jvp(function, (3.0,), (1.0,))[0] == 9.0
    assert jax.vmap(function)(jnp.array([3.0])).tolist() == [9.0]


# As JAX 0.10 writes them.
SHOWN = {
    "jit": (jax.jit, 2.0, "JitTracer(~float32[])"),
    "grad": (jax.grad, 2.0, "GradTracer(primal=2.0, typeof(tangent)=f32[])"),
    "forward": (
        lambda f: lambda x: jax.jvp(f, (x,), (x,)), 2.0,
        "JVPTracer(primal=2.0, tangent=2.0)",
    ),
    "vmap": (jax.vmap, NUMBERS, "VmapTracer(aval=float32[], batched=float32[3])"),
    "grad of jit": (
        lambda f: jax.jit(jax.grad(f)), 2.0,
        "GradTracer(primal=JitTracer(~float32[]), typeof(tangent)=f32[])",
    ),
    "vmap of grad": (
        lambda f: jax.vmap(jax.grad(f)), NUMBERS,
        "GradTracer(primal=VmapTracer(aval=float32[], batched=float32[3]), typeof(tangent)=f32[])",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SHOWN)
def test_what_is_read_of_a_traced_value(name: str) -> None:
    transformed, x, text = SHOWN[name]
    read = []

    def function(x: Any) -> Any:
        read.extend([repr(x), str(x), f"{x}"])
        return x

    transformed(function)(x)
    assert read == [text] * 3
