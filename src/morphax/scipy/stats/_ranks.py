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
    rows = moved.reshape(math.prod(moved.shape[:-1]), moved.shape[-1])
    ranks = vmap(lambda row: _ranks_of_row(row, method))(rows)
    return jnp.moveaxis(ranks.reshape(moved.shape), -1, axis)


_METHODS = ("average", "min", "max", "dense", "ordinal")


def _ranks_of_row(row: Any, method: str) -> Any:
    # Not the dtype of the values: among 300 of bfloat16 there would be no rank 257.
    dtype = dtypes.python_scalar_dtype(float)
    places = lax.iota(np.int32, row.size)
    values, order = lax.sort((row, places), num_keys=1)
    ranks = _ranks_of_sorted(values, places, method)
    ranks = (
        jnp.zeros_like(ranks)
        .at[order]
        .set(ranks, unique_indices=True, mode="promise_in_bounds")
        .astype(dtype)
    )
    if method == "average":
        ranks = 0.5 * ranks + 1
    return jnp.where(jnp.any(jnp.isnan(row)), np.nan, ranks).astype(dtype)


def _ranks_of_sorted(values: Any, places: Any, method: str) -> Any:
    """The ranks of values in rising order; for averages, the sum of the first and last place."""
    if method == "ordinal":
        return places + 1
    end = jnp.ones((min(1, values.size),), bool)
    differs = values[1:] != values[:-1]
    starts = jnp.concatenate([end, differs])
    if method == "dense":
        return jnp.cumsum(starts, dtype=np.int32)
    # Where the run of equal values begins that each of them belongs to, and where it ends.
    least = lax.cummax(jnp.where(starts, places, 0))
    stops = jnp.concatenate([differs, end])
    greatest = lax.cummin(jnp.where(stops, places, values.size), reverse=True)
    return {"min": least + 1, "max": greatest + 1}.get(method, least + greatest)


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
