"""What loops carry is changed where it lies: the same bytes as with copies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.config import override
from morphax.engines.loops import control
from tests.descriptions import described

SHAPES = [(70,), (9, 11), (5, 3, 7), (130,), (66, 1)]
SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 3e38])

ALIKE: list[Callable[..., Any]] = [
    lambda x, y: x + y,
    lambda x, y: x * 0.5 - y,
    lambda x, y: jnp.where(x > y, x, -y),
    lambda x, y: jnp.maximum(x, 1) * 0.25 + y,
    lambda x, y: x - jnp.sin(y) * 0.1,
    lambda x, y: jnp.tanh(x) + y * y * 0.01,
    lambda x, y: lax.select(x == x, x, y),
]
ELSEWHERE: list[Callable[..., Any]] = [
    lambda x: x[::-1],
    lambda x: jnp.roll(x, 1, 0),
    lambda x: x.at[0].set(x[-1]),
    lambda x: jnp.concatenate([x[1:], x[:1]]),
    lambda x: jnp.cumsum(x, 0) * 0.1,
    lambda x: x - jnp.mean(x),
    lambda x: jnp.broadcast_to(x[:1], x.shape),
    lambda x: jnp.sort(x, axis=0),
    lambda x: x * jnp.sum(x, 0, keepdims=True) * 0.01,
    lambda x: x.reshape(-1)[::-1].reshape(x.shape),
]


def some_body(rng: Any, carried: int) -> Callable[[Sequence[Any], Any], Any]:
    """A step: operations on what is carried, some of whose results are carried on."""
    steps: list[tuple[Any, int, int]] = []
    moves = rng.choice([0.0, 0.1, 0.4])
    for number in range(int(rng.integers(1, 9))):
        first, second = (int(i) for i in rng.integers(0, carried + number, 2))
        is_alike = rng.random() >= moves
        choices = ALIKE if is_alike else ELSEWHERE
        steps.append((choices[rng.integers(0, len(choices))], first, second if is_alike else -1))
    number = carried + len(steps)
    onwards = [int(i) for i in rng.integers(number // 3, number, carried)]
    if rng.random() < 0.2:
        onwards = [int(i) for i in rng.permutation(carried)]
    uniform = int(rng.integers(0, carried)) if rng.random() < 0.1 else -1
    stacked = int(rng.integers(0, number)) if rng.random() < 0.4 else -1

    def body(state: Sequence[Any], x: Any) -> Any:
        values = [*state[1:]]
        values[0] = values[0] + x
        for function, first, second in steps:
            operands = (values[first],) if second < 0 else (values[first], values[second])
            values.append(function(*operands))
        new = [values[i] for i in onwards]
        if uniform >= 0:
            new[uniform] = jnp.full_like(new[uniform], state[0])
        summed = state[0] * 0.9 + jnp.sum(new[-1]) * 0.01
        return (summed, *new), values[stacked] if stacked >= 0 else state[0]

    return body


def some_program(rng: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    carried = int(rng.integers(1, 5))
    shape = SHAPES[rng.integers(0, len(SHAPES))]
    body, length = some_body(rng, carried), int(rng.integers(1, 14))
    is_while, is_reverse = rng.random() < 0.3, rng.random() < 0.3

    def run(x: Any, *arrays: Any) -> Any:
        state = (jnp.float32(1.0), *arrays)
        if not is_while:
            return lax.scan(body, state, x, reverse=is_reverse)

        def step(state: Any) -> Any:
            return state[0] + 1, body(state[1], x[state[0]])[0]

        return lax.while_loop(lambda s: s[0] < length, step, (0, state))

    arrays = [rng.normal(size=shape).astype(np.float32) for _ in range(carried)]
    if rng.random() < 0.3:
        arrays[0].flat[: len(SPECIAL)] = SPECIAL
    return run, (rng.normal(size=length).astype(np.float32), *arrays)


def results(run: Callable[..., Any], operands: Any) -> list[Any]:
    with jax.cpu_engine("native"):
        return [described(x) for x in jax.tree.leaves(jax.jit(run)(*operands))]


def compared(run: Callable[..., Any], operands: Any) -> None:
    found = results(run, operands)
    with override(change_in_place=False):
        assert found == results(run, operands)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many values were computed where they are carried, and how many were copied there."""
    count = [0, 0]
    in_order = control._Updates.in_order

    def counting(self: Any) -> Any:
        for number, is_in_place in in_order(self):
            count[not is_in_place] += 1
            yield number, is_in_place

    monkeypatch.setattr(control._Updates, "in_order", counting)
    return count


