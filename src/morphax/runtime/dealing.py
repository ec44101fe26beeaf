"""How an array in host memory is dealt out to the devices of a place."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .client import on_forget_clients
from .device import Device
from .layouts import of_summands
from .membership import own_devices
from .sharding import Index, Sharding


def dealt(host: np.ndarray[Any, Any], place: Sharding) -> list[np.ndarray[Any, Any]]:
    """What each device of a place in this process holds of an array.

    Of a sum that is still to be taken that is the array, or zeros.
    """
    whole = of_summands(place)
    # NumPy's `ascontiguousarray` would give an axis to arrays that have none.
    parts = [np.asarray(host[index], order="C") for index in indices_here(whole, host.shape)]
    if whole is place:
        return parts
    first = _first_along_sums(place)
    each = zip(own_devices(place), parts, strict=True)
    return [part if device in first else np.zeros_like(part) for device, part in each]


def _first_along_sums(place: Any) -> frozenset[Device]:
    """The devices at the first place along all axes over which an array is still to be summed."""
    names, unreduced = place.mesh.axis_names, place.spec.unreduced
    first = place.mesh.devices[tuple([0 if n in unreduced else slice(None) for n in names])]
    return frozenset(np.ravel(np.asarray(first, object)).tolist())


@lru_cache(maxsize=1024)
def indices_here(place: Sharding, shape: tuple[int, ...]) -> tuple[Index, ...]:
    """What the devices of a place in this process hold of an array, one by one."""
    indices = place.devices_indices_map(shape)
    return tuple([indices[device] for device in own_devices(place)])


on_forget_clients(indices_here.cache_clear)
