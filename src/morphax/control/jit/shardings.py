"""The options of `jit` that say where a program runs, and how the compiler is to treat it.

Shardings that are but devices choose the one device of the program; see `spreading` for others.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from ... import tree
from ...runtime.device import Device
from ...runtime.devices import client_of
from ...runtime.sharding import SingleDeviceSharding
from ...util.messages import described, message
from .spreading import ShardingTree


def devices_of_shardings(shardings: object) -> list[Device] | None:
    """The devices that a tree of shardings names, if they are all but devices.

    `None` if the tree says how arrays are cut.
    """
    leaves = [s for s in tree.leaves(shardings) if s is not None]
    if any([type(s) is not SingleDeviceSharding or s is not s.own_memory for s in leaves]):
        return None
    return [s.device for s in leaves]


def agreed_device(devices: Iterable[Device | None]) -> Device | None:
    """The device that all which are not None are; `ValueError` if they differ."""
    named = [d for d in dict.fromkeys(devices) if d is not None]
    if len(named) <= 1:
        return named[0] if named else None
    raise ValueError(
        message(
            "jit, arguments in_shardings and out_shardings",
            given=f"the devices {', '.join(map(repr, named))}, each alone",
            expected="one device, on which the whole program runs, or shardings over all of them",
            fix="Name one device, or pass jax.NamedSharding over a mesh of them.",
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


def _device(device: Any, backend: str | None) -> Any:
    """The device that the deprecated arguments name, if any."""
    if device is None and backend is None:
        return None
    if device is not None and backend is not None:
        raise ValueError(
            message(
                "jit, arguments device and backend",
                given=f"device={device} and backend={backend!r}",
                expected="one of them",
                fix="Leave backend out.",
            )
        )
    warnings.warn(
        "jit: the arguments device and backend are deprecated; "
        "put the arguments of the function on the device with device_put",
        DeprecationWarning,
        stacklevel=4,
    )
    if backend is not None:
        return client_of(backend, "jit, argument backend").local_devices()[0]
    return check_device("jit, argument device", device)


def chosen_places(
    device: object, backend: str | None, in_shardings: object, out_shardings: object
) -> tuple[Any, tuple[ShardingTree, ShardingTree] | None]:
    """The device that a program must run on, if its options name one, and other shardings."""
    if in_shardings is out_shardings is None:
        return _device(device, backend), None
    if device is not None or backend is not None:
        raise ValueError(
            message(
                "jit, arguments in_shardings and out_shardings",
                given="shardings, with "
                + ("backend" if device is None else "device")
                + ", which says where the program runs",
                expected="one of them",
                fix="Leave device and backend out, which are deprecated.",
            )
        )
    trees = (
        ShardingTree.of(in_shardings, "in_shardings"),
        ShardingTree.of(out_shardings, "out_shardings"),
    )
    named = devices_of_shardings([*trees[0].shardings, *trees[1].shardings])
    if named is None:
        return None, trees
    chosen = agreed_device(named)
    return chosen, trees if trees[0].has_formats or trees[1].has_formats else None
