"""Matrices that have a name: made from vectors, or from their size alone.

Those of integers and fractions are computed exactly, and rounded once.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import dtypes
from ... import numpy as jnp
from ...engines.reference.replay import replayed
from ...errors import ShapeError
from ...lax.ground.axes import integer
from ...numpy.linalg.operands import inexact_arrays
from ...numpy.operands import as_array, of_one_dtype
from ...util.messages import message


@replayed(2)
def hankel(c: Any, r: Any = None) -> Any:
    """Matrices with constant antidiagonals: ``c[i + j]`` for i + j < m, else ``r[i + j − m + 1]``.

    Args:
        c: first columns (..., m).
        r: last rows (..., n), whose first element is not read; m zeros by default.

    Returns:
        Matrices (..., m, n) of the common dtype.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.scipy.linalg.hankel(jnp.array([1, 2, 3]), jnp.array([3, 4]))
        Array([[1, 2],
               [2, 3],
               [3, 4]], dtype=int32)
    """
    c = jnp.atleast_1d(as_array("scipy.linalg.hankel", c))
    r = jnp.zeros_like(c) if r is None else jnp.atleast_1d(as_array("scipy.linalg.hankel", r))
    c, r = of_one_dtype("scipy.linalg.hankel", c, r)
    rows, columns = c.aval.shape[-1], r.aval.shape[-1]
    stack = jnp.broadcast_shapes(c.aval.shape[:-1], r.aval.shape[:-1])
    if not (rows and columns):
        return jnp.zeros((*stack, rows, columns), c.aval.dtype)
    c, r = [jnp.broadcast_to(x, (*stack, x.aval.shape[-1])) for x in (c, r)]
    elements = jnp.concatenate([c, r[..., 1:]], axis=-1)
    return elements[..., np.arange(rows)[:, None] + np.arange(columns)]


@replayed(1)
def fiedler(a: Any) -> Any:
    """Symmetric matrices of distances: ``|a[i] − a[j]|``.

    Args:
        a: vectors (..., n).

    Returns:
        Matrices (..., n, n).

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.scipy.linalg.fiedler(jnp.array([1, 4]))
        Array([[0, 3],
               [3, 0]], dtype=int32)
    """
    a = jnp.atleast_1d(as_array("scipy.linalg.fiedler", a))
    return jnp.abs(a[..., :, None] - a[..., None, :])


@replayed(1)
def companion(a: Any) -> Any:
    """Matrices whose eigenvalues are the roots of a polynomial.

    Args:
        a: coefficients (..., n), that of the highest power, which is not 0, first; n ≥ 2.

    Returns:
        Matrices (..., n − 1, n − 1), with −a[1:] / a[0] as first row and ones below the diagonal.

    Raises:
        ShapeError: if there are fewer than two coefficients.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.scipy.linalg.companion(jnp.array([2.0, 4.0, 6.0]))
        Array([[-2., -3.],
               [ 1.,  0.]], dtype=float32)
    """
    (a,) = inexact_arrays("scipy.linalg.companion", a)
    a = jnp.atleast_1d(a)
    size = a.aval.shape[-1] - 1
    if size < 1:
        raise _too_few("companion", "a", a)
    below = jnp.eye(size - 1, size, dtype=a.aval.dtype)
    rest = jnp.broadcast_to(below, (*a.aval.shape[:-1], size - 1, size))
    return jnp.concatenate([(-a[..., 1:] / a[..., :1])[..., None, :], rest], axis=-2)


@replayed(1)
def fiedler_companion(a: Any) -> Any:
    """Matrices of five diagonals with the eigenvalues of those of `companion`, of the same `a`.

    Reference:
        M. Fiedler, "A note on companion matrices", Linear Algebra and its Applications 372 (2003).

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.scipy.linalg.fiedler_companion(jnp.array([2.0, 4.0, 6.0]))
        Array([[-2., -3.],
               [ 1.,  0.]], dtype=float32)
    """
    (a,) = inexact_arrays("scipy.linalg.fiedler_companion", a)
    a = jnp.atleast_1d(a)
    size = a.aval.shape[-1] - 1
    if size < 1:
        raise _too_few("fiedler_companion", "a", a)
    elements = jnp.concatenate([a[..., :1] * 0, a[..., :1], -a[..., 1:]], -1) / a[..., :1]
    # Which of 0, 1, −a[1] / a[0], … stands where: rows of even number hold two of them and a 1.
    places = np.zeros((size, size + 2), int)
    for row in range(size):
        places[row, max(row - 1 - row % 2, 0)] = 1 if row % 2 else row + 2
        if row % 2 == 0:
            places[row, [row + 1, row + 2]] = row + 3, 1
    return elements[..., places[:, :size]]


@replayed(2)
def leslie(f: Any, s: Any) -> Any:
    """Leslie's matrices of populations by age: `f` as first row, `s` below the diagonal.

    Args:
        f: fecundities (..., n), n ≥ 2.
        s: rates of survival (..., n − 1).

    Returns:
        Matrices (..., n, n) of the common dtype.

    Raises:
        ShapeError: if the lengths do not suit.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.scipy.linalg.leslie(jnp.array([1.0, 2.0]), jnp.array([0.5]))
        Array([[1. , 2. ],
               [0.5, 0. ]], dtype=float32)
    """
    f, s = map(jnp.atleast_1d, of_one_dtype("scipy.linalg.leslie", f, s))
    size = f.aval.shape[-1]
    if size < 2:
        raise _too_few("leslie", "f", f)
    if s.aval.shape[-1] != size - 1:
        raise ShapeError(
            message(
                "scipy.linalg.leslie, argument s",
                given=f"{s.aval} for {f.aval}",
                expected=f"{size - 1} rates of survival",
                fix="The last age survives not: leave its rate out.",
            )
        )
    stack = jnp.broadcast_shapes(f.aval.shape[:-1], s.aval.shape[:-1])
    first = jnp.broadcast_to(f, (*stack, size))[..., None, :]
    diagonal = jnp.broadcast_to(s, (*stack, size - 1))[..., None] * np.eye(
        size - 1, size, dtype=s.aval.dtype
    )
    return jnp.concatenate([first, diagonal], axis=-2)


@replayed(0)
def dft(n: int, scale: str | None = None, *, dtype: Any = None) -> Any:
    """The matrix of the discrete Fourier transform: ``exp(−2πi jk / n)``.

    Args:
        n: its size.
        scale: `None`, or ``"sqrtn"`` or ``"n"`` for what it is divided by.
        dtype: complex dtype, by default the widest there is.

    Returns:
        Matrix (n, n).

    Raises:
        ValueError: if there is no such scale, or the dtype is not complex.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.scipy.linalg.dft(2).real
        Array([[ 1.,  1.],
               [ 1., -1.]], dtype=float32)
    """
    size = _size("dft", n, 0)
    divisors = {None: 1.0, "sqrtn": math.sqrt(max(size, 1)), "n": float(max(size, 1))}
    if scale not in divisors:
        raise _no_choice("dft", "scale", scale, "None, 'sqrtn' or 'n'")
    kind = dtypes.canonicalize(np.dtype(complex) if dtype is None else np.dtype(dtype))
    if not dtypes.issubdtype(kind, np.complexfloating):
        raise _no_choice("dft", "dtype", dtype, "a complex dtype")
    # Angles below one turn, so that no digits are lost.
    turns = np.outer(np.arange(size), np.arange(size)) % max(size, 1) / max(size, 1)
    return jnp.asarray(np.exp(-2j * np.pi * turns) / divisors[scale], kind)


@replayed(0)
def hadamard(n: int, dtype: Any = int) -> Any:
    """Sylvester's matrix of ±1 with orthogonal rows: ``(−1)^(number of common bits of i and j)``.

    Args:
        n: its size, a power of 2.
        dtype: its dtype.

    Raises:
        ValueError: if the size is no power of 2.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.scipy.linalg.hadamard(2)
        Array([[ 1,  1],
               [ 1, -1]], dtype=int32)
    """
    size = _size("hadamard", n, 1)
    if size & (size - 1):
        raise _no_choice("hadamard", "n", n, "a power of 2")
    found = np.ones((1, 1), np.int8)
    while found.shape[0] < size:
        found = np.block([[found, found], [found, -found]])
    return jnp.asarray(found, dtypes.canonicalize(np.dtype(dtype)))


@replayed(0)
def helmert(n: int, full: bool = False) -> Any:
    """Helmert's matrix, whose orthonormal rows compare a number with the mean of those before.

    Args:
        n: its size.
        full: whether the row of the mean, 1/√n, comes first.

    Returns:
        Matrix (n, n) if `full`, else (n − 1, n).

    Raises:
        ValueError: if the size is not positive.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.scipy.linalg.helmert(2)
        Array([[ 0.70710677, -0.70710677]], dtype=float32)
    """
    size = _size("helmert", n, 1)
    k = np.arange(1, size)[:, None]
    rows = np.tril(np.ones((size - 1, size))) - k * np.eye(size - 1, size, 1)
    rows /= np.sqrt(k * (k + 1))
    mean = np.full((1, size), size**-0.5)
    return jnp.asarray(np.concatenate([mean, rows]) if full else rows, _floating())


@replayed(0)
def hilbert(n: int) -> Any:
    """Hilbert's matrix: ``1 / (i + j + 1)``; see `invhilbert` for its inverse.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.scipy.linalg.hilbert(2)
        Array([[1.        , 0.5       ],
               [0.5       , 0.33333334]], dtype=float32)
    """
    places = np.arange(_size("hilbert", n, 0))
    return jnp.asarray(1 / (places[:, None] + places + 1), _floating())


@replayed(0)
def invhilbert(n: int) -> Any:
    """The inverse of Hilbert's matrix, whose elements are integers, as floating numbers.

    Reference: J. Todd, "Computational problems concerning the Hilbert matrix", Journal of Research
    of the National Bureau of Standards 65B (1961).

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.scipy.linalg.invhilbert(2)
        Array([[ 4., -6.],
               [-6., 12.]], dtype=float32)
    """
    size = _size("invhilbert", n, 0)

    def element(i: int, j: int) -> int:
        known = math.comb(size + i, size - j - 1) * math.comb(size + j, size - i - 1)
        return (-1) ** (i + j) * (i + j + 1) * known * math.comb(i + j, i) ** 2

    return _of_integers(size, element)


@replayed(0)
def pascal(n: int, kind: str | None = None) -> Any:
    """Pascal's matrix of binomial coefficients, as floating numbers.

    Args:
        n: its size.
        kind: ``"symmetric"``, the default, for C(i + j, i); ``"lower"`` for C(i, j); ``"upper"``
            for its transpose.

    Raises:
        ValueError: if there is no such kind.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.scipy.linalg.pascal(3)
        Array([[1., 1., 1.],
               [1., 2., 3.],
               [1., 3., 6.]], dtype=float32)
    """
    size, kind = _size("pascal", n, 0), _kind("pascal", kind)
    if kind == "symmetric":
        return _of_integers(size, lambda i, j: math.comb(i + j, i))
    lower = kind == "lower"
    return _of_integers(size, lambda i, j: math.comb(i, j) if lower else math.comb(j, i))


@replayed(0)
def invpascal(n: int, kind: str | None = None) -> Any:
    """The inverse of Pascal's matrix, whose elements are integers; see `pascal` for the arguments.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.scipy.linalg.invpascal(2)
        Array([[ 2., -1.],
               [-1.,  1.]], dtype=float32)
    """
    size, kind = _size("invpascal", n, 0), _kind("invpascal", kind)

    def element(i: int, j: int) -> int:
        if kind == "symmetric":
            # (L Lᵀ)⁻¹ = L⁻ᵀ L⁻¹, and L⁻¹ has the elements of L with alternating signs.
            return (-1) ** (i + j) * sum(
                math.comb(k, i) * math.comb(k, j) for k in range(max(i, j), size)
            )
        return (-1) ** (i + j) * (math.comb(i, j) if kind == "lower" else math.comb(j, i))

    return _of_integers(size, element)


def _of_integers(size: int, element: Any) -> Any:
    rows = [[float(element(i, j)) for j in range(size)] for i in range(size)]
    return jnp.asarray(np.array(rows, float).reshape(size, size), _floating())


def _floating() -> Any:
    return dtypes.canonicalize(np.dtype(float))


def _size(name: str, n: Any, least: int) -> int:
    size = integer(f"scipy.linalg.{name}, argument n", n)
    if size < least:
        raise _no_choice(name, "n", n, f"a size of at least {least}")
    return size


def _kind(name: str, kind: Any) -> str:
    kinds = {None: "symmetric", "symmetric": "symmetric", "lower": "lower", "upper": "upper"}
    if kind not in kinds:
        raise _no_choice(name, "kind", kind, "'symmetric', 'lower' or 'upper'")
    return kinds[kind]


def _no_choice(name: str, argument: str, value: Any, expected: str) -> ValueError:
    return ValueError(
        message(
            f"scipy.linalg.{name}, argument {argument}",
            given=f"{value!r}",
            expected=expected,
            fix="Choose one of them.",
        )
    )


def _too_few(name: str, argument: str, x: Any) -> ShapeError:
    return ShapeError(
        message(
            f"scipy.linalg.{name}, argument {argument}",
            given=f"{x.aval}",
            expected="at least two numbers",
            fix="Treat this case apart.",
        )
    )
