"""Programs whose values are read in several orders take time that is linear in their length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.engines.xla.fusion_cuts import Analysis
from morphax.engines.xla.fusion_depth import DEEPEST

Step = Callable[[Any], Any]


def _reversed(x: Any) -> Any:
    return jnp.sin(x) * 1.1 + x[::-1] * 0.1


def _stencil(x: Any) -> Any:
    return jnp.pad(0.5 * x[1:-1] + 0.25 * (x[2:] + x[:-2]), 1)


def _rolled(x: Any) -> Any:
    return x - 0.1 * jnp.roll(x, 1) ** 2


def _taken(x: Any) -> Any:
    return jnp.tanh(x) + 0.1 * x[np.arange(x.shape[0])[::-1].copy()]


def _differences(x: Any) -> Any:
    return x + 0.1 * jnp.concatenate([x[1:] - x[:-1], x[:1]])


STEPS = [_reversed, _stencil, _rolled, _taken, _differences, jax.jit(_reversed)]


def _repeated(step: Step, count: int) -> Step:
    def program(x: Any) -> Any:
        for _ in range(count):
            x = step(x)
        return x

    return program


def _cuts(f: Callable[..., Any], *args: Any) -> int:
    return int(jax.jit(f).lower(*args).as_text().count("replica_id"))


@pytest.mark.parametrize("step", STEPS)
def test_long_chains_end_with_the_values_of_eager_steps(step: Step) -> None:
    x = jnp.linspace(0.0, 1.0, 60)
    many = _repeated(step, 90)
    np.testing.assert_allclose(jax.jit(many)(x), many(x), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("step", STEPS[:3])
def test_gradients_of_long_chains_end(step: Step) -> None:
    x = jnp.linspace(0.0, 1.0, 60)

    def loss(count: int) -> Callable[[Any], Any]:
        return jax.grad(lambda x: jnp.sum(_repeated(step, count)(x) ** 2))

    np.testing.assert_allclose(jax.jit(loss(4))(x), loss(4)(x), rtol=1e-4, atol=1e-5)
    assert np.isfinite(jax.jit(loss(40))(x)).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int32", "complex64"])
def test_cuts_change_no_value(dtype: str) -> None:
    given = np.array([0.0, -0.0, 1.0, -2.0, 3.0, 100.0] * 50)
    if dtype != "int32":
        given[[7, 20, 33]] = np.nan, np.inf, -np.inf
    x = jnp.asarray(given).astype(dtype)
    program = _repeated(lambda x: jnp.where(x == 3, x * 2, x) + 0 * x[::-1] - x[::-1], 6)
    found = jax.jit(program)(x)
    assert _cuts(program, x) > 0
    jax.config.update("jax_cut_fusions", False)
    try:
        assert _cuts(program, x) == 0
        uncut = jax.jit(program)(x)
    finally:
        jax.config.update("jax_cut_fusions", True)
    # NumPy knows no NaN of bfloat16.
    wide = np.float32 if dtype == "bfloat16" else dtype
    np.testing.assert_array_equal(np.asarray(uncut, wide), np.asarray(found, wide))


def _layer(x: Any) -> Any:
    mean = jnp.mean(x, -1, keepdims=True)
    return jax.nn.gelu((x - mean) / jnp.std(x, -1, keepdims=True)) @ jnp.ones((8, 8)) + x


@pytest.mark.parametrize(
    "program",
    [
        _repeated(lambda x: jnp.sin(x) * 1.5 + x, 40),
        _repeated(lambda x: jnp.sin(x[::-1]), 40),
        _repeated(lambda x: jnp.sin(x) @ x + x.T, 5),
        lambda x: jnp.exp(x) + jnp.exp(x)[::-1],
        lambda x: x[1:-1] + x[2:] + x[:-2] + x[1:-1, ::-1],
        jax.grad(lambda x: jnp.sum(_repeated(_layer, 3)(x))),
    ],
)
def test_programs_without_repeated_work_are_not_cut(program: Step) -> None:
    assert _cuts(program, jnp.ones((8, 8))) == 0


def test_small_states_of_loops_are_cut_late() -> None:
    def slopes(s: Any) -> Any:
        return jnp.stack([10 * (s[1] - s[0]), s[0] * (28 - s[2]) - s[1], s[0] * s[1] - s[2]])

    def step(s: Any, _: Any) -> tuple[Any, None]:
        first = slopes(s)
        second = slopes(s + 0.005 * first)
        third = slopes(s + 0.005 * second)
        last = slopes(s + 0.01 * third)
        return s + 0.01 / 6 * (first + 2 * second + 2 * third + last), None

    assert _cuts(lambda s: jax.lax.scan(step, s, None, length=100)[0], jnp.ones(3)) == 0


def test_the_number_of_cuts_is_linear() -> None:
    def count(steps: int) -> int:
        jaxpr = jax.make_jaxpr(_repeated(_reversed, steps))(jnp.ones(100))
        return len(Analysis(jaxpr, {}).cuts())

    assert count(80) in range(10, 80)
    assert abs(count(160) - 2 * count(80)) <= 2


def test_modules_for_other_platforms_are_not_cut() -> None:
    program = _repeated(_reversed, 20)
    exported = jax.export.export(jax.jit(program), platforms=["cuda"])(jnp.ones(100))
    assert "replica_id" not in exported.mlir_module()
    own = jax.export.export(jax.jit(program))(jnp.ones(100))
    np.testing.assert_allclose(own.call(jnp.ones(100)), program(jnp.ones(100)), rtol=1e-5)


@pytest.mark.parametrize(
    ("shape", "is_cut"), [((2000, 3), True), ((20, 3), False), ((6000,), False)]
)
def test_erf_inv_in_short_rows_reads_its_operand_from_memory(shape: Any, is_cut: bool) -> None:
    draw = jax.jit(lambda k: jax.random.normal(k, shape))
    key = jax.random.key(0)
    assert ("stablehlo.if" in draw.lower(key).as_text()) == is_cut
    with jax.disable_jit():
        expected = jax.random.normal(key, shape)
    np.testing.assert_allclose(draw(key), expected, rtol=2e-6)


def _sines(count: int) -> Callable[[Any], Any]:
    def program(x: Any) -> Any:
        for _ in range(count):
            x = jnp.sin(x) * 1.1
        return x

    return program


@pytest.mark.parametrize("x", [1.0, np.arange(3.0)])
def test_chains_are_cut_that_the_compiler_would_recurse_through(x: Any) -> None:
    assert _cuts(_sines(DEEPEST // 2), x) == 0
    assert _cuts(_sines(DEEPEST // 2 + 1), x) > 0
    # A value is read by the next step and the one after: both sides of a cut are cut.
    assert _cuts(lambda x: _two_steps(x, DEEPEST + 2), x) > 0
    many = _sines(DEEPEST)
    with jax.cpu_engine("xla"):
        found = jax.jit(many)(x)
    np.testing.assert_allclose(found, _sines_of_numpy(x, DEEPEST), rtol=1e-4)


def test_calls_count_as_what_they_hold() -> None:
    step = jax.jit(_sines(DEEPEST // 4))
    assert _cuts(_repeated(step, 2), 1.0) == 0
    assert _cuts(_repeated(step, 3), 1.0) > 0


def _two_steps(x: Any, count: int) -> Any:
    before = x
    for _ in range(count // 2):
        x, before = jnp.sin(x) + before, x
    return x


def _sines_of_numpy(x: Any, count: int) -> Any:
    x = np.asarray(x, np.float32)
    for _ in range(count):
        x = np.sin(x) * np.float32(1.1)
    return x
