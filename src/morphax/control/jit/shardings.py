"""The options of `jit` that say where a program runs, and how the compiler is to treat it.

A program runs on one device.  Shardings are taken where they say just that; all others are refused,
for to ignore them would leave arrays where nobody wants them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ... import tree
from ...runtime.device import Device
from ...runtime.sharding import Sharding, SingleDeviceSharding
from ...util.messages import described, message


def device_of_shardings(argument: str, shardings: object) -> Device | None:
    """The one device that a tree of shardings names, if it names any.

    Raises:
        TypeError: if a leaf is no sharding.
        NotImplementedError: if one is not of a single device, in its default memory.
    """
    leaves = [s for s in tree.leaves(shardings) if s is not None]
    return agreed_device([_device_of(argument, sharding) for sharding in leaves])


def _device_of(argument: str, sharding: object) -> Device:
    if type(sharding) is SingleDeviceSharding and sharding is sharding.own_memory:
        return sharding.device
    kind = NotImplementedError if isinstance(sharding, Sharding) else TypeError
    raise kind(
        message(
            f"jit, argument {argument}",
            given=described(sharding),
            expected="None, or a SingleDeviceSharding in the default memory of its device",
            fix="Pass jax.sharding.SingleDeviceSharding(jax.devices()[0]), or leave it out.",
        )
    )


def agreed_device(devices: Iterable[Device | None]) -> Device | None:
    """The device that all which are not None are; `NotImplementedError` if they differ."""
    named = [d for d in dict.fromkeys(devices) if d is not None]
    if len(named) <= 1:
        return named[0] if named else None
    raise NotImplementedError(
        message(
            "jit, arguments in_shardings and out_shardings",
            given=f"the devices {', '.join(map(repr, named))}",
            expected="one device, on which the whole program runs",
            fix="Name one device, and move arrays between devices with jax.device_put.",
        )
    )


def check_device(where: str, device: object) -> Device | None:
    """`device`, if it is one or None; `TypeError` otherwise."""
    if device is None or isinstance(device, Device):
        return device
    raise TypeError(
        message(
            where,
            given=described(device),
            expected="a device",
            fix="Pass an element of jax.devices().",
        )
    )


def checked_compiler_options(options: object) -> tuple[tuple[str, Any], ...]:
    """XLA flags and their values, sorted by name; `TypeError` unless they are in a dictionary."""
    if options is None:
        return ()
    if isinstance(options, Mapping) and all([isinstance(name, str) for name in options]):
        return tuple(sorted(options.items()))
    raise TypeError(
        message(
            "jit, argument compiler_options",
            given=described(options),
            expected="a dictionary from names of XLA flags to their values",
            fix="Write compiler_options={'xla_cpu_enable_fast_math': False}, for instance.",
        )
    )
