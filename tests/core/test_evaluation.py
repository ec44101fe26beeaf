"""`eval_jaxpr`: a program applied equation by equation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import core, lax

NUMBERS = np.arange(3, dtype=np.float32)


def function(x: Any) -> Any:
    with jax.named_scope("inner"):
        return jnp.sin(x) * NUMBERS


PROGRAM = jax.make_jaxpr(function)(NUMBERS)


def evaluated(x: Any, **options: bool) -> Any:
    (out,) = core.eval_jaxpr(PROGRAM.jaxpr, PROGRAM.consts, x, **options)
    return out


@pytest.mark.parametrize("transform", [lambda f: f, jax.jit, jax.vmap])
def test_values(transform: Any) -> None:
    x = np.ones((2, 3), np.float32) if transform is jax.vmap else NUMBERS
    np.testing.assert_allclose(transform(evaluated)(x), transform(function)(x), rtol=1e-6)


def test_other_constants() -> None:
    (out,) = core.eval_jaxpr(PROGRAM.jaxpr, [2 * NUMBERS], NUMBERS)
    np.testing.assert_allclose(out, 2 * function(NUMBERS), rtol=1e-6)


def test_programs_with_bodies() -> None:
    @jax.custom_jvp
    def custom(x: Any) -> Any:
        return x * 2.0

    custom.defjvp(lambda primals, tangents: (custom(*primals), 7.0 * tangents[0]))

    def nested(x: Any) -> Any:
        y = jax.jit(jnp.sin)(x)
        y = lax.cond(x > 0, jnp.cos, jnp.sin, y)
        y, _ = lax.scan(lambda c, _: (c * 2.0, None), y, None, length=3)
        return custom(y)

    closed = jax.make_jaxpr(nested)(1.0)

    def again(x: Any) -> Any:
        return core.eval_jaxpr(closed.jaxpr, closed.consts, x)[0]

    np.testing.assert_allclose(again(1.0), nested(1.0))
    np.testing.assert_allclose(jax.grad(again)(1.0), jax.grad(nested)(1.0))


def test_results_that_are_literals_or_arguments() -> None:
    closed = jax.make_jaxpr(lambda x: (x, 2.0))(1.0)
    assert core.eval_jaxpr(closed.jaxpr, closed.consts, 5.0) == [5.0, 2.0]


def test_lines_and_scopes() -> None:
    def outer(x: Any, **options: bool) -> Any:
        with jax.named_scope("outer"):
            return evaluated(x, **options)

    kept = jax.make_jaxpr(outer)(NUMBERS).eqns[0]
    assert kept.source == PROGRAM.eqns[0].source
    assert kept.name_stack == ("outer", "inner")
    own = jax.make_jaxpr(lambda x: outer(x, propagate_source_info=False))(NUMBERS).eqns[0]
    assert own.source.function == "evaluated"
    assert own.name_stack == ("outer",)


@pytest.mark.parametrize(
    ("consts", "args", "error", "text"),
    [
        (NUMBERS, (), TypeError, "apply_jaxpr"),
        ((), (NUMBERS,), ValueError, "0 constants and 1 arguments"),
        ([NUMBERS], (), ValueError, "expected: 1 constants and 1 arguments"),
    ],
)
def test_wrong_values(consts: Any, args: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        core.eval_jaxpr(PROGRAM.jaxpr, consts, *args)


def test_traces_of_others() -> None:
    """A trace may define JAX's `process_primitive` instead of `process`."""
    applied = []

    class Telling(core.Trace):
        def process_primitive(self, primitive: Any, tracers: Any, params: Any) -> Any:
            applied.append(primitive.name)
            return self.parent.process_primitive(primitive, tracers, params)

    trace = Telling(core.root_trace())
    with core.set_current_trace(trace):
        once = lax.neg(2.0)
        with core.eval_context():
            again = lax.neg(2.0)
    assert once == again == -2.0
    assert applied == ["neg"]
    assert trace.is_valid()
    trace.invalidate()
    assert not trace.is_valid()
    with pytest.raises(TypeError, match="is abstract"):
        core.Trace().process(lax.neg_p, (1.0,), {})


def test_names_of_tracers() -> None:
    seen = []
    jax.grad(lambda x: seen.append((x.to_concrete_value(), x.full_lower() is x)) or x)(2.0)
    jax.jit(lambda x: seen.append(x.to_concrete_value()) or x)(2.0)
    assert seen == [(2.0, True), None]
