"""`jax.ops`: reductions over segments of an array.

    out[k] = ∘ { data[i] : segment_ids[i] = k }

for an associative operation ∘; a segment without elements has its identity.  Each is one scatter
into an array of identities, so segments may come in any order.  With `bucket_size` the data is cut
into buckets, which are scattered apart and reduced together afterwards: the rounding error of a
long sum grows with the size and the number of buckets instead of the number of elements.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np

from . import dtypes, lax
from . import numpy as jnp
from .core import aval_of
from .lax.ground.monoids import ADD, MAX, MIN, MUL, Monoid
from .lax.ground.placing import device_put
from .numpy.at import AtIndex
from .numpy.operands import concrete_values
from .util.messages import message

_TEXT = """{summary}

    Args:
        data: (n, ...), numbers; () or (1, ...) stands for the same at each of the ids.
        segment_ids: (n,), integers, the segment that each element along axis 0 belongs to.
            Elements of segments outside of [0, `num_segments`) are dropped, unless `mode` says
            otherwise.
        num_segments: the length of the result; by default the largest id plus one, for which the
            ids must be concrete.
        indices_are_sorted: a promise that the ids ascend.
        unique_indices: a promise that no id occurs twice.
        bucket_size: how many elements to reduce at a time; all by default.
        mode: a `lax.GatherScatterMode` or its name: what becomes of ids out of bounds.
        out_sharding: where to put the result.

    Returns:
        (num_segments, ...) of the dtype of `data`; {empty} for a segment without elements.

    Raises:
        TypeError: the ids are not integers.
        ValueError: the ids have another shape, or `num_segments` is missing or negative.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.ops.{name}(jnp.array([3, 1, 2, 4]), jnp.array([0, 0, 2, 2]))
        {example}
    """


def _segment_reduction(
    name: str,
    monoid: Monoid,
    update: Callable[..., Any],
    reduce: Callable[..., Any],
    *,
    summary: str,
    empty: str,
    example: str,
) -> Callable[..., Any]:
    """A public function: `update` scatters the operation, `reduce` applies it along axes."""

    def reduction(
        data: Any,
        segment_ids: Any,
        num_segments: int | None = None,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        bucket_size: int | None = None,
        mode: Any = None,
        out_sharding: Any = None,
    ) -> Any:
        data, ids = jnp.asarray(data), jnp.asarray(segment_ids)
        _check_ids(name, aval_of(data), aval_of(ids))
        shape = (_count(name, ids, num_segments), *aval_of(data).shape[1:])
        identity = monoid.identity(aval_of(data).dtype)
        options = {
            "indices_are_sorted": indices_are_sorted,
            "unique_indices": unique_indices,
            "mode": mode,
            "wrap_negative_indices": False,
        }
        if bucket_size is None:
            out = update(AtIndex(jnp.full(shape, identity), ids), data, **options)
        else:
            place = np.arange(aval_of(ids).size).reshape(aval_of(ids).shape)
            bucket = place // _positive(name, bucket_size)
            parts = jnp.full((bucket.max(initial=-1) + 1, *shape), identity)
            out = update(AtIndex(parts, (bucket, ids)), data, **options)
            out = reduce(out, (0,))
        return out if out_sharding is None else device_put(out, out_sharding)

    reduction.__name__ = reduction.__qualname__ = name
    reduction.__doc__ = _TEXT.format(name=name, summary=summary, empty=empty, example=example)
    return reduction


def _check_ids(name: str, data: Any, ids: Any) -> None:
    if not dtypes.issubdtype(ids.dtype, np.integer):
        raise TypeError(
            message(
                f"ops.{name}, argument segment_ids",
                given=f"{ids}",
                expected="integers: the number of a segment for each element",
                fix="Convert them with segment_ids.astype('int32').",
            )
        )
    if ids.shape != data.shape[:1] and data.shape[:1] not in ((), (1,)):
        raise ValueError(
            message(
                f"ops.{name}, argument segment_ids",
                given=f"{ids} for data {data}",
                expected=f"shape {data.shape[:1]}: one number for each element along axis 0",
                fix="Flatten the axes that segment_ids number, in both arrays.",
            )
        )


def _count(name: str, ids: Any, num_segments: int | None) -> int:
    """How many segments there are."""
    if num_segments is None:
        values = concrete_values(f"ops.{name}", ids, "Pass num_segments=, a Python integer.")
        if values.size:
            return max(int(values.max()) + 1, 0)
        given = "None, and no segment_ids to count from"
    else:
        count = index(num_segments)
        if count >= 0:
            return count
        given = f"{count}"
    raise ValueError(
        message(
            f"ops.{name}, argument num_segments",
            given=given,
            expected="the number of segments, not negative",
            fix="Pass the length that the result shall have.",
        )
    )


def _positive(name: str, bucket_size: int) -> int:
    size = index(bucket_size)
    if size > 0:
        return size
    raise ValueError(
        message(
            f"ops.{name}, argument bucket_size",
            given=f"{size}",
            expected="a positive number, or None to reduce all elements at a time",
            fix="Choose about the square root of the number of elements.",
        )
    )


segment_sum = _segment_reduction(
    "segment_sum",
    ADD,
    AtIndex.add,
    lax.reduce_sum,
    summary="The sum of each segment: out[k] = Σ data[i] over all i with segment_ids[i] = k.",
    empty="0",
    example="Array([4, 0, 6], dtype=int32)",
)
segment_prod = _segment_reduction(
    "segment_prod",
    MUL,
    AtIndex.multiply,
    lax.reduce_prod,
    summary="The product of each segment: out[k] = Π data[i] over all i with segment_ids[i] = k.",
    empty="1",
    example="Array([3, 1, 8], dtype=int32)",
)
segment_max = _segment_reduction(
    "segment_max",
    MAX,
    AtIndex.max,
    lax.reduce_max,
    summary="The largest of each segment: out[k] = max data[i] over all i with segment_ids[i] = k.",
    empty="the least value of the dtype (-∞ if floating)",
    example="Array([          3, -2147483648,           4], dtype=int32)",
)
segment_min = _segment_reduction(
    "segment_min",
    MIN,
    AtIndex.min,
    lax.reduce_min,
    summary="The least of each segment: out[k] = min data[i] over all i with segment_ids[i] = k.",
    empty="the greatest value of the dtype (∞ if floating)",
    example="Array([         1, 2147483647,          2], dtype=int32)",
)
