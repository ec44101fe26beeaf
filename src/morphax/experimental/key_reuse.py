"""`jax.experimental.key_reuse`: the error that ``jax_debug_key_reuse`` raises.

Keys that `jax.random.clone` returns may be used once more.
"""

from __future__ import annotations

from ..errors import KeyReuseError

__all__ = ["KeyReuseError"]
