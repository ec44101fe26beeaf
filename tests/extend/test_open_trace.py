"""The interface of traces and tracers for user code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import core
from morphax.core import ShapedArray, Trace, Tracer
from morphax.errors import LeakCheckError
from morphax.extend.core import TraceTag, set_current_trace, take_current_trace
from morphax.extend.core.primitives import call_p
from morphax.extend.linear_util import wrap_init

SCALAR = ShapedArray((), np.float32)
ESCAPED: list[Any] = []


class Counted(Tracer):
    """A value of the trace below, and how many operations led to it."""

    def __init__(self, trace: Trace, value: Any, count: int) -> None:
        super().__init__(trace, core.aval_of(value))
        self.value = value
        self.count = count


class Counting(Trace):
    """Counts operations."""

    def __init__(self, parent_trace: Trace, tag: TraceTag) -> None:
        super().__init__()
        self.parent_trace = parent_trace
        self.tag = tag

    def parts(self, x: Any) -> tuple[Any, int]:
        is_own = isinstance(x, Counted) and x._trace.tag is self.tag
        return (x.value, x.count) if is_own else (x, 0)

    def process_primitive(self, primitive: Any, tracers: Any, params: Any, /) -> Any:
        pairs = [self.parts(x) for x in tracers]
        count = 1 + sum([n for _, n in pairs])
        values = [x for x, _ in pairs]
        avals = [core.aval_of(x) for x in values]
        outs = primitive.bind_with_trace(self.parent_trace, values, avals, params)
        if primitive.multiple_results:
            return [Counted(self, x, count) for x in outs]
        return Counted(self, outs, count)


class CountingInside(Counting):
    """Counts operations inside functions too."""

    def process_call(self, call_primitive: Any, f: Any, tracers: Any, params: Any, /) -> Any:
        with set_current_trace(self):
            return f.call_wrapped(*tracers)

    def process_custom_jvp_call(
        self, primitive: Any, fun: Any, jvp: Any, tracers: Any, /, *, symbolic_zeros: bool
    ) -> Any:
        with set_current_trace(self):
            return fun.call_wrapped(*tracers)

    def process_custom_vjp_call(
        self,
        primitive: Any,
        fun: Any,
        fwd: Any,
        bwd: Any,
        tracers: Any,
        /,
        *,
        out_trees: Any,
        symbolic_zeros: bool,
    ) -> Any:
        with set_current_trace(self.parent_trace):
            values = [self.parts(x)[0] for x in tracers]
            residuals_and_outs = fwd.call_wrapped(*[y for x in values for y in (x, True)])
            out_tree, residual_tree = out_trees()
            residuals = residuals_and_outs[: residual_tree.num_leaves]
            (cotangent,) = bwd.call_wrapped(*residuals, *[1.0] * out_tree.num_leaves)
            assert cotangent == 5.0
            return residuals_and_outs[residual_tree.num_leaves :]


def counted(function: Any, kind: type[Counting] = Counting) -> Any:
    """The function with the number of operations behind its result."""

    def call(x: Any) -> tuple[Any, int]:
        with take_current_trace() as parent:
            trace = kind(parent, TraceTag())
            with set_current_trace(trace):
                out = function(Counted(trace, x, 0))
            return trace.parts(out)

    return call


@jax.custom_jvp
def tripled(x: Any) -> Any:
    return x + x + x


@tripled.defjvp
def tripled_jvp(primals: Any, tangents: Any) -> Any:
    return tripled(*primals), 7.0 * tangents[0]


@jax.custom_vjp
def doubled(x: Any) -> Any:
    return x + x


doubled.defvjp(lambda x: (doubled(x), x), lambda residual, ct: (5.0 * ct,))


@pytest.mark.parametrize("kind", [Counting, CountingInside])
def test_a_trace_from_outside(kind: Any) -> None:
    value, count = counted(lambda x: jnp.sin(x) * x + 1.0, kind)(2.0)
    np.testing.assert_allclose(value, np.sin(2.0) * 2.0 + 1.0, rtol=1e-6)
    assert count == 3


@pytest.mark.parametrize(
    ("transformed", "expected"),
    [
        (lambda f: jax.jit(f)(2.0), np.sin(2.0) * 2.0),
        (lambda f: jax.grad(f)(2.0), np.cos(2.0) * 2.0 + np.sin(2.0)),
        (lambda f: jax.vmap(f)(np.full(1, 2.0, np.float32))[0], np.sin(2.0) * 2.0),
    ],
)
def test_transformations_around_it(transformed: Any, expected: float) -> None:
    result = transformed(lambda x: counted(lambda y: jnp.sin(y) * y)(x)[0])
    np.testing.assert_allclose(result, expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("function", "as_primitives", "inside"),
    [
        (tripled, 1, 2),
        (lambda x: call_p.bind(x, subfuns=(wrap_init(lambda y: [y * y * y]),))[0], 1, 2),
    ],
)
def test_functions_as_primitives_or_inside(function: Any, as_primitives: int, inside: int) -> None:
    assert counted(function)(2.0)[1] == as_primitives
    assert counted(function, CountingInside)(2.0)[1] == inside


def test_functions_with_two_rules() -> None:
    value, count = counted(doubled)(2.0)
    assert (value, count) == (4.0, 1)
    value, count = counted(doubled, CountingInside)(2.0)
    assert (value, count) == (4.0, 0)


def test_rules_survive_a_trace_that_takes_primitives() -> None:
    assert jax.grad(lambda x: counted(tripled)(x)[0])(1.0) == 7.0
    assert jax.grad(lambda x: counted(doubled)(x)[0])(1.0) == 5.0


def test_a_method_that_is_not_defined() -> None:
    trace = Counting(core.root_trace(), TraceTag())
    for method, arguments, options in (
        ("process_call", (call_p, None, [], {}), {}),
        ("process_custom_jvp_call", (None, None, None, []), {"symbolic_zeros": False}),
        (
            "process_custom_vjp_call",
            (None, None, None, None, []),
            {"out_trees": None, "symbolic_zeros": False},
        ),
    ):
        with pytest.raises(NotImplementedError, match=f"Counting.{method}"):
            getattr(trace, method)(*arguments, **options)


def test_what_a_trace_answers() -> None:
    tag = TraceTag()
    trace = Counting(core.root_trace(), tag)
    assert trace.main is tag
    assert trace.requires_low
    assert trace.full_raise(3.0) == 3.0
    assert trace.stage_value(3.0) == jnp.float32(3.0)
    assert core.root_trace().main is None
    mains = []

    def look(x: Any) -> Any:
        mains.append(x._trace.main)
        return x

    jax.jit(look)(1.0)
    jax.grad(look)(1.0)
    jax.jvp(look, (1.0,), (1.0,))
    assert mains[0] is None
    assert len(set(map(id, mains))) == 3


def test_what_a_tracer_answers() -> None:
    tracer = Tracer(core.root_trace(), SCALAR)
    assert (tracer.aval, tracer._trace) == (SCALAR, core.root_trace())
    assert tracer.get_referent() is tracer
    assert not hasattr(tracer, "sharding")
    value = jnp.ones(3)
    referents = []
    jax.vmap(lambda x: referents.append(x.get_referent()) or x)(value)
    jax.jvp(lambda x: referents.append(x.get_referent()) or x, (value,), (value,))
    assert all(referent is value for referent in referents)


@pytest.mark.usefixtures("thawed")
def test_leaks_of_a_trace_from_outside() -> None:
    trace = Counting(core.root_trace(), TraceTag())
    with jax.checking_leaks():
        with pytest.raises(LeakCheckError, match="ESCAPED"), set_current_trace(trace, True):
            ESCAPED.append(jnp.sin(Counted(trace, 1.0, 0)))
    assert not trace.is_valid()
    ESCAPED.clear()


class HandingOn(Counting):
    """Hands functions with rules to the trace below, as functions of what it counts."""

    def process_custom_jvp_call(
        self, primitive: Any, fun: Any, jvp: Any, tracers: Any, /, *, symbolic_zeros: bool
    ) -> Any:
        values = [self.parts(x)[0] for x in tracers]
        avals = [jax.typeof(x) for x in values]
        params = {"subfuns": (fun, jvp), "symbolic_zeros": symbolic_zeros}
        assert self.parent_trace is not None
        outs = primitive.bind_with_trace(self.parent_trace, tuple(values), avals, params)
        return [Counted(self, x, 10) for x in outs]


def test_functions_with_rules_are_handed_on() -> None:
    def f(x: Any) -> Any:
        return counted(tripled, HandingOn)(x)[0]

    assert counted(tripled, HandingOn)(2.0) == (6.0, 10)
    assert f(2.0) == jax.jit(f)(2.0) == 6.0
    for derivative in (jax.grad(f), jax.jit(jax.grad(f)), jax.grad(jax.jit(f))):
        assert derivative(2.0) == 7.0
    assert jax.jvp(f, (2.0,), (1.0,)) == (6.0, 7.0)
    np.testing.assert_array_equal(jax.vmap(jax.grad(f))(jnp.arange(3.0)), [7.0] * 3)
    np.testing.assert_array_equal(jax.vmap(f)(jnp.arange(3.0)), [0.0, 3.0, 6.0])
