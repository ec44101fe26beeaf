"""`jax.debug`: look into programs while they run."""

from .control.callbacks import debug_callback as callback
from .control.callbacks import debug_print as print  # noqa: A004 - the public name

__all__ = ["callback", "print"]
