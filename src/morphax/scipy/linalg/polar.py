"""The polar decomposition, and its derivative.

With Ω = Uᴴ dU, which is skew-Hermitian as Uᴴ U = 1, the differential of A = U P is

    Uᴴ dA = Ω P + dP,    so that    Ω P + P Ω = Uᴴ dA − dAᴴ U,

as dP is Hermitian: an equation of Sylvester's that has a solution wherever no two singular values
add up to 0.  Vectors of singular values do not enter, so those may be equal.

Reference: N. Higham, "Functions of Matrices: Theory and Computation", SIAM 2008, chapter 8.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...control.custom.custom_jvp import custom_jvp
from ...engines.reference.replay import replayed
from ...lax.linalg.matrix_stacks import adjoint, product
from ...lax.linalg.spectra import reciprocal_sums, scaled_columns
from ...numpy.linalg.operands import matrices
from ...transforms.vmap import vmap
from ...util.messages import message


def polar(
    a: Any,
    side: str = "right",
    *,
    method: str = "qdwh",
    eps: float | None = None,
    max_iterations: int | None = None,
) -> tuple[Any, Any]:
    """The polar decomposition: A = U P on the right, A = P U on the left.

    Args:
        a: matrices `(..., m, n)`.
        side: ``"right"`` or ``"left"``: where P, positive semidefinite, stands.
        method: ``"qdwh"``, for m ≥ n on the right and m ≤ n on the left, or ``"svd"``.
        eps: precision of the iteration.
        max_iterations: limit of its steps.

    Returns:
        `(U, P)`: U of the shape of `a`, P `(..., n, n)` on the right and `(..., m, m)` on the left.

    Raises:
        ValueError: if side or method are neither.
        NotImplementedError: if the shape does not suit the method.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> U, P = jax.scipy.linalg.polar(jnp.array([[0.0, 2.0], [-3.0, 0.0]]), method="svd")
        >>> P
        Array([[3., 0.],
               [0., 2.]], dtype=float32)
    """
    for name, value, choice in (
        ("side", side, ("right", "left")),
        ("method", method, ("qdwh", "svd")),
    ):
        if value not in choice:
            raise ValueError(
                message(
                    f"scipy.linalg.polar, argument {name}",
                    given=f"{value!r}",
                    expected=" or ".join(map(repr, choice)),
                    fix="Choose one of them.",
                )
            )
    x = matrices("scipy.linalg.polar", jnp.asarray(a))
    on_right = side == "right"
    rows, columns = x.aval.shape[-2:]
    if method == "svd":
        return _by_singular_values(x, on_right)
    if rows < columns if on_right else rows > columns:
        raise NotImplementedError(
            message(
                "scipy.linalg.polar with method='qdwh'",
                given=f"{x.aval} and side={side!r}",
                expected="no more columns than rows for the right, no more rows for the left",
                fix="Pass method='svd'.",
            )
        )
    run: Callable[..., Any] = partial(lax.linalg.qdwh, max_iterations=max_iterations, eps=eps)
    for _ in x.aval.shape[:-2]:
        run = vmap(run)
    found = run(x if on_right else adjoint(x))
    return found[0] if on_right else adjoint(found[0]), found[1]


@replayed(1)
def _by_singular_values(x: Any, on_right: bool) -> tuple[Any, Any]:
    rows, columns = x.aval.shape[-2:]
    # Of the adjoint, which is no wider than it is high, the sides are exchanged.
    is_adjoint = rows < columns or (rows == columns and not on_right)
    u, p = _of_no_wider(adjoint(x) if is_adjoint else x)
    if on_right == is_adjoint:
        p = product(product(u, p), adjoint(u))
    return adjoint(u) if is_adjoint else u, p


@custom_jvp
def _of_no_wider(x: Any) -> tuple[Any, Any]:
    """U and P of matrices X = U P that are no wider than they are high."""
    u, s, vh = lax.linalg.svd(x, full_matrices=False)
    return product(u, vh), product(scaled_columns(adjoint(vh), s), vh)


@_of_no_wider.defjvp
def _(primals: Any, tangents: Any) -> Any:
    u, p = _of_no_wider(*primals)
    change = tangents[0]
    turned = product(adjoint(u), change)
    skew = _skew_solution(p, turned - adjoint(turned))
    stretched = turned - product(skew, p)
    moved = product(u, skew)
    if u.aval.shape[-2] > u.aval.shape[-1]:
        # What leaves the space of the columns.
        rest = change - product(u, turned)
        moved = moved + adjoint(jnp.linalg.solve(p, adjoint(rest)))
    return (u, p), (moved, (stretched + adjoint(stretched)) / 2)


def _skew_solution(p: Any, c: Any) -> Any:
    """Ω of P Ω + Ω P = C for a Hermitian P and a skew-Hermitian C."""
    v, w = lax.linalg.eigh(lax.stop_gradient(p))
    # The diagonal of a real solution is 0, also where 0 / 0 would stand there.
    weights = reciprocal_sums(w)
    if p.aval.dtype.kind == "c":
        weights = weights + np.eye(w.aval.shape[-1], dtype=w.aval.dtype) / (2 * w[..., None])

    def solve(_: Any, c: Any) -> Any:
        return product(product(v, weights * product(product(adjoint(v), c), v)), adjoint(v))

    def transpose_solve(_: Any, c: Any) -> Any:
        return jnp.conj(solve(_, jnp.conj(c)))

    return lax.custom_linear_solve(
        lambda x: product(p, x) + product(x, p), c, solve, transpose_solve
    )
