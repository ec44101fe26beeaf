"""What programs of several processes ask of each other: `jax.experimental.multihost_utils`.

A process may hold but its own part of an array.  Where there is one process, its part is the whole,
every other process agrees, and nobody has to be waited for; so the functions return at once, with
what they would return among several.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import tree
from ..array import Array
from ..core import Tracer
from ..core.partition_spec import PartitionSpec
from ..lax.ground.placing import device_put
from ..lax.shape.sharding_constraint import with_sharding_constraint
from ..runtime.mesh import Mesh
from ..runtime.named_sharding import NamedSharding
from ..util.messages import described, message


def process_allgather(in_tree: Any, tiled: bool = False) -> Any:
    """The values of all processes, on each.

    Args:
        in_tree: a tree of arrays and numbers, of the same shapes in all processes.
        tiled: whether to put values one after the other along their first axis; else they are
            stacked along a new one.

    Returns:
        A tree like `in_tree` of NumPy arrays, of the shape `(processes, ...)` unless `tiled`.

    Raises:
        TypeError: if a leaf is an array of keys.

    Example:
        >>> from morphax.experimental import multihost_utils
        >>> multihost_utils.process_allgather({"loss": 0.5})
        {'loss': array([0.5])}
    """
    return tree.map(lambda x: np.asarray(x) if tiled else np.asarray(x)[None], in_tree)


def broadcast_one_to_all(in_tree: Any, is_source: bool | None = None) -> Any:
    """The values of one process, on all.

    Args:
        in_tree: a tree of arrays and numbers, of the same shapes in all processes.
        is_source: whether it is this process; that with the number 0 if left out.

    Returns:
        A tree like `in_tree` of NumPy arrays.

    Raises:
        TypeError: if a leaf is an array of keys.

    Example:
        >>> from morphax.experimental import multihost_utils
        >>> multihost_utils.broadcast_one_to_all([1, 2.0])
        [array(1), array(2.)]
    """
    del is_source
    return tree.map(np.asarray, in_tree)


def assert_equal(in_tree: Any, fail_message: str = "") -> None:
    """Check that all processes have the same values.

    NaN is not equal to itself, and so to no value of another process.

    Args:
        in_tree: a tree of arrays and numbers.
        fail_message: what the error begins with.

    Raises:
        AssertionError: if values differ.

    Example:
        >>> from morphax.experimental import multihost_utils
        >>> multihost_utils.assert_equal({"step": 3})
    """
    ours = tree.map(np.asarray, in_tree)
    first = broadcast_one_to_all(in_tree)
    if not all(tree.leaves(tree.map(lambda a, b: bool(np.all(a == b)), ours, first))):
        raise AssertionError(f"{fail_message}. Expected: {first}; got: {ours}.")


def sync_global_devices(name: str) -> None:
    """Wait until all processes have come to the same point.

    Args:
        name: of the point, the same in all processes.

    Raises:
        TypeError: if `name` is no text.

    Example:
        >>> from morphax.experimental import multihost_utils
        >>> multihost_utils.sync_global_devices("parameters are loaded")
    """
    if not isinstance(name, str):
        raise TypeError(
            message(
                "sync_global_devices, argument name",
                given=described(name),
                expected="a text",
                fix="Name the point at which processes wait for each other.",
            )
        )


def reached_preemption_sync_point(step_id: int) -> bool:
    """Whether this is the step after which all processes save their state, to be stopped then.

    Where no process is told that it will be stopped, there is no such step.

    Args:
        step_id: the number of the step; each has to be asked for, in all processes.

    Example:
        >>> from morphax.experimental import multihost_utils
        >>> multihost_utils.reached_preemption_sync_point(7)
        False
    """
    del step_id
    return False


def host_local_array_to_global_array(local_inputs: Any, global_mesh: Mesh, pspecs: Any) -> Any:
    """Arrays over all devices of a mesh, of the parts that the processes have.

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
    return _each_over(local_inputs, global_mesh, pspecs, "host_local_array_to_global_array")


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
    return _each_over(global_inputs, global_mesh, pspecs, where, keep=True)


def _each_over(xs: Any, mesh: Mesh, pspecs: Any, where: str, keep: bool = False) -> Any:
    """Arrays laid out over a mesh as specs say; but those that are arrays if they are kept."""
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
        if isinstance(x, Tracer):
            results.append(with_sharding_constraint(x, sharding))
        else:
            results.append(x if keep and isinstance(x, Array) else device_put(x, sharding))
    return structure.unflatten(results)


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
