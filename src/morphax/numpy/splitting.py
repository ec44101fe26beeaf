"""Splitting arrays: at places, into parts, into the slices along an axis."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from .. import lax
from ..lax.ground.axes import integer, integer_tuple
from ..util.messages import message
from .axes import canonical_axis
from .operands import as_array

_SECTIONS = "splitting an array, argument indices_or_sections"


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """The slices of `x` along an axis.

    Args:
        x: array of shape (..., n, ...).
        axis: the axis of size n.

    Returns:
        n arrays without this axis.

    Raises:
        ValueError: there is no such axis.

    Example:
        >>> import morphax.numpy as jnp
        >>> a, b = jnp.unstack(jnp.array([[1, 2], [3, 4]]), axis=1)
        >>> a, b
        (Array([1, 3], dtype=int32), Array([2, 4], dtype=int32))
    """
    x = as_array("unstack", x)
    return lax.unstack(x, canonical_axis("unstack", axis, x.aval.ndim))


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Parts of `ary` along an axis, as equal as possible or between given places.

    Args:
        ary: array.
        indices_or_sections: how many parts, or the places where they begin.
        axis: axis along which it is cut.

    Returns:
        A list; the first parts are longer by one where the size is no multiple.

    Raises:
        ValueError: there is no such axis, or the number of parts is not positive.

    Example:
        >>> import morphax.numpy as jnp
        >>> [len(part) for part in jnp.array_split(jnp.arange(7), 3)]
        [3, 2, 2]
    """
    ary = as_array("array_split", ary)
    axis = canonical_axis("array_split", axis, ary.aval.ndim)
    total = ary.aval.shape[axis]
    if np.iterable(indices_or_sections):
        given = integer_tuple(_SECTIONS, indices_or_sections)
        bounds = [0, *[slice(None, i).indices(total)[1] for i in given], total]
    else:
        parts = _part_count(indices_or_sections)
        bounds = [i * (total // parts) + min(i, total % parts) for i in range(parts + 1)]
    sizes = [high - low for low, high in pairwise(bounds)]
    if all(size >= 0 for size in sizes):
        return list(lax.split(ary, sizes, axis))
    # Places in falling order, as NumPy takes them: nothing lies between them.
    return [lax.slice_in_dim(ary, low, max(low, high), axis=axis) for low, high in pairwise(bounds)]


def _part_count(parts: Any) -> int:
    number = integer(_SECTIONS, parts)
    if 0 < number < 1 << 31:
        return number
    raise ValueError(
        message(
            _SECTIONS,
            given=f"{number} parts",
            expected="a positive number of parts, below 2**31",
            fix="Give the number of parts, or the places between them.",
        )
    )


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Equal parts of `ary` along an axis, or parts between given places.

    Args:
        ary: array.
        indices_or_sections: how many parts, or the places where they begin.
        axis: axis along which it is cut.

    Returns:
        A list of arrays.

    Raises:
        ValueError: the size is no multiple of the number of parts, or there is no such axis.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.split(jnp.arange(4), 2)
        [Array([0, 1], dtype=int32), Array([2, 3], dtype=int32)]
        >>> jnp.split(jnp.arange(4), [1])
        [Array([0], dtype=int32), Array([1, 2, 3], dtype=int32)]
    """
    if not np.iterable(indices_or_sections):
        ary = as_array("split", ary)
        total = ary.aval.shape[canonical_axis("split", axis, ary.aval.ndim)]
        if total % _part_count(indices_or_sections):
            raise ValueError(
                message(
                    "jnp.split",
                    given=f"{indices_or_sections} parts of an axis of size {total}",
                    expected="parts of equal size",
                    fix="Use jnp.array_split for parts of different sizes.",
                )
            )
    return array_split(ary, indices_or_sections, axis)


def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Parts along the second axis, of a vector along the first.

    Args:
        ary, indices_or_sections: as for `split`.

    Raises:
        ValueError: as `split`.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.hsplit(jnp.array([[1, 2], [3, 4]]), 2)[0]
        Array([[1],
               [3]], dtype=int32)
    """
    rank = as_array("hsplit", ary).aval.ndim
    return split(ary, indices_or_sections, 0 if rank == 1 else 1)


def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Parts along the first axis.

    Args:
        ary, indices_or_sections: as for `split`.

    Raises:
        ValueError: as `split`.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.vsplit(jnp.array([[1, 2], [3, 4]]), 2)[0]
        Array([[1, 2]], dtype=int32)
    """
    return split(ary, indices_or_sections, 0)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Parts along the third axis.

    Args:
        ary, indices_or_sections: as for `split`.

    Raises:
        ValueError: as `split`.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.dsplit(jnp.ones((2, 3, 4)), 2)[0].shape
        (2, 3, 2)
    """
    return split(ary, indices_or_sections, 2)
