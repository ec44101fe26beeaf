"""Histograms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes, lax
from ..core import aval_of
from ..errors import ShapeError
from ..lax.elementwise.complex import real_dtype
from ..lax.elementwise.convert import convert
from ..lax.ground.axes import counted, members
from ..util.messages import message
from .arithmetic import multiply, true_divide
from .at import At
from .complex_numbers import is_complex
from .creation import asarray
from .differences import diff
from .joining import stack
from .operands import as_array, inexact_type, promoted_inexact
from .progressions import linspace
from .reductions import sum as sum_
from .selection import where
from .shaping import ravel, reshape, transpose
from .sorted_vectors import searchsorted


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """The edges of the bins of `histogram`, whose arguments these are.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.histogram_bin_edges(jnp.array([0.0, 3.0, 6.0]), bins=3)
        Array([0., 2., 4., 6.], dtype=float32)
    """
    if isinstance(bins, str):
        raise TypeError(
            message(
                "jnp.histogram, argument bins",
                given=f"{bins!r}",
                expected="the number of bins or their edges: rules would depend on values",
                fix="Compute edges with numpy.histogram_bin_edges.",
            )
        )
    (a,) = promoted_inexact("histogram", as_array("histogram", a))
    dtype = a.aval.dtype
    edges = asarray(bins)
    if edges.aval.ndim == 1:
        return convert(edges, dtype)
    if range is not None:
        ends = members("jnp.histogram, argument range", range, "the first and the last edge")
        _check_known_ends(ends)
        ends = [convert(as_array("histogram", end), dtype) for end in ends]
        if [end.aval.shape for end in ends] != [(), ()]:
            raise ValueError(
                message(
                    "jnp.histogram, argument range",
                    given=f"{len(ends)} values of shapes {[end.aval.shape for end in ends]}",
                    expected="two numbers: the first and the last edge",
                    fix="Pass range=(low, high).",
                )
            )
        low, high = ends
    elif a.aval.size == 0:
        low, high = lax.full((), 0, dtype), lax.full((), 1, dtype)
    else:
        axes = tuple(np.arange(a.aval.ndim))
        low, high = lax.reduce_min(a, axes), lax.reduce_max(a, axes)
    empty = lax.eq(low, high)
    low = where(empty, lax.sub(low, 0.5), low)
    high = where(empty, lax.add(high, 0.5), high)
    return linspace(low, high, counted("jnp.histogram, argument bins", bins) + 1)


def _check_known_ends(ends: Sequence[Any]) -> None:
    known = [x for x in ends if isinstance(x, (int, float, np.number)) and not np.iscomplexobj(x)]
    if np.isfinite(np.array(known, float)).all() and (
        len(known) < len(ends) or known == sorted(known)
    ):
        return
    raise ValueError(
        message(
            "jnp.histogram, argument range",
            given=f"{tuple(ends)}",
            expected="finite numbers, the first not beyond the last",
            fix="Pass range=(low, high).",
        )
    )


def histogram(
    a: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool | None = None
) -> tuple[Any, Any]:
    """How many elements fall between edges, and these edges.

    Args:
        a: array.
        bins: the number of bins of equal width, or their edges; the last contains its right edge.
        range: first and last edge, if `bins` is a number; least and greatest element by default.
        weights: weights to add up instead of counting.
        density: divide by bin widths and the total, so that the integral is 1.

    Returns:
        Counts (n,), in floating point, and edges (n + 1,).

    Example:
        >>> import morphax.numpy as jnp
        >>> counts, edges = jnp.histogram(jnp.array([0.0, 1.0, 1.5, 4.0]), 2)
        >>> counts
        Array([3., 1.], dtype=float32)
    """
    a = as_array("histogram", a)
    amount: Any = 1 if weights is None else ravel(as_array("histogram", weights))
    dtype, _ = inexact_type("histogram", a, *[amount] * (weights is not None))
    # Complex weights do not make edges complex.
    a = convert(a, dtype if is_complex(a) else real_dtype(dtype))
    edges = histogram_bin_edges(a, bins, range, weights)
    if edges.aval.shape == (0,):
        raise ShapeError(
            message(
                "jnp.histogram, argument bins",
                given="no edges",
                expected="edges, one more than bins, or the number of bins",
                fix="Pass the edges in a vector, or leave out bins.",
            )
        )
    count = edges.aval.shape[0] - 1
    places = _bin_numbers(ravel(a), edges)
    # Small floats would stop counting where 1 is less than a half of their last digit.
    tally = dtypes.python_scalar_dtype(int) if weights is None else dtype
    counts = At(lax.full((count + 1,), 0, tally))[places].add(amount, mode="drop")[1:]
    if density and weights is None:
        counts = true_divide(true_divide(counts, sum_(counts)), diff(edges))
    elif density:
        counts = true_divide(counts, multiply(diff(edges), sum_(counts)))
    return convert(counts, dtype), edges


def _bin_numbers(x: Any, edges: Any) -> Any:
    """The bin of each element, counted from 1; 0 below all edges, n + 1 above."""
    last = lax.slice_in_dim(edges, edges.aval.shape[0] - 1, None)
    at_end = lax.eq(x, lax.broadcast_in_dim(last, aval_of(x).shape, (0,)) if x.aval.size else x)
    return where(at_end, edges.aval.shape[0] - 1, searchsorted(edges, x, "right"))


def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool | None = None
) -> tuple[Any, list[Any]]:
    """How many points fall into the boxes of a grid, and the edges of the grid along each axis.

    Args:
        sample: points (n, d), or a sequence of d vectors of coordinates.
        bins: the number of boxes along all axes, or for each axis their number or edges.
        range: for each axis a pair of first and last edge, or `None`.
        weights: weights (n,) to add up instead of counting.
        density: divide by the boxes' volumes and the total.

    Example:
        >>> import morphax.numpy as jnp
        >>> counts, edges = jnp.histogramdd(jnp.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]), bins=2)
        >>> counts
        Array([[1, 0],
               [0, 2]], dtype=int32)
    """
    if isinstance(sample, (tuple, list)):
        points = transpose(stack(list(sample), 0))
    else:
        points = as_array("histogramdd", sample)
    if points.aval.ndim != 2 or points.aval.shape[1] == 0:
        raise ShapeError(
            message(
                "jnp.histogramdd, argument sample",
                given=f"{points.aval}",
                expected="points (n, d) with d > 0, or a sequence of d vectors",
                fix="Use jnp.histogram for numbers.",
            )
        )
    columns = [
        lax.index_in_dim(points, i, 1, keepdims=False) for i in np.arange(points.aval.shape[1])
    ]
    bins = _bins_of_axes(bins, len(columns))
    ranges: Sequence[Any] = [None] * len(columns) if range is None else range
    edges = [histogram_bin_edges(x, b, r) for x, b, r in zip(columns, bins, ranges, strict=True)]
    places = tuple([_bin_numbers(_inexact(x), e) for x, e in zip(columns, edges, strict=True)])
    amount: Any = 1 if weights is None else as_array("histogramdd", weights)
    dtype = dtypes.python_scalar_dtype(int) if weights is None else amount.aval.dtype
    shape = tuple([e.aval.shape[0] for e in edges])
    counts = At(lax.full(shape, 0, dtype))[places].add(amount, mode="drop")
    counts = counts[(slice(1, None),) * len(shape)]
    if density:
        counts = true_divide(counts, sum_(counts))
        for i, e in enumerate(edges):
            widths = diff(e)
            counts = true_divide(
                counts, reshape(widths, [-1 if j == i else 1 for j, _ in enumerate(edges)])
            )
    return counts, edges


def _inexact(x: Any) -> Any:
    return promoted_inexact("histogramdd", x)[0]


def _bins_of_axes(bins: Any, count: int) -> list[Any]:
    """The number of boxes, or their edges, for each of `count` axes."""
    given = list(bins) if np.iterable(bins) else [bins] * count
    if len(given) == count:
        return given
    raise ValueError(
        message(
            "jnp.histogramdd, argument bins",
            given=f"{len(given)} of them, for points with {count} coordinates",
            expected="a number, or for each coordinate a number or edges",
            fix="Give one entry for each coordinate.",
        )
    )


def histogram2d(
    x: Any,
    y: Any,
    bins: Any = 10,
    range: Any = None,
    weights: Any = None,
    density: bool | None = None,
) -> tuple[Any, Any, Any]:
    """How many points (x, y) fall into the boxes of a grid, and its edges; see `histogramdd`.

    Args:
        x, y: coordinates of the points.
        bins: a number or edges for both axes, or one for each.
        range, weights, density: as those of `histogramdd`.

    Example:
        >>> import morphax.numpy as jnp
        >>> x = jnp.array([0.0, 1.0, 2.0])
        >>> counts, _, _ = jnp.histogram2d(x, x, bins=2)
        >>> counts
        Array([[1, 0],
               [0, 2]], dtype=int32)
    """
    if np.iterable(bins) and len(list(bins)) != 2:
        bins = [asarray(bins)] * 2
    counts, edges = histogramdd([x, y], bins, range, weights, density)
    return counts, edges[0], edges[1]
