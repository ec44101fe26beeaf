"""Samples of a rank in windows, by native code that programs for the CPU call.

Sorted one by one, large windows take a hundred times as long; see `native/window_ranks.cpp`.  Only
programs that stay in this process call it, on one device, as for extremes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from ...runtime.native_calls import WINDOW_RANKS_TARGET
from ...util.compiled import part
from .custom_calls import custom_call
from .literals import i64_array
from .stablehlo import Builder, Value

_DTYPES: Final = frozenset(map(np.dtype, (np.int32, np.int64)))


def may_find_ranks(keys: Any, out: Any) -> bool:
    """Whether native code may find the samples in an image of keys."""
    is_possible = part("window_ranks") is not None and keys.dtype in _DTYPES
    return is_possible and keys.is_static and 0 < out.size and keys.size < 2**31


def call_window_ranks(
    b: Builder, out: Any, keys: Value, rows: Mapping[str, Sequence[int]], rank: int
) -> Value:
    """Call native code; `rows` are what it calls numbers of windows and images."""
    attributes = [f"{name} = {i64_array(numbers)}" for name, numbers in rows.items()]
    (found,) = custom_call(
        b,
        WINDOW_RANKS_TARGET,
        [out],
        keys,
        layouts=[range(aval.ndim)[::-1] for aval in (keys.aval, out)],
        config=f"{{{', '.join(attributes)}, rank = {rank} : i64}}",
    )
    return found
