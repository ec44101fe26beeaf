"""Arrays over several devices, made of their parts."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..core import AutoLayout, Format, ShapedArray
from ..runtime.buffers import joined
from ..runtime.device import Device
from ..runtime.laid_out import Order, laid_out
from ..runtime.membership import own_devices
from ..runtime.sharding import Index, Sharding
from ..util.messages import described, message
from .array import Array
from .placement import device_put, in_order


def make_array_from_callback(
    shape: Sequence[int],
    sharding: Sharding | Format,
    data_callback: Callable[[Index], Any],
    dtype: Any = None,
) -> Array:
    """An array whose parts a function makes, one for each different part.

    Args:
        shape: of the whole array.
        sharding: how it lies.
        data_callback: index of a part → the part, an array of that shape.
        dtype: of the parts; theirs if left out.

    Raises:
        TypeError: if `sharding` is none.
        ValueError: if a part has another shape or dtype, or there is neither a part nor `dtype`.

    Example:
        >>> import morphax as jax, numpy as np
        >>> mesh = jax.make_mesh((1,), ("x",))
        >>> numbers = np.arange(4)
        >>> jax.make_array_from_callback(
        ...     (4,), jax.NamedSharding(mesh, jax.P("x")), lambda index: numbers[index]
        ... )
        Array([0, 1, 2, 3], dtype=int32)
    """
    where = "make_array_from_callback"
    shape = _checked_shape(where, shape)
    place = checked_sharding(where, sharding)
    parts: dict[tuple[tuple[int | None, int | None], ...], Any] = {}
    arrays = []
    for device, index in place.addressable_devices_indices_map(shape).items():
        key = tuple([(s.start, s.stop) for s in index])
        if key not in parts:
            parts[key] = data_callback(index)
        arrays.append(device_put(parts[key], device))
    if not arrays:
        _check_dtype_is_given(where, dtype)
    return make_array_from_single_device_arrays(shape, place, arrays, dtype=dtype)


def make_array_from_single_device_arrays(
    shape: Sequence[int],
    sharding: Sharding,
    arrays: Sequence[Array],
    *,
    dtype: Any = None,
) -> Array:
    """An array whose parts are there already, one on each device; nothing is copied.

    Args:
        shape: of the whole array.
        sharding: how it lies.
        arrays: the parts that this process's devices hold, in any order.
        dtype: of the parts; needed if this process has none.

    Raises:
        TypeError: if `sharding` is none, or a part is no array.
        ValueError: if a device has no part or two, or a part has another shape or dtype.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> mesh = jax.make_mesh((1,), ("x",))
        >>> jax.make_array_from_single_device_arrays(
        ...     (3,), jax.NamedSharding(mesh, jax.P("x")), [jnp.arange(3)]
        ... )
        Array([0, 1, 2], dtype=int32)
    """
    where = "make_array_from_single_device_arrays"
    shape = _checked_shape(where, shape)
    target = checked_sharding(where, sharding)
    place = target.plain
    if not isinstance(arrays, Sequence):
        raise TypeError(
            message(
                f"{where}, argument arrays",
                given=described(arrays),
                expected="a list of arrays",
                fix="Pass one array for each device that this process has of the sharding.",
            )
        )
    devices = own_devices(place)
    by_device = {_device_of(where, x): x for x in arrays}
    if len(by_device) < len(arrays) or set(by_device) != set(devices):
        raise ValueError(
            message(
                f"{where}, argument arrays",
                given=f"{len(arrays)} arrays, on the devices {sorted(d.id for d in by_device)}",
                expected=f"one on each of the devices {sorted(d.id for d in devices)} that this "
                "process has of the sharding",
                fix="Put each part on its device with jax.device_put.",
            )
        )
    if not devices:
        return _without_own_parts(where, shape, target, dtype)
    parts = [by_device[device] for device in devices]
    part_shape = place.shard_shape(shape)
    kind = parts[0].dtype if dtype is None else dtypes.requested(dtype, where)
    for x in parts:
        if x.shape != part_shape or x.dtype != kind:
            raise ValueError(
                message(
                    f"{where}, argument arrays",
                    given=f"a part {x.aval.str_short()}",
                    expected=f"parts of the shape {part_shape} and the dtype {kind}, for a whole "
                    f"of the shape {shape} by {place}",
                    fix="Cut the array as sharding.devices_indices_map(shape) says.",
                )
            )
    order = target.element_order or _common_order(parts)
    place = in_order(place, order)
    if place.num_devices == 1:
        return parts[0].placed(place, committed=True)
    if isinstance(kind, dtypes.ExtendedDType):
        return _joined_in_host_memory(shape, place, by_device)
    aval = place.typed(ShapedArray(shape, kind, parts[0].weak_type))
    own = [x.buffer_at(laid_out(x.place, place.element_order)) for x in parts]
    return Array(aval, None, joined(own, aval, place.plain), place, True)


def _common_order(parts: Sequence[Array]) -> Order:
    """How the elements of parts lie in memory, row by row unless they do alike."""
    orders = {x.place.element_order for x in parts}
    return orders.pop() if len(orders) == 1 else None


def _without_own_parts(where: str, shape: tuple[int, ...], place: Sharding, dtype: Any) -> Array:
    """An array of other processes, of which this one knows only that it is there."""
    _check_dtype_is_given(where, dtype)
    place.shard_shape(shape)
    aval = place.typed(ShapedArray(shape, dtypes.requested(dtype, where)))
    return Array(aval, None, joined([], aval, place.plain), place, True)


def _check_dtype_is_given(where: str, dtype: Any) -> None:
    if dtype is None:
        raise ValueError(
            message(
                f"{where}, argument dtype",
                given="None, for an array of which this process has no part",
                expected="a dtype",
                fix="Pass the dtype of the parts that other processes have.",
            )
        )


def _joined_in_host_memory(
    shape: tuple[int, ...], place: Sharding, parts: dict[Device, Array]
) -> Array:
    """The same for keys, whose buffers have other shapes than they themselves."""
    first = next(iter(parts.values()))
    whole = np.empty(shape, first.to_host().dtype)
    for device, index in place.addressable_devices_indices_map(shape).items():
        whole[index] = parts[device].to_host()
    return Array(ShapedArray(shape, first.dtype), whole).placed(place, committed=True)


def _checked_shape(where: str, shape: Any) -> tuple[int, ...]:
    try:
        sizes = tuple(map(operator.index, shape))
    except TypeError:
        sizes = None
    if sizes is None or min(sizes, default=0) < 0:
        raise (TypeError if sizes is None else ValueError)(
            message(
                f"{where}, argument shape",
                given=described(shape),
                expected="a tuple of sizes, each an integer of at least 0",
                fix="Pass the shape of the whole array, not that of a part.",
            )
        )
    return sizes


def checked_sharding(where: str, sharding: Any) -> Sharding:
    """The sharding that a user passed to the function `where`; `TypeError` if it is none."""
    if isinstance(sharding, Format):
        argument = f"{where}, argument sharding"
        if isinstance(sharding.sharding, Sharding) and not isinstance(sharding.layout, AutoLayout):
            return in_order(sharding.sharding, sharding.order(argument), argument)
    if isinstance(sharding, Sharding):
        return sharding
    raise TypeError(
        message(
            f"{where}, argument sharding",
            given=described(sharding),
            expected="a jax.sharding.Sharding",
            fix="Pass jax.NamedSharding(mesh, jax.P('x')), for instance.",
        )
    )


def _device_of(where: str, x: Any) -> Device:
    if isinstance(x, Array) and x.place.num_devices == 1:
        (device,) = x.place.device_assignment
        return device
    raise (ValueError if isinstance(x, Array) else TypeError)(
        message(
            f"{where}, argument arrays",
            given=described(x),
            expected="arrays that lie on one device each",
            fix="Pass the data of shards: [shard.data for shard in x.addressable_shards].",
        )
    )