@pytest.mark.parametrize("seed", range(12))
def test_bytes_are_those_of_copies(seed: int, counted: list[int]) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(6):
        compared(*some_program(rng))
    assert min(counted) > 0


@pytest.mark.parametrize("seed", range(4))
def test_numbers_are_those_of_another_engine(seed: int) -> None:
    rng = np.random.default_rng(50 + seed)
    for _ in range(3):
        run, operands = some_program(rng)
        operands = [np.nan_to_num(x, posinf=1, neginf=1) for x in operands]
        operands = [np.where(np.abs(x) > 10, 1, x).astype(x.dtype) for x in operands]
        with jax.cpu_engine("native"):
            found = jax.tree.leaves(jax.jit(run)(*operands))
        with jax.cpu_engine("xla"):
            expected = jax.tree.leaves(jax.jit(run)(*operands))
        for x, y in zip(found, expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=2e-3, atol=2e-3)


def test_moments_are_changed_before_what_they_are_made_of(counted: list[int]) -> None:
    def run(p: Any, m: Any, v: Any) -> Any:
        def step(state: Any, _: Any) -> Any:
            p, m, v = state
            g = p * 2 - 1
            m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
            return (p - 0.01 * m / (jnp.sqrt(v) + 1e-8), m, v), None

        return lax.scan(step, (p, m, v), None, length=9)[0]

    operands = tuple([np.linspace(0.1, i, 100, dtype=np.float32) for i in (1, 2, 3)])
    results(run, operands)
    assert counted == [3, 0]
    compared(run, operands)


def test_what_others_still_read_is_copied(counted: list[int]) -> None:
    def swapped(a: Any, b: Any) -> Any:
        return lax.fori_loop(0, 7, lambda _, s: (s[1] + 1, s[0] * 2), (a, b))

    def twice(a: Any, b: Any) -> Any:
        def step(_: Any, s: Any) -> Any:
            new = s[0] * 0.5 + s[1]
            return new, new

        return lax.fori_loop(0, 7, step, (a, b))

    operands = np.arange(100.0, dtype=np.float32), np.ones(100, np.float32)
    for run in (swapped, twice):
        counted[:] = 0, 0
        compared(run, operands)
        assert counted[1] > 0


@pytest.mark.parametrize("length", [1, 2, 7, 8, 9, 10, 11, 12, 13])
def test_steps_that_are_left_over_are_made(length: int) -> None:
    def run(x: Any, rows: Any) -> Any:
        def step(c: Any, row: Any) -> Any:
            c = c * 0.5 + row
            return c, c[:2]

        return lax.scan(step, x, rows, reverse=length % 2 == 0)

    rng = np.random.default_rng(length)
    x, rows = rng.normal(size=100), rng.normal(size=(length, 100))
    compared(run, (x.astype(np.float32), rows.astype(np.float32)))
    found = jax.jit(run)(x.astype(np.float32), rows.astype(np.float32))
    c, ys = x, []
    for row in rows[:: -1 if length % 2 == 0 else 1]:
        c = c * 0.5 + row
        ys.append(c[:2])
    np.testing.assert_allclose(found[0], c, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(found[1], ys[:: -1 if length % 2 == 0 else 1], rtol=1e-5, atol=1e-5)
