"""`jax.typing`: annotations of what functions accept.

`ArrayLike` is an array or something that stands for one: a NumPy array or scalar, a Python number.
`DTypeLike` is whatever names a dtype: a NumPy dtype, a scalar type, a string.  Functions return
`Array`.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from .array.public import Array


class SupportsDType(Protocol):
    """An object with a dtype, such as ``jnp.float32``."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype meant."""


ArrayLike = Array | np.ndarray | np.bool_ | np.number | bool | int | float | complex
DTypeLike = str | type[Any] | np.dtype | SupportsDType

__all__ = ["ArrayLike", "DTypeLike"]
