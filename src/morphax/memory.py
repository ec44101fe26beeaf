"""`jax.memory`: the memories that arrays can be put in."""

from __future__ import annotations

from .array.memory_space import Space as Space
