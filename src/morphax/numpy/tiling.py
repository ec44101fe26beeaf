"""Repeating arrays as a whole, and their elements."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from .. import lax
from ..core import aval_of
from ..core.dims import SymbolicDim
from ..engines.reference.replay import replayed
from ..errors import ShapeError
from ..lax.ground.axes import integer_tuple
from ..lax.shape.resharding import split_as
from ..util.messages import message
from .at import At
from .axes import canonical_axis
from .indexing import getitem
from .operands import as_array, concrete_values
from .shaping import ravel, reshape


@replayed(1)
def tile(A: Any, reps: Any) -> Any:
    """`A` repeated as a whole along each axis.

    Args:
        A: array.
        reps: how often along each axis, the last ones where there are fewer than axes; new axes
            come in front.

    Raises:
        ValueError: a number is negative.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.tile(jnp.array([1, 2]), (2, 2))
        Array([[1, 2, 1, 2],
               [1, 2, 1, 2]], dtype=int32)
    """
    A = as_array("tile", A)
    where = "jnp.tile, argument reps"
    counts = integer_tuple(where, reps if np.iterable(reps) else (reps,))
    if any(count < 0 for count in counts):
        raise ShapeError(
            message(
                where,
                given=f"{counts}",
                expected="numbers of repetitions, none negative",
                fix="Pass 0 for an empty result, 1 for no repetition.",
            )
        )
    rank = max(len(counts), A.aval.ndim)
    shape = (1,) * (rank - A.aval.ndim) + A.aval.shape
    counts = (1,) * (rank - len(counts)) + counts
    return lax.tile(reshape(A, shape), counts)


@replayed(1)
def repeat(
    a: Any,
    repeats: Any,
    axis: int | None = None,
    *,
    total_repeat_length: int | None = None,
    out_sharding: Any = None,
) -> Any:
    """Each element of `a` repeated along an axis.

    Args:
        a: array; flattened if `axis` is `None`.
        repeats: how often, an int or one count per element.
        axis: axis to repeat along.
        total_repeat_length: size of the result, needed if `repeats` is traced.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.repeat(jnp.array([1, 2]), 2)
        Array([1, 1, 2, 2], dtype=int32)
        >>> jnp.repeat(jnp.array([1, 2]), jnp.array([3, 1]))
        Array([1, 1, 1, 2], dtype=int32)
    """
    if out_sharding is not None:
        again = partial(repeat, axis=axis, total_repeat_length=total_repeat_length)
        return split_as("jnp.repeat", out_sharding, again, a, repeats)
    a = as_array("repeat", a)
    if axis is None or not a.aval.ndim:
        a, axis = ravel(a), 0 if axis is None else axis
    axis = canonical_axis("repeat", axis, a.aval.ndim)
    size = a.aval.shape[axis]
    if total_repeat_length is None:
        if type(size) is SymbolicDim and np.ndim(repeats) == 0:
            return _repeated_alike(a, int(_known_counts(repeats, 1)[0]), axis)
        counts = _known_counts(repeats, size)
        if size and (counts == counts[0]).all():
            return _repeated_alike(a, int(counts[0]), axis)
        places = np.repeat(np.arange(size), counts)
        return getitem(a, (slice(None),) * axis + (places,))
    # Each slot holds the number of elements that ended before it.
    ends = lax.cumsum(_repeated_counts(repeats, size))
    ended = lax.full((total_repeat_length,), 0, np.int32)
    places = lax.cumsum(At(ended)[getitem(ends, slice(None, -1))].add(1, mode="drop"))
    return getitem(a, (slice(None),) * axis + (places,))


def _repeated_alike(a: Any, count: int, axis: int) -> Any:
    """Each element `count` times along an axis."""
    shape = a.aval.shape
    wide = (*shape[: axis + 1], count, *shape[axis + 1 :])
    kept = tuple([i for i in range(len(wide)) if i != axis + 1])
    repeated = lax.broadcast_in_dim(a, wide, kept)
    return reshape(repeated, (*shape[:axis], shape[axis] * count, *shape[axis + 1 :]))


def _known_counts(repeats: Any, size: int) -> np.ndarray[Any, Any]:
    """How often each of `size` elements is repeated, as numbers."""
    fix = "Pass total_repeat_length=, or mark the argument static (static_argnums of jit)."
    counts = concrete_values("jnp.repeat, argument repeats", repeats, fix)
    fits = counts.shape in ((), (1,), (size,)) and counts.dtype.kind in "iub"
    if fits:
        signed = counts.astype(np.int64)  # NumPy takes no uint64
        if not (signed < 0).any():
            return np.broadcast_to(signed, (size,))
    raise (ValueError if counts.dtype.kind in "iub" else TypeError)(
        message(
            "jnp.repeat, argument repeats",
            given=f"{repeats!r:.80} for an axis of size {size}",
            expected="an int that is not negative, or one for each element",
            fix="Pass integers, as many as the axis has elements.",
        )
    )


def _repeated_counts(repeats: Any, size: int) -> Any:
    counts = lax.convert_element_type(as_array("repeat", repeats), np.int32)
    if aval_of(counts).shape not in ((), (1,), (size,)):
        raise ShapeError(
            message(
                "jnp.repeat, argument repeats",
                given=f"{aval_of(counts)} for an axis of size {size}",
                expected="a number, or one for each element",
                fix="Pass integers, as many as the axis has elements.",
            )
        )
    return lax.broadcast_in_dim(counts, (size,), tuple(range(aval_of(counts).ndim)))
