"""Gradients of deep networks with residual connections take work that is linear in their depth."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.scipy import stats
from tests.sampling import few
from tests.stress.process import run

Block = Callable[[Any, Any], Any]
X = jnp.asarray(np.random.default_rng(0).normal(size=(128, 64)).astype(np.float32))
WRAPPERS: dict[str, Callable[[Block], Block]] = {
    "inline": lambda block: block,
    "jit": jax.jit,
    "checkpoint": jax.checkpoint,
    "jit of checkpoint": lambda block: jax.jit(jax.checkpoint(block)),
}


def _block(x: Any, w: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    normal = centred / jnp.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
    return x + jax.nn.relu(normal @ w) @ w.T


def _loss(block: Block) -> Callable[[Any, Any], Any]:
    def loss(weights: Any, x: Any) -> Any:
        for w in weights:
            x = block(x, w)
        return jnp.mean(x**2)

    return loss


def _weights(count: int) -> list[Any]:
    rng = np.random.default_rng(1)
    return [jnp.asarray(rng.normal(size=(64, 64)).astype(np.float32) * 0.1) for _ in range(count)]


def _cuts(f: Callable[..., Any], *args: Any) -> int:
    return int(jax.jit(f).lower(*args).as_text().count("stablehlo.if"))


def _largest_loop(f: Callable[..., Any], *args: Any) -> int:
    """The most operations that the compiler put into one loop."""
    text = jax.jit(f).lower(*args).compile({"jax_cpu_engine": "xla"}).as_text()
    bodies = re.findall(r"^%fused_computation\S* .*?^}", text, re.MULTILINE | re.DOTALL)
    return max(len(re.findall(r" (?:add|multiply|subtract)\(", body)) for body in bodies)


@pytest.mark.parametrize("name", WRAPPERS)
def test_loops_do_not_grow_with_the_depth_of_a_network(name: str) -> None:
    gradient = jax.grad(_loss(WRAPPERS[name](_block)))
    few, many = _largest_loop(gradient, _weights(5), X), _largest_loop(gradient, _weights(12), X)
    assert many <= few + 4


@pytest.mark.parametrize("name", WRAPPERS)
def test_the_gradients_are_those_of_eager_steps(name: str) -> None:
    gradient = jax.grad(_loss(WRAPPERS[name](_block)))
    found = jax.jit(gradient)(_weights(8), X)
    with jax.disable_jit():
        expected = gradient(_weights(8), X)
    for mine, right in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, right, rtol=1e-4, atol=1e-6)


def test_cuts_are_as_many_as_layers() -> None:
    gradient = jax.grad(_loss(_block))
    counts = [_cuts(gradient, _weights(n), X) for n in (8, 16, 32)]
    assert counts[0] > 0
    assert counts[2] - counts[1] <= 2 * (counts[1] - counts[0])


NOT_CUT: dict[str, Callable[[Any], Any]] = {
    "one loop": lambda x: stats.truncnorm.logsf(x, -1.0, 2.0),
    "one loop with many paths": lambda x: jax.nn.gelu(jax.nn.silu(jax.nn.gelu(x) * x) + x),
    "short chains": lambda x: (jnp.dot(x + 1, x.T), jnp.dot(x * 2, x.T), x - 3),
    "what XLA keeps": lambda x: (lambda y: [jnp.dot(y + k, y.T) for k in range(9)])(jnp.exp(x)),
    "few numbers": lambda x: jax.grad(_loss(_block))(_weights(3), x[:1]),
}


@pytest.mark.parametrize("name", NOT_CUT)
def test_nothing_else_is_cut(name: str) -> None:
    assert _cuts(NOT_CUT[name], X) == 0


# Smooth ones: at ties roundings would decide.
OPERATIONS: list[Callable[[Any, Any], Any]] = [
    lambda x, y: x + y,
    lambda x, y: x * 0.5 - y,
    lambda x, y: x * jnp.sin(y),
    lambda x, y: x + 0.1 * jnp.tanh(y @ np.eye(64, dtype=np.float32)[::-1]),
    lambda x, y: x - y.mean(0),
    lambda x, y: jnp.where(np.arange(64) % 3 == 0, x, -y),
    lambda x, y: x / (1 + y * y),
    lambda x, y: jax.jit(lambda a, b: (a + b * 0.25, a - b))(x, y)[1],
    lambda x, y: x + y[::-1],
]


@pytest.mark.parametrize("seed", few(range(8), 3))
def test_programs_have_the_numbers_of_uncut_ones(seed: int) -> None:
    rng = np.random.default_rng(seed)
    steps = rng.integers((len(OPERATIONS), 40, 40), size=(rng.integers(20, 40), 3)).tolist()
    ends = rng.integers(40, size=3).tolist()

    def program(x: Any) -> Any:
        values = [x, x * 0.5, x + 1]
        for which, i, j in steps:
            values.append(OPERATIONS[which](values[-1 - i % 3], values[j % len(values)]) * 0.7)
        return [values[-1 - end % len(values)].sum(0) for end in ends]

    def both(x: Any) -> Any:
        return program(x), jax.grad(lambda x: sum(jnp.sum(r**2) for r in program(x)))(x)

    # Sums that cancel magnify the roundings, which fusions change.
    with jax.enable_x64(True):
        found = _by_xla(lambda x: both(x))
        jax.config.update("jax_cut_fusions", False)
        try:
            expected = _by_xla(lambda x: both(x))
        finally:
            jax.config.update("jax_cut_fusions", True)
    for mine, right in zip(found, expected, strict=True):
        size = float(np.abs(right).max()) + 1e-6
        np.testing.assert_allclose(mine, right, rtol=1e-6, atol=1e-8 * size)


def _by_xla(program: Callable[[Any], Any]) -> list[Any]:
    x = jnp.asarray(np.asarray(X, np.float64))
    return jax.tree.leaves(jax.jit(program).lower(x).compile({"jax_cpu_engine": "xla"})(x))


def test_each_process_cuts_the_same_values() -> None:
    """What is compiled is found again by the text of the program."""
    program = """
        def layer(x, w):
            return x + jnp.maximum((x - x.mean(-1, keepdims=True)) @ w, 0) @ w.T
        def loss(ws, x):
            for w in ws:
                x = jax.jit(layer)(x, w)
            return (x * x).sum()
        junk = [object() for _ in range(SEED)]
        gradient = jax.grad(loss)
        text = jax.jit(gradient).lower([jnp.ones((64, 64))] * 12, jnp.ones((128, 64))).as_text()
        print(hash_of(text), text.count("stablehlo.if"))
    """
    before = "from zlib import crc32\nhash_of = lambda text: crc32(text.encode())\n"
    found = {
        run(before + textwrap.dedent(program).replace("SEED", str(seed))) for seed in (1, 1000, 77)
    }
    assert len(found) == 1
    assert int(found.pop().split()[1]) > 0
