"""Functions of SciPy's LAPACK, which eager mode calls for one matrix at a time."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

_LETTER = {"f": "s", "d": "d", "F": "c", "D": "z"}

_COMPLEX = {"orgqr": "ungqr", "ormqr": "unmqr", "sytrd": "hetrd", "syevd": "heevd"}

BLOCK = 64
"""Columns that LAPACK works on at once, at most: work space is this many times the size."""


@cache
def lapack(function: str, dtype: np.dtype[Any]) -> Callable[..., Any]:
    """The LAPACK function of a dtype: ``getrf`` is ``dgetrf`` for float64."""
    from scipy.linalg import lapack as library

    # What is orthogonal or symmetric for real matrices is unitary or Hermitian for complex ones.
    if dtype.kind == "c":
        function = _COMPLEX.get(function, function)
    return getattr(library, _LETTER[dtype.char] + function)  # type: ignore[no-any-return]
