"""`jax.debug`: look into programs while they run."""

from __future__ import annotations

from .control.callbacks import debug_callback as callback
from .control.callbacks import debug_print as print

__all__ = ["callback", "print"]
