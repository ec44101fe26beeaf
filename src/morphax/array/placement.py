"""Move arrays between devices and the host: `device_put`, `device_get`, and waiting.

Each works on trees.  `device_put` on concrete values is defined here; the public function of this
name, in `lax.placing`, also stages it for traced values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes, tree
from ..config import current as current_config
from ..config import override
from ..core import AutoLayout, Format, Tracer, is_value
from ..core.partition_spec import PartitionSpec
from ..runtime import buffers
from ..runtime.current_mesh import sharding_of_spec, with_devices
from ..runtime.device import Device
from ..runtime.devices import host_is_default
from ..runtime.laid_out import Order, laid_out
from ..runtime.membership import membership
from ..runtime.sharding import Sharding, SingleDeviceSharding, default_place
from ..runtime.transfer_guard import guard_transfer
from ..util.messages import conversion_of, described, message
from .array import Array
from .foreign import array_from_numpy
from .memory_space import Space, sharding_in
from .moves import check_put


def device_put(
    x: Any,
    device: Any = None,
    *,
    src: Any = None,
    donate: Any = False,
    may_alias: Any = None,
) -> Any:
    """Put concrete arrays on a device at once; `lax.placing.device_put` says what that means."""
    leaves, structure = tree.flatten(x)
    places = for_each_leaf(device, x, "device")
    donations = for_each_leaf(donate, x, "donate")
    aliases = for_each_leaf(may_alias, x, "may_alias")
    return structure.unflatten(
        [
            put(leaf, place, donate=bool(given), may_alias=alias)
            for leaf, place, given, alias in zip(leaves, places, donations, aliases, strict=True)
        ]
    )


def for_each_leaf(prefix: Any, x: Any, name: str) -> list[Any]:
    """One value per leaf of `x` from the argument `name`, a prefix of `x`."""
    return tree.broadcast_prefix(
        prefix,
        x,
        lambda value: value is None,
        where="device_put",
        prefix_name=name,
        full_name="x",
    )


def put(x: Any, place: Any = None, *, donate: bool = False, may_alias: bool | None = None) -> Array:
    """`device_put` of one concrete value."""
    if donate and may_alias:
        raise ValueError(
            message(
                "device_put, arguments donate and may_alias",
                given="both true for one array",
                expected="at most one: a donated array has no memory left to share",
                fix="Pass one of them.",
            )
        )
    source = _as_array(x, fresh=may_alias is False)
    fresh = source is not x
    if fresh:
        guard_transfer("host_to_device", x, place, explicit=True)
    copy = may_alias is False and not fresh
    if place is None:
        result = source.copied() if copy else at_default_place(source) if fresh else source
    else:
        sharding = _sharding(place, source)
        if membership() is not None:
            check_put(source, not fresh and source.committed, sharding)
        result = sharding.distribute(source, copy=copy)
    if donate and result is not x and type(x) is Array and not _shares_memory(x, result):
        x.delete("it was donated to device_put")
    return result


def _as_array(x: Any, fresh: bool) -> Array:
    if type(x) is Array:
        return x
    if isinstance(x, np.ndarray) and x.dtype != dtypes.float0:
        return array_from_numpy(x, copy=True if fresh else None, where="device_put, argument x")
    if isinstance(x, Tracer):
        raise TypeError(
            message(
                "device_put, argument x",
                given=f"{x.origin()}, {x.aval.str_short()}",
                expected="concrete arrays",
                fix="Call jax.device_put, which is staged inside transformed functions.",
            )
        )
    if not is_value(x):
        raise TypeError(
            message(
                "device_put, argument x",
                given=described(x),
                expected="an array, a Python number, or a tree of them",
                fix=conversion_of(x),
            )
        )
    return Array.from_host(x)


def at_default_place(x: Array) -> Array:
    """A new array in host memory, which nobody else has, on the default device."""
    return x if host_is_default() else x.placed(default_place(), committed=False)


def beside(x: Array, source: Any) -> Array:
    """A new array in host memory on the device that `source` is bound to, if it is bound to one."""
    if type(source) is Array and source._committed and source.place.num_devices == 1:
        return x.placed(source.place.own_memory, committed=True)
    return at_default_place(x)


def checked_place(place: Any) -> Any:
    """A device, a sharding, a memory space or `None`; a spec becomes one over the current mesh.

    Raises:
        ValueError: if `place` is something else.
    """
    if place is None or isinstance(place, Space):
        return place
    sharding = _sharding(place)
    return sharding if isinstance(place, PartitionSpec | Sharding) else place


def sharding_of(place: Any, current: Sharding) -> Sharding:
    """The sharding that `place` means, for an array that is laid out as `current`."""
    return sharding_in(place, current) if isinstance(place, Space) else _sharding(place)


def _sharding(place: Any, x: Array | None = None) -> Sharding:
    """The sharding that `place` means, for `x` if that depends on where it is.

    Elements of an array lie in the order in which they did, unless a `Format` says otherwise.
    """
    order = None if x is None else x.place.element_order
    if isinstance(place, Sharding):
        place = with_devices(place)
        return place if order is None else in_order(place, order)
    if isinstance(place, Space) and x is not None:
        return sharding_in(place, x.sharding)
    if isinstance(place, Device):
        return in_order(SingleDeviceSharding(place), order)
    if isinstance(place, PartitionSpec):
        return sharding_of_spec(place, "device_put, argument device")
    if isinstance(place, Format) and isinstance(place.sharding, Sharding):
        if not isinstance(place.layout, AutoLayout):
            where = "device_put, argument device"
            order = place.order(where, None if x is None else x.ndim)
            return place.sharding if order is None else in_order(place.sharding, order, where)
    raise ValueError(
        message(
            "device_put, argument device",
            given=described(place),
            expected="None, a device, a sharding, a memory space, or a tree of these",
            fix="Pass an element of jax.devices() or a jax.sharding.Sharding.",
        )
    )


def in_order(place: Sharding, order: Order, where: str | None = None) -> Sharding:
    """The place of arrays whose elements lie in an order, which they do in default memories only.

    Raises:
        ValueError: if `place` is another memory, and `where` says who asks for it.
    """
    if place.own_memory is place.plain:
        return laid_out(place, order)
    if where is not None:
        raise ValueError(
            message(
                where,
                given=f"the layout {order} in the memory {place.memory_kind!r}",
                expected="the default memory of the devices, where programs lay arrays out",
                fix="Leave the layout open there, Format(None, sharding).",
            )
        )
    return place.plain


def _shares_memory(x: Array, y: Array) -> bool:
    return x.platform() == y.platform() == "cpu" or x.devices() == y.devices()


def device_get(x: Any) -> Any:
    """Copy arrays to the host.

    Args:
        x: an array or a tree of arrays; other leaves, tracers among them, are kept.

    Returns:
        A tree like `x` of read-only NumPy arrays.  Keys stay what they are.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.device_get({"a": jnp.arange(3.0), "b": 1})
        {'a': array([0., 1., 2.], dtype=float32), 'b': 1}
    """
    copy_to_host_async(x)
    return tree.map(_get, x)


def _get(x: Any) -> Any:
    if type(x) is not Array or isinstance(x.dtype, dtypes.ExtendedDType):
        return x
    if current_config().transfer_guard_device_to_host is None:
        return np.asarray(x)
    x.guard_reading(explicit=True)
    with override(transfer_guard_device_to_host="allow"):
        return np.asarray(x)


def block_until_ready(x: Any) -> Any:
    """Wait until all arrays of a tree are computed, and return the tree.

    Compiled programs return before they have finished.  Time them with this call inside.

    Args:
        x: a tree; leaves that are not arrays are let be.

    Raises:
        JaxRuntimeError: if a program that computes one of them failed.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.block_until_ready(jax.jit(jnp.sin)(0.0))
        Array(0., dtype=float32, weak_type=True)
    """
    if type(x) is Array:
        return x.block_until_ready()
    waiting: list[Any] = []
    spread: list[Any] = []
    last_place, last_is_spread = None, False
    for leaf in tree.leaves(x):
        if type(leaf) is Array:
            leaf._check_not_deleted()
            if leaf._host is None:
                if leaf.place is not last_place:
                    last_place, last_is_spread = leaf.place, buffers.spread_here(leaf.place)
                (spread if last_is_spread else waiting).append(leaf._buffer)
        elif hasattr(leaf, "block_until_ready"):
            leaf.block_until_ready()
    if waiting or spread:
        buffers.wait(waiting, spread)
    return x


def copy_to_host_async(x: Any) -> Any:
    """Begin to copy all arrays of a tree to the host, where they will be asked for soon.

    Args:
        x: a tree; leaves that are not arrays are let be.

    Returns:
        The tree itself.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> x = jax.copy_to_host_async(jnp.arange(3.0))
    """
    for leaf in tree.leaves(x):
        if hasattr(leaf, "copy_to_host_async") and not isinstance(leaf, Tracer):
            leaf.copy_to_host_async()
    return x
