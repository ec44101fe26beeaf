"""Matrices that are made of others, or of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import numpy as jnp
from ...engines.reference.replay import replayed
from ...errors import ShapeError
from ...lax.ground.axes import integer
from ...numpy.operands import as_array, of_one_dtype
from ...util.messages import message


@replayed(8)
def block_diag(*arrs: Any) -> Any:
    """One matrix with the given ones along its diagonal, and zeros elsewhere.

    Args:
        *arrs: matrices; a vector counts as one row, a scalar as a matrix 1 × 1.

    Returns:
        Matrix of the common dtype; of shape `(1, 0)` if there are none.

    Raises:
        ShapeError: if an array has more than two axes.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.scipy.linalg.block_diag(jnp.ones((1, 2)), 3.0)
        Array([[1., 1., 0.],
               [0., 0., 3.]], dtype=float32)
    """
    blocks = of_one_dtype("scipy.linalg.block_diag", *(arrs or (jnp.zeros((1, 0)),)))
    for x in blocks:
        if x.aval.ndim > 2:
            raise ShapeError(
                message(
                    "scipy.linalg.block_diag",
                    given=f"{x.aval}",
                    expected="matrices, vectors and scalars",
                    fix="Use jax.vmap for stacks of matrices.",
                )
            )
    blocks = [jnp.atleast_2d(x) for x in blocks]
    total = sum([x.aval.shape[1] for x in blocks])
    rows, start = [], 0
    for x in blocks:
        columns = x.aval.shape[1]
        rows.append(jnp.pad(x, ((0, 0), (start, total - start - columns))))
        start += columns
    return jnp.concatenate(rows)


@replayed(1)
def circulant(c: Any) -> Any:
    """Matrices whose columns are one vector, turned on by one place each: ``c[(i − j) mod n]``.

    Args:
        c: first columns (..., n).

    Returns:
        Matrices (..., n, n) of the same dtype.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.scipy.linalg.circulant(jnp.array([1, 2, 3]))
        Array([[1, 3, 2],
               [2, 1, 3],
               [3, 2, 1]], dtype=int32)
    """
    c = jnp.atleast_1d(as_array("scipy.linalg.circulant", c))
    size = c.aval.shape[-1]
    places = (np.arange(size)[:, None] - np.arange(size)) % max(size, 1)
    return c[..., places] if size else jnp.zeros((*c.aval.shape, 0), c.aval.dtype)


@replayed(2)
def toeplitz(c: Any, r: Any = None) -> Any:
    """Matrices with constant diagonals: ``T[i, j] = c[i - j]`` for i ≥ j, else ``r[j - i]``.

    Args:
        c: first columns `(..., m)`.
        r: first rows `(..., n)`, whose first element is not read; by default the conjugate of `c`.

    Returns:
        Matrices `(..., m, n)` of the common dtype.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.scipy.linalg.toeplitz(jnp.array([1, 2, 3]), jnp.array([1, 4]))
        Array([[1, 4],
               [2, 1],
               [3, 2]], dtype=int32)
    """
    c = jnp.atleast_1d(as_array("scipy.linalg.toeplitz", c))
    r = jnp.conj(c) if r is None else jnp.atleast_1d(as_array("scipy.linalg.toeplitz", r))
    c, r = of_one_dtype("scipy.linalg.toeplitz", c, r)
    rows, columns = c.aval.shape[-1], r.aval.shape[-1]
    stack = jnp.broadcast_shapes(c.aval.shape[:-1], r.aval.shape[:-1])
    if not (rows and columns):
        return jnp.zeros((*stack, rows, columns), c.aval.dtype)
    c, r = [jnp.broadcast_to(x, (*stack, x.aval.shape[-1])) for x in (c, r)]
    # Read backwards: row i of the result starts at the last but i of the elements of c.
    elements = jnp.concatenate([c[..., ::-1], r[..., 1:]], axis=-1)
    places = np.arange(rows - 1, -1, -1)[:, None] + np.arange(columns)[None, :]
    return elements[..., places]


def convolution_matrix(a: Any, n: int, mode: str = "full") -> Any:
    """Matrices that convolve vectors of n numbers with one vector: ``a[i − j + s]``.

    Args:
        a: vectors (..., m), m > 0.
        n: the length of the vectors to convolve with, positive.
        mode: which part of the convolution, as in NumPy: ``"full"`` all m + n − 1 places,
            ``"same"`` max(m, n) of them in the middle, ``"valid"`` the |m − n| + 1 where one covers
            the other.

    Returns:
        Matrices (..., places, n).

    Raises:
        ValueError: if there is no such mode or length, or nothing to convolve with.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.scipy.linalg.convolution_matrix(jnp.array([1, 2]), 2)
        Array([[1, 0],
               [2, 1],
               [0, 2]], dtype=int32)
    """
    a = as_array("scipy.linalg.convolution_matrix", a)
    size = integer("scipy.linalg.convolution_matrix, argument n", n)
    if size < 1 or mode not in ("full", "same", "valid"):
        raise ValueError(
            message(
                f"scipy.linalg.convolution_matrix, argument {'n' if size < 1 else 'mode'}",
                given=f"n={n!r}, mode={mode!r}",
                expected="a positive length, and 'full', 'same' or 'valid'",
                fix="Leave the mode out for all of the convolution.",
            )
        )
    if not a.aval.ndim or not a.aval.shape[-1]:
        raise ShapeError(
            message(
                "scipy.linalg.convolution_matrix, argument a",
                given=f"{a.aval}",
                expected="vectors (..., m), not empty",
                fix="Treat this case apart.",
            )
        )
    length = a.aval.shape[-1]
    spare = min(length, size) - 1
    first = {"full": 0, "same": spare // 2, "valid": spare}[mode]
    last = {"full": 0, "same": spare - spare // 2, "valid": spare}[mode]
    rows = np.arange(first, length + size - 1 - last)
    # As many zeros on both sides as there are columns besides the first.
    padded = jnp.pad(a, [(0, 0)] * (a.aval.ndim - 1) + [(size - 1, size - 1)])
    return padded[..., rows[:, None] - np.arange(size) + size - 1]
