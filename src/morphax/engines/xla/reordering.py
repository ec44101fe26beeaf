"""Programs that copy the elements of a buffer into another order in memory.

They are the identity, whose operand and result XLA lays out as it is told.  The parts of an array
on several devices are copied one by one, each by a program of its device.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ...array import Array
from ...core import ShapedArray
from ...runtime import buffers
from ...runtime.client import extension, handler_keywords, on_forget_clients
from ...runtime.device import Device
from ...runtime.failures import raise_failure, reported_by_xla
from ...runtime.laid_out import Order
from ...runtime.layouts import layout_of
from ...runtime.membership import own_devices
from ...runtime.sharding import Sharding, whole_on
from . import compilation
from .compile_options import compile_options
from .literals import physical_aval, tensor_type


def reordered(buffer: Any, x: Array, source: Sharding, target: Sharding) -> Any:
    """A buffer at `target` with the elements of one at `source`, which is the same but for order.

    Args:
        buffer: of elements of any dtype.
        x: an array with the shape and the dtype of the whole.
        source, target: places of the same devices, in their default memory.
    """
    aval = physical_aval(x.aval)
    devices = own_devices(source)
    orders = source.element_order, target.element_order
    if source.num_devices == 1:
        return _copied(buffer, aval, devices[0], orders)
    # Parts are never cut along the axes that key data have besides.
    cut = source.shard_shape(x.shape)
    part = aval.update(shape=(*cut, *aval.shape[len(cut) :]), sharding=None)
    each = zip(buffers.parts_of(buffer), devices, strict=True)
    copies = [_copied(own, part, device, orders) for own, device in each]
    return buffers.joined(copies, aval, target.plain)


def _copied(buffer: Any, aval: ShapedArray, device: Device, orders: tuple[Order, Order]) -> Any:
    loaded, handler = _program(aval.strip_weak_type(), device, orders)
    try:
        return loaded.execute_sharded([buffer]).consume_with_handlers([handler])[0]
    except reported_by_xla() as error:
        raise_failure(error, f"laying out {aval.str_short()} in another order on {device!r}")


@lru_cache(maxsize=1024)
def _program(aval: ShapedArray, device: Device, orders: tuple[Order, Order]) -> tuple[Any, Any]:
    """The executable, and what makes arrays of its results."""
    ndim = len(aval.shape)
    taken, given = ["default" if o is None else o.to_xla(ndim) for o in orders]
    kinds = [f'{{mhlo.layout_mode = "{mode}"}}' for mode in (taken, given)]
    shape = tensor_type(aval)
    text = (
        "module @reordered {\n"
        f"func.func public @main(%0: {shape} {kinds[0]}) -> ({shape} {kinds[1]}) {{\n"
        f"  return %0 : {shape}\n}}\n}}\n"
    )
    options = compile_options(device)
    loaded = compilation.compile_and_load(device.client, text, (device,), options)
    sharding, _ = layout_of(whole_on(device), ndim)
    keywords = handler_keywords()
    return loaded, extension().array_result_handler(aval, sharding, True, **keywords)


on_forget_clients(_program.cache_clear)
