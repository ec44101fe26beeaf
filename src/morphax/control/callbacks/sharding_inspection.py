"""`debug.inspect_array_sharding`: tell the user how a value is laid out over devices.

For a concrete array that is known at once; for a value of a staged program, when the program is
compiled: on several devices, by the compiler, when it has decided how the value is split.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

from ... import tree
from ...array import Array
from ...core import DebugEffect, Effects, NoResults, Param, ShapedArray
from ...engines.reference.eager import RunsOnArrays
from ...engines.xla.literals import physical_aval, tensor_type
from ...engines.xla.mesh_axes import MeshAxes
from ...engines.xla.partitioners import Division, divided
from ...engines.xla.stablehlo import Builder, Value
from ...runtime.layouts import place_of, shard_shape
from ...runtime.mesh import Mesh
from ...runtime.named_sharding import NamedSharding
from ...runtime.places import Places
from ...runtime.sharding import Sharding
from ...util.messages import message
from .pure_callback import check_callback


@final
class InspectSharding(NoResults, RunsOnArrays):
    """Call `callback` with the sharding of the operand, of a whole batch under `vmap`."""

    name = "inspect_sharding"

    def effects(self, **_: Param) -> Effects:
        return frozenset({DebugEffect()})

    def execute(self, x: Array, *, callback: Callable[[Sharding], Any]) -> list[Any]:
        callback(x.sharding)
        return []

    def lower(
        self,
        b: Builder,
        outs: Sequence[ShapedArray],
        x: Value,
        *,
        callback: Callable[[Sharding], Any],
    ) -> list[Value]:
        places = b.module.places
        is_member = b.axes is not None and not b.axes.is_partial
        if places is None or len(places.devices) == 1 or is_member:
            # A member of a program has the whole of its own values.
            b.module.inspections.append(callback)
            return []
        aval, ndim, axes = physical_aval(x.aval), len(x.aval.shape), b.axes

        def tell(operands: Sequence[Any], results: Sequence[Any]) -> Division:
            callback(_place_within(operands[0], ndim, places, axes))
            part = tensor_type(aval.update(shape=shard_shape(operands[0], aval.shape)))
            text = _IDENTITY.format(type=part)
            return Division(text, operands, operands)

        divided(b, tell, [aval], x.seen_as(aval), has_side_effect=True)
        return []


def _place_within(split: Any, ndim: int, places: Places, axes: MeshAxes | None) -> Sharding:
    """How a value lies by the compiler's word, over the axes that are no members' own.

    The compiler numbers the devices that share a member as they stand in the mesh.

    Raises:
        ValueError: if they do not stand there in the order of the program.
    """
    mesh = places.mesh
    if axes is None:
        return place_of(split, ndim, places.devices, mesh)
    if mesh is None or mesh.axis_names != axes.names or axes.devices:
        raise ValueError(
            message(
                "jax.debug.inspect_array_sharding in a program of members",
                given=f"members along {axes.members}, and devices in an order of their own",
                expected="members along all axes, or the mesh of the program in its order",
                fix="Inspect the value outside of shard_map.",
            )
        )
    first = tuple([0 if name in axes.members else slice(None) for name in mesh.axis_names])
    shared = Mesh(mesh.devices[first], [n for n in mesh.axis_names if n not in axes.members])
    place = place_of(split, ndim, shared.device_assignment, shared)
    return place.update(mesh=mesh) if isinstance(place, NamedSharding) else place


# What stays of an operation once its split is told.
_IDENTITY = """module @inspection {{
func.func public @main(%0: {type}) -> {type} {{
  return %0 : {type}
}}
}}
"""


def inspect_array_sharding(value: Any, *, callback: Callable[[Sharding], None]) -> None:
    """Call a function with the sharding of an array, also inside a compiled program.

    There it is called once for each time the program is compiled, not when it runs.

    Args:
        value: an array or a tree of arrays; the call happens for each.
        callback: called with a `jax.sharding.Sharding`.

    Raises:
        TypeError: `callback` cannot be called.

    Example:
        >>> import morphax as jax
        >>> def f(x):
        ...     jax.debug.inspect_array_sharding(2.0 * x, callback=print)
        ...     return x
        >>> _ = jax.jit(f)(3.0)
        SingleDeviceSharding(device=CpuDevice(id=0), memory_kind=device)
    """
    check_callback("jax.debug.inspect_array_sharding", callback)
    for leaf in tree.leaves(value):
        inspect_sharding_p.bind(leaf, callback=callback)


inspect_sharding_p = InspectSharding()
