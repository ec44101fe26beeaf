"""`jax.experimental.compilation_cache`: the package of the module of the same name."""

from __future__ import annotations
