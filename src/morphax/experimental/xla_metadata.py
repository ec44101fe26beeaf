"""`jax.experimental.xla_metadata`: notes to the compiler on operations."""

from __future__ import annotations

from ..lax.shape.xla_metadata import set_xla_metadata

__all__ = ["set_xla_metadata"]
