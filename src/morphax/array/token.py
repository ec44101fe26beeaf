"""Tokens: values without numbers, of which one comes after others.

A token is an `Array` whose aval is the abstract token, so that it passes through compiled programs
as any array does; at their border it is a buffer of no elements.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import AbstractToken, abstract_token
from .array import Array


class _TokenMeta(type):
    """Says which arrays are tokens."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return type(instance) is Array and isinstance(instance.aval, AbstractToken)


class Token(metaclass=_TokenMeta):
    """A value that programs take and give to order effects; it has no shape, dtype or numbers.

    Args:
        buf: an array; the token is ready when this is computed.

    Example:
        >>> import morphax as jax
        >>> from morphax.extend.core import Token
        >>> isinstance(jax.lax.create_token(), Token)
        True
    """

    def __new__(cls, buf: Any) -> Array:  # type: ignore[misc]
        if isinstance(buf, Array):
            buf.block_until_ready()
        return Array(abstract_token, np.zeros(0, bool))
