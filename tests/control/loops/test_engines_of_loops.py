"""Which engine an eager loop runs on: the one that `jit` would choose, with the same result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax

x = jnp.linspace(-2.0, 2.0, 50)
LOOPS: dict[str, Callable[[], Any]] = {
    "scan": lambda: lax.scan(lambda c, a: (jnp.sin(c) * 0.9 + a, jnp.cos(c)), 0.5, x),
    "scan of no step": lambda: lax.scan(lambda c, a: (c * 2 + a, c), 0.5, x[:0]),
    "while_loop": lambda: lax.while_loop(
        lambda c: c[0] < 60, lambda c: (c[0] + 1, jnp.tanh(c[1] + 0.1)), (0, x)
    ),
    "gradient": lambda: jax.grad(
        lambda x: lax.scan(lambda c, a: (c * a, c + jnp.exp(a)), x[0], x)[1].sum()
    )(x),
    "batch": lambda: jax.vmap(
        lambda n: lax.while_loop(
            lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * 1.1 - 0.1), (0, 2.0)
        )
    )(jnp.arange(30)),
}


def outcome(loop: Callable[[], Any], caplog: pytest.LogCaptureFixture) -> tuple[list[Any], str]:
    """The results, and what was said of the programs that were compiled."""
    jax.clear_caches()
    caplog.clear()
    with jax.log_compiles():
        results = jax.tree.leaves(loop())
    return results, caplog.text


@pytest.mark.parametrize("name", LOOPS)
def test_the_engine_of_an_eager_loop_is_chosen(name: str, caplog: pytest.LogCaptureFixture) -> None:
    with jax.cpu_engine("xla"):
        expected, said = outcome(LOOPS[name], caplog)
    assert "(xla: " in said
    assert "(native: " not in said
    for engine in ("native", "auto"):
        with jax.cpu_engine(engine):
            results, said = outcome(LOOPS[name], caplog)
        assert "(native: " in said
        assert "(xla: " not in said
        for a, b in zip(results, expected, strict=True):
            assert (a.dtype, a.weak_type, a.shape) == (b.dtype, b.weak_type, b.shape)
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=5e-5)


def test_an_eager_loop_is_compiled_once(caplog: pytest.LogCaptureFixture) -> None:
    def loop() -> Any:
        return [LOOPS["scan"]() for _ in range(3)]

    assert outcome(loop, caplog)[1].count("compiled scan(") == 1


def test_operands_on_two_devices_are_refused_with_the_name_of_the_loop() -> None:
    first, second = [jax.device_put(x, d) for d in jax.devices()[:2]]
    with pytest.raises(ValueError, match="scan"):
        lax.scan(lambda c, a: (c * a[0] + a[1], jnp.sin(c) * jnp.cos(c)), 0.5, (first, second))
