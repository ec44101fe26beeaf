"""Arguments of compiled programs on their way to the device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...array import Array
from ...core import AbstractMesh, Operand, ShapedArray, ShapeDtypeStruct
from ...dtypes import float0
from ...engines.reference.eager import as_array
from ...runtime import sharding as shardings
from ...runtime.buffers import copied_to_device
from ...runtime.current_mesh import mesh_with_axes
from ...runtime.devices import devices, host_is_default
from ...runtime.laid_out import laid_out
from ...runtime.mesh import Mesh
from ...runtime.named_sharding import NamedSharding
from ...runtime.sharding import Sharding
from ...runtime.transfer_guard import guard_transfer
from ...transforms.derivatives import shape_aval
from ...util.compiled import part
from ...util.host_memory import aligned_copy
from ...util.memo import on_clear

only_arrays = frozenset({Array}).issuperset

_NUMBERS = frozenset({bool, int, float, complex, np.ndarray})

compiled = part("calls")
if compiled is not None:
    # The numbers that it keeps on devices.
    on_clear(compiled.clear_numbers)


def put(x: Operand, aval: ShapedArray, place: Sharding) -> Array:
    """An operand that is no `Array` yet; numbers go straight to their place."""
    if not _is_of_numbers(x, aval):
        return as_array(x)
    guard_transfer("host_to_device", x, place)
    host, place = np.asarray(x, aval.dtype), place.plain
    return Array(aval, None, copied_to_device(host, aval, place), place)


def _put_at_home(x: Operand, aval: ShapedArray, place: Sharding) -> Array:
    """The same where home is host memory: the program may not be XLA's, so jaxlib can wait."""
    if not _is_of_numbers(x, aval):
        return as_array(x)
    guard_transfer("host_to_device", x, place)
    return Array(aval, aligned_copy(np.asarray(x, aval.dtype)), None, place)


def _is_of_numbers(x: Operand, aval: ShapedArray) -> bool:
    return (type(x) in _NUMBERS or isinstance(x, np.generic)) and aval.dtype != float0


def as_operands(
    leaves: Sequence[Any], avals: Sequence[Any], places: Sequence[Sharding]
) -> list[Array]:
    """Leaves, numbers and NumPy arrays among them, as arrays."""
    home = shardings.home if host_is_default() else None
    return [
        x if type(x) is Array else (_put_at_home if place is home else put)(x, aval, place)
        for x, aval, place in zip(leaves, avals, places, strict=True)
    ]


def stand_in(x: Any) -> Any:
    """For what has a shape and a sharding, an array without numbers that is committed to it."""
    sharding = x.format.sharding if isinstance(x, ShapeDtypeStruct) else None
    if isinstance(sharding, NamedSharding) and isinstance(sharding.mesh, AbstractMesh):
        mesh = mesh_with_axes(sharding.mesh) or _first_devices_along(sharding.mesh)
        sharding = sharding if mesh is None else sharding.update(mesh=mesh)
    if not isinstance(sharding, Sharding):
        return x
    aval = shape_aval(x)
    sharding.shard_shape(aval.shape)
    order = x.format.order("lower, argument sharding", aval.ndim)
    return Array(aval, None, None, laid_out(sharding, order), True)


def _first_devices_along(axes: AbstractMesh) -> Mesh | None:
    """Devices that stand in where a program is described without any; `None` if there are too few.

    What is exported names none of them.
    """
    first = devices()[: axes.size]
    if axes.empty or len(first) < axes.size:
        return None
    return Mesh(np.array(first).reshape(axes.axis_sizes), axes.axis_names, axes.axis_types)
