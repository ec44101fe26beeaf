"""Products of matrices in groups of different sizes.

The rows of one operand belong to groups, one after the other, and each group has a matrix of its
own.  All rows are multiplied by the matrices of all groups, and the products of their own are
chosen: so what one group holds, infinities and NaN included, never gets into another, and
derivatives and batching are those of the parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, final

import numpy as np

from ...core import aval_of
from ...engines.reference.replay import replayed
from ...errors import ShapeError
from ...util.messages import described, message
from ...util.records import dataclass
from ..elementwise.arithmetic import sub
from ..elementwise.bitwise import bitwise_and
from ..elementwise.comparison import le, lt
from ..elementwise.convert import convert
from ..elementwise.selection import select
from ..ground.kinds import INTEGER
from ..ground.linear_structure import reduce_sum
from ..reduction.cumulative import cumsum
from ..shape.filling import broadcasted_iota, full_like
from ..shape.resharding import split_as
from ..shape.shape_operations import broadcast_in_dim, transpose
from .dot import DotDimensionNumbers, dot_general
from .precision import PrecisionLike


@final
@dataclass(frozen=True)
class RaggedDotDimensionNumbers:
    """The axes of `ragged_dot_general`.

    Args:
        dot_dimension_numbers: as of `dot_general`, which axes are contracted and batched.
        lhs_ragged_dimensions: the one axis of the left operand that groups divide.
        rhs_group_dimensions: the axis of the right operand that numbers the groups, if it has one.
    """

    dot_dimension_numbers: DotDimensionNumbers
    lhs_ragged_dimensions: Sequence[int]
    rhs_group_dimensions: Sequence[int]

    def __post_init__(self) -> None:
        contracting, batch = self.dot_dimension_numbers
        pairs = tuple([tuple(map(tuple, pair)) for pair in (contracting, batch)])
        object.__setattr__(self, "dot_dimension_numbers", pairs)
        for name in ("lhs_ragged_dimensions", "rhs_group_dimensions"):
            object.__setattr__(self, name, tuple(getattr(self, name)))


_OF_MATRICES = RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))


@replayed(3)
def ragged_dot(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    group_offset: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Rows multiplied by the matrix of their group: ``out[i] = lhs[i] @ rhs[group of i]``.

    Args:
        lhs: array (m, k), whose rows are in the order of the groups.
        rhs: array (g, k, n), a matrix for each group.
        group_sizes: integers (g,): how many rows each group has.
        precision: how exactly an accelerator multiplies.
        preferred_element_type: dtype of the sum and of the result.
        group_offset: must be `None`.
        out_sharding: sharding of the result.

    Returns:
        Array (m, n); 0 in rows beyond the last group.

    Raises:
        ShapeError: the shapes do not fit.
        TypeError: `group_sizes` are not integers.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> lhs, rhs = jnp.ones((3, 2)), jnp.array([[[1.0], [1.0]], [[5.0], [5.0]]])
        >>> jax.lax.ragged_dot(lhs, rhs, jnp.array([2, 1])).ravel()
        Array([ 2.,  2., 10.], dtype=float32)
    """
    if aval_of(lhs).ndim != 2 or aval_of(rhs).ndim != 3:
        raise _misfit(lhs, rhs, group_sizes, "lhs (m, k), rhs (g, k, n) and group_sizes (g,)")
    return ragged_dot_general(
        lhs,
        rhs,
        group_sizes,
        _OF_MATRICES,
        precision,
        preferred_element_type,
        group_offset,
        out_sharding,
    )


def ragged_dot_general(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    group_offset: Any = None,
    out_sharding: Any = None,
) -> Any:
    """`dot_general` where groups divide one axis of the left operand.

    If that axis is neither contracted nor batched, each group is multiplied by its own part of the
    right operand, numbered by the axis ``rhs_group_dimensions``; the result is 0 beyond the last
    group.  If it is contracted, each group gives a sum of its own: the result has a leading axis
    for the groups.  If it is batched, groups make no difference.

    Args:
        lhs, rhs: arrays.
        group_sizes: integers (g,), or (*batch, g) with the sizes of all batched axes.
        ragged_dot_dimension_numbers: which axes are what.
        precision: how exactly an accelerator multiplies.
        preferred_element_type: dtype of the sum and of the result.
        group_offset: must be `None`.
        out_sharding: sharding of the result.

    Raises:
        ShapeError: the shapes do not fit.
        TypeError: `group_sizes` are not integers.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax import lax
        >>> axes = lax.RaggedDotDimensionNumbers((([1], [1]), ([], [])), [0], [0])
        >>> x, weights = jnp.ones((3, 2)), jnp.arange(4.0).reshape(2, 2, 1)
        >>> lax.ragged_dot_general(x, weights, jnp.array([1, 2]), axes)
        Array([[1.],
               [5.],
               [5.]], dtype=float32)
    """
    if out_sharding is not None:
        product = partial(
            ragged_dot_general,
            ragged_dot_dimension_numbers=ragged_dot_dimension_numbers,
            precision=precision,
            preferred_element_type=preferred_element_type,
            group_offset=group_offset,
        )
        where = "lax.ragged_dot_general"
        return split_as(where, out_sharding, product, lhs, rhs, group_sizes)
    if group_offset is not None:
        raise NotImplementedError(
            message(
                "lax.ragged_dot_general, argument group_offset",
                given=described(group_offset),
                expected="None: all groups are here",
                fix="Take the groups from rhs and group_sizes, and pad lhs.",
            )
        )
    INTEGER.check("ragged_dot_general", 2, aval_of(group_sizes))
    numbers = ragged_dot_dimension_numbers
    if not isinstance(numbers, RaggedDotDimensionNumbers):
        raise TypeError(
            message(
                "lax.ragged_dot_general, argument ragged_dot_dimension_numbers",
                given=described(numbers),
                expected="a RaggedDotDimensionNumbers",
                fix="Make one with lax.RaggedDotDimensionNumbers(...).",
            )
        )
    (contracted, _), (batch, _) = numbers.dot_dimension_numbers
    (ragged,) = numbers.lhs_ragged_dimensions
    options = {"precision": precision, "preferred_element_type": preferred_element_type}
    dimensions = numbers.dot_dimension_numbers
    if ragged in batch:
        return dot_general(lhs, rhs, dimensions, **options)
    _check_groups(lhs, rhs, group_sizes, numbers)
    if ragged in contracted:
        return _sums_of_groups(lhs, rhs, group_sizes, numbers, options)
    (group,) = numbers.rhs_group_dimensions
    products = dot_general(lhs, rhs, dimensions, **options)
    free = [i for i in range(aval_of(lhs).ndim) if i not in (*contracted, *batch)]
    paired = {*dimensions[0][1], *dimensions[1][1]}
    others = [i for i in range(aval_of(rhs).ndim) if i not in paired]
    row_axis = len(batch) + free.index(ragged)
    group_axis = len(batch) + len(free) + others.index(group)
    shape = aval_of(products).shape
    chosen = _membership(group_sizes, shape, row_axis, group_axis, range(len(batch)))
    return reduce_sum(select(chosen, products, full_like(products, 0)), (group_axis,))


