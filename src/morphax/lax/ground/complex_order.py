"""Extremes of complex numbers, ordered by their real parts, and where these are equal by the rest.

NaN stands in no order.  Programs keep the first of two numbers where it goes beyond the second,
else the second: of many, which are gone through one by one, NaN is left as soon as another follows.
NumPy would keep NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, final

import numpy as np


@final
class ComplexExtreme:
    """The extreme of two arrays, or of many numbers, as ``np.maximum`` and its methods are called.

    Args:
        beyond: the order of real numbers: ``np.greater`` or ``np.less``.
    """

    def __init__(self, beyond: np.ufunc) -> None:
        self._beyond = beyond

    def __call__(self, x: Any, y: Any) -> Any:
        of_real, of_imaginary = self._beyond(x.real, y.real), self._beyond(x.imag, y.imag)
        return np.where(np.where(x.real == y.real, of_imaginary, of_real), x, y)

    def reduce(self, x: Any, axes: Sequence[int], _: Any) -> Any:
        """The extremes over axes, whose elements are taken row by row."""
        first = np.moveaxis(x, axes, range(len(axes)))
        rows = first.reshape(-1, *first.shape[len(axes) :])
        out = rows[0]
        for row in rows[1:]:
            out = self(out, row)
        return out

    def accumulate(self, x: Any, axis: int, _: Any) -> Any:
        """The extremes of the elements up to each."""
        out = np.moveaxis(x, axis, 0).copy()
        for i in range(1, len(out)):
            out[i] = self(out[i - 1], out[i])
        return np.moveaxis(out, 0, axis)


COMPLEX_EXTREMES: Final = {
    np.maximum: ComplexExtreme(np.greater),
    np.minimum: ComplexExtreme(np.less),
}
