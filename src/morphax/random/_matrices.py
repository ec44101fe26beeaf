"""Random vectors and matrices that take a factorisation to draw."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import dtypes, lax
from .. import numpy as jnp
from ..engines.reference.replay import replayed
from ..errors import ShapeError
from ..lax.ground.axes import canonical_shape, counted
from ..lax.ground.kinds import FLOATING, INEXACT
from ..lax.linalg import cholesky, eigh, qr, svd
from ..numpy.operands import as_array, inexact_type, of_one_dtype
from ..util.messages import message
from ._arguments import fitted_shape, placed, requested_dtype
from ._keys import single_key
from ._normal import normal
from ._ranges import check_drawn


def multivariate_normal(
    key: Any,
    mean: Any,
    cov: Any,
    shape: Any = None,
    dtype: Any = None,
    method: str = "cholesky",
    *,
    out_sharding: Any = None,
) -> Any:
    """Normal vectors: mean + A z with A Aᵀ = cov, z being independent normal numbers.

    The density is e^(−½ (x−μ)ᵀ Σ⁻¹ (x−μ)) / √((2π)ⁿ det Σ), with μ = `mean` and Σ = `cov`.

    Args:
        key: one key.
        mean: means (..., n).
        cov: symmetric positive definite matrices (..., n, n).
        shape: of an array of vectors; the one that the leading axes of `mean` and `cov` share if
            `None`.
        dtype: a floating dtype for z, by default that which `mean` and `cov` promote to.  The
            result has the dtype that all three promote to.
        method: how to find A: ``"cholesky"``, the fastest, or ``"eigh"`` or ``"svd"``, which take
            singular matrices too.  Other matrices that are not positive definite give NaN, but for
            ``"svd"``, which takes the absolute values of eigenvalues.
            So they do in compiled programs; those that are known are refused.
        out_sharding: layout of the result over devices.

    Returns:
        Array of shape (*shape, n).

    Raises:
        ValueError: an unknown method, shapes that do not fit, or a `cov` that is known and not
            positive definite.
        TypeError: the dtype is not floating.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> cov = jnp.array([[2.0, 1.0], [1.0, 2.0]])
        >>> jax.random.multivariate_normal(jax.random.key(0), jnp.zeros(2), cov, (3,)).shape
        (3, 2)
    """
    drawn = _normal_vectors(key, mean, cov, shape, dtype, method, out_sharding=out_sharding)
    check_drawn("multivariate_normal", drawn, mean, cov)
    return drawn


@replayed(3)
def _normal_vectors(
    key: Any, mean: Any, cov: Any, shape: Any, dtype: Any, method: str, *, out_sharding: Any
) -> Any:
    typed = single_key("multivariate_normal", key)
    factor = _factorization(method)
    mean, cov = [as_array("random.multivariate_normal", x) for x in (mean, cov)]
    _check_moments(mean.aval.shape, cov.aval.shape)
    common, _ = inexact_type("random.multivariate_normal", mean, cov)
    chosen = requested_dtype("multivariate_normal", common if dtype is None else dtype, FLOATING)
    batches = mean.aval.shape[:-1], cov.aval.shape[:-2]
    sizes = fitted_shape("multivariate_normal", shape, *batches)
    mean, cov = [lax.convert_element_type(x, common) for x in (mean, cov)]
    z = normal(typed, (*sizes, mean.aval.shape[-1]), chosen)
    a, z, mean = of_one_dtype("multivariate_normal", factor(cov), z, mean)
    return placed(mean + jnp.einsum("...ij,...j->...i", a, z), out_sharding)


def _factor_by_eigenvalues(cov: Any) -> Any:
    vectors, values = eigh(cov)
    # The zero eigenvalues of a singular matrix come out as rounding errors of either sign.
    rounding = dtypes.finfo(values.dtype).eps * values.shape[-1]
    largest = jnp.max(jnp.abs(values), -1, keepdims=True, initial=0)
    is_zero = (values < 0) & (values >= -rounding * largest)
    return vectors * jnp.sqrt(jnp.where(is_zero, 0, values))[..., None, :]


def _factor_by_singular_values(cov: Any) -> Any:
    u, s, _ = svd(cov)
    return u * jnp.sqrt(s)[..., None, :]


_FACTORIZATIONS: dict[str, Callable[[Any], Any]] = {
    "cholesky": cholesky,
    "eigh": _factor_by_eigenvalues,
    "svd": _factor_by_singular_values,
}


def _factorization(method: Any) -> Callable[[Any], Any]:
    if isinstance(method, str) and method in _FACTORIZATIONS:
        return _FACTORIZATIONS[method]
    raise ValueError(
        message(
            "random.multivariate_normal, argument method",
            given=f"{method!r}",
            expected=f"one of {sorted(_FACTORIZATIONS)}",
            fix='Pass "cholesky", or "eigh" if the covariance may be singular.',
        )
    )


def _check_moments(mean: tuple[int, ...], cov: tuple[int, ...]) -> None:
    if mean and len(cov) > 1 and cov[-2:] == (mean[-1], mean[-1]):
        return
    raise ShapeError(
        message(
            "random.multivariate_normal",
            given=f"mean of shape {mean}, cov of shape {cov}",
            expected="shapes (..., n) and (..., n, n) with the same n",
            fix="Give the mean one axis at least, and the covariance two more of its length.",
        )
    )


@replayed(1)
def orthogonal(
    key: Any,
    n: int,
    shape: Any = (),
    dtype: Any = None,
    m: int | None = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Matrices evenly distributed over the orthogonal group O(n), or the unitary group U(n).

    They are the factors Q of normal matrices A = Q R, with the signs that make the diagonal of R
    positive.  Reference: Mezzadri, "How to generate random matrices from the classical compact
    groups", Notices of the AMS 54 (2007).

    Args:
        key: one key.
        n: number of rows.
        shape: of an array of matrices.
        dtype: float32, float64, complex64 or complex128.
        m: number of columns, n if `None`.  Of the rows and columns, the fewer are orthonormal.
        out_sharding: layout of the result over devices.

    Returns:
        Array of shape (*shape, n, m).

    Raises:
        TypeError: `n` or `m` is no integer, or the dtype is another.
        ValueError: `n` or `m` is negative.

    Example:
        >>> import morphax as jax
        >>> q = jax.random.orthogonal(jax.random.key(0), 2)
        >>> abs(q @ q.T).round(5)
        Array([[1., 0.],
               [0., 1.]], dtype=float32)
    """
    rows = counted("random.orthogonal, argument n", n)
    columns = rows if m is None else counted("random.orthogonal, argument m", m)
    sizes = canonical_shape("random.orthogonal, argument shape", shape)
    chosen = requested_dtype("orthogonal", dtype, INEXACT)
    longer, shorter = max(rows, columns), min(rows, columns)
    q, r = qr(normal(key, (*sizes, longer, shorter), chosen), full_matrices=False)
    q = q * lax.sign(jnp.diagonal(r, axis1=-2, axis2=-1))[..., None, :]
    return placed(jnp.matrix_transpose(q) if rows < columns else q, out_sharding)
