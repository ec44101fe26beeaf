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
from collections.abc import Sequence
from typing import Any, final

from ...core import (
    AxisFlow,
    BatchAxes,
    Primitive,
    ShapedArray,
    Zero,
    aval_of,
    is_zero,
    not_linear,
    same_axes,
)
from ...engines.xla.stablehlo import Builder, Value
from ...util.messages import message
from ..ground.axes import canonical_axis, integer
from ..ground.kinds import FLOATING
from ..ground.linear_structure import moved_axis
from .sorting import taken_along, top_k_p

_LANES = 128
_LANES_OF_VECTORS = 1024


@final
class ApproxTopK(Primitive):
    """The k largest or smallest elements, and their places, found by an exact search.

    Params:
        k, reduction_dimension, recall_target, reduction_input_size_override, aggregate_to_topk: as
            of `approx_max_k`.
        is_max_k: whether the largest are searched.
    """

    name = "approx_top_k"
    multiple_results = True

    transpose = not_linear()

    def abstract_eval(self, x: Any, **params: Any) -> list[ShapedArray]:
        axis, count = _candidates(x, **params)
        return top_k_p.abstract_eval(x, k=count, axis=axis)

    def axis_flow(self, x: Any, **params: Any) -> AxisFlow:
        return same_axes(x, results=2, whole=(_candidates(x, **params)[0],))

    def evaluate(self, x: Any, *, is_max_k: bool, **params: Any) -> list[Any]:
        axis, count = _candidates(x, is_max_k=is_max_k, **params)
        values, places = top_k_p.evaluate(x if is_max_k else -x, k=count, axis=axis)
        return [values if is_max_k else -values, places]

    def lower(
        self, b: Builder, outs: Any, x: Value, *, is_max_k: bool, **params: Any
    ) -> list[Value]:
        axis, count = _candidates(x.aval, is_max_k=is_max_k, **params)
        if is_max_k:
            return top_k_p.lower(b, outs, x, k=count, axis=axis)
        negated = b.elementwise("stablehlo.negate", x.aval, x)
        values, places = top_k_p.lower(b, outs, negated, k=count, axis=axis)
        return [b.elementwise("stablehlo.negate", outs[0], values), places]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        (x,), (t,) = primals, tangents
        values, places = self.bind(x, **params)
        axis, _ = _candidates(aval_of(x), **params)
        moved = Zero(values.aval.to_tangent_aval()) if is_zero(t) else taken_along(t, places, axis)
        return [values, places], [moved, Zero(places.aval.to_tangent_aval())]

    def batch(
        self, axes: BatchAxes, operands: Sequence[Any], dims: Sequence[Any], **params: Any
    ) -> tuple[list[Any], list[int]]:
        x = moved_axis(operands[0], dims[0], 0)
        axis, count = _candidates(aval_of(x).without_axis(0), **params)
        options = params | {"reduction_dimension": axis + 1}
        if _candidates(aval_of(x), **options)[1] != count:
            # A vector has other candidates than a row of a matrix.
            options |= {"k": count, "aggregate_to_topk": True}
        return self.bind(x, **options), [0, 0]


approx_top_k_p = ApproxTopK()


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
    return approx_top_k_p.bind(
        operand,
        k=integer("lax.approx_max_k, argument k", k),
        reduction_dimension=integer(
            "lax.approx_max_k, argument reduction_dimension", reduction_dimension
        ),
        recall_target=recall_target,
        is_max_k=True,
        reduction_input_size_override=integer(
            "lax.approx_max_k, argument reduction_input_size_override",
            reduction_input_size_override,
        ),
        aggregate_to_topk=bool(aggregate_to_topk),
    )


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
    return approx_top_k_p.bind(
        operand,
        k=integer("lax.approx_min_k, argument k", k),
        reduction_dimension=integer(
            "lax.approx_min_k, argument reduction_dimension", reduction_dimension
        ),
        recall_target=recall_target,
        is_max_k=False,
        reduction_input_size_override=integer(
            "lax.approx_min_k, argument reduction_input_size_override",
            reduction_input_size_override,
        ),
        aggregate_to_topk=bool(aggregate_to_topk),
    )


def _candidates(
    x: Any,
    *,
    k: int,
    reduction_dimension: int,
    recall_target: float,
    is_max_k: bool,
    reduction_input_size_override: int,
    aggregate_to_topk: bool,
) -> tuple[int, int]:
    """The axis, and how many elements of an array like `x` to return."""
    where = f"lax.approx_{'max' if is_max_k else 'min'}_k"
    axis = canonical_axis(f"{where}, argument reduction_dimension", reduction_dimension, x.ndim)
    size, override = x.shape[axis], reduction_input_size_override
    is_sound = x.dtype in FLOATING and 0 < k <= size and 0 < recall_target <= 1
    if not is_sound or not (override == -1 or override >= size):
        raise ValueError(
            message(
                where,
                given=f"{x.dtype}{list(x.shape)} with k={k}, axis {axis}, "
                f"recall_target={recall_target}, reduction_input_size_override={override}",
                expected="a floating array, 0 < k ≤ the size of the axis, 0 < recall_target ≤ 1, "
                "and an override that is −1 or no smaller than the axis",
                fix="Use lax.top_k for integers, or choose k anew.",
            )
        )
    if aggregate_to_topk:
        return axis, k
    lanes = _LANES if x.ndim > 1 else _LANES_OF_VECTORS
    return axis, min(_number_of_candidates(max(size, override), k, recall_target, lanes), size)


def _number_of_candidates(size: int, k: int, recall: float, lanes: int) -> int:
    if k == 1:
        return min(size, lanes)
    bins = max(math.ceil((1 - k) / math.log(recall)) if recall < 1 else size, lanes)
    width = 2 ** int(math.log2(size // bins)) if size > bins else 1
    return size if width == 1 else math.ceil(math.ceil(size / lanes) / width) * lanes
