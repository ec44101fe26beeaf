"""Sparse operations are programs for the native engine too, and it computes what XLA does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.experimental import sparse

ROWS, COLUMNS = 5, 4

# Of stored elements, their places, a vector and a matrix of COLUMNS rows.
OPERATIONS: dict[str, Callable[..., Any]] = {
    "dense": lambda s, v, m: s.todense(),
    "vector": lambda s, v, m: s @ v,
    "matrix": lambda s, v, m: s @ m,
    "transposed": lambda s, v, m: s.T @ (s @ m),
    "on the right": lambda s, v, m: m.T @ s.T,
    "sum": lambda s, v, m: s.sum(),
    "sum of columns": lambda s, v, m: s.sum(0).todense(),
    "sum of matrices": lambda s, v, m: (s + s * 2).todense(),
    "by a dense one": lambda s, v, m: (s * v).todense(),
    "by a sparse one": lambda s, v, m: (s @ s.T).todense(),
    "sorted": lambda s, v, m: s.sort_indices().data,
    "duplicates": lambda s, v, m: s.sum_duplicates(nse=s.nse).todense(),
    "reshaped": lambda s, v, m: s.reshape((COLUMNS, ROWS)).todense(),
    "slice": lambda s, v, m: s[1:3].todense(),
    "joined": lambda s, v, m: sparse.bcoo_concatenate([s, s], dimension=1).todense(),
    "extracted": lambda s, v, m: sparse.bcoo_extract(s, jnp.outer(jnp.arange(5.0), v)).data,
    "compressed": lambda s, v, m: sparse.BCSR.from_bcoo(s) @ m,
    "compressed, dense": lambda s, v, m: sparse.BCSR.from_bcoo(s).todense(),
}


def _stored(rng: np.random.Generator, *, wild: bool) -> Any:
    """Elements at any places: the same ones twice, behind the end, counted from the end."""
    low, high = (-ROWS, ROWS + 2) if wild else (0, COLUMNS)
    places = rng.integers(low, high, (7, 2)).astype(np.int32)
    data = rng.normal(size=7).astype(np.float32)
    if wild:
        data[rng.integers(0, 7, 2)] = rng.choice([np.nan, np.inf, -0.0, 0.0], 2)
    return sparse.BCOO((jnp.asarray(data), jnp.asarray(places)), shape=(ROWS, COLUMNS))


@pytest.mark.parametrize("wild", [False, True], ids=["inside", "anywhere"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_the_native_engine_computes_what_xla_does(name: str, wild: bool) -> None:
    def run(s: Any, v: Any, m: Any) -> Any:
        return OPERATIONS[name](s, v, m)

    compiled = {}
    for engine in ("native", "xla"):
        with jax.cpu_engine(engine):
            compiled[engine] = jax.jit(run)
    rng = np.random.default_rng(len(name))
    for _ in range(4):
        v, m = rng.normal(size=COLUMNS), rng.normal(size=(COLUMNS, 3))
        operands = _stored(rng, wild=wild), jnp.asarray(v, "f4"), jnp.asarray(m, "f4")
        results = []
        for engine, function in compiled.items():
            with jax.cpu_engine(engine):
                results.append(np.asarray(function(*operands)))
        np.testing.assert_allclose(*results, rtol=2e-6, atol=1e-6)
        np.testing.assert_allclose(results[0], run(*operands), rtol=2e-6, atol=1e-6)


def test_derivatives_and_batches() -> None:
    rng = np.random.default_rng(0)
    s, v = _stored(rng, wild=False), jnp.asarray(rng.normal(size=(2, COLUMNS)), "f4")

    def total(data: Any, v: Any) -> Any:
        stored = sparse.BCOO((data, s.indices), shape=s.shape)
        return jnp.sum(jnp.sin(stored @ v) + (stored.T @ (stored @ v)).sum())

    results = []
    for engine in ("native", "xla"):
        with jax.cpu_engine(engine):
            results.append(jax.jit(jax.vmap(jax.grad(total), (None, 0)))(s.data, v))
    np.testing.assert_allclose(*results, rtol=1e-5, atol=1e-6)
