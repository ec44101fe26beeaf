"""The operation that draws gamma numbers: its two forms, its rules, its refusals."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import dtypes, random
from morphax.random import _loop_draws, random_gamma_p

KEY = random.key(3)
KEYS = {
    "one key": KEY,
    "keys": random.split(KEY, 400),
    "one key of rbg": random.key(3, impl="rbg"),
    "keys of rbg": random.split(random.key(3, impl="rbg"), 400),
    "one key of unsafe_rbg": random.key(3, impl="unsafe_rbg"),
}
PARAMETERS = np.array([0.0, 0.01, 0.3, 0.99, 1.0, 1.5, 7.0, 1e4, 1e30, np.inf, np.nan], np.float32)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("log_space", [False, True])
@pytest.mark.parametrize("kind", KEYS)
def test_numbers_drawn_in_place_are_those_of_the_program(kind: str, log_space: bool) -> None:
    a = jnp.broadcast_to(PARAMETERS, (400, len(PARAMETERS)))
    keys = KEYS[kind]

    draw = partial(random_gamma_p.bind, log_space=log_space)
    written_out = partial(random_gamma_p.draw, log_space=log_space)
    program = jax.jit(written_out, compiler_options={"jax_cpu_engine": "xla"})
    drawn = draw(keys, a)
    # Where a candidate is accepted by one and not by the other, the number is quite another.
    np.testing.assert_allclose(drawn, program(keys, a), rtol=2e-5, atol=2e-6)
    compiled = jax.jit(draw)(keys, a)
    assert np.asarray(compiled).tobytes() == np.asarray(drawn).tobytes()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("log_space", [False, True])
@pytest.mark.parametrize("kind", KEYS)
def test_so_are_those_of_float64(kind: str, log_space: bool) -> None:
    # At 1e30 the last digit of a logarithm would decide what is accepted.
    usual = PARAMETERS[PARAMETERS != np.float32(1e30)].astype(np.float64)
    keys = KEYS[kind]
    draw = partial(random_gamma_p.bind, log_space=log_space)
    written_out = partial(random_gamma_p.draw, log_space=log_space)
    with jax.enable_x64(True):
        a = jnp.broadcast_to(usual, (400, len(usual)))
        drawn = draw(keys, a)
        program = jax.jit(written_out, compiler_options={"jax_cpu_engine": "xla"})
        np.testing.assert_allclose(drawn, program(keys, a), rtol=1e-11, atol=1e-12)
        compiled = jax.jit(draw)(keys, a)
    assert np.asarray(compiled).tobytes() == np.asarray(drawn).tobytes()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("log_space", [False, True])
@pytest.mark.parametrize("kind", ["one key", "one key of rbg"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_numbers_are_those_of_the_program(dtype: str, kind: str, log_space: bool) -> None:
    # Of one key all parameters that there are, of others some.
    words = np.arange(0, 1 << 16, 1 if kind == "one key" else 16, dtype=np.uint16)
    a = jnp.asarray(words[: len(words) // 400 * 400].reshape(400, -1).view(dtypes.dtype(dtype)))
    draw = partial(random_gamma_p.bind, log_space=log_space)
    written_out = partial(random_gamma_p.draw, log_space=log_space)
    program = jax.jit(written_out, compiler_options={"jax_cpu_engine": "xla"})
    drawn, wanted = np.asarray(draw(KEYS[kind], a)), np.asarray(program(KEYS[kind], a))
    np.testing.assert_array_equal(*[np.isnan(x) for x in (drawn, wanted)])
    mine, theirs = [x[x == x].view(np.uint16).astype(int) for x in (drawn, wanted)]
    distance = np.abs(mine - theirs)
    if sys.version_info < (3, 12):
        assert not distance.any()
    else:
        # Later versions of jaxlib round a few of the steps less often.
        assert (distance > 0).mean() < 0.06
        assert (distance > 16).mean() < 0.002
    compiled = jax.jit(draw)(KEYS[kind], a)
    assert np.asarray(compiled).tobytes() == drawn.tobytes()


@pytest.mark.parametrize("engine", ["auto", "native", "xla"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_all_engines_call_the_same_code(engine: str, dtype: str) -> None:
    def draw(keys: Any, a: Any) -> tuple[Any, ...]:
        counts = jax.vmap(lambda k: random.binomial(k, a * 9, 0.4, (5,), dtype))(keys)
        return random.t(KEY, a * 2, (7,), dtype), random.loggamma(KEY, a, (3,), dtype), counts

    with jax.enable_x64(True):
        operands = random.split(KEY, 3), jnp.asarray(1.7, dtype)
        eager, compiled = (
            draw(*operands),
            jax.jit(draw, compiler_options={"jax_cpu_engine": engine})(*operands),
        )
        for here, there in zip(eager, compiled, strict=True):
            np.testing.assert_allclose(here, there, rtol=4e-7 if dtype == "float32" else 1e-15)


def test_few_numbers_are_drawn_by_machine_code() -> None:
    def step(total: Any, key: Any) -> tuple[Any, None]:
        # Those of 0 take no part in the sum, nor any time.
        unread = random.gamma(key, total)
        return total + random.poisson(key, unread * 0 + 30.0), None

    def draw(key: Any) -> Any:
        return random.t(key, 3.0, (8,)), jax.lax.scan(step, 1.0, random.split(key, 9))[0]

    compiled = jax.jit(draw).lower(KEY).compile()
    assert "engine native" in compiled.as_text("engine")
    assert "@morphax_draw" in compiled.as_text("native")
    for here, there in zip(draw(KEY), compiled(KEY), strict=True):
        np.testing.assert_allclose(here, there, rtol=3e-7)
    many = jax.jit(lambda k: random.gamma(k, 2.0, (5000,))).lower(KEY).compile()
    assert "engine xla" in many.as_text("engine")


def test_each_number_is_its_own() -> None:
    # Blocks, parts that threads take, and what rejection moves together.
    a = np.random.default_rng(0).choice(PARAMETERS[1:8], 9000).astype(np.float32)
    whole = random.gamma(KEY, a, (9000,))
    compiled = jax.jit(random.gamma, static_argnums=2)(KEY, a, (9000,))
    assert np.asarray(compiled).tobytes() == np.asarray(whole).tobytes()
    for count in (1, 255, 257, 4097):
        np.testing.assert_array_equal(random.gamma(KEY, a[:count], (count,)), whole[:count])


def test_programs_that_go_elsewhere_are_written_out() -> None:
    def draw(key: Any) -> tuple[Any, Any]:
        return random.gamma(key, 2.0, (3,)), random.poisson(key, 3.0, (3,))

    assert "morphax_draw" in jax.jit(draw).lower(KEY).as_text()
    exported = jax.export.export(jax.jit(draw))(KEY)
    assert "morphax_draw" not in exported.mlir_module()
    for here, there in zip(draw(KEY), exported.call(KEY), strict=True):
        np.testing.assert_allclose(here, there, rtol=2e-6)


def test_the_program_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = random.gamma(KEY, 0.7, (6,))
    monkeypatch.setattr(_loop_draws, "native", None)
    np.testing.assert_allclose(random.gamma(KEY, 0.7, (1, 6))[0], expected, rtol=1e-5)


def test_keys_stand_for_the_leading_axes() -> None:
    keys, a = random.split(KEY, 2), jnp.full((2, 3), 2.0)
    numbers = random_gamma_p.bind(keys, a, log_space=False)
    np.testing.assert_array_equal(numbers, [random.gamma(key, 2.0, (3,)) for key in keys])
    text = str(jax.make_jaxpr(jax.vmap(lambda k: random.gamma(k, 2.0, (3,))))(keys))
    assert "f32[2,3] = random_gamma[log_space=False] a" in text


@pytest.mark.parametrize("in_axes", [(0, None), (None, 0), (0, 1), (0, 0)])
def test_a_batch_is_a_loop(in_axes: Any) -> None:
    keys, a = random.split(KEY, 3), jnp.arange(1.0, 10).reshape(3, 3)
    operands = [KEY if in_axes[0] is None else keys, a]
    drawn = jax.vmap(random.gamma, in_axes)(*operands)
    for i, row in enumerate(drawn):
        chosen = [
            x if axis is None else jnp.take(x, i, axis)
            for x, axis in zip(operands, in_axes, strict=True)
        ]
        np.testing.assert_array_equal(row, random.gamma(*chosen))


@pytest.mark.parametrize("log_space", [False, True])
def test_derivatives(log_space: bool) -> None:
    draw = random.loggamma if log_space else random.gamma
    slopes = [
        transform(jax.grad(lambda a: draw(KEY, a)))(jnp.float32(2.5))
        for transform in (lambda f: f, jax.jit)
    ]
    np.testing.assert_allclose(*slopes, rtol=1e-5)
    step = 1e-3
    with jax.enable_x64(True):
        pair = [draw(KEY, 2.5 + h, dtype="float64") for h in (step, -step)]
        slope = jax.grad(lambda a: draw(KEY, a, dtype="float64"))(2.5)
    # Another normal number may not be needed within the step: the derivative is that of the same.
    assert np.isfinite(pair).all()
    assert np.sign(slope) == 1


def test_refusals() -> None:
    with pytest.raises(ValueError, match=r"random_gamma(.|\n)*keys of shape \(2,\)(.|\n)*fix:"):
        random_gamma_p.bind(random.split(KEY), jnp.ones(3), log_space=False)
    with pytest.raises(TypeError, match="random_gamma, operand 1"):
        random_gamma_p.bind(KEY, jnp.ones(3, int), log_space=False)


@pytest.mark.parametrize("impl", ["rbg", "unsafe_rbg"])
def test_keys_of_other_generators_are_gone_through_one_by_one(impl: str) -> None:
    # In a batch the first number, once accepted, would stop the stream of all that are rejected.
    numbers = random.gamma(random.key(3, impl=impl), 2.0, (2000,))
    assert abs(numbers.mean() - 2) < 0.1
    keys = random.split(random.key(3, impl=impl), 20)
    counts = jax.vmap(lambda k: random.binomial(k, 100, 0.5, (50,)))(keys)
    np.testing.assert_array_equal(counts[7], random.binomial(keys[7], 100, 0.5, (50,)))
    rates = jax.vmap(lambda k: random.poisson(k, 30.0, (50,)))(keys)
    np.testing.assert_array_equal(rates[7], random.poisson(keys[7], 30.0, (50,)))


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        ("float16", [0.306396484375, 0.5283203125, 0.5966796875, 1.1494140625, 0.30419921875]),
        ("bfloat16", [0.1220703125, 0.70703125, 0.09375, 0.34765625, 0.431640625]),
    ],
)
def test_narrow_numbers_are_those_of_jax(dtype: str, expected: list[float]) -> None:
    assert random.gamma(KEY, 0.9, (5,), dtype).tolist() == expected


def test_numbers_of_rbg_are_those_of_jax() -> None:
    numbers = random.gamma(random.key(3, impl="rbg"), 2.0, (4,))
    np.testing.assert_allclose(numbers, [4.3616843, 1.8579997, 3.0817053, 1.0350507], rtol=1e-6)
