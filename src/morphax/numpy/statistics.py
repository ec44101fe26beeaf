"""Covariance, correlation and histograms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes, lax
from ..core import aval_of
from ..engines.reference.replay import replayed
from ..errors import ShapeError
from ..lax.elementwise.convert import convert
from ..lax.ground.axes import counted, integer, members
from ..util.messages import message
from .arithmetic import multiply, true_divide
from .at import At
from .complex_numbers import is_complex
from .creation import asarray
from .differences import diff
from .half_precision import wide_enough
from .joining import concatenate, stack
from .matrices import diag
from .operands import as_array, inexact_type, promoted_inexact
from .products import matmul
from .progressions import linspace
from .ranks import atleast_2d
from .reductions import sum as sum_
from .selection import clip, where
from .shaping import ravel, reshape, squeeze, transpose
from .sorted_vectors import searchsorted


def _samples(name: str, m: Any, rowvar: bool, dtype: Any) -> Any:
    """A matrix of `dtype` with one variable per row."""
    if m.aval.ndim > 2:
        raise ShapeError(
            message(
                f"jnp.{name}",
                given=f"{m.aval}",
                expected="a vector of samples or a matrix",
                fix="Map over further axes with vmap.",
            )
        )
    rows = atleast_2d(convert(m, dtype))
    return transpose(rows) if not rowvar and rows.aval.shape[0] != 1 else rows


@replayed(2)
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    dtype: Any = None,
) -> Any:
    """Covariance matrix: cᵢⱼ is the mean of (xᵢ − x̄ᵢ)(xⱼ − x̄ⱼ)*, with n − `ddof` for n.

    It is NaN if there are no samples.

    Args:
        m: samples, one variable per row.
        y: samples of further variables.
        rowvar: whether variables are rows, not columns.
        bias: whether to divide by n, instead of n − 1.
        ddof: what to take away from n, instead of what `bias` says.
        fweights: how often each sample occurs, integers.
        aweights: weight of each sample.
        dtype: of the result, floating or complex.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.cov(jnp.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
        Array([[ 1., -1.],
               [-1.,  1.]], dtype=float32)
    """
    target = _covariance_type("cov", (m, y), aweights, dtype)
    less = (0 if bias else 1) if ddof is None else _degrees(ddof)
    return convert(_covariance(m, y, rowvar, less, fweights, aweights, wide_enough(target)), target)


def _covariance_type(name: str, samples: Sequence[Any], aweights: Any, dtype: Any) -> Any:
    """The dtype of the result: what is asked for, or that of all operands."""
    if dtype is not None:
        return _dtype_of_means(name, dtype)
    common, weak = inexact_type("cov", *[as_array("cov", v) for v in samples if v is not None])
    given = None if aweights is None else as_array("cov", aweights).aval.dtype
    if given is not None and dtypes.issubdtype(given, np.inexact):
        common, _ = dtypes.promote(((common, weak), (given, False)))
    return common


def _covariance(
    m: Any, y: Any, rowvar: bool, less: Any, fweights: Any, aweights: Any, dtype: Any
) -> Any:
    """The covariance matrix, computed in `dtype`."""
    given = [as_array("cov", v) for v in ((m,) if y is None else (m, y))]
    if aweights is not None:
        aweights = convert(as_array("cov", aweights), _real_part(dtype))
    x = concatenate([_samples("cov", v, rowvar, dtype) for v in given], 0)
    count = x.aval.shape[1]
    if not count:
        variables = x.aval.shape[0]
        return squeeze(lax.full((variables, variables), np.nan, x.aval.dtype))
    weights = _sample_weights(fweights, aweights, count)
    if weights is None:
        center = true_divide(sum_(x, 1, keepdims=True), count)
        deviation = lax.sub(x, _repeated_columns(center, count))
        return squeeze(true_divide(matmul(deviation, _adjoint(deviation)), count - less))
    total = sum_(weights)
    center = true_divide(sum_(multiply(x, weights), 1, keepdims=True), total)
    deviation = lax.sub(x, _repeated_columns(center, count))
    if aweights is None:
        factor = total - less
    else:
        factor = total - true_divide(less * sum_(multiply(weights, aweights)), total)
    return squeeze(true_divide(matmul(multiply(deviation, weights), _adjoint(deviation)), factor))


def _dtype_of_means(name: str, dtype: Any) -> Any:
    """The dtype that is asked for, in which means are numbers."""
    target = dtypes.requested(dtype, name)
    if not dtypes.issubdtype(target, np.inexact):
        raise ValueError(
            message(
                f"jnp.{name}, argument dtype",
                given=f"the dtype {target}",
                expected="a floating or complex dtype",
                fix="Leave it out, and convert the result by astype.",
            )
        )
    return target


def _real_part(dtype: Any) -> Any:
    """The dtype of the real parts of numbers of an inexact dtype."""
    return np.zeros((), dtype).real.dtype


def _degrees(ddof: Any) -> Any:
    if isinstance(ddof, (int, float, np.number)):
        return ddof
    return integer("jnp.cov, argument ddof", ddof)


def _sample_weights(fweights: Any, aweights: Any, count: int) -> Any:
    given = [as_array("cov", w) for w in (fweights, aweights) if w is not None]
    if any(w.aval.shape != (count,) for w in given):
        raise RuntimeError(
            message(
                "jnp.cov, arguments fweights and aweights",
                given=f"weights of shapes {[w.aval.shape for w in given]}",
                expected=f"vectors with one weight for each of {count} samples",
                fix="Check the shapes.",
            )
        )
    if fweights is not None and not dtypes.issubdtype(given[0].aval.dtype, np.integer):
        raise TypeError(
            message(
                "jnp.cov, argument fweights",
                given=f"{given[0].aval}",
                expected="integers: how often each sample occurs",
                fix="Pass other weights as aweights.",
            )
        )
    if not given:
        return None
    return given[0] if len(given) == 1 else multiply(*given)


def _repeated_columns(column: Any, count: int) -> Any:
    return lax.broadcast_in_dim(column, (aval_of(column).shape[0], count), (0, 1))


def _adjoint(x: Any) -> Any:
    return transpose(lax.conj(x) if is_complex(x) else x)


@replayed(2)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, dtype: Any = None) -> Any:
    """Correlation coefficients: cᵢⱼ / √(cᵢᵢ cⱼⱼ) of the covariance; arguments as those of `cov`.

    Args:
        x, y: variables as rows, observations as columns; of both as one array.
        rowvar: whether variables are rows.

    Returns:
        The matrix (n, n) of correlations of n variables.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.corrcoef(jnp.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])).round(3)
        Array([[ 1., -1.],
               [-1.,  1.]], dtype=float32)
    """
    target = _covariance_type("corrcoef", (x, y), None, dtype)
    c = cov(x, y, rowvar, dtype=wide_enough(target))
    return convert(_normalized(c), target)


def _normalized(c: Any) -> Any:
    """The correlations of a covariance matrix."""
    if c.aval.ndim == 0:
        return true_divide(c, c)
    variances = diag(c)
    deviations = lax.sqrt(lax.real(variances) if is_complex(c) else variances)
    size = deviations.aval.shape[0]
    ratios = true_divide(
        true_divide(c, reshape(deviations, (size, 1))), reshape(deviations, (1, size))
    )
    if is_complex(ratios):
        return lax.complex(clip(lax.real(ratios), -1, 1), clip(lax.imag(ratios), -1, 1))
    return clip(ratios, -1, 1)


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
    a = convert(a, dtype if is_complex(a) else _real_part(dtype))
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
