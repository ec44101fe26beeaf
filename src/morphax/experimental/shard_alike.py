"""`jax.experimental.shard_alike`: values that a compiled program lays out alike."""

from __future__ import annotations

from ..parallel.shard_alike import shard_alike as shard_alike
