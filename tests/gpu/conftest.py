"""Tests that need a GPU; without one, all of them are passed over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import morphax as jax


@pytest.fixture(scope="session", autouse=True)
def gpu() -> Iterator[Any]:
    """The first GPU, which computes what nothing binds to another device."""
    try:
        found = jax.devices("gpu")[0]
    except RuntimeError:
        pytest.skip("there is no GPU, or no plugin for it")
    with jax.default_device(found), jax.default_matmul_precision("highest"):
        yield found
