"""Covariance and correlation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes, lax
from ..core import aval_of
from ..engines.reference.replay import replayed
from ..errors import ShapeError
from ..lax.elementwise.complex import real_dtype
from ..lax.elementwise.convert import convert
from ..lax.ground.axes import integer
from ..util.messages import message
from .arithmetic import multiply, true_divide
from .complex_numbers import is_complex
from .half_precision import wide_enough
from .joining import concatenate
from .matrices import diag
from .operands import as_array, inexact_type
from .products import matmul
from .ranks import atleast_2d
from .reductions import sum as sum_
from .selection import clip
from .shaping import reshape, squeeze, transpose


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
    target = _covariance_type("cov", _given(m, y), aweights, dtype)
    less = (0 if bias else 1) if ddof is None else _degrees(ddof)
    return convert(_covariance(m, y, rowvar, less, fweights, aweights, wide_enough(target)), target)


def _given(m: Any, y: Any) -> Sequence[Any]:
    return (m,) if y is None else (m, y)


def _covariance_type(name: str, samples: Sequence[Any], aweights: Any, dtype: Any) -> Any:
    """The dtype of the result: what is asked for, or that of all operands."""
    if dtype is not None:
        return _dtype_of_means(name, dtype)
    common, weak = inexact_type("cov", *[as_array("cov", v) for v in samples])
    given = None if aweights is None else as_array("cov", aweights).aval.dtype
    if given is not None and dtypes.issubdtype(given, np.inexact):
        common, _ = dtypes.promote(((common, weak), (given, False)))
    return common


def _covariance(
    m: Any, y: Any, rowvar: bool, less: Any, fweights: Any, aweights: Any, dtype: Any
) -> Any:
    """The covariance matrix, computed in `dtype`."""
    given = [as_array("cov", v) for v in _given(m, y)]
    if aweights is not None:
        aweights = convert(as_array("cov", aweights), real_dtype(dtype))
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
    target = _covariance_type("corrcoef", _given(x, y), None, dtype)
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
