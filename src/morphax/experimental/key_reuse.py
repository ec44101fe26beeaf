"""`jax.experimental.key_reuse`: what ``jax_debug_key_reuse`` raises; `jax.random.clone` allows reuse."""

from __future__ import annotations

from ..errors import KeyReuseError

__all__ = ["KeyReuseError"]
