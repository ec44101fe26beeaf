"""Eager loops, branches and callbacks run where the arrays are that they take or close over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.experimental import io_callback


def _doubled(x: Any) -> Any:
    return np.asarray(x) * 2


_ROW = jax.ShapeDtypeStruct((3,), np.float32)
# What takes an array of another device, or closes over one, beside others that lie anywhere.
BOUND: dict[str, Callable[[Any], Any]] = {
    "pure_callback": lambda x: jax.pure_callback(_doubled, _ROW, x),
    "io_callback": lambda x: io_callback(_doubled, _ROW, x),
    "a branch": lambda x: lax.cond(True, lambda: x, lambda: x * 2),
    "a branch that is not taken": lambda x: lax.cond(True, lambda: jnp.ones(3), lambda: x * 2),
    "one of several": lambda x: lax.switch(0, [lambda: jnp.ones(3), lambda: x]),
    "slices of a scan": lambda x: lax.scan(lambda c, _: (c, x), jnp.ones(3), None, length=2),
    "its carry": lambda x: lax.scan(lambda c, _: (c * x, c), jnp.ones(3), None, length=2),
    "many steps": lambda x: lax.scan(lambda c, _: (c * x, c), jnp.ones(3), None, length=500),
    "no step": lambda x: lax.while_loop(lambda c: False, lambda c: c * x, jnp.ones(3)),
    "a body in a body": lambda x: lax.fori_loop(
        0, 2, lambda _, c: lax.cond(False, lambda: c * x, lambda: c), jnp.ones(3)
    ),
}


@pytest.mark.parametrize("name", BOUND)
def test_what_eager_operations_close_over_binds_them(name: str) -> None:
    device = jax.devices()[1]
    for result in jax.tree.leaves(BOUND[name](jax.device_put(jnp.ones(3), device))):
        assert (result.devices(), result.committed) == ({device}, True)
    for result in jax.tree.leaves(BOUND[name](jnp.ones(3))):
        assert (result.devices(), result.committed) == ({jax.devices()[0]}, False)
