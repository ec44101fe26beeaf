"""The numbers of an array at another place.

They go from device to device, through host memory, or, between processes, by a program that all of
them run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..runtime import buffers
from ..runtime.device import Device
from ..runtime.layouts import deals_alike
from ..runtime.membership import is_readable, membership
from ..runtime.sharding import Sharding, SingleDeviceSharding
from ..util.messages import described, message

if TYPE_CHECKING:
    from .array import Array


class BetweenProcesses(ABC):
    """What only programs can do, which are made above: all processes of a place run them."""

    @abstractmethod
    def moved(self, x: Array, place: Sharding) -> Any:
        """A buffer at `place` with the numbers of `x`, of which this process has a part."""

    @abstractmethod
    def check_same(self, x: Array, place: Sharding, where: str, given: str) -> None:
        """Raise `AssertionError` unless all processes of a place have the same numbers.

        Args:
            x: the numbers.
            place: whose processes compare theirs.
            where: function and argument, for error text.
            given: what the numbers are, likewise.
        """


_between_processes: BetweenProcesses


def move_between_processes_by(means: BetweenProcesses) -> None:
    """Say how arrays move between processes."""
    global _between_processes
    _between_processes = means


def can_be_read_fast(place: Sharding) -> bool:
    """Whether arrays that lie there are read without a copy."""
    return place.platform == "cpu" and (membership() is None or is_readable(place))


def host_at(place: Sharding, host: Any) -> Any:
    """Host memory that an array at a place keeps, of that which it was made of."""
    return host if membership() is None or is_readable(place) else None


Reorder = Callable[[Any, "Array", Sharding, Sharding], Any]

_reorder: Reorder


def reorder_by(means: Reorder) -> None:
    """Say how the elements of a buffer come to lie in another order, which programs do.

    Args:
        means: buffer, array that has the numbers, where the buffer is, the same place with another
            order → a new buffer.
    """
    global _reorder
    _reorder = means


def moved_buffer(x: Array, place: Sharding) -> Any:
    """A new buffer at `place`, straight from device to device where that is possible."""
    if place.element_order is not None:
        return _reorder(x.buffer_at(place.plain), x, place.plain, place)
    source, own = x._buffer, x.place
    if source is None or (own.element_order is not None and x._host is not None):
        return buffers.to_device(x.to_host(), place)
    if own.element_order is not None:
        source = _reorder(source, x, own, own.plain)
        return type(x)(x.aval, None, source, own.plain).buffer_at(place)
    if membership() is not None and not is_readable(x.place):
        return _between_processes.moved(x, place)
    if (platform := place.platform) != "cpu" and source.platform() == platform:
        # Devices pass on the parts that they have, and cut none.
        if deals_alike(x.place, place, x.ndim):
            return buffers.moved(source, x.ndim, place)
    if x._host is None and platform == "cpu" and x.place.num_devices > 1:
        return buffers.dealt_out(source, x.place, place)
    return buffers.to_device(x.to_host(), place)


def check_put(x: Array, committed: bool, place: Sharding) -> None:
    """Raise an error unless `x` can be put at `place`, which may belong to several processes.

    Args:
        x: the array.
        committed: whether the user has put it where it is.
        place: where to.

    Raises:
        ValueError: if the devices of one are not the other's, so that no program moves it.
        AssertionError: if processes put different numbers there.
    """
    is_own = place.is_fully_addressable
    if x._buffer is not None and not x.place.is_fully_addressable:
        if x.place.device_set != place.device_set:
            raise ValueError(_elsewhere(x, place))
    elif not is_own and committed:
        raise ValueError(_elsewhere(x, place))
    elif not is_own and place.has_addressable_devices:
        check_same_in_all(x, place, "device_put, argument x", x.aval.str_short())


def check_same_in_all(x: Array, place: Sharding, where: str, given: str) -> None:
    """See `BetweenProcesses.check_same`."""
    _between_processes.check_same(x, place, where, given)


def _elsewhere(x: Array, place: Sharding) -> str:
    return message(
        "device_put, argument device",
        given=f"{place!r} for {x.aval.str_short()}, which is committed to {x.place!r}",
        expected="the same devices, where they belong to several processes",
        fix="Make the array there: jax.make_array_from_process_local_data takes each process's "
        "part, and jax.experimental.multihost_utils.process_allgather gives a process the whole.",
    )


def named_place(where: str, device: object) -> Sharding:
    """The place that a device or a sharding names; `ValueError` if it is neither."""
    if isinstance(device, Sharding):
        return device
    if isinstance(device, Device):
        return SingleDeviceSharding(device)
    raise ValueError(
        message(
            f"{where}, argument device",
            given=described(device),
            expected="a device or a sharding",
            fix="Pass an element of jax.devices() or a jax.sharding.Sharding.",
        )
    )
