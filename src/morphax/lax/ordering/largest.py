"""The largest elements along an axis, in NumPy or by native code."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...util.compiled import part
from ..elementwise.comparison import total_order_key
from ..ground.narrow import widened

native: Any = part("kernels")
# Dtypes that native code has, and how many of all it looks for whatever their number.
_DTYPES = "fdi"
_FEW = 16
# So many keys are sorted sooner than they are divided.
_SORTED_SOONER = 1024


def largest(x: Any, k: int, axis: int) -> list[Any]:
    """The k largest elements of a NumPy array along an axis, in falling order, and their places."""
    if _found_natively(x, k, axis):
        places = native.largest_places(x, k)
        return [x[places] if x.ndim == 1 else np.take_along_axis(x, places, -1), places]
    keys = widened(total_order_key(x))
    if axis == keys.ndim - 1 == 0:
        places = _largest_places(keys, k)
        return [x[places], places.astype(np.int32)]
    places = np.moveaxis(_largest_places(np.moveaxis(keys, axis, -1), k), -1, axis)
    values = np.take_along_axis(x, places, axis)
    return [np.array(values, order="C"), np.array(places, np.int32, order="C")]


def _found_natively(x: Any, k: int, axis: int) -> bool:
    """Whether native code keeps the largest ones found so far, which gains where they are few."""
    return (
        native is not None
        and x.dtype.char in _DTYPES
        and axis == x.ndim - 1
        and 0 < k <= max(x.shape[axis] // 4, _FEW)
    )


def _largest_places(keys: Any, k: int) -> Any:
    """Places of the k largest integers along the last axis; of equal ones the first come first."""
    n = keys.shape[-1]
    if k == 0 or keys.size == 0:
        return np.zeros((*keys.shape[:-1], k), np.int64)
    if n <= _SORTED_SOONER:
        # In the other order, what is not the bits of a key is larger.
        return np.argsort(~keys, -1, "stable")[..., :k]
    threshold = np.partition(keys, n - k)[..., n - k, None]
    above, level = keys > threshold, keys == threshold
    missing = k - np.count_nonzero(above, axis=-1, keepdims=True)
    chosen = above | (level & (np.cumsum(level, axis=-1) <= missing))
    places = np.nonzero(chosen)[-1].reshape(*keys.shape[:-1], k)
    # Falling keys in stable order: rising keys in stable order from the end, read backwards.
    reversed_places = places[..., ::-1]
    order = np.argsort(np.take_along_axis(keys, reversed_places, -1), axis=-1, kind="stable")
    return np.take_along_axis(reversed_places, order, -1)[..., ::-1]
