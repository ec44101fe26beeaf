"""Scatters of windows: the elements of one are changed together, windows one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.engines.loops.program import For, If, walk
from morphax.transforms.make_jaxpr import make_jaxpr
from tests.engines.c_library import checked_program

RNG = np.random.default_rng(0)
PLACES = np.array([3, 0, 3, -1, 7, 99, -99, 3], np.int32)
X = RNG.normal(size=(8, 20)).astype(np.float32)
ROWS = RNG.normal(size=(8, 20)).astype(np.float32)

SCATTERS: dict[str, Callable[..., Any]] = {
    "added rows": lambda x, i, u: x.at[i].add(u),
    "rows put": lambda x, i, u: x.at[i].set(u, mode="drop"),
    "clipped rows": lambda x, i, u: x.at[i].max(u, mode="clip"),
    "columns": lambda x, i, u: x.at[:, i].multiply(u[:, :8]),
    "blocks": lambda x, i, u: jax.vmap(lambda k, b: x.at[k, 2:9].add(b))(i, u[:, :7]),
    "computed rows": lambda x, i, u: x.at[i].add(jnp.sin(u) * 2),
    "a row": lambda x, i, u: x.at[i[0]].add(u[1]),
    "rows in a loop": lambda x, i, u: jax.lax.fori_loop(
        0, 8, lambda k, x: x.at[i[k]].add(u[k]) * 0.9, x
    ),
    "derivatives": lambda x, i, u: jax.grad(lambda x: (x[i] * u).sum())(x),
}


@pytest.mark.parametrize("scatter", SCATTERS.values(), ids=SCATTERS)
def test_scatters_of_windows(scatter: Callable[..., Any]) -> None:
    found, expected = [
        np.asarray(jax.jit(scatter, compiler_options={"jax_cpu_engine": engine})(X, PLACES, ROWS))
        for engine in ("native", "xla")
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_whether_a_window_fits_is_asked_once() -> None:
    jaxpr = make_jaxpr(lambda x, i, u: x.at[i].add(u))(X, PLACES, ROWS)
    statements = list(walk(checked_program(jaxpr, "f").body))
    (guard,) = [s for s in statements if isinstance(s, If)]
    (window,) = [s for s in walk(guard.then) if isinstance(s, For)]
    assert window.is_independent


def test_a_large_array_of_which_a_loop_touches_windows() -> None:
    def filled(a: Any) -> Any:
        step = lambda i, c: c.at[i].set(0.5 * c[i - 1] + a[i])  # noqa: E731
        return jax.lax.fori_loop(1, 1000, step, jnp.zeros_like(a))

    def taken(a: Any) -> Any:
        return jax.lax.fori_loop(0, 1000, lambda i, s: 0.5 * s + a[(7919 * i) % a.shape[0]], 0.0)

    def whole(a: Any) -> Any:
        return jax.lax.fori_loop(0, 10, lambda _, c: 0.5 * c + a, a)

    x = np.random.default_rng(0).normal(size=1 << 19).astype(np.float32)
    for f, engine in ((filled, "native"), (taken, "native"), (whole, "xla")):
        with jax.cpu_engine("auto"):
            assert str(jax.jit(f).lower(x).compile().as_text("engine")).startswith(
                f"engine {engine}"
            )
            found = jax.jit(f)(x)
        with jax.cpu_engine("xla"):
            np.testing.assert_array_equal(found, jax.jit(f)(x))
