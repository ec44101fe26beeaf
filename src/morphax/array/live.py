"""Which arrays are alive."""

from __future__ import annotations

import gc
from typing import Any

from ..runtime.devices import client_of
from .array import Array


def live_arrays(platform: Any = None) -> list[Array]:
    """All arrays that still have their memory, in no particular order.

    They are found through the garbage collector, so that nothing is spent on keeping track.

    Args:
        platform: whose arrays: a platform's name, the default platform if left out.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> x = jnp.arange(3)
        >>> any(y is x for y in jax.live_arrays())
        True
    """
    wanted = client_of(platform, "jax.live_arrays, argument platform").platform
    found = [x for x in gc.get_objects() if type(x) is Array]
    return [x for x in found if not x.is_deleted() and x.platform() == wanted]
