"""Statistics of samples: the most frequent value, ranks, the standard error of the mean."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, final

import numpy as np

from ... import dtypes, lax
from ... import numpy as jnp
from ...engines.reference.replay import replayed
from ...numpy.axes import canonical_axes
from ...numpy.operands import as_array
from ...transforms.vmap import vmap
from ...util.messages import message


@final
class ModeResult(NamedTuple):
    """The most frequent values, and how often they occur."""

    mode: Any
    count: Any


@replayed(1)
def mode(
    a: Any, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False
) -> ModeResult:
    """The most frequent value along an axis, the least of them in a tie, and how often it occurs.

    Args:
        a: array (..., n, ...).
        axis: the axis, or `None` for the array in one row.
        nan_policy: ``"propagate"``: NaN is a value like others, equal to itself, and the greatest.
        keepdims: whether the axis stays, with size 1.

    Returns:
        Two arrays (..., ...): of the dtype of `a`, and of integers.  Of no values the mode is NaN,
        and its count 0.

    Raises:
        ValueError: if `nan_policy` is unknown.
        NotImplementedError: if it is ``"omit"``.

    Example:
        >>> import numpy as np
        >>> from morphax.scipy import stats
        >>> stats.mode(np.array([3, 1, 3, 2]))
        ModeResult(mode=Array(3, dtype=int32), count=Array(2, dtype=int32))
    """
    _check_nan_policy("mode", nan_policy, ("propagate",))
    a = jnp.atleast_1d(as_array("scipy.stats.mode", a))
    rows, shape = _rows("mode", a, axis, keepdims)
    if not rows.shape[-1]:
        dtype = dtypes.python_scalar_dtype(float)
        return ModeResult(jnp.full(shape, np.nan, dtype), jnp.zeros(shape, dtype))
    values = jnp.sort(rows, -1)
    # Equal values lie side by side, in runs: the longest one wins, the first of the longest.
    before, after = values[..., :-1], values[..., 1:]
    differs = (before != after) & ~(jnp.isnan(before) & jnp.isnan(after))
    starts = jnp.concatenate([jnp.ones((*values.shape[:-1], 1), bool), differs], -1)
    count_dtype = dtypes.python_scalar_dtype(int)
    places = lax.broadcasted_iota(count_dtype, values.shape, values.ndim - 1)
    start_of_run = lax.cummax(jnp.where(starts, places, 0), values.ndim - 1)
    lengths = places - start_of_run + 1
    longest = jnp.argmax(lengths, -1, keepdims=True)
    found = [jnp.take_along_axis(x, longest, -1).reshape(shape) for x in (values, lengths)]
    return ModeResult(*found)


@replayed(1)
def rankdata(
    a: Any, method: str = "average", *, axis: int | None = None, nan_policy: str = "propagate"
) -> Any:
    """The ranks of values in rising order, from 1.

    Args:
        a: array (..., n, ...).
        method: the rank of equal values: the ``"average"`` of their places, the ``"min"`` or the
            ``"max"``, ``"ordinal"`` for one after the other, or ``"dense"`` for the number of
            different values that are not greater.
        axis: along which to rank; by default the array is put in one row.
        nan_policy: ``"propagate"``: where one value is NaN, all ranks are.

    Returns:
        Array of the shape of `a`, or one row, floating.

    Raises:
        ValueError: if `method` or `nan_policy` is unknown.
        NotImplementedError: if `nan_policy` is ``"omit"``.

    Example:
        >>> import numpy as np
        >>> from morphax.scipy import stats
        >>> stats.rankdata(np.array([0, 2, 3, 2]))
        Array([1. , 2.5, 4. , 2.5], dtype=float32)
    """
    _check_nan_policy("rankdata", nan_policy, ("propagate",))
    if method not in _METHODS:
        raise ValueError(
            message(
                "scipy.stats.rankdata, argument method",
                given=f"{method!r}",
                expected=f"one of {', '.join(map(repr, _METHODS))}",
                fix="Choose how equal values are ranked.",
            )
        )
    a = as_array("scipy.stats.rankdata", a)
    if axis is None:
        return _ranks_of_row(a.reshape(-1), method)
    moved = jnp.moveaxis(a, axis, -1)
    rows = moved.reshape(-1, moved.shape[-1])
    ranks = vmap(lambda row: _ranks_of_row(row, method))(rows)
    return jnp.moveaxis(ranks.reshape(moved.shape), -1, axis)


_METHODS = ("average", "min", "max", "dense", "ordinal")


def _ranks_of_row(row: Any, method: str) -> Any:
    # Not the dtype of the values: among 300 of bfloat16 there would be no rank 257.
    dtype = dtypes.python_scalar_dtype(float)
    order = jnp.argsort(row)
    places = jnp.argsort(order)
    if method == "ordinal":
        ranks = places + 1
    else:
        values = row[order]
        starts = jnp.concatenate([jnp.ones((min(1, row.size),), bool), values[1:] != values[:-1]])
        dense = jnp.cumsum(starts)[places]
        # Where the runs of equal values begin, and the end of the row.
        bounds = jnp.nonzero(starts, size=row.size + 1, fill_value=row.size)[0]
        least, greatest = bounds[dense - 1] + 1, bounds[dense]
        ranks = {"dense": dense, "min": least, "max": greatest}.get(method)
        if ranks is None:
            ranks = 0.5 * (least + greatest).astype(dtype)
    return jnp.where(jnp.any(jnp.isnan(row)), np.nan, ranks).astype(dtype)


@replayed(1)
def sem(
    a: Any,
    axis: int | None = 0,
    ddof: int = 1,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Any:
    """The standard error of the mean: the standard deviation divided by √n.

    Args:
        a: array (..., n, ...).
        axis: along which to take it, or `None` for all elements.
        ddof: the divisor of the variance is n − `ddof`.
        nan_policy: ``"propagate"``, or ``"omit"`` to leave NaN out.
        keepdims: whether the axis stays, with size 1.

    Returns:
        Array (..., ...), floating.

    Raises:
        ValueError: if `nan_policy` is unknown.

    Example:
        >>> import numpy as np
        >>> from morphax.scipy import stats
        >>> stats.sem(np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
        Array(0.70710677, dtype=float32)
    """
    _check_nan_policy("sem", nan_policy, ("propagate", "omit"))
    a = as_array("scipy.stats.sem", a)
    if nan_policy == "omit":
        count = jnp.sum(~jnp.isnan(a), axis, keepdims=keepdims)
        deviation = jnp.nanstd(a, axis, ddof=ddof, keepdims=keepdims)
        return deviation / jnp.sqrt(count.astype(deviation.dtype))
    axes = canonical_axes("scipy.stats.sem", axis, a.ndim)
    size = math.prod([a.shape[i] for i in axes])
    return jnp.std(a, axis, ddof=ddof, keepdims=keepdims) / math.sqrt(size)


def _rows(name: str, a: Any, axis: int | None, keepdims: bool) -> tuple[Any, tuple[int, ...]]:
    """The values in rows along the last axis, and the shape of the result."""
    if axis is None:
        return a.reshape(-1), (1,) * a.ndim if keepdims else ()
    rows = jnp.moveaxis(a, axis, -1)
    if not keepdims:
        return rows, rows.shape[:-1]
    place = axis % a.ndim
    return rows, tuple([1 if i == place else n for i, n in enumerate(a.shape)])


def _check_nan_policy(name: str, given: str, known: tuple[str, ...]) -> None:
    if given in known:
        return
    kind = NotImplementedError if given in ("omit", "raise") else ValueError
    raise kind(
        message(
            f"scipy.stats.{name}, argument nan_policy",
            given=f"{given!r}",
            expected=" or ".join(map(repr, known)),
            fix="Replace NaN first, for instance with jnp.nan_to_num.",
        )
    )
