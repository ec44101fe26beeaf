"""`interpreters.pxla`: the current mesh under its old name."""

from __future__ import annotations

import pytest

import morphax as jax
from morphax.interpreters import pxla


def test_thread_resources() -> None:
    with pytest.warns(DeprecationWarning, match="get_mesh"):
        resources = pxla.thread_resources
    assert resources.env.physical_mesh.empty
    mesh = jax.make_mesh((2,), ("x",))
    with mesh:
        assert resources.env.physical_mesh == mesh
    with pytest.raises(AttributeError, match="no attribute 'Index'"):
        _ = pxla.Index
