"""Random keys of other than two words, which no integer holds.

In host memory such a key is one opaque element of as many bytes; on devices it is a row of 32-bit
words, along an axis behind all others.  The bytes are the same, so neither way copies.

Reference: docs/design/keys.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes


def is_opaque(dtype: Any) -> bool:
    """Whether elements of a dtype are opaque in host memory."""
    return type(dtype) is dtypes.KeyType and dtype.physical_dtype.type is np.void


def words_of(opaque: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Opaque elements as rows of words."""
    rows = np.ascontiguousarray(opaque)[..., None].view(np.uint32)
    return rows.reshape(*opaque.shape, opaque.dtype.itemsize // 4)


def opaque_of(words: np.ndarray[Any, Any], dtype: Any) -> np.ndarray[Any, Any]:
    """Rows of words as opaque elements of a key dtype; the inverse of `words_of`."""
    rows = np.ascontiguousarray(words)
    return rows.view(dtype.physical_dtype)[..., 0]
