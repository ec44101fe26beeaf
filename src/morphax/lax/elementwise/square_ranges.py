"""Powers of two that keep squares in range, for derivatives of lengths and angles.

1/√(x² + 1) and y / (x² + y²) are ordinary numbers where x² is beyond the largest number, or below
the least.  Multiplied by a power of two beforehand, which is exact, and again afterwards, they
keep their digits (J. Blue, "A portable Fortran program to find the Euclidean norm of a vector",
ACM TOMS 4, 1978).
"""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ...core import aval_of
from .comparison import gt, lt
from .selection import scalar_like, select_n_p


def scale_of_large(size: Any) -> Any:
    """1, or where `size` is large a power of two by which its square is far from overflow."""
    half = dtypes.finfo(aval_of(size).dtype).maxexp // 2
    is_large = gt(size, scalar_like(2.0 ** (half - 1), size))
    return select_n_p.bind(is_large, scalar_like(1, size), scalar_like(2.0 ** -(half + 1), size))


def scale_of_extreme(size: Any) -> Any:
    """The same, and where `size` is small a power of two by which its square is normal."""
    exponents = dtypes.finfo(aval_of(size).dtype).maxexp
    is_small = lt(size, scalar_like(2.0 ** -int(0.4 * exponents), size))
    large = scale_of_large(size)
    return select_n_p.bind(is_small, large, scalar_like(2.0 ** (exponents // 2), size))
