"""Memory spaces: a device's own memory, or that of its host, whatever the platform calls them."""

from __future__ import annotations

from enum import Enum
from typing import final

from ..runtime.sharding import Sharding
from ..util.messages import message


@final
class Space(Enum):
    """A memory that `morphax.device_put` can put arrays in without naming devices.

    - ``Device``: the memory of the array's devices.
    - ``Host``: memory of the host that these devices can read directly.
    - ``Any``: either.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> x = jax.device_put(jnp.arange(3.0), jax.memory.Space.Host)
        >>> x.sharding.memory_kind
        'pinned_host'
    """

    Device = 1
    Host = 2
    Any = 3


_KINDS = {Space.Device: "device", Space.Host: "pinned_host"}


def sharding_in(space: Space, sharding: Sharding) -> Sharding:
    """The sharding with the same devices in a memory space."""
    if space not in _KINDS:
        raise ValueError(
            message(
                "device_put, argument device",
                given=f"{space}",
                expected="a memory to put the array in",
                fix="Pass Space.Device or Space.Host, or None to leave it where it is.",
            )
        )
    return sharding.with_memory_kind(_KINDS[space])