def _sums_of_groups(
    lhs: Any, rhs: Any, sizes: Any, numbers: RaggedDotDimensionNumbers, options: dict[str, Any]
) -> Any:
    """The product over each group of a contracted axis; groups are a further batched axis."""
    (left, right), (left_batch, right_batch) = numbers.dot_dimension_numbers
    place = left.index(numbers.lhs_ragged_dimensions[0])

    def masked(x: Any, ragged: int, batch: Sequence[int]) -> Any:
        shape = (aval_of(sizes).shape[-1], *aval_of(x).shape)
        repeated = broadcast_in_dim(x, shape, tuple(range(1, len(shape))))
        chosen = _membership(sizes, shape, ragged + 1, 0, _behind(batch))
        return select(chosen, repeated, full_like(repeated, 0))

    dimensions = (
        (_behind(left), _behind(right)),
        ((0, *_behind(left_batch)), (0, *_behind(right_batch))),
    )
    operands = masked(lhs, left[place], left_batch), masked(rhs, right[place], right_batch)
    return dot_general(*operands, dimensions, **options)


def _behind(axes: Sequence[int]) -> tuple[int, ...]:
    """Numbers of axes after one was put in front."""
    return tuple([axis + 1 for axis in axes])


def _membership(
    sizes: Any, shape: Sequence[int], row_axis: int, group_axis: int, batch: Sequence[int]
) -> Any:
    """Which rows belong to which group, as truth values of `shape`."""
    sizes = convert(sizes, np.dtype(np.int32)) if aval_of(sizes).dtype.itemsize < 4 else sizes
    last = aval_of(sizes).ndim - 1
    ends = cumsum(sizes, axis=last)
    starts = sub(ends, sizes)
    targets = [*batch, group_axis] if last else [group_axis]
    order = sorted(range(last + 1), key=targets.__getitem__)

    def spread(bounds: Any) -> Any:
        return broadcast_in_dim(transpose(bounds, order), shape, sorted(targets))

    row = broadcasted_iota(aval_of(sizes).dtype, shape, row_axis)
    return bitwise_and(le(spread(starts), row), lt(row, spread(ends)))


def _check_groups(lhs: Any, rhs: Any, sizes: Any, numbers: RaggedDotDimensionNumbers) -> None:
    """Raise `ShapeError` unless there is a size for each group, and for each member of a batch."""
    x, y = aval_of(lhs), aval_of(rhs)
    (contracted, _), (batch, _) = numbers.dot_dimension_numbers
    shape = aval_of(sizes).shape
    prefixes = ((), tuple([x.shape[i] for i in batch]))
    groups = [y.shape[i] for i in numbers.rhs_group_dimensions]
    needs_group = numbers.lhs_ragged_dimensions[0] not in contracted
    fits = len(shape) > 0 and shape[:-1] in prefixes and len(groups) == needs_group
    if not fits or (needs_group and groups[0] != shape[-1]):
        raise _misfit(
            lhs, rhs, sizes, "group_sizes (g,) or (*batch, g), and an axis of rhs of size g"
        )


def _misfit(lhs: Any, rhs: Any, sizes: Any, expected: str) -> ShapeError:
    given = [aval_of(v).str_short(short_dtypes=False) for v in (lhs, rhs, sizes)]
    return ShapeError(
        message(
            "lax.ragged_dot",
            given=f"lhs {given[0]}, rhs {given[1]}, group_sizes {given[2]}",
            expected=expected,
            fix="Name the axes in RaggedDotDimensionNumbers, or map over further ones with vmap.",
        )
    )
