"""Linear systems with Toeplitz matrices.

Reference: G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., Johns Hopkins 2013, 4.7.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ... import lax
from ... import numpy as jnp
from ...control.custom.custom_linear_solve import custom_linear_solve
from ...control.jit.jit import jit
from ...control.loops.scans import scan
from ..arguments import inexact, refuse_shape

_WHERE = "science.linalg.solve_toeplitz"


def solve_toeplitz(c_or_cr: Any, b: Any, check_finite: bool = True) -> Any:
    """X of T X = B with T[i, j] = c[i − j] for i ≥ j, else r[j − i], by Levinson's recursion.

    Time is O(n² k), memory O(n k); no rows are exchanged, so every leading minor of T must be
    invertible, and well conditioned, as those of positive definite matrices are.

    Args:
        c_or_cr: the first column c (n,), or a pair of it and the first row r (n,), whose first
            element is not read; by default r is the conjugate of c.
        b: right-hand sides, (n,) or (n, k).
        check_finite: without meaning.

    Returns:
        Array of the shape of `b`; not finite where a leading minor is singular.

    Raises:
        ValueError: if the shapes do not fit.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science.linalg import solve_toeplitz
        >>> solve_toeplitz(jnp.array([2.0, 1.0, 0.0]), jnp.array([3.0, 4.0, 3.0])).round(3)
        Array([1., 1., 1.], dtype=float32)
    """
    if isinstance(c_or_cr, tuple):
        c, r, b = inexact(_WHERE, *c_or_cr, b)
    else:
        c, b = inexact(_WHERE, c_or_cr, b)
        r = jnp.conj(c)
    size = c.aval.shape[:1]
    if c.aval.shape != r.aval.shape or c.aval.ndim != 1 or b.aval.shape[:1] != size:
        refuse_shape(
            _WHERE,
            "c_or_cr",
            f"{c.aval} and {r.aval} for right-hand sides {b.aval}",
            "two vectors of one length n, and n rows",
            "Use jax.vmap for stacks of systems.",
        )
    if b.aval.ndim > 2:
        refuse_shape(_WHERE, "b", f"{b.aval}", "a vector or a matrix", "Use jax.vmap.")
    if not b.aval.size:
        return b
    columns = jnp.reshape(b, (b.aval.shape[0], -1))
    found = custom_linear_solve(
        lambda x: _product(c, r, x),
        columns,
        lambda _, y: _solved(c, r, y),
        lambda _, y: _solved(jnp.concatenate([c[:1], r[1:]]), c, y),
    )
    return jnp.reshape(found, b.aval.shape)


# Loops, which eager calls would compile each time.
@partial(jit, inline=True)
def _product(c: Any, r: Any, x: Any) -> Any:
    """T X, row by row, so that T is never made."""
    size = c.aval.shape[0]
    elements = jnp.concatenate([c[::-1], r[1:]])

    def row(_: None, i: Any) -> tuple[None, Any]:
        return None, lax.dynamic_slice_in_dim(elements, size - 1 - i, size) @ x

    return scan(row, None, jnp.arange(size))[1]


# Loops, which eager calls would compile each time.
@partial(jit, inline=True)
def _solved(c: Any, r: Any, b: Any) -> Any:
    """X of T X = B: solutions for the leading minors, with vectors T f = e₀ and T g = eₘ.

    The vectors of step m have zeros behind their m + 1 elements.
    """
    size = c.aval.shape[0]
    first = 1 / c[0]
    start = jnp.zeros((size,), c.aval.dtype).at[0].set(first)

    def step(carry: Any, m: Any) -> tuple[Any, None]:
        f, g, x = carry
        # What the row m of T makes of f and x, and the row 0 of T of g behind a zero.
        row = jnp.where(jnp.arange(size) < m, c[jnp.clip(m - jnp.arange(size), 0, size - 1)], 0)
        behind = jnp.concatenate([jnp.zeros((1,), g.dtype), g[:-1]])
        error_f = row @ f
        error_g = jnp.where(jnp.arange(size) > 0, r, 0) @ behind
        scale = 1 / (1 - error_f * error_g)
        f, g = scale * (f - error_f * behind), scale * (behind - error_g * f)
        x = x + g[:, None] * (lax.dynamic_index_in_dim(b, m, keepdims=False) - row @ x)
        return (f, g, x), None

    x = jnp.zeros_like(b).at[0].set(first * b[0])
    (_, _, x), _ = scan(step, (start, start, x), jnp.arange(1, size))
    return x
