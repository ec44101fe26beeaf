"""Polynomials through points, and the zeros of polynomials.

The fit is a least-squares problem whose matrix has the powers of x as columns, each divided by its
length, so that they do not differ by orders of magnitude.  Zeros are the eigenvalues of the
companion matrix (Horn and Johnson, Matrix Analysis, section 3.3).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes, lax
from ..core import aval_of
from ..engines.reference.replay import replayed
from ..errors import ShapeError
from ..lax.elementwise.convert import convert
from ..lax.ground.axes import counted
from ..util.messages import message
from .at import AtIndex
from .complex_numbers import conj, real
from .indexing import getitem
from .insertion import trim_zeros
from .joining import concatenate, stack
from .linalg.pseudo_inverses import lstsq
from .linalg.spectra import eigvals
from .linalg.systems import inv
from .matrices import vander
from .operands import as_array, inexact_type
from .products import matmul, outer
from .rearranging import roll
from .reductions import sum
from .selection import take, where
from .shaping import broadcast_to
from .sorting import argsort

# Of more, rounding errors of the products would count.
_MOST_COLUMNS = 16


@replayed(2, arrays=("w",))
def polyfit(
    x: Any,
    y: Any,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: Any = None,
    cov: bool = False,
) -> Any:
    """The polynomial p of degree `deg` with the least Σᵢ wᵢ² |p(xᵢ) − yᵢ|².

    Args:
        x: places (m,).
        y: values (m,), or several columns of them (m, k).
        deg: the degree, known while tracing.
        rcond: singular values below this share of the largest count as 0; by default ε m.
        full: also return what `linalg.lstsq` tells of the fit.
        w: weights (m,), by default 1.
        cov: also return the covariance of the coefficients, scaled by the mean square of the
            residuals; ``"unscaled"`` if the weights are inverse standard deviations.

    Returns:
        Coefficients (deg + 1,) or (deg + 1, k), of the highest power first.  With `full` the tuple
        of them, the sums of squares, the rank, the singular values and rcond; with `cov` that of
        them and an array (deg + 1, deg + 1) or (deg + 1, deg + 1, k).

    Raises:
        ShapeError: the operands do not fit, or are empty.
        ValueError: `deg` is negative; `cov` asks for a mean over no more points than coefficients.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.polyfit(jnp.array([0.0, 1.0, 2.0]), jnp.array([1.0, 3.0, 5.0]), 1).round(3)
        Array([2., 1.], dtype=float32)
    """
    order = counted("jnp.polyfit, argument deg", deg) + 1
    x, y, weights = _points(x, y, w)
    count = x.aval.shape[0]
    powers, values = _powers(x, order), y
    if weights is not None:
        powers = lax.mul(powers, broadcast_to(weights, powers.aval.shape))
        column = weights if y.aval.ndim == 1 else lax.expand_dims(weights, (1,))
        values = lax.mul(y, broadcast_to(column, y.aval.shape))
    squares = sum(real(lax.mul(powers, conj(powers))), 1)
    # A row of zeros stays as it is.
    squares = where(lax.eq(squares, 0), lax.full_like(squares, 1), squares)
    lengths = convert(lax.sqrt(squares), powers.aval.dtype)
    column = lax.expand_dims(lengths, (1,))
    scaled = lax.transpose(lax.div(powers, broadcast_to(column, powers.aval.shape)), (1, 0))
    share = count * float(dtypes.finfo(x.aval.dtype).eps) if rcond is None else rcond
    found, squares, rank, s = lstsq(scaled, values, share)
    column = lengths if y.aval.ndim == 1 else column
    found = lax.div(found, broadcast_to(column, found.aval.shape))
    if full:
        return found, squares, rank, s, as_array("polyfit", share)
    if not cov:
        return found
    products = matmul(lax.transpose(conj(scaled), (1, 0)), scaled)
    spread = lax.div(inv(products), outer(lengths, lengths))
    return found, _covariance(spread, squares, count - order, cov, y.aval.ndim)


def _powers(x: Any, count: int) -> Any:
    """The transpose of the matrix (m, count) of `vander`: LAPACK takes matrices by columns.

    Each power is a product of two, the higher of which is a square's.
    """
    if not 0 < count <= _MOST_COLUMNS or x.aval.dtype not in (np.float32, np.float64):
        return lax.transpose(vander(x, count), (1, 0))
    rows = [lax.full_like(x, 1), x]
    for k in range(2, count):
        highest = 1 << (k.bit_length() - 1)
        i, j = (k // 2, k // 2) if k == highest else (k - highest, highest)
        rows.append(lax.mul(rows[i], rows[j]))
    return stack(rows[count - 1 :: -1])


def _points(x: Any, y: Any, w: Any) -> tuple[Any, Any, Any]:
    """Places, values and weights of one inexact dtype, whose shapes fit."""
    given = [as_array("polyfit", v) for v in (x, y, *([] if w is None else [w]))]
    dtype, _ = inexact_type("polyfit", *given)
    x, y, *weights = [convert(v, dtype) for v in given]
    count = x.aval.size
    fits = x.aval.ndim == 1 and count and y.aval.ndim in (1, 2) and y.aval.shape[0] == count
    if not fits or (weights and weights[0].aval.shape != (count,)):
        raise ShapeError(
            message(
                "jnp.polyfit",
                given=", ".join(str(v.aval) for v in given),
                expected="places (m,), at least one, values (m,) or (m, k), weights (m,)",
                fix="Give one value, and one weight, for each place.",
            )
        )
    return x, y, weights[0] if weights else None


def _covariance(spread: Any, squares: Any, freedom: int, cov: Any, ndim: int) -> Any:
    """The spread of coefficients times the variance of values, which is 1 if unscaled."""
    if cov == "unscaled":
        factor = lax.full((1,), 1, squares.aval.dtype)
    elif freedom > 0:
        factor = lax.div(squares, lax.full_like(squares, freedom))
    else:
        raise ValueError(
            message(
                "jnp.polyfit, argument cov",
                given=f"{cov}, with no more points than coefficients",
                expected="more points than coefficients",
                fix="Pass cov='unscaled', or fit a lower degree.",
            )
        )
    shape = (*spread.aval.shape, factor.aval.size)
    factor = convert(factor, spread.aval.dtype)
    product = lax.mul(lax.broadcast_in_dim(spread, shape, (0, 1)), broadcast_to(factor, shape))
    return lax.squeeze(product, (2,)) if ndim == 1 else product


def roots(p: Any, *, strip_zeros: bool = True) -> Any:
    """The zeros of a polynomial, as complex numbers.

    Args:
        p: coefficients (n,), the one of the highest power first.
        strip_zeros: leave out highest coefficients that are 0, for which the numbers must be known;
            otherwise the zeros that are missing for them are NaN, and stand last.

    Returns:
        Array (n − 1,), or as many zeros as there are.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.sort(jnp.roots(jnp.array([1, 0, -4])).real).round(3)
        Array([-2.,  2.], dtype=float32)
    """
    p = as_array("roots", p)
    if p.aval.ndim > 1:
        raise ShapeError(
            message(
                "jnp.roots, argument p",
                given=f"{p.aval}",
                expected="a vector of coefficients, the one of the highest power first",
                fix="Map over polynomials with jax.vmap.",
            )
        )
    dtype, _ = inexact_type("roots", p)
    p = convert(p if p.aval.ndim else lax.expand_dims(p, (0,)), dtype)
    if p.aval.size < 2:
        return _zeros(p)
    if not strip_zeros:
        return _all_zeros(p)
    p = trim_zeros(p, "f")
    nonzero = trim_zeros(p, "b")
    at_origin = p.aval.size - nonzero.aval.size
    found = _zeros(nonzero)
    return concatenate([found, lax.full((at_origin,), 0, found.aval.dtype)])


@replayed(1)
def _zeros(p: Any) -> Any:
    """The zeros of a polynomial whose first coefficient is not 0."""
    degree = p.aval.size - 1
    if degree < 1:
        return lax.full((0,), 0, dtypes.promote_types(p.aval.dtype, np.complex64))
    first = broadcast_to(getitem(p, 0), (degree,))
    row = lax.neg(lax.div(getitem(p, slice(1, None)), first))
    below = np.eye(degree, k=-1).astype(p.aval.dtype)
    companion = AtIndex(as_array("roots", below), 0).set(row)
    return eigvals(companion)


def _all_zeros(p: Any) -> Any:
    """The zeros of a polynomial, in the order of their magnitude; NaN for those that are missing.

    Highest coefficients that are 0 go to the other end, where each adds a zero at the origin.
    """
    count = p.aval.size
    if count < 2:
        return _zeros(p)
    is_zero = lax.convert_element_type(lax.eq(p, 0), np.int32)
    missing = lax.reduce_sum(lax.cumprod(is_zero, 0), (0,))
    found = _zeros(roll(p, lax.neg(missing)))
    found = take(found, argsort(lax.neg(lax.abs(found))), mode="clip")
    places = lax.iota(np.int32, count - 1)
    kept = lax.lt(places, broadcast_to(lax.sub(np.int32(count - 1), missing), (count - 1,)))
    return where(kept, found, np.asarray(complex(np.nan, np.nan), aval_of(found).dtype)[()])
