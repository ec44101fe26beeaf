"""`jax.dlpack`: arrays from other libraries, without a copy where that is safe."""

from __future__ import annotations

from .array.dlpack import is_supported_dtype as is_supported_dtype
from .array.dlpack_import import from_dlpack as from_dlpack
