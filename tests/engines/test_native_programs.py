"""Programs of small steps agree on both compilers; so do gradients and batches of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from benchmarks.small_programs.table import PROGRAMS
from morphax import lax

Operands = tuple[np.ndarray[Any, Any], ...]


def few_steps(name: str) -> tuple[Callable[..., Any], Operands]:
    entry = PROGRAMS[name]
    return entry.make(jax, entry.few_steps)


def check(name: str, function: Callable[..., Any], operands: Operands) -> None:
    """Both engines give the same, up to the rounding of a few steps."""
    results = []
    for engine in ("xla", "native"):
        with jax.cpu_engine(engine):
            compiled = jax.jit(lambda *given: function(*given)).lower(*operands).compile()
            assert compiled.as_text("engine").startswith(f"engine {engine}")
            results.append(jax.tree.leaves(compiled(*operands)))
    for theirs, mine in zip(*results, strict=True):
        expected, found = np.asarray(theirs), np.asarray(mine)
        assert (expected.dtype, expected.shape) == (found.dtype, found.shape)
        if expected.dtype.kind != "f":
            np.testing.assert_array_equal(found, expected)
            continue
        largest = np.abs(expected[np.isfinite(expected)]).max(initial=0.0)
        np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-5 * largest, err_msg=name)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_agree(name: str) -> None:
    check(name, *few_steps(name))


SMOOTH = ("lorenz", "coupled", "kalman", "lstm", "bodies", "tridiagonal")


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients_agree(name: str) -> None:
    function, operands = few_steps(name)

    def total(*given: Any) -> Any:
        return sum([(leaf**2).sum() for leaf in jax.tree.leaves(function(*given))])

    check(name, jax.grad(total), operands)


BATCHED = ("newton", "mandelbrot", "option", "smith_waterman", "automaton", "particles")


@pytest.mark.parametrize("name", BATCHED)
def test_batches_agree(name: str) -> None:
    function, operands = few_steps(name)
    rows = tuple([np.stack([x, x[..., ::-1] if x.ndim else x + 1]) for x in operands])
    check(name, jax.vmap(function), rows)


def _rows(x: Any) -> Any:
    """Rows that are one in memory."""
    return jnp.broadcast_to(jnp.cumsum(x), (2, *x.shape))


CHANGED_IN_PLACE: dict[str, Callable[[Any], Any]] = {
    "scatter": lambda x: _rows(x).at[1].add(x),
    "dynamic_update_slice": lambda x: lax.dynamic_update_slice(_rows(x), x[None], (1, 0)),
    "triangular_solve": lambda x: lax.linalg.triangular_solve(
        jnp.tril(jnp.ones((2, 4, 4))), _rows(x)[..., None], left_side=True, lower=True
    ),
    "tridiagonal_solve": lambda x: lax.linalg.tridiagonal_solve(
        0 * _rows(x), 0 * _rows(x) + 2, 0 * _rows(x), _rows(x)[..., None]
    ),
}


@pytest.mark.parametrize("name", CHANGED_IN_PLACE)
def test_repeated_values_are_changed_in_memory_of_their_own(name: str) -> None:
    function = CHANGED_IN_PLACE[name]
    check(name, lambda x: jnp.cumsum(2 * function(x), 0), (np.arange(1, 5, dtype=np.float32) / 3,))
