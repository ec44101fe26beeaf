"""Arrays over one process, as parts of arrays over all: for `jax.experimental.multihost_utils`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import tree
from ..array import Array
from ..array.assembly import make_array_from_single_device_arrays
from ..array.process_parts import make_array_from_process_local_data
from ..core import Tracer
from ..core.partition_spec import PartitionSpec
from ..lax.ground.placing import device_put
from ..lax.shape.sharding_constraint import with_sharding_constraint
from ..runtime.mesh import Mesh
from ..runtime.named_sharding import NamedSharding
from ..util.messages import described, message


def host_local_array_to_global_array(local_inputs: Any, global_mesh: Mesh, pspecs: Any) -> Any:
    """Arrays over all devices of a mesh, of the parts that the processes have.

    Arrays over devices of several processes are returned as they are.

    Args:
        local_inputs: a tree of arrays, the parts of this process.
        global_mesh: in which the devices of each process form a grid.
        pspecs: a `PartitionSpec` for each array, or a prefix of their tree.

    Returns:
        A tree like `local_inputs`, of arrays that are committed to the mesh.

    Raises:
        TypeError: if `global_mesh` is no mesh, or a leaf of `pspecs` no `PartitionSpec`.
        ValueError: if a spec is `None` or does not fit its array, or `pspecs` is no prefix.

    Example:
        >>> import morphax as jax, numpy as np
        >>> from morphax.experimental import multihost_utils
        >>> mesh = jax.sharding.Mesh(jax.devices("cpu")[:1], "x")
        >>> multihost_utils.host_local_array_to_global_array(np.arange(3), mesh, jax.P("x"))
        Array([0, 1, 2], dtype=int32)
    """
    where = "host_local_array_to_global_array"
    return _over(local_inputs, global_mesh, pspecs, where, _to_global)


def global_array_to_host_local_array(global_inputs: Any, global_mesh: Mesh, pspecs: Any) -> Any:
    """The parts that this process has of arrays over all devices of a mesh.

    Arrays whose devices all belong to this process are returned as they are.

    Args:
        global_inputs: a tree of arrays.
        global_mesh: in which the devices of each process form a grid.
        pspecs: a `PartitionSpec` for each array, or a prefix of their tree.

    Returns:
        A tree like `global_inputs`, of arrays over the devices of this process.

    Raises:
        TypeError: if `global_mesh` is no mesh, or a leaf of `pspecs` no `PartitionSpec`.
        ValueError: if a spec is `None` or does not fit its array, or `pspecs` is no prefix.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> from morphax.experimental import multihost_utils
        >>> mesh = jax.sharding.Mesh(jax.devices("cpu")[:1], "x")
        >>> multihost_utils.global_array_to_host_local_array(jnp.arange(3), mesh, jax.P("x"))
        Array([0, 1, 2], dtype=int32)
    """
    where = "global_array_to_host_local_array"
    return _over(global_inputs, global_mesh, pspecs, where, _to_local)


def _over(xs: Any, mesh: Mesh, pspecs: Any, where: str, put: Callable[..., Array]) -> Any:
    """Arrays laid out over a mesh as specs say, concrete ones by a function."""
    if not isinstance(mesh, Mesh):
        raise TypeError(
            message(
                f"{where}, argument global_mesh",
                given=described(mesh),
                expected="a jax.sharding.Mesh",
                fix="Make one by jax.make_mesh.",
            )
        )
    leaves, structure = tree.flatten(xs)
    specs = tree.broadcast_prefix(
        pspecs,
        xs,
        lambda x: x is None,
        where=where,
        prefix_name="pspecs",
        full_name="the arrays",
    )
    results = []
    for x, spec in zip(leaves, specs, strict=True):
        _check_spec(spec, where)
        sharding = NamedSharding(mesh, spec)
        is_traced = isinstance(x, Tracer)
        results.append(with_sharding_constraint(x, sharding) if is_traced else put(x, sharding))
    return structure.unflatten(results)


def _to_global(x: Any, sharding: NamedSharding) -> Array:
    if isinstance(x, Array) and not x.is_fully_addressable:
        return x
    if sharding.is_fully_addressable:
        return device_put(x, sharding)
    return make_array_from_process_local_data(sharding, np.asarray(x))


def _to_local(x: Any, sharding: NamedSharding) -> Array:
    if isinstance(x, Array) and x.is_fully_addressable:
        return x
    x = device_put(x, sharding)
    if x.is_fully_addressable:
        return x
    assert isinstance(sharding.mesh, Mesh)
    local = NamedSharding(sharding.mesh.local_mesh, sharding.spec)
    parts = [local.mesh.parts(names) for names in local.splits(x.ndim)]
    sizes = zip(sharding.shard_shape(x.shape), parts, strict=True)
    shape = tuple([size * count for size, count in sizes])
    shards = [shard.data for shard in x.addressable_shards if shard.data is not None]
    return make_array_from_single_device_arrays(shape, local, shards)


def _check_spec(spec: Any, where: str) -> None:
    if not isinstance(spec, PartitionSpec):
        raise (ValueError if spec is None else TypeError)(
            message(
                f"{where}, argument pspecs",
                given=described(spec),
                expected="a jax.P for each array",
                fix="Write jax.P() for arrays that each device holds whole.",
            )
        )
