"""Topologies: the devices of this process, as meshes to compile for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
from morphax.experimental import topologies


def one_device() -> topologies.TopologyDescription:
    return topologies.TopologyDescription(jax.devices()[:1])


def test_attached_devices() -> None:
    assert topologies.get_attached_topology().devices == jax.devices()
    assert topologies.get_attached_topology("cpu").devices == jax.devices("cpu")
    with pytest.raises(RuntimeError, match="mars"):
        topologies.get_attached_topology("mars")


def test_meshes_are_compiled_for() -> None:
    mesh = topologies.make_mesh(one_device(), (1,), ("x",))
    assert (mesh.axis_names, mesh.devices.tolist()) == (("x",), jax.devices()[:1])
    spec = jax.ShapeDtypeStruct((2,), np.float32, sharding=jax.NamedSharding(mesh, jax.P("x")))
    compiled = jax.jit(lambda x: x + 1).lower(spec).compile()
    assert compiled.as_text().startswith("HloModule")


@pytest.mark.parametrize(("shape", "names"), [((2,), ("x",)), ((1, 1), ("x",))])
def test_meshes_that_do_not_fit(shape: Any, names: Any) -> None:
    with pytest.raises(ValueError, match="fix:"):
        topologies.make_mesh(one_device(), shape, names)


@pytest.mark.parametrize(
    ("platform", "error"),
    [(None, RuntimeError), ("tpu", RuntimeError), ("cpu", NotImplementedError)],
)
def test_machines_that_are_not_here(platform: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="get_attached_topology"):
        topologies.get_topology_desc("v4:2x2x1", platform)
