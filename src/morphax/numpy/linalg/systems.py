"""Linear systems with matrices and tensors, and inverses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ... import dtypes, lax
from ...engines.reference.replay import replayed
from ...errors import ShapeError
from ...lax.ground.axes import integer, integer_tuple
from ...lax.linalg.linear_systems import solved_with_factors
from ...lax.linalg.lu import lu_p
from ...util.messages import message
from ..axes import canonical_axes
from ..matrices import eye
from ..shaping import broadcast_to, moveaxis, reshape
from .operands import inexact_arrays, linear_system, square_matrices


@replayed(2)
def solve(a: Any, b: Any) -> Any:
    """The solutions X of linear systems A X = B.

    The derivatives, forward and backward, use the factors of A again.

    Args:
        a: matrices `(..., n, n)`; integers become floating.
        b: one vector `(n,)`, or right-hand sides as columns `(..., n, k)`; leading axes broadcast.

    Returns:
        Array `(..., n)` for a vector, else `(..., n, k)`; infinite or NaN where A is singular.

    Raises:
        ShapeError: if the operands do not fit.

    Reference:
        LAPACK, getrf.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.linalg.solve(jnp.array([[2.0, 0.0], [1.0, 4.0]]), jnp.array([4.0, 10.0]))
        Array([2., 2.], dtype=float32)
    """
    a, b = linear_system("solve", a, b)
    is_vector = b.aval.ndim == 1
    columns = lax.expand_dims(b, (1,)) if is_vector else b
    found = solved(a, columns)
    return lax.squeeze(found, (found.aval.ndim - 1,)) if is_vector else found


def solved(a: Any, b: Any) -> Any:
    """X of A X = B for matrices whose leading axes broadcast; each A is factorised once."""
    factors, _, permutation = lu_p.bind(lax.stop_gradient(a))
    stack = lax.broadcast_shapes(a.aval.shape[:-2], b.aval.shape[:-2])
    b = broadcast_to(b, (*stack, *b.aval.shape[-2:]))
    if a.aval.ndim > 2 and a.aval.shape[:-2] != stack:
        size = a.aval.shape[-1]
        a, factors = [broadcast_to(x, (*stack, size, size)) for x in (a, factors)]
        permutation = broadcast_to(permutation, (*stack, size))
    return solved_with_factors(a, factors, permutation, b, transpose_a=False)


@replayed(1)
def inv(a: Any) -> Any:
    """The inverses of square matrices.

    Args:
        a: matrices `(..., n, n)`; integers become floating.

    Returns:
        Array `(..., n, n)`; infinite or NaN where a matrix is singular.

    Raises:
        ShapeError: if the matrices are not square.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.linalg.inv(jnp.array([[2.0, 0.0], [0.0, 4.0]]))
        Array([[0.5 , 0.  ],
               [0.  , 0.25]], dtype=float32)
    """
    a = square_matrices("inv", a)
    dtype = dtypes.canonicalize(a.aval.dtype)  # arrays of 64 bits may be where others are narrowed
    return solved(lax.convert_element_type(a, dtype), eye(a.aval.shape[-1], dtype=dtype))


def tensorsolve(a: Any, b: Any, axes: Sequence[int] | None = None) -> Any:
    """The solution X of ``tensordot(a, X, X.ndim) = b``.

    Args:
        a: array whose first axes are those of `b`; there are as many elements in these as in the
            others, which are those of X.
        b: array.
        axes: axes of `a` that are moved to its end first.

    Raises:
        ShapeError: if the sizes do not fit.

    Example:
        >>> import morphax.numpy as jnp
        >>> a = 2 * jnp.eye(6).reshape(6, 2, 3)
        >>> jnp.linalg.tensorsolve(a, jnp.arange(6.0))
        Array([[0. , 0.5, 1. ],
               [1.5, 2. , 2.5]], dtype=float32)
    """
    a, b = inexact_arrays("tensorsolve", a, b)
    if axes is not None:
        given = integer_tuple("jnp.linalg.tensorsolve, argument axes", axes)
        moved = canonical_axes("linalg.tensorsolve", given, a.aval.ndim)
        a = moveaxis(a, moved, tuple(range(-len(moved), 0)))
    shape = a.aval.shape
    rows, columns = math.prod(shape[: b.aval.ndim]), math.prod(shape[b.aval.ndim :])
    if rows != columns or b.aval.size != rows:
        raise ShapeError(
            message(
                "jnp.linalg.tensorsolve",
                given=f"{a.aval} and {b.aval}",
                expected="as many elements in the axes of b, the first of a, as in the others of a",
                fix="Name the axes of the unknowns with axes=.",
            )
        )
    found = solve(reshape(a, (rows, rows)), reshape(b, (rows,)))
    return reshape(found, shape[b.aval.ndim :])


def tensorinv(a: Any, ind: int = 2) -> Any:
    """The inverse of a tensor with respect to `tensordot` over `ind` axes.

    Args:
        a: array with as many elements in its first `ind` axes as in the others.
        ind: number of axes, at least 1.

    Returns:
        Array whose axes are the others of `a`, then the first `ind`.

    Raises:
        ValueError: if `ind` is not positive.
        ShapeError: if the sizes do not fit.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.linalg.tensorinv(jnp.eye(6).reshape(2, 3, 6)).shape
        (6, 2, 3)
    """
    (a,) = inexact_arrays("tensorinv", a)
    count = integer("jnp.linalg.tensorinv, argument ind", ind)
    if count <= 0:
        raise ValueError(
            message(
                "jnp.linalg.tensorinv, argument ind",
                given=f"{count}",
                expected="a positive number of axes",
                fix="Name how many of the first axes are inverted.",
            )
        )
    first, others = a.aval.shape[:count], a.aval.shape[count:]
    size = math.prod(first)
    if size != math.prod(others):
        raise ShapeError(
            message(
                "jnp.linalg.tensorinv",
                given=f"{a.aval} with ind={count}",
                expected="as many elements in the first axes as in the others",
                fix="Choose another ind.",
            )
        )
    return reshape(inv(reshape(a, (size, size))), (*others, *first))
