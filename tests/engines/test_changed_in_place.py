"""What a loop program changes in place nobody reads any more: not what is computed later either."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.engines.loops.program import Copy, For, walk
from tests.engines.machine_code_calls import MachineCodes
from tests.sampling import few

# What loops carry of up to 64 elements has memory of its own in any case.
SMALL, LARGE = (np.linspace(-1, 1, size, dtype=np.float32) for size in (12, 84))


def viewed(x: Any) -> Any:
    y = x * 2 + 1
    backwards = y[::-1] * x - 2
    return backwards, y.sum(), lax.dynamic_update_slice(y, x[:3], (2,))


def scanned(x: Any) -> Any:
    def step(carry: Any, _: Any) -> Any:
        y = carry * 2 + 1
        backwards = y[::-1]
        total = y.sum()
        return y.at[0].set(7.0) * 0.1, (backwards, total)

    return lax.scan(step, x, None, length=3)


def twice_removed(x: Any) -> Any:
    y = jnp.sin(x) * 2
    later = (y + 1)[::-1] * 3
    return jnp.sort(y), y.max(), later + x, later


def chosen(x: Any) -> Any:
    y = x * 3 - 1
    later = y[: y.size // 2] * y[y.size // 2 :]
    total = y.sum()
    z = lax.cond(total > 0, lambda y: y.at[1].add(9.0), lambda y: y.at[2].mul(5.0), y)
    return z.at[3].set(total), later


def repeated(x: Any) -> Any:
    y = x * 3 - 1
    later = y.reshape(3, -1).T * 2
    total = y.sum()
    z = lax.fori_loop(0, 4, lambda i, y: y.at[i].set(y[i + 1] + total), y)
    return z, later


READERS: list[Callable[..., Any]] = [
    lambda y, x: y[::-1],
    lambda y, x: y * x - 1,
    lambda y, x: jnp.roll(y, 3) + x,
    lambda y, x: y.reshape(3, -1).T.reshape(-1) * 2,
    lambda y, x: jnp.where(x > 0, y, -y),
    lambda y, x: (y[: y.size // 2] * y[y.size // 2 :]).repeat(2),
]
STORERS: list[Callable[..., Any]] = [
    lambda y: y.sum(),
    lambda y: y.max(),
    lambda y: jnp.cumsum(y)[5],
    lambda y: (y.reshape(3, -1) @ y.reshape(-1, 3)).sum(),
    lambda y: y[jnp.argmin(y)],
]
WRITERS: list[Callable[..., Any]] = [
    lambda y, s: y.at[2].set(s),
    lambda y, s: y.at[1::3].add(s),
    lambda y, s: lax.dynamic_update_slice(y, y[:4] * s, (5,)),
    lambda y, s: jnp.sort(y),
    lambda y, s: y.at[jnp.arange(4) * 2].multiply(s),
    lambda y, s: lax.fori_loop(0, 3, lambda i, y: y.at[i].set(s + i), y),
    # Loops that read besides what they carry, as a constant, as slices, and twice.
    lambda y, s: lax.fori_loop(0, 3, lambda i, z: z.at[i].set(s + y[2 - i]), y),
    lambda y, s: lax.scan(lambda z, v: (z.at[1].add(v), None), y, y[::-1] * s)[0],
    lambda y, s: lax.scan(lambda z, v: (z.at[1].add(v * s), None), y, y)[0],
    lambda y, s: sum(lax.fori_loop(0, 2, lambda i, z: (z[1].at[i].set(s), z[0]), (y, y))),
    lambda y, s: lax.fori_loop(0, 3, lambda i, y: rewritten(y.at[i].add(s), y[4], i), y),
    lambda y, s: lax.fori_loop(0, 2, lambda i, y: rewritten(y, s, i) + y[::-1], y),
]


def rewritten(y: Any, s: Any, start: Any) -> Any:
    """A loop for use within others."""
    return lax.while_loop(
        lambda state: state[0] < start + 3,
        lambda state: (state[0] + 1, state[1].at[state[0]].set(s + state[1][0])),
        (start, y),
    )[1]


def random_program(seed: int) -> Callable[..., Any]:
    """Values that are read before and after others of their memory were changed."""

    def run(x: Any) -> Any:
        draw = np.random.default_rng(seed)

        def some(rules: list[Callable[..., Any]]) -> Callable[..., Any]:
            return rules[draw.integers(len(rules))]

        values = [x * 2 + 1, jnp.sin(x) - x]
        results = []
        for _ in range(draw.integers(3, 7)):
            at = draw.integers(len(values))
            y = values[at]
            for _ in range(draw.integers(0, 3)):
                values.append(some(READERS)(y, x))
            s = some(STORERS)(y) * 0.1
            values[at] = some(WRITERS)(y, s) if draw.random() < 0.7 else y
            if draw.random() < 0.5:
                results.append(values.pop(draw.integers(len(values))))
            values = values or [x * s]
        return [*results, *values]

    return run


def assert_is_eager(function: Callable[..., Any], x: Any = SMALL) -> None:
    with jax.disable_jit():
        expected = jax.tree.leaves(function(jnp.asarray(x)))
    codes = MachineCodes()
    found = codes.call(codes.add(function, x), x)
    for i, (mine, theirs) in enumerate(zip(found, expected, strict=True)):
        np.testing.assert_allclose(mine, theirs, rtol=2e-5, atol=1e-5, err_msg=f"result {i}")


@pytest.mark.parametrize("function", [viewed, scanned, twice_removed, chosen, repeated])
def test_what_is_read_later(function: Callable[..., Any]) -> None:
    assert_is_eager(function)
    assert_is_eager(function, LARGE)


@pytest.mark.parametrize("start", few(range(0, 100, 20), 2))
def test_random_programs(start: int) -> None:
    for seed in range(start, start + 20):
        assert_is_eager(random_program(seed), LARGE if seed % 2 else SMALL)


def test_memory_is_still_changed_in_place() -> None:
    """What nobody reads is not copied: the work of an update in a loop is that of the element."""

    def run(x: Any) -> Any:
        y = x * 2 + 1
        return lax.fori_loop(0, 4, lambda i, y: y.at[i].set(1.0), y)

    codes = MachineCodes()
    program, _ = codes.functions[codes.add(run, SMALL)]
    assert sum([x.size >= SMALL.size for x in program.temporaries]) <= 1


def test_loops_within_loops_copy_nothing() -> None:
    def run(x: Any) -> Any:
        return lax.fori_loop(0, 4, lambda i, y: rewritten(y.at[i].add(1.0), 2.0, i), x * 2 + 1)

    codes = MachineCodes()
    program, _ = codes.functions[codes.add(run, LARGE)]
    assert sum([x.size >= LARGE.size for x in program.temporaries]) <= 1
    loops = [x for x in program.body if type(x) is For]
    assert not any([type(x) is Copy for loop in loops for x in walk(loop.body)])
    assert_is_eager(run, LARGE)


def test_views_of_what_is_stored_take_no_memory() -> None:
    """Each number is stored once, whatever shapes it is read in."""

    def all_pairs(x: Any) -> Any:
        y = x.reshape(4, 3) * 2 + 1
        apart = y[None] - y[:, None]
        return (apart**2).sum(-1), y.reshape(3, 4) * 3, y[::-1].sum(0), y

    codes = MachineCodes()
    name = codes.add(all_pairs, SMALL)
    program, _ = codes.functions[name]
    assert [x.shape for x in program.temporaries if x.size == SMALL.size] == []
    assert_is_eager(all_pairs)
