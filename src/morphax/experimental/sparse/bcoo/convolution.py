"""`bcoo_conv_general_dilated`: convolution of sparse arrays.

Element i of the left operand meets element j of the right one at (i d + p - j e) / s, where d and e
are the dilations, p is the padding in front and s the stride.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from .... import lax
from .... import numpy as jnp
from ....core import aval_of
from ....lax.ground.placing import refuse_layout
from ....util.messages import message
from ..base import JAXSparse
from .dot_numbers import result_dtype
from .layout import columns, masked, padding_place, with_batch
from .relayout import bcoo_update_layout

if TYPE_CHECKING:
    from .array import BCOO

_WHERE = "bcoo_conv_general_dilated"


def bcoo_conv_general_dilated(
    lhs: Any,
    rhs: Any,
    *,
    window_strides: Sequence[int],
    padding: Any,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> BCOO:
    """The convolution of one sparse signal with one sparse kernel; as `lax.conv_general_dilated`.

    Args:
        lhs, rhs: BCOO arrays of shape ``(1, 1, *spatial)`` without dense axes.
        window_strides, padding, lhs_dilation, rhs_dilation: as those of the dense function.
        dimension_numbers: None, for the first two axes are those of batches and features.
        feature_group_count, batch_group_count: 1.
        precision: not used.
        preferred_element_type: the dtype of the result.
        out_sharding: must be None.

    Returns:
        A BCOO array with two batch axes, which stores an element for each pair of elements.

    Raises:
        TypeError: if an operand is no BCOO array.
        NotImplementedError: if the first axes have other sizes, or other options are asked for.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental import sparse
        >>> x = sparse.BCOO.fromdense(jnp.array([[[1.0, 0.0, 2.0]]]))
        >>> y = sparse.bcoo_conv_general_dilated(x, x, window_strides=(1,), padding="SAME")
        >>> y.todense()
        Array([[[0., 5., 0.]]], dtype=float32)
    """
    if out_sharding is not None:
        refuse_layout(_WHERE, out_sharding)
    _check(lhs, rhs, dimension_numbers, (feature_group_count, batch_group_count))
    lhs, rhs = [bcoo_update_layout(mat, n_batch=2, n_dense=0) for mat in (lhs, rhs)]
    rank = lhs.ndim - 2
    strides, wide, narrow = [
        [1] * rank if given is None else [index(n) for n in given]
        for given in (window_strides, lhs_dilation, rhs_dilation)
    ]
    sizes, kernel = [
        [(n - 1) * d + 1 if n else 0 for n, d in zip(mat.shape[2:], by, strict=True)]
        for mat, by in ((lhs, wide), (rhs, narrow))
    ]
    pads = padding
    if isinstance(padding, str):
        pads = lax.padtype_to_pads(sizes, kernel, strides, padding)
    shape = [
        max((n + low + high - k) // s + 1, 0)
        for n, k, s, (low, high) in zip(sizes, kernel, strides, pads, strict=True)
    ]
    x, y = [_elements(mat, axis) for mat, axis in ((lhs, 3), (rhs, 2))]
    inside, places = x[1] & y[1], []
    for axis, (i, j) in enumerate(zip(x[2], y[2], strict=True)):
        moved = i * wide[axis] + pads[axis][0] - j * narrow[axis]
        step = np.int32(strides[axis])
        place = lax.div(moved, step)
        inside = inside & (moved >= 0) & (lax.rem(moved, step) == 0) & (place < shape[axis])
        places.append(place)
    dtype = result_dtype(lhs.data, rhs.data, preferred_element_type)
    pairs = lhs.nse * rhs.nse
    product = (x[0].astype(dtype) * y[0].astype(dtype)).reshape((1, 1, pairs))
    inside = inside.reshape((1, 1, pairs))
    kind = aval_of(lhs.indices).dtype
    indices = jnp.stack(places, -1).reshape((1, 1, pairs, rank)).astype(kind)
    indices = jnp.where(inside[..., None], indices, padding_place(shape, kind))
    return lhs.replaced(data=masked(product, inside), indices=indices, shape=(1, 1, *shape))


def _elements(mat: BCOO, axis: int) -> tuple[Any, Any, list[Any]]:
    """Data, what is in range and int32 indices, with an axis for the elements of the other one."""
    found, inside = columns(with_batch(mat.indices, (1, 1)), mat.shape[2:])
    places = [jnp.expand_dims(x.astype(np.int32), axis) for x in found]
    data = jnp.expand_dims(masked(with_batch(mat.data, (1, 1)), inside), axis)
    return data, jnp.expand_dims(inside, axis), places


def _check(lhs: Any, rhs: Any, dimension_numbers: Any, groups: tuple[int, int]) -> None:
    given = f"{lhs!r} and {rhs!r}"
    if not (isinstance(lhs, JAXSparse) and isinstance(rhs, JAXSparse)):
        raise TypeError(
            message(
                _WHERE,
                given=given,
                expected="two BCOO arrays",
                fix="Make a dense array sparse with BCOO.fromdense.",
            )
        )
    shapes = lhs.shape[:2], rhs.shape[:2]
    if (
        shapes != ((1, 1), (1, 1))
        or lhs.ndim != rhs.ndim
        or dimension_numbers is not None
        or groups != (1, 1)
    ):
        raise NotImplementedError(
            message(
                _WHERE,
                given=f"{given}, dimension_numbers={dimension_numbers}, group counts {groups}",
                expected="shapes (1, 1, *spatial), no dimension_numbers and groups of 1",
                fix="Map over batches and features with vmap, or use todense().",
            )
        )
