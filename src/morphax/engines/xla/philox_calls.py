"""Random bits by native code, which programs for the CPU call; see `native/philox.cpp`.

Only programs that stay in this process call it, on one device, as for extremes.
"""

from __future__ import annotations

from typing import Any

from ...runtime.native_calls import PHILOX_TARGET
from ...util.compiled import part
from .custom_calls import custom_call
from .stablehlo import Builder, Value


def may_call_philox(b: Builder, bits: Any) -> bool:
    """Whether native code may draw bits of an aval."""
    is_possible = b.module.may_call_kernels
    return is_possible and part("philox") is not None and bits.is_static and bits.size > 0


def call_philox(b: Builder, state: Value, bits: Any) -> list[Value]:
    """Call native code for the next state, two 64-bit numbers, and the bits."""
    order = range(len(bits.shape))[::-1]
    layouts = [(0,), (0,), order]
    return custom_call(b, PHILOX_TARGET, [state.aval, bits], state, layouts=layouts, config="{}")
