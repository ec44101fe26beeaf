"""Members of a batch run in the places of a vector, and have the bits of members alone."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.engines.loops.program import For, While, walk
from morphax.engines.native.llvm_text import llvm_module
from morphax.engines.native.loop_plans import LoopPlans
from morphax.transforms.make_jaxpr import make_jaxpr
from tests.engines.c_library import checked_program
from tests.engines.machine_code_calls import call, compiled
from tests.sampling import few

State = tuple[Any, Any, Any, Any]
Step = Callable[[State], State]

# Of a float, an integer, a boolean and a vector of four, the same.
STEPS: tuple[Step, ...] = (
    lambda s: (jnp.sin(s[0]) + s[3][1], s[1], s[2], s[3]),
    lambda s: (s[0] * 0.5, s[1] // (s[1] % 3), s[2], s[3]),
    lambda s: (s[0], s[1] * 3 - 7, s[0] > s[3][0], s[3]),
    lambda s: (s[0], s[1], ~s[2], s[3].at[s[1] % 4].add(s[0])),
    lambda s: (s[3][s[1] & 3], s[1], s[2], s[3][::-1]),
    lambda s: (jnp.where(s[2], s[0], -s[0]), s[1] + 1, s[2], jnp.roll(s[3], 1) * 0.9),
    lambda s: (s[3].sum(), s[1], s[2], jnp.tanh(s[3]) - s[0]),
    lambda s: (s[0], jnp.int32(jnp.clip(s[3][2], -9, 9) * 2), s[2] | (s[1] > 4), s[3]),
    lambda s: (s[0] / jnp.maximum(s[3].max(), 1.0), s[1], s[2], jnp.sort(s[3])),
    lambda s: (s[0], s[1], s[2], lax.dynamic_update_slice(s[3], s[3][1:3] * 0.7, (s[1],))),
)


def counted(step: Step, most: Callable[[State], Any]) -> Step:
    """A loop whose number of steps depends on the state before."""

    def loop(state: State) -> State:
        bound = most(state)
        return lax.while_loop(
            lambda s: (s[0] < bound) & (jnp.abs(s[1][0]) < 50.0),
            lambda s: (s[0] + 1, step(s[1])),
            (0, state),
        )[1]

    return loop


def block(rng: random.Random, depth: int) -> Step:
    """A few steps, some of them loops and branches."""
    steps: list[Step] = []
    for _ in range(rng.randrange(1, 4)):
        kind = rng.random() if depth else 1.0
        if kind < 0.3:
            steps.append(counted(block(rng, depth - 1), lambda s: s[1] % 5))
        elif kind < 0.5:
            pair = [block(rng, depth - 1) for _ in range(2)]
            steps.append(lambda s, pair=pair: lax.cond(s[2], *pair, s))
        elif kind < 0.6:
            three = [block(rng, depth - 1) for _ in range(3)]
            steps.append(lambda s, three=three: lax.switch(s[1] % 3, three, s))
        elif kind < 0.7:
            inner = block(rng, depth - 1)
            steps.append(lambda s, inner=inner: lax.fori_loop(0, 3, lambda _, x: inner(x), s))
        else:
            steps.append(rng.choice(STEPS))

    def run(state: State) -> State:
        for step in steps:
            state = step(state)
        return state

    return run


def operands_of(size: int) -> list[np.ndarray[Any, Any]]:
    draw = np.random.default_rng(size)
    return [
        draw.standard_normal(size).astype(np.float32),
        draw.integers(0, 30, size).astype(np.int32),
        draw.integers(0, 2, size).astype(bool),
        draw.standard_normal((size, 4)).astype(np.float32),
    ]


@pytest.mark.parametrize("seed", few(range(24), 12))
def test_members_have_the_bits_of_members_alone(seed: int) -> None:
    rng = random.Random(seed)
    step = counted(block(rng, 2), lambda s: s[1] % 7)
    size = (1, 3, 8, 11, 16, 19)[seed % 6]

    def one(*state: Any) -> State:
        return step(state)  # type: ignore[arg-type]

    operands = operands_of(size)
    alone = compiled(make_jaxpr(one)(*[x[0] for x in operands]))
    together = compiled(make_jaxpr(jax.vmap(one))(*operands))
    expected = [call(*alone, *[x[i] for x in operands]) for i in range(size)]
    for number, found in enumerate(call(*together, *operands)):
        truth = np.stack([results[number] for results in expected])
        assert found.tobytes() == truth.tobytes(), f"result {number}: {found} for {truth}"


def test_batches_of_batches() -> None:
    def one(x: Any, n: Any) -> Any:
        return lax.while_loop(
            lambda s: (s[0] < n) & (s[1] < 9.0), lambda s: (s[0] + 1, s[1] * 1.3 + x), (0, x)
        )

    x, n = np.linspace(0, 2, 13, dtype=np.float32), np.arange(9, dtype=np.int32)
    both = jax.vmap(jax.vmap(one, (0, None)), (None, 0))
    counts, sums = call(*compiled(make_jaxpr(both)(x, n)), x, n)
    program, code = compiled(make_jaxpr(one)(x[0], n[0]))
    for i, j in np.ndindex(counts.shape):
        count, total = call(program, code, x[j], n[i])
        assert (counts[i, j], sums[i, j]) == (count, total)


def plans_of(function: Callable[..., Any], *operands: Any) -> list[tuple[bool, int]]:
    """Of loops that become vectors of members: whether they hold a `while`, and the width."""
    program = checked_program(make_jaxpr(function)(*operands), "f")
    plans = LoopPlans(program.body, program.temporaries)
    found = [plans.of(x) for x in walk(program.body) if type(x) is For]
    return [
        (any([type(x) is While for x in walk(plan.body)]), plan.width)
        for plan in found
        if plan is not None and plan.has_members
    ]


def halved(x: Any) -> Any:
    return lax.while_loop(lambda y: jnp.abs(y).max() > 1.0, lambda y: y * 0.5, x)


def test_what_becomes_vectors_of_members() -> None:
    x = np.ones(20, np.float32)
    assert plans_of(jax.vmap(halved), x) == [(True, 16)]
    assert plans_of(jax.vmap(halved), np.ones((20, 3), np.float32)) == [(True, 16)]
    # There is nothing to be gained where a member is large, or alone.
    assert plans_of(jax.vmap(halved), np.ones((20, 1000), np.float32)) == []
    assert plans_of(halved, np.float32(5.0)) == []
    assert plans_of(jax.vmap(halved), x[:1]) == []


def test_the_option_keeps_loops_whole() -> None:
    jax.config.update("jax_split_divergent_loops", False)
    try:
        assert not any([holds for holds, _ in plans_of(jax.vmap(halved), np.ones(20, np.float32))])
    finally:
        jax.config.update("jax_split_divergent_loops", True)


def test_copies_take_a_bounded_part_of_the_stack() -> None:
    def many(x: Any) -> Any:
        for i in range(40):
            x = jax.vmap(lambda v, i=i: halved(v * (3.0 + i)))(x[:, : 16 - i % 8])
            x = jnp.pad(x, ((0, 0), (0, i % 8)))
        return x

    x = np.random.default_rng(0).standard_normal((16, 16)).astype(np.float32)
    program = checked_program(make_jaxpr(many)(x), "f")
    sizes = [
        int(count) * int(bits) // 8 if bits != "float" else int(count) * 4
        for count, bits in re.findall(r"%p\d+ = alloca \[(\d+) x i?(\w+)\]", llvm_module(program))
    ]
    assert len(sizes) >= 8
    assert sum(sizes) <= 1 << 14
