"""Norms of vectors and matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ...core import aval_of
from ...engines.reference.replay import replayed
from ...util.messages import message
from ..arithmetic import power
from ..axes import canonical_axes
from ..complex_numbers import is_complex
from ..half_precision import in_float32
from ..operands import as_array, promoted_inexact
from ..reductions import max as max_
from ..reductions import min as min_
from ..reductions import sum as sum_
from ..shaping import moveaxis, ravel


@replayed(1)
@in_float32
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """Norms of vectors (along one axis) or of matrices (along two).

    Args:
        x: array.
        ord: order: of vectors p, for (Σ |xᵢ|ᵖ)^(1/p), with ±∞ for the largest and smallest |xᵢ| and
            0 for their number; of matrices ``"fro"``, ±1 (columns), ±∞ (rows), ±2 for the largest
            and smallest singular value, ``"nuc"`` for their sum.  By default 2 for vectors and
            ``"fro"`` for matrices.  At 0 the largest takes half of its subgradient.
        axis: axis or pair of axes; all of `x` without it.
        keepdims: keep reduced axes, with size 1.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.linalg.norm(jnp.array([3.0, 4.0]))
        Array(5., dtype=float32)
    """
    (x,) = promoted_inexact("linalg.norm", as_array("linalg.norm", x))
    ndim = x.aval.ndim
    if axis is None and ord is None:
        result = _euclidean(ravel(x), (0,), False)
        return lax.expand_dims(result, tuple(range(ndim))) if keepdims and ndim else result
    axes = canonical_axes("linalg.norm", axis, ndim)
    if len(axes) == 1:
        return _vector_norm(x, ord, axes, keepdims)
    if len(axes) == 2:
        return _matrix_norm(x, ord, axes, keepdims)
    raise ValueError(
        message(
            "jnp.linalg.norm, argument axis",
            given=f"{len(axes)} axes",
            expected="one axis for vectors, two for matrices",
            fix="Name the axes with axis=.",
        )
    )


@replayed(1)
@in_float32
def vector_norm(
    x: Any,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    ord: Any = 2,
) -> Any:
    """The norm of vectors along one axis, or of the elements along several: (Σ |xᵢ|ᵖ)^(1/p).

    Args:
        x: array; integers become floating.
        axis: axis or axes of the elements; all of `x` without it.
        keepdims: keep reduced axes, with size 1.
        ord: p, with ±∞ for the largest and smallest |xᵢ| and 0 for the number of those not zero.

    Raises:
        ValueError: if `ord` is no number.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.linalg.vector_norm(jnp.array([[3.0, 4.0], [0.0, 12.0]]))
        Array(13., dtype=float32)
    """
    (x,) = promoted_inexact("linalg.vector_norm", as_array("linalg.vector_norm", x))
    return _vector_norm(x, ord, canonical_axes("linalg.vector_norm", axis, x.aval.ndim), keepdims)


@replayed(1)
@in_float32
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """The norms of matrices.

    Args:
        x: matrices `(..., m, n)`; integers become floating.
        keepdims: keep the last two axes, with size 1.
        ord: order, as in `norm`.

    Returns:
        Real array `(...)`.

    Raises:
        ValueError: if `x` has fewer than two axes, or the order is unknown.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.linalg.matrix_norm(jnp.array([[3.0, 0.0], [0.0, 4.0]]), ord="nuc")
        Array(7., dtype=float32)
    """
    (x,) = promoted_inexact("linalg.matrix_norm", as_array("linalg.matrix_norm", x))
    axes = canonical_axes("linalg.matrix_norm", (-2, -1), x.aval.ndim)
    return _matrix_norm(x, ord, axes, keepdims)


def _squares(x: Any) -> Any:
    return lax.real(lax.mul(x, lax.conj(x))) if is_complex(x) else lax.mul(x, x)


def _euclidean(x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    return lax.sqrt(sum_(_squares(x), axes, keepdims=keepdims))


def _vector_norm(x: Any, order: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    if order is None or order == 2:
        return _euclidean(x, axes, keepdims)
    if isinstance(order, (str, complex)):
        raise _order_error(order, "vectors", "a real number")
    size = lax.abs(x)
    if isinstance(order, (int, float)):
        if order == np.inf:
            return max_(size, axes, keepdims=keepdims, initial=0)
        if order == -np.inf:
            return min_(size, axes, keepdims=keepdims)
        if order == 0:
            present = lax.ne(size, 0)
            return sum_(
                lax.convert_element_type(present, aval_of(size).dtype), axes, keepdims=keepdims
            )
        if order == 1:
            return sum_(size, axes, keepdims=keepdims)
    total = sum_(power(size, order), axes, keepdims=keepdims)
    return power(total, 1.0 / order)


def _matrix_norm(x: Any, order: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    rows, columns = axes
    if order is None or order in ("fro", "f"):
        return _euclidean(x, axes, keepdims)
    if order in (2, -2, "nuc"):
        return _spectral_norm(x, order, axes, keepdims)
    if order not in (1, -1, np.inf, -np.inf):
        raise _order_error(order, "matrices", "'fro', 'nuc', 1, -1, 2, -2, inf or -inf")
    summed, other = (rows, columns) if abs(order) == 1 else (columns, rows)
    sums = sum_(lax.abs(x), summed, keepdims=True)
    if order > 0:
        result = max_(sums, other, keepdims=True, initial=0)
    else:
        result = min_(sums, other, keepdims=True)
    return result if keepdims else lax.squeeze(result, axes)


def _spectral_norm(x: Any, order: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    values = lax.linalg.svd(moveaxis(x, axes, (-2, -1)), compute_uv=False)
    if order == "nuc":
        result = sum_(values, -1)
    else:
        result = max_(values, -1, initial=0) if order > 0 else min_(values, -1)
    return lax.expand_dims(result, sorted(axes)) if keepdims else result


def _order_error(order: Any, what: str, expected: str) -> ValueError:
    return ValueError(
        message(
            f"jnp.linalg.norm of {what}, argument ord",
            given=f"{order!r}",
            expected=expected,
            fix="Choose another order.",
        )
    )
