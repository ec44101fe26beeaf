"""Random programs of loops, branches and updates in place, with derivatives, by each compiler."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from tests.engines.c_library import CLibrary
from tests.engines.machine_code_calls import MachineCodes

Vectors = list[Any]
Step = Callable[[Vectors], Vectors]

# Of two vectors of length 4, a vector.
EXPRESSIONS: tuple[Callable[[Any, Any], Any], ...] = (
    lambda x, y: x + 0.5 * y,
    lambda x, y: jnp.sin(x),
    lambda x, y: x[::-1],
    lambda x, y: x.at[-2].set(y[0]),
    lambda x, y: x.at[1:3].add(y[::-1][:2]),
    lambda x, y: lax.dynamic_update_slice(x, y[1:3] * 0.5, (jnp.int32(x[0] * 2),)),
    lambda x, y: jnp.roll(x, 1) - jnp.mean(x),
    lambda x, y: jnp.where(x > y, x, jnp.cos(y)),
    lambda x, y: jnp.cumsum(x) * 0.3,
    lambda x, y: jnp.concatenate([x[2:], y[:2]]),
    lambda x, y: jnp.sort(x),
    lambda x, y: jnp.outer(jnp.tanh(x), y).sum(0) * 0.2,
)


def scan_of(f: Step, rng: random.Random) -> Step:
    length, reverse, is_last = rng.randrange(1, 4), rng.random() < 0.5, rng.random() < 0.5

    def step(given: Vectors) -> Vectors:
        x, y, z = given

        def body(state: Any, row: Any) -> Any:
            out = f([state[0], state[1] + 0.1 * row, z])[:2]
            return tuple(out), state[0] if is_last else out[1]

        rows = jnp.stack([y] * length) + jnp.arange(length)[:, None]
        state, ys = lax.scan(body, (x, y), rows, reverse=reverse)
        return [state[0], state[1] + ys.sum(0), z]

    return step


def while_of(f: Step, rng: random.Random) -> Step:
    def body(state: Any) -> Any:
        return (*[jnp.clip(x, -3, 3) for x in f(list(state[:3]))], state[3] + 1)

    return lambda given: list(lax.while_loop(lambda s: s[3] < 3, body, (*given, 0))[:3])


def branch_of(f: Step, g: Step) -> Step:
    def step(given: Vectors) -> Vectors:
        chosen = given[0][0] > given[1][1]
        return lax.cond(chosen, lambda *x: f(list(x)), lambda *x: g(list(x[::-1])), *given)

    return step


def block(rng: random.Random, depth: int) -> Step:
    """A function of three vectors with three results."""
    steps: list[tuple[Step, list[int]]] = []
    count = 3
    for _ in range(rng.randrange(2, 6)):
        chosen = [rng.randrange(count) for _ in range(3)]
        kind = rng.random() if depth else 1.0
        if kind < 0.18:
            step = scan_of(block(rng, depth - 1), rng)
        elif kind < 0.3:
            step = while_of(block(rng, depth - 1), rng)
        elif kind < 0.42:
            step = branch_of(block(rng, depth - 1), block(rng, depth - 1))
        elif kind < 0.5:
            step = jax.jit(block(rng, depth - 1))
        else:
            expression = rng.choice(EXPRESSIONS)
            step = lambda given, f=expression: [f(given[0], given[1])]  # noqa: E731
        steps.append((step, chosen))
        count += 3 if kind < 0.5 else 1
    results = [count - 1 - rng.randrange(min(count, 5)) for _ in range(3)]

    def run(given: Vectors) -> Vectors:
        known = list(given)
        for step, chosen in steps:
            known += step([known[i] for i in chosen])
        return [known[i] for i in results]

    return run


@pytest.mark.parametrize("kind", ["C", "machine code"])
def test_random_control_flow(kind: str, tmp_path: Path) -> None:
    """Programs in C, or as machine code, give what XLA gives."""
    flags = ("-O0", "-fsanitize=undefined", "-fno-sanitize-recover")
    library = CLibrary(tmp_path, flags) if kind == "C" else MachineCodes()
    added = []
    for seed in range(6):
        program = block(random.Random(seed), 2)
        draw = np.random.default_rng(seed)
        operands = [draw.standard_normal(4).astype(np.float32) for _ in range(3)]

        def function(*given: Any, program: Step = program) -> Vectors:
            return program(list(given))

        def pushed(*given: Any, f: Callable[..., Any] = function) -> Any:
            return jax.jvp(f, given, given)[1]

        for each in (function, pushed):
            added.append((seed, each, operands, library.add(each, *operands)))
    for seed, each, operands, name in added:
        expected = [np.asarray(x) for x in jax.tree.leaves(jax.jit(each)(*operands))]
        for found, truth in zip(library.call(name, *operands), expected, strict=True):
            size = max(1.0, float(np.abs(truth[np.isfinite(truth)]).max(initial=0.0)))
            message = f"seed {seed}"
            np.testing.assert_allclose(found, truth, 2e-3, 2e-3 * size, err_msg=message)
