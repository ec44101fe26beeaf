"""Formulas that choose: a branch is computed where any element needs it, with the same numbers."""

from __future__ import annotations

from typing import Any, final

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.lax.ground.formulas import ByFormula, Notation


def _halved_or_root(m: Notation, x: Any) -> Any:
    is_large = x > 4.0
    root = m.if_any(is_large, lambda: m.sqrt(m.where(is_large, x, 1.0)))
    return m.where(is_large, root, 0.5 * x)


@final
class HalvedOrRoot(ByFormula):
    """x/2, and √x for x > 4."""

    name = "halved_or_root"
    formula = _halved_or_root

    def d_x(self, t: Any, x: Any, out: Any) -> Any:
        return t * jnp.where(x > 4, 0.5 / out, 0.5)


halved_or_root_p = HalvedOrRoot()
X = np.array([1.0, 9.0, 4.0, np.nan, np.inf, -3.0, 16.0], np.float32)


@pytest.mark.parametrize("x", [X, X[:1], X[1:2], X[:0], X[1]], ids=str)
@pytest.mark.parametrize("engine", ["xla", "native", "eager"])
def test_branch_is_computed_where_any_element_needs_it(x: Any, engine: str) -> None:
    expected = np.where(x > 4, np.sqrt(np.maximum(x, 1)), x / 2)
    if engine == "eager":
        found = halved_or_root_p.bind(jnp.asarray(x))
    else:
        with jax.cpu_engine(engine):
            found = jax.jit(halved_or_root_p.bind)(x)
    np.testing.assert_array_equal(found, expected)


def test_branch_stays_a_branch() -> None:
    """XLA would compute both of two short branches, and choose."""
    with jax.cpu_engine("xla"):
        text = jax.jit(halved_or_root_p.bind).lower(X).compile().as_text()
    assert "conditional(" in text


def test_branches_can_be_switched_off() -> None:
    jax.config.update("jax_branch_formulas", False)
    try:
        with jax.cpu_engine("xla"):
            lowered = jax.jit(lambda x: halved_or_root_p.bind(x)).lower(X)
    finally:
        jax.config.update("jax_branch_formulas", True)
    assert "stablehlo.if" not in lowered.as_text()
    np.testing.assert_array_equal(lowered.compile()(X), halved_or_root_p.bind(jnp.asarray(X)))


def test_branches_are_batched_and_differentiated() -> None:
    x = jnp.asarray([[1.0, 9.0], [2.0, 3.0]])
    mapped = jax.jit(jax.vmap(jax.vmap(jax.grad(halved_or_root_p.bind))))
    np.testing.assert_allclose(mapped(x), [[0.5, 1 / 6], [0.5, 0.5]], rtol=1e-6)
