"""`jax.debug`: look into programs while they run."""

from __future__ import annotations

from .control.callbacks.breakpoint import breakpoint
from .control.callbacks.debug_callback import debug_callback as callback
from .control.callbacks.debug_print import debug_log as log
from .control.callbacks.debug_print import debug_print as print
from .control.callbacks.sharding_inspection import inspect_array_sharding
from .core.effects import DebugEffect, OrderedDebugEffect
from .parallel.sharding_drawing import visualize_array_sharding, visualize_sharding

__all__ = [
    "DebugEffect",
    "OrderedDebugEffect",
    "breakpoint",
    "callback",
    "inspect_array_sharding",
    "log",
    "print",
    "visualize_array_sharding",
    "visualize_sharding",
]
