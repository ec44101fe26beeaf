"""The k largest or smallest elements, nearly.

On accelerators these could be found in less time if a few may be missed; here the search is exact,
so the recall is 1, whatever is asked for.

Without the last step, which takes the best k of the candidates, as many candidates are returned as
there are bins: of elements that fall into L bins at random, a share of (1 − 1/L)^(k−1) of the best
k is alone in its bin.  The size of a bin is a power of two, and their number a multiple of the
lanes of a vector unit, 128, or 1024 for an operand of rank 1.

Reference: Chern, Hechtman, Davis, Guo, Majnemer & Kumar, "TPU-KNN: K nearest neighbor search at
peak FLOP/s", NeurIPS 2022.
"""

from __future__ import annotations

import math
from typing import Any

from ...core import aval_of
from ...util.messages import described, message
from ..elementwise.arithmetic import neg
from ..ground.axes import canonical_axis, integer
from ..ground.kinds import FLOATING
from .sorting import top_k

_LANES = 128
_LANES_OF_VECTORS = 1024


def approx_max_k(
    operand: Any,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> list[Any]:
    """The `k` largest elements along an axis, in falling order, and their places.

    Args:
        operand: floating array.
        k: how many, known while tracing.
        reduction_dimension: the axis.
        recall_target: the share of the largest that should be found at least, in (0, 1].
        reduction_input_size_override: the size that decides the number of candidates, if positive.
        aggregate_to_topk: whether to take the best k of the candidates.

    Returns:
        Values, and places of dtype int32; both have size `k` along the axis, or the number of
        candidates.

    Raises:
        ValueError: the dtype is not floating, or there are not `k` elements.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.lax.approx_max_k(jnp.array([1.0, 5.0, 2.0]), 2)
        [Array([5., 2.], dtype=float32), Array([1, 2], dtype=int32)]
    """
    axis, count = _candidates(
        "lax.approx_max_k",
        operand,
        k,
        reduction_dimension,
        recall_target,
        reduction_input_size_override,
        aggregate=aggregate_to_topk,
    )
    return top_k(operand, count, axis=axis)


def approx_min_k(
    operand: Any,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> list[Any]:
    """The `k` smallest elements along an axis, in rising order, and their places.

    Arguments and errors are those of `approx_max_k`.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.lax.approx_min_k(jnp.array([1.0, 5.0, 2.0]), 2)
        [Array([1., 2.], dtype=float32), Array([0, 2], dtype=int32)]
    """
    axis, count = _candidates(
        "lax.approx_min_k",
        operand,
        k,
        reduction_dimension,
        recall_target,
        reduction_input_size_override,
        aggregate=aggregate_to_topk,
    )
    values, places = top_k(neg(operand), count, axis=axis)
    return [neg(values), places]


def _candidates(
    where: str,
    operand: Any,
    k: int,
    dimension: int,
    recall: float,
    size_override: int,
    *,
    aggregate: bool,
) -> tuple[int, int]:
    """The axis, and how many elements to return."""
    aval = aval_of(operand)
    axis = canonical_axis(f"{where}, argument reduction_dimension", dimension, aval.ndim)
    size, count = aval.shape[axis], integer(f"{where}, argument k", k)
    override = integer(f"{where}, argument reduction_input_size_override", size_override)
    is_sound = aval.dtype in FLOATING and 0 < count <= size and 0 < recall <= 1
    if not is_sound or not (override == -1 or override >= size):
        raise ValueError(
            message(
                where,
                given=f"{described(operand)} with k={count}, axis {axis}, recall_target={recall}, "
                f"reduction_input_size_override={override}",
                expected="a floating array, 0 < k ≤ the size of the axis, 0 < recall_target ≤ 1, "
                "and an override that is −1 or no smaller than the axis",
                fix="Use lax.top_k for integers, or choose k anew.",
            )
        )
    if aggregate:
        return axis, count
    lanes = _LANES if aval.ndim > 1 else _LANES_OF_VECTORS
    return axis, min(_number_of_candidates(max(size, override), count, recall, lanes), size)


def _number_of_candidates(size: int, k: int, recall: float, lanes: int) -> int:
    if k == 1:
        return min(size, lanes)
    bins = max(math.ceil((1 - k) / math.log(recall)) if recall < 1 else size, lanes)
    width = 2 ** int(math.log2(size // bins)) if size > bins else 1
    return size if width == 1 else math.ceil(math.ceil(size / lanes) / width) * lanes
