"""`jax.custom_batching`: functions whose batching under `vmap` the user defines."""

from __future__ import annotations

from .control.custom.custom_vmap import custom_vmap as custom_vmap
from .control.loops.sequential_vmap import sequential_vmap as sequential_vmap
