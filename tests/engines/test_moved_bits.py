"""bfloat16 in loops: arrays that bodies read and update by element, on the XLA engine."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.runtime.client import widens_bfloat16_to_move_it

SPECIAL = np.array([0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan, 3e38, 0.5, 7.0])


def _numbers() -> Any:
    return SPECIAL.astype(ml_dtypes.bfloat16)


def _stacked(x: Any) -> Any:
    return lax.scan(lambda total, v: (total + v, total * v), x[2], x)


def _set(x: Any) -> Any:
    return lax.fori_loop(0, x.size, lambda i, a: a.at[i].set(a[i - 1] * 2 + 1), x)


def _added(x: Any) -> Any:
    return lax.fori_loop(0, x.size, lambda i, a: a.at[i].add(a[0]), x)


def _dropped(x: Any) -> Any:
    return lax.fori_loop(5, 2 * x.size, lambda i, a: a.at[i].max(1).at[i - 9].multiply(-1), x)


def _written(x: Any) -> Any:
    def body(i: Any, a: Any) -> Any:
        row = lax.dynamic_slice(a, (i, 0), (1, 2))
        return lax.dynamic_update_slice(a, -row, (x.size // 2 - i, 0))

    return lax.fori_loop(0, x.size // 2, body, x.reshape(-1, 2))


def _moved(x: Any) -> Any:
    """Nothing is computed of what is moved: bits stay."""
    return lax.fori_loop(0, x.size // 2, lambda i, a: a.at[i].set(a[x.size - 1 - i]), x)


def _batched(x: Any) -> Any:
    return jax.vmap(lambda n: lax.while_loop(
        lambda s: s[0] < n, lambda s: (s[0] + 1, s[1].at[s[0]].set(s[1][s[0] + 1])), (0, x)
    ))(jnp.arange(5))  # fmt: skip


CASES = [_stacked, _set, _added, _dropped, _written, _moved, _batched]


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_loops_of_bfloat16_give_what_eager_ones_give(function: Callable[..., Any]) -> None:
    x = _numbers()
    with jax.disable_jit():
        expected = function(jnp.asarray(x))
    with jax.cpu_engine("xla"):
        found = jax.jit(function)(x)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(np.asarray(one, np.float32), np.asarray(other, np.float32))
        is_number = ~np.isnan(np.asarray(one, np.float32))
        np.testing.assert_array_equal(
            np.signbit(np.asarray(one, np.float32))[is_number],
            np.signbit(np.asarray(other, np.float32))[is_number],
        )


def test_derivatives_of_a_loop_of_bfloat16() -> None:
    x = jnp.asarray(np.linspace(0.5, 1.5, 8), jnp.bfloat16)

    def total(x: Any) -> Any:
        return lax.scan(lambda c, v: (c * v, c + v), x[0], x)[1].sum()

    with jax.cpu_engine("xla"):
        found = jax.jit(jax.grad(total))(x)
    wide = jax.grad(total)(x.astype(jnp.float32))
    np.testing.assert_allclose(np.asarray(found, np.float32), wide, rtol=0.05)


@pytest.mark.skipif(not widens_bfloat16_to_move_it(), reason="of jaxlib before 0.11")
@pytest.mark.parametrize("function", [_stacked, _set, _added, _moved], ids=lambda f: f.__name__)
def test_loops_carry_bits(function: Callable[..., Any]) -> None:
    with jax.cpu_engine("xla"):
        text = jax.jit(function).lower(jnp.zeros(1000, jnp.bfloat16)).as_text()
    (types,) = re.findall(r"^\}\) : \((tensor<i32>.*)\) ->", text, re.MULTILINE)
    assert "tensor<1000xui16>" in types
    assert "tensor<1000xbf16>" not in types
