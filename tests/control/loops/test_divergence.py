"""Loops whose members end at different times, in blocks of members: the same to the bit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax

MEMBERS = 1030
Function = Callable[..., Any]


@contextmanager
def _whole() -> Iterator[None]:
    """All members run until the last one has ended."""
    jax.config.update("jax_split_divergent_loops", False)
    try:
        yield
    finally:
        jax.config.update("jax_split_divergent_loops", True)


def _loops(f: Function, *args: Any) -> int:
    return int(jax.jit(f).lower(*args).as_text().count("stablehlo.while"))


def _same(f: Function, *args: Any) -> Any:
    """The results of a function, which on no engine depend on how a loop is divided."""
    divided = None
    for engine in ("native", "xla"):
        with jax.cpu_engine(engine):
            divided = jax.jit(f)(*args)
            with _whole():
                together = jax.jit(f)(*args)
        for a, b in zip(jax.tree.leaves(divided), jax.tree.leaves(together), strict=True):
            if jnp.issubdtype(a.dtype, jax.dtypes.prng_key):
                a, b = jax.random.key_data(a), jax.random.key_data(b)
            # The sign of NaN means nothing.
            a, b = (np.where(np.isnan(x), np.nan, x) for x in (np.asarray(a), np.asarray(b)))
            np.testing.assert_array_equal(a.view(np.uint8), b.view(np.uint8))
    return divided


def _steps(n: int = MEMBERS) -> Any:
    return np.random.default_rng(0).geometric(0.2, n).astype(np.int32) - 1


def _numbers(*shape: int) -> Any:
    return np.random.default_rng(1).normal(size=shape).astype(np.float32)


def _counted(body: Function) -> Function:
    """A loop over so many steps of (number of the step, state)."""

    def loop(count: Any, x: Any) -> Any:
        return lax.while_loop(
            lambda s: s[0] < count, lambda s: (s[0] + 1, body(s[0], s[1])), (0, x)
        )[1]

    return loop


UNARY = [jnp.sin, jnp.tanh, jnp.exp, jnp.log1p, jnp.abs, lambda x: x * 0.7 + 0.1]
BINARY = [jnp.add, jnp.multiply, jnp.subtract, jnp.maximum, jnp.arctan2]


def _generated(seed: int) -> Function:
    """A body of random operations that are made element by element."""
    rng = np.random.default_rng(seed)
    choices = rng.integers(0, 1 << 16, (6, 4)).tolist()

    def body(i: Any, x: Any) -> Any:
        values = [x, x * 0.5 + i]
        for kind, which, first, second in choices:
            a, b = values[first % len(values)], values[second % len(values)]
            if kind % 4 == 0:
                values.append(BINARY[which % len(BINARY)](a, b))
            elif kind % 4 == 1:
                values.append(jnp.where(a > b, a, UNARY[which % len(UNARY)](b)))
            elif kind % 4 == 2 and x.ndim:
                values.append(a[::-1] + b[which % x.shape[0]])
            else:
                values.append(UNARY[which % len(UNARY)](a))
        return jnp.clip(values[-1] + values[-2], -3.0, 3.0)

    return body


@pytest.mark.parametrize("seed", range(6))
def test_generated_programs(seed: int) -> None:
    shape = ((), (3,), (2, 2))[seed % 3]
    _same(jax.vmap(_counted(_generated(seed))), _steps(), _numbers(MEMBERS, *shape))


@pytest.mark.parametrize("members", [64, 1024, 1025, 5000])
def test_any_number_of_members(members: int) -> None:
    f = jax.vmap(_counted(lambda i, x: x + i))
    steps = _steps(members)
    out = _same(f, steps, np.zeros(members, np.float32))
    np.testing.assert_array_equal(out, steps * (steps - 1) // 2)
    assert _loops(f, steps, np.zeros(members, np.float32)) == (1 if members < 1024 else 2)


def test_members_end_as_they_would_alone() -> None:
    f = _counted(lambda i, x: jnp.where(x > i, x * 0.5, x + 1.0))
    steps, x = _steps(), _numbers(MEMBERS)
    out = _same(jax.vmap(f), steps, x)
    for i in (0, 1, 255, 256, 1023, 1029):
        assert out[i] == jax.jit(f)(steps[i], x[i])


def test_large_members_are_blocks_of_their_own() -> None:
    f = jax.vmap(_counted(lambda i, x: jnp.roll(x, 1) * 0.9 + i))
    args = _steps(20), _numbers(20, 300)
    assert _loops(f, *args) == 2
    _same(f, *args)


def test_constants_of_one_and_of_all() -> None:
    scale, shift = _numbers(MEMBERS), _numbers(4)

    def f(limit: Any, own: Any, shared: Any) -> Any:
        return lax.while_loop(
            lambda s: (s[0] < limit) & (s[1][0] < 5.0),
            lambda s: (s[0] + 1, s[1] * own + shared),
            (0, shared),
        )

    _same(jax.vmap(f, (0, 0, None)), _steps(), scale, shift)


def test_keys_integers_and_loops_inside() -> None:
    def f(key: Any, limit: Any) -> Any:
        def body(state: Any) -> Any:
            key, count, total = state
            key, own = jax.random.split(key)
            drawn = jax.random.randint(own, (), 0, 4)
            inner = lax.fori_loop(0, 3, lambda i, t: t * 5 + i, total)
            return key, count + drawn, lax.cond(limit > 2, lambda t: t + 1, lambda t: t, inner)

        return lax.while_loop(lambda s: s[1] < limit, body, (key, 0, 1))

    _same(jax.vmap(f), jax.random.split(jax.random.key(0), MEMBERS), _steps())


def test_nested_maps_and_derivatives() -> None:
    f = _counted(lambda i, x: jnp.sin(x) + 0.1 * i)
    steps, x = _steps(), _numbers(MEMBERS)

    def push(n: Any, v: Any) -> Any:
        return jax.jvp(lambda y: f(n, y), (v,), (1.0,))

    _same(jax.vmap(push), steps, x)
    _same(lambda n, v: jax.jvp(lambda y: jax.vmap(f)(n, y), (v,), (v,)), steps, x)
    grid = np.resize(steps, (40, 32)), np.resize(x, (40, 32))
    _same(jax.vmap(jax.vmap(f)), *grid)


@pytest.mark.parametrize(
    "body",
    [
        lambda i, x: x / (jnp.sum(x) + 1.0),
        lambda i, x: jnp.outer(x, x) @ x,
        lambda i, x: jnp.cumsum(x),
    ],
)
def test_sums_of_floats_are_taken_of_all_members(body: Function) -> None:
    args = _steps(), _numbers(MEMBERS, 4)
    f, fewer = jax.vmap(_counted(body)), jax.jit(jax.vmap(_counted(body)))
    with _whole():
        text = fewer.lower(*args).as_text()
    assert jax.jit(f).lower(*args).as_text() == text


def test_effects_keep_the_loop_whole() -> None:
    def body(i: Any, x: Any) -> Any:
        jax.debug.callback(lambda i: None, i)
        return x + 1

    assert _loops(jax.vmap(_counted(body)), _steps(), _numbers(MEMBERS)) == 1


def test_what_members_change_of_their_arrays_is_judged_by_member() -> None:
    """Together they have many elements, of which a step of one changes a single one."""

    def recorded(n: Any) -> Any:
        def step(c: Any) -> Any:
            i, x, record = c
            return i + 1, jnp.sin(x) * n, record.at[i].set(x)

        return lax.while_loop(lambda c: c[0] < n, step, (0, 0.5, jnp.zeros(50_000)))[2]

    counts = np.array([3, 0, 17, 5000, 1, 2])
    _same(jax.vmap(recorded), counts)
    chosen = jax.jit(jax.vmap(recorded)).lower(counts).compile().as_text("engine")
    assert chosen.startswith("engine native")
    with _whole():
        assert "elements" in jax.jit(jax.vmap(recorded)).lower(counts).compile().as_text("engine")


def test_a_jaxpr_shows_one_loop() -> None:
    f = jax.vmap(_counted(lambda i, x: x + i))
    assert str(jax.make_jaxpr(f)(_steps(), _numbers(MEMBERS))).count("= while[") == 1


def test_a_program_for_several_devices_keeps_the_loop_whole() -> None:
    devices = jax.devices()
    if len(devices) < 2:
        pytest.skip("one device")
    mesh = jax.make_mesh((2,), ("x",), devices=devices[:2])
    split = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))
    args = jax.device_put((_steps(), _numbers(MEMBERS)), split)
    assert _loops(jax.vmap(_counted(lambda i, x: x + i)), *args) == 1
