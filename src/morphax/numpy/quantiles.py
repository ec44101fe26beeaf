"""Quantiles and medians, with and without NaN."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, final

import numpy as np

from .. import lax
from ..core import aval_of
from ..engines.reference.nan_checks import checked_as_one
from ..engines.reference.replay import replayed
from ..lax.elementwise.convert import convert
from ..lax.ordering.sorting import sort as lax_sort
from ..lax.reduction.cumulative import cumsum
from ..lax.shape.filling import size_value
from ..lax.shape.resharding import split_as
from ..util.messages import message
from ..util.records import dataclass
from .arithmetic import true_divide
from .axes import canonical_axes
from .complex_numbers import is_complex
from .operands import as_array, check_no_out, inexact_type
from .selection import take, take_along_axis, where
from .shaping import broadcast_to, moveaxis, reshape


@final
@dataclass(frozen=True, slots=True)
class _Neighbours:
    """The elements of sorted order before and after a position, and how far it is between them."""

    low: Any
    high: Any
    weight: Any


def _linear(n: _Neighbours) -> Any:
    between = lax.add(lax.mul(n.low, lax.sub(1, n.weight)), lax.mul(n.high, n.weight))
    # The terms of two equal infinities may be NaN.  Other equal elements share the derivative by
    # weight, as different ones do.
    infinite = lax.eq(lax.abs(n.low), np.inf)
    return where(lax.bitwise_and(infinite, lax.eq(n.low, n.high)), n.low, between)


def _midpoint(n: _Neighbours) -> Any:
    return _linear(
        _Neighbours(
            n.low, n.high, where(lax.gt(n.weight, 0), lax.full_like(n.weight, 0.5), n.weight)
        )
    )


_METHODS: dict[str, Callable[[_Neighbours], Any]] = {
    "linear": _linear,
    "lower": lambda n: n.low,
    "higher": lambda n: n.high,
    "midpoint": _midpoint,
    "nearest": lambda n: where(lax.le(n.weight, 0.5), n.low, n.high),
    "inverted_cdf": lambda n: n.low,
}


@replayed(2)
@checked_as_one
def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """The values below which fractions `q` of the elements along axes lie; NaN if one is NaN.

    Args:
        a: real array.
        q: fractions from 0 to 1, a scalar or vector; its axis comes first in the result.
        axis: axis, tuple of axes, or `None` for all.
        out: must be `None`.
        overwrite_input: accepted for compatibility.
        method: what to take between two elements: ``"linear"``, ``"lower"``, ``"higher"``,
            ``"midpoint"``, ``"nearest"`` or ``"inverted_cdf"``.
        keepdims: keep reduced axes, with size 1.
        weights: weights of the elements, for the method ``"inverted_cdf"``.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.quantile(jnp.array([1.0, 2.0, 4.0]), 0.25)
        Array(1.5, dtype=float32)
    """
    check_no_out("quantile", out)
    return _quantile("quantile", a, q, axis, method, keepdims, weights, nan_counts=True)


@replayed(2)
@checked_as_one
def nanquantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """Like `quantile`, but NaN does not count.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.nanquantile(jnp.array([2.0, jnp.nan, 4.0]), 0.25)
        Array(2.5, dtype=float32)
    """
    check_no_out("nanquantile", out)
    return _quantile("nanquantile", a, q, axis, method, keepdims, weights, nan_counts=False)


@replayed(2)
@checked_as_one
def percentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Like `quantile`, with `q` in percent.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.percentile(jnp.array([0.0, 1.0, 2.0, 3.0, 4.0]), 75)
        Array(3., dtype=float32)
    """
    if out_sharding is not None:
        found = partial(
            percentile,
            axis=axis,
            out=out,
            overwrite_input=overwrite_input,
            method=method,
            keepdims=keepdims,
            weights=weights,
        )
        return split_as("jnp.percentile", out_sharding, found, a, q)
    check_no_out("percentile", out)
    fractions = true_divide(as_array("percentile", q), 100)
    return _quantile("percentile", a, fractions, axis, method, keepdims, weights, nan_counts=True)


