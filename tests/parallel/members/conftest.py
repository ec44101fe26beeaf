"""Meshes of the CPU devices of these tests."""

from __future__ import annotations

import numpy as np
import pytest

import morphax as jax
from morphax.sharding import Mesh


@pytest.fixture
def square() -> Mesh:
    """Two by two devices."""
    return Mesh(np.array(jax.devices("cpu")[:4]).reshape(2, 2), ("x", "y"))
