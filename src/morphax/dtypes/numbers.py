"""Python numbers as elements of a dtype: which ones it holds, and what is said of the others.

A conversion between dtypes wraps integers around; a number that a user writes down is not meant to
become another one.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ..util.messages import message
from .convert import itemsize_bits
from .kinds import issubdtype


def bounds(dtype: Any) -> tuple[int, int] | None:
    """The least and greatest element of an integer dtype; `None` for other dtypes.

    Example:
        >>> import numpy as np
        >>> from morphax.dtypes.numbers import bounds
        >>> bounds(np.dtype("uint8")), bounds(np.dtype("float32"))
        ((0, 255), None)
    """
    return _bounds(dtype)


@cache
def _bounds(dtype: Any) -> tuple[int, int] | None:
    if not issubdtype(dtype, np.integer):
        return None
    bits = itemsize_bits(dtype)
    if issubdtype(dtype, np.unsignedinteger):
        return 0, (1 << bits) - 1
    return -(1 << (bits - 1)), (1 << (bits - 1)) - 1


def checked_int(where: str, x: int, dtype: Any) -> int:
    """`x`, if an integer `dtype` holds it, or `dtype` is none.

    Raises:
        OverflowError: if it is out of range.

    Example:
        >>> import numpy as np
        >>> from morphax.dtypes.numbers import checked_int
        >>> checked_int("f", 255, np.dtype("uint8"))
        255
    """
    limits = _bounds(dtype)
    if limits is None or limits[0] <= x <= limits[1]:
        return x
    raise out_of_range(where, x, dtype)


def out_of_range(where: str, x: Any, dtype: Any) -> OverflowError:
    """The error for a number that an integer `dtype` does not hold."""
    low, high = _bounds(dtype) or (0, 0)
    return OverflowError(
        message(
            where,
            given=f"the Python {type(x).__name__} {x!r:.80} for the dtype {dtype}",
            expected=f"a number from {low} to {high}, which {dtype} holds",
            fix=f"Choose a wider dtype; to wrap it around, write jnp.asarray(x).astype('{dtype}').",
        )
    )


def as_bits(where: str, x: int, dtype: Any) -> Any:
    """`x` for an integer `dtype`, where it may also name an element by its bits: −1 sets them all.

    Raises:
        OverflowError: if it has more bits than the dtype.

    Example:
        >>> import numpy as np
        >>> from morphax.dtypes.numbers import as_bits
        >>> as_bits("f", -1, np.dtype("uint8"))
        np.uint8(255)
    """
    limits = _bounds(dtype)
    if limits is None or limits[0] <= x <= limits[1]:
        return x
    size = 1 << itemsize_bits(dtype)
    if not -size // 2 <= x < size:
        raise out_of_range(where, x, dtype)
    wrapped = x % size
    return dtype.type(wrapped if wrapped <= limits[1] else wrapped - size)


def host_scalar(where: str, x: Any, dtype: Any) -> np.ndarray[Any, Any]:
    """A Python scalar as a NumPy array of rank 0; floats become integers by truncation.

    Raises:
        OverflowError: if an integer dtype does not hold it.
        ValueError: if it is NaN, and the dtype has none.
        TypeError: if it is complex, and the dtype is not.
    """
    kind = type(x)
    if kind is float and _bounds(dtype) is None:
        return np.asarray(x).astype(dtype)
    if kind is complex and not issubdtype(dtype, np.complexfloating) and dtype != np.bool_:
        raise TypeError(
            message(
                where,
                given=f"the complex number {x} for the dtype {dtype}",
                expected="a real number",
                fix="Take its real part, or choose a complex dtype.",
            )
        )
    if kind is not bool and _bounds(dtype) is not None:
        if x != x:
            raise ValueError(
                message(
                    where,
                    given=f"nan for the dtype {dtype}",
                    expected="a number: integers have no NaN",
                    fix="Choose a floating dtype.",
                )
            )
        if x - x != 0:
            raise out_of_range(where, x, dtype)
        x = checked_int(where, int(x), dtype)
    # NumPy converts a Python int of any size to floats as a whole, and then to a narrow dtype.
    return np.asarray(np.asarray(x, float) if _is_wide(x, dtype) else x).astype(dtype)


def _is_wide(x: Any, dtype: Any) -> bool:
    return type(x) is int and _bounds(dtype) is None and dtype != np.bool_