@replayed(2)
@checked_as_one
def nanpercentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """Like `percentile`, but NaN does not count.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.nanpercentile(jnp.array([2.0, jnp.nan, 4.0]), 25)
        Array(2.5, dtype=float32)
    """
    check_no_out("nanpercentile", out)
    fractions = true_divide(as_array("nanpercentile", q), 100)
    return _quantile(
        "nanpercentile", a, fractions, axis, method, keepdims, weights, nan_counts=False
    )


@replayed(1)
def median(
    a: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Any:
    """The middle element along axes, or the mean of the two in the middle.

    Args:
        a: real numbers of any shape.
        axis: axis or axes that are reduced; all without it.
        out: must be None.
        overwrite_input: accepted for compatibility.
        keepdims: whether the axes stay, with size 1.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.median(jnp.array([5.0, 1.0, 2.0, 4.0]))
        Array(3., dtype=float32)
    """
    return quantile(a, 0.5, axis, out, overwrite_input, "midpoint", keepdims)


@replayed(1)
def nanmedian(
    a: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Any:
    """Like `median`, but NaN does not count.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.nanmedian(jnp.array([2.0, jnp.nan, 4.0]))
        Array(3., dtype=float32)
    """
    return nanquantile(a, 0.5, axis, out, overwrite_input, "midpoint", keepdims)


def _quantile(
    name: str,
    a: Any,
    q: Any,
    axis: Any,
    method: str,
    keepdims: bool,
    weights: Any,
    nan_counts: bool,
) -> Any:
    a, q = as_array(name, a), as_array(name, q)
    _check(name, a, q, method, weights)
    dtype, _ = inexact_type(name, a)
    # Positions need more digits than a short dtype has.
    wide = np.dtype(np.float32) if dtype.itemsize < 4 else dtype
    axes = canonical_axes(name, axis, a.aval.ndim)
    kept = [1 if i in axes else n for i, n in enumerate(a.aval.shape)]
    values = _merged(convert(a, wide), axes)
    fractions = reshape(convert(q, wide), -1)
    if weights is None:
        result = _of_sorted(lax_sort(values), fractions, method, nan_counts)
    else:
        spread = _weights_along(name, weights, a.aval.shape, axes)
        result = _weighted(values, _merged(convert(spread, wide), axes), fractions, nan_counts)
    shape = kept if keepdims else [n for i, n in enumerate(kept) if i not in axes]
    return convert(reshape(moveaxis(result, -1, 0), (*q.aval.shape, *shape)), dtype)


def _check(name: str, a: Any, q: Any, method: str, weights: Any) -> None:
    problem = None
    if is_complex(a) or is_complex(q):
        problem = "complex numbers", "real numbers: complex ones have no order", "Pass abs(a)."
    elif q.aval.ndim > 1:
        problem = f"q with {q.aval.ndim} axes", "a scalar or a vector q", "Use jnp.ravel(q)."
    elif not isinstance(method, str) or method not in _METHODS:
        names = ", ".join(map(repr, _METHODS))
        problem = f"method={method!r:.80}", f"one of {names}", "Leave it out for 'linear'."
    elif weights is not None and method != "inverted_cdf":
        expected = "the method 'inverted_cdf' with weights"
        problem = f"weights with method={method!r}", expected, "Pass method='inverted_cdf'."
    if problem is not None:
        given, expected, fix = problem
        raise ValueError(message(f"jnp.{name}", given=given, expected=expected, fix=fix))


def _merged(a: Any, axes: tuple[int, ...]) -> Any:
    """`a` with `axes` merged into one at the end."""
    others = [i for i in range(aval_of(a).ndim) if i not in axes]
    moved = lax.transpose(a, (*others, *axes))
    shape = aval_of(moved).shape
    count = math.prod(shape[len(others) :])
    return reshape(moved, (*shape[: len(others)], count))


def _of_sorted(values: Any, q: Any, method: str, nan_counts: bool) -> Any:
    """Quantiles along the last axis of sorted values; NaN is at their end."""
    *rest, size = aval_of(values).shape
    dtype = aval_of(values).dtype
    if not size:
        return lax.full((*rest, aval_of(q).shape[0]), np.nan, dtype)
    missing = lax.ne(values, values)
    if nan_counts:
        position = _position(q, size_value(size, dtype), method)
        pick: Callable[[Any], Any] = lambda i: take(values, i, -1, mode="clip")  # noqa: E731
        undefined = lax.slice_in_dim(missing, size - 1, size, axis=-1)
    else:
        ndim = aval_of(values).ndim - 1
        count = lax.reduce_sum(convert(lax.bitwise_not(missing), dtype), (ndim,))
        shape = (*aval_of(count).shape, aval_of(q).shape[0])
        count = lax.broadcast_in_dim(count, shape, tuple(range(ndim)))
        position = _position(broadcast_to(q, shape), count, method)
        pick = lambda i: take_along_axis(values, i, -1, mode="clip")  # noqa: E731
        undefined = lax.eq(count, 0)
    low = lax.floor(position)
    before, after = [pick(lax.convert_element_type(i, np.int32)) for i in (low, lax.ceil(position))]
    weight = broadcast_to(lax.sub(position, low), aval_of(before).shape)
    result = _METHODS[method](_Neighbours(before, after, weight))
    return where(undefined, np.asarray(np.nan, dtype)[()], result)


def _position(q: Any, count: Any, method: str) -> Any:
    """Where in sorted order quantiles are, from 0 to count − 1."""
    if method == "inverted_cdf":
        position = lax.sub(lax.ceil(lax.mul(q, count)), 1)
    else:
        position = lax.mul(q, lax.sub(count, 1))
    last = lax.sub(count, 1)
    position = lax.min(position, broadcast_to(last, aval_of(position).shape))
    return lax.max(position, 0)


def _weights_along(name: str, weights: Any, shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    """Weights of the elements, given for all of them or for one axis."""
    weights = as_array(name, weights)
    if weights.aval.ndim == 1 and len(axes) == 1:
        (axis,) = axes
        weights = reshape(weights, [n if i == axis else 1 for i, n in enumerate(shape)])
    return broadcast_to(weights, shape)


def _weighted(values: Any, weights: Any, q: Any, nan_counts: bool) -> Any:
    """The least values up to which fractions `q` of the weight along the last axis lie."""
    missing = lax.ne(values, values)
    weights = where(missing, lax.full_like(weights, 0), weights)
    axis = aval_of(values).ndim - 1
    values, weights = lax_sort((values, weights), axis, num_keys=1)
    running = cumsum(weights, axis)
    total = lax.slice_in_dim(running, aval_of(values).shape[-1] - 1, None, axis=-1)
    shape = (*aval_of(values).shape[:-1], aval_of(q).shape[0])
    threshold = lax.mul(broadcast_to(q, shape), broadcast_to(total, shape))
    wide = (*shape, aval_of(values).shape[-1])
    up_to = lax.broadcast_in_dim(running, wide, (*range(axis), axis + 1))
    below = lax.lt(up_to, lax.broadcast_in_dim(threshold, wide, tuple(range(axis + 1))))
    places = lax.reduce_sum(lax.convert_element_type(below, np.int32), (axis + 1,))
    result = take_along_axis(values, places, -1, mode="clip")
    undefined = lax.reduce_or(missing, (axis,)) if nan_counts else lax.reduce_and(missing, (axis,))
    nan = np.asarray(np.nan, aval_of(values).dtype)[()]
    return where(lax.expand_dims(undefined, (axis,)), nan, result)
