"""Members of an array at places that wrap around."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core import aval_of
from ...util.messages import message
from ..elementwise.arithmetic import add, rem
from ..elementwise.comparison import lt
from ..elementwise.convert import convert
from ..elementwise.selection import select_n
from ..ground.axes import canonical_axes, members
from ..ground.dimension_numbers import GatherDimensionNumbers
from ..shape.filling import size_value
from ..shape.joining import stack
from .gather import gather
from .start_indices import holding, largest


def index_take(src: Any, idxs: Any, axes: Sequence[int]) -> Any:
    """The members of `src` at places of the given axes, which are taken modulo their sizes.

    Args:
        src: array of rank n.
        idxs: one array (m,) of integers for each of `axes`.
        axes: k axes of `src`.

    Returns:
        Array of rank ``n - k + 1``: the m members along its first axis, then the other axes.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.lax.index_take(jnp.array([10, 20, 30]), (jnp.array([1, -1, 3]),), (0,))
        Array([20, 30, 10], dtype=int32)
    """
    shape = aval_of(src).shape
    axes = canonical_axes("lax.index_take, argument axes", axes, len(shape))
    arrays = members("lax.index_take, argument idxs", idxs)
    if len(arrays) != len(axes):
        raise ValueError(
            message(
                "lax.index_take",
                given=f"{len(arrays)} arrays of indices for {len(axes)} axes",
                expected="one for each axis",
                fix="Put the arrays in a tuple, as many as axes.",
            )
        )
    places = [_wrapped(index, shape[axis]) for index, axis in zip(arrays, axes, strict=True)]
    numbers = GatherDimensionNumbers(
        offset_dims=tuple(range(1, len(shape) - len(axes) + 1)),
        collapsed_slice_dims=tuple(sorted(axes)),
        start_index_map=axes,
    )
    sizes = [1 if i in axes else n for i, n in enumerate(shape)]
    return gather(src, stack(places, axis=-1), numbers, sizes)


def _wrapped(index: Any, size: int) -> Any:
    """Places modulo the size of an axis."""
    index = convert(index, holding(aval_of(index).dtype, largest((size,))))
    dtype = index.aval.dtype
    length = size_value(size, dtype)
    remainder = rem(index, length)
    from_front = add(remainder, length)
    return select_n(lt(remainder, dtype.type(0)), remainder, from_front)
