"""What the estimates of both engines' times decide, by the kind of work that a program does."""

from __future__ import annotations

from typing import Any

import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.engines import native
from morphax.engines.engine import Options
from morphax.engines.native import cost_model, engine


def is_machine_code(jaxpr: Any) -> bool:
    options = Options("f", cpu_engine="native")
    return native.judged(native.translated(jaxpr, options).loops).accepts


@pytest.mark.parametrize(
    ("function", "count", "accepts"),
    [
        (lax.erf, 500, True),
        (lax.erf, 10_000, False),
        (lax.erfc, 500, True),
        (jax.scipy.special.erfcx, 1000, True),
        (lax.lgamma, 100, True),
        (lax.lgamma, 10_000, True),
    ],
)
def test_functions_of_the_c_library_count_by_what_they_take(
    function: Any, count: int, accepts: bool
) -> None:
    # XLA has a short polynomial for erf, which wins where there are many numbers.  Of lgamma it has
    # many operations, for which it wakes another thread.
    jaxpr = jax.jit(function).trace(jnp.ones(count, jnp.float32)).jaxpr
    assert is_machine_code(jaxpr) is accepts


@pytest.mark.parametrize(
    ("function", "count", "accepts"),
    [
        (lambda x: x / (x + 2j), 6400, True),
        (lambda x: lax.cumlogsumexp(x.real), 4000, False),
    ],
)
def test_a_thread_that_xla_wakes_for_many_operations_counts(
    function: Any, count: int, accepts: bool
) -> None:
    jaxpr = jax.jit(function).trace(jnp.ones(count, jnp.complex64)).jaxpr
    assert is_machine_code(jaxpr) is accepts


def test_values_of_many_pairs_of_few_numbers_are_machine_code() -> None:
    def total(x: jax.Array, y: jax.Array) -> jax.Array:
        return jnp.sum(jnp.exp(jnp.add(*jnp.meshgrid(x, y))))

    grids = jnp.ones(600, jnp.float32)
    jaxpr = jax.jit(jax.grad(total, (0, 1))).trace(grids, grids).jaxpr
    assert is_machine_code(jaxpr)


def heat(u: Any) -> Any:
    neighbours = jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1)
    return u + 0.1 * (neighbours - 4 * u)


@pytest.mark.parametrize(
    ("step", "shape", "accepts"),
    [
        (heat, (200, 200), True),
        (lambda x: x - 0.1 * jnp.sin(x) * jnp.roll(x, 1), (100_000,), True),
        (lambda x: x * 0.999 + 0.001, (100_000,), True),
        (lambda x: jnp.tanh(x) + jnp.max(x), (30_000,), False),
        (lambda x: x[jnp.argsort(x)], (30_000,), False),
        (lambda x: jnp.cumsum(x) * 1e-3, (30_000,), False),
    ],
)
def test_steps_on_large_arrays_are_machine_code_where_that_is_clear(
    step: Any, shape: tuple[int, ...], accepts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (engine, cost_model):
        monkeypatch.setattr(module, "processors", lambda: 2)

    def run(x: Any) -> Any:
        return lax.scan(lambda x, _: (step(x), None), x, length=50)[0]

    with jax.cpu_engine("auto"):
        text = jax.jit(run).lower(jnp.ones(shape, jnp.float32)).compile().as_text("engine")
    assert text.startswith("engine native") is accepts, text


def test_what_steps_read_in_windows_is_not_what_they_work_on() -> None:
    """A long sequence of few numbers each is large, and its steps are not."""

    def run(w: Any, xs: Any) -> Any:
        def step(state: Any, x: Any) -> Any:
            h, c = state
            i, f, g, o = jnp.split(jnp.concatenate([x, h]) @ w, 4)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        return lax.scan(step, (jnp.zeros(16), jnp.zeros(16)), xs)[1]

    with jax.cpu_engine("auto"):
        lowered = jax.jit(run).lower(jnp.ones((32, 64)), jnp.ones((2000, 16)))
        assert lowered.compile().as_text("engine").startswith("engine native")
