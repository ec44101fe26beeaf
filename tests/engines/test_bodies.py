"""Bodies of eager loops and branches: the bits of single operations, however often they run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.config import override
from morphax.control.calls import interpreted_operations
from morphax.engines.reference import bodies


def _doubled(x: Any) -> Any:
    return lax.while_loop(lambda v: v.sum() < 50, lambda v: jnp.exp(v * 0.5) + v / 3, x)


def _counted(x: Any) -> Any:
    return lax.while_loop(lambda s: s[0] < 20, lambda s: (s[0] + 1, s[1], s[1] * s[0]), (0, x, x))


def _scanned(x: Any) -> Any:
    return lax.scan(lambda c, v: (c * 0.9 + v, (c - v, v)), x[0], x, reverse=True)


def _nested(x: Any) -> Any:
    return lax.fori_loop(0, 5, lambda i, v: lax.cond(v[0] > 1, jnp.sin, _doubled, v) + i, x)


def _chosen(x: Any) -> Any:
    return [lax.switch(i % 3, [jnp.tanh, lambda v: (v + 1) / v, lambda v: v], x) for i in range(60)]


@pytest.mark.parametrize("function", [_doubled, _counted, _scanned, _nested, _chosen])
def test_loops_have_the_bits_of_single_operations(
    function: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    x = jnp.array([0.5, -0.0, 1.25, 3.0, 1e-42, 0.1, 0.7], jnp.float32)
    with monkeypatch.context() as never:
        never.setattr(bodies, "_OFTEN", 0)
        alone = jax.tree.leaves(function(x))
    bodies._bodies.clear()
    for _ in range(12):
        results = jax.tree.leaves(function(x))
        for result, single in zip(results, alone, strict=True):
            assert result.aval is single.aval
            assert np.asarray(result).tobytes() == np.asarray(single).tobytes()


def test_numbers_that_are_bound_to_a_device_stay_there() -> None:
    x = jax.device_put(jnp.ones(3), jax.devices()[0])
    for _ in range(10):
        assert _doubled(x).committed
        assert not _doubled(jnp.ones(3)).committed


def test_a_body_that_runs_often_looks_for_nothing_again() -> None:
    def step(v: Any) -> Any:
        return v * 2 + 1

    for _ in range(3):
        lax.while_loop(lambda v: v < 1e3, step, jnp.float32(1))
    known = [body for jaxpr, body in bodies._bodies.items() if "add" in str(jaxpr)]
    assert any([body.program is not None for body in known])


def test_what_watches_execution_sees_each_operation() -> None:
    x = jnp.array([1.0, 4.0])

    def loop() -> Any:
        return lax.fori_loop(0, 3, lambda i, v: jnp.log(v), x)

    for _ in range(10):
        assert np.isnan(loop()).any()
    with override(debug_nans=True), pytest.raises(FloatingPointError, match="log"):
        loop()


def test_small_loops_load_no_compiler() -> None:
    """Nor do those whose functions are new."""
    lines = [
        "import sys; import morphax.numpy as jnp; from morphax import lax",
        "lax.fori_loop(0, 10, lambda i, x: x * 0.5 + i, 1.0)",
        "lax.while_loop(lambda s: s[0] < 20, lambda s: (s[0] + 1, s[1] * 1.5), (0, 1.0))",
        "lax.scan(lambda c, x: (c + x, jnp.sin(c)), 0.0, jnp.arange(10.0))",
        "lax.map(lambda x: jnp.sin(x) + 1, jnp.arange(10.0))",
        "loaded = [m for m in sys.modules if m.startswith(('llvmlite', 'jaxlib'))]",
        "assert not loaded and 'morphax.engines.native.engine' not in sys.modules, loaded",
    ]
    subprocess.run([sys.executable, "-c", "\n".join(lines)], check=True)


def test_only_rows_of_kernels_are_interpreted_for_long() -> None:
    x, place = jnp.ones(3), jnp.ones(3).sharding
    plain = jax.make_jaxpr(lambda v: jax.nn.relu(v) * 2)(x).jaxpr
    nested = jax.make_jaxpr(lambda v: lax.fori_loop(0, 3, lambda i, w: w + i, v))(x).jaxpr
    large = jax.make_jaxpr(lambda v: v * 2)(jnp.ones(5000)).jaxpr
    counts = [interpreted_operations(place, body) for body in (plain, nested, large)]
    assert counts[0] > counts[1] > counts[2] == 0
