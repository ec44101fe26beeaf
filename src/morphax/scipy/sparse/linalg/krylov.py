"""Krylov methods for one vector: each returns the solution and what became of the iteration.

The state is 0 if the residual is small enough, −1 if the iteration broke down in NaN or infinity,
and otherwise the number of steps after which it was given up.

References:
    Y. Saad, "Iterative Methods for Sparse Linear Systems", 2nd edition, SIAM 2003: algorithms 9.1
    (conjugate gradients), 7.7 (BiCGSTAB), 6.9 and 6.11 (GMRES), each with a preconditioner on the
    right, as in 9.5, so that the residual is that of the system itself.
    E. Ayachour, "A fast implementation for GMRES method", Journal of Computational and Applied
    Mathematics 159 (2003).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .... import lax
from .... import numpy as jnp
from ....util.records import dataclass

Operator = Callable[[Any], Any]


@dataclass(frozen=True)
class Limits:
    """When an iteration ends: ‖r‖ ≤ max(tol ‖b‖, atol), or after so many steps."""

    tol: Any
    atol: Any
    steps: Any

    def of(self, b: Any) -> Any:
        """The largest norm of a residual that is small enough."""
        least = jnp.maximum(jnp.maximum(self.tol * _norm(b), self.atol), 0)
        return lax.stop_gradient(least)


def _norm(x: Any) -> Any:
    return lax.sqrt(jnp.sum(lax.square(jnp.abs(x))))


def _ended(x: Any, residual: Any, small: Any, step: Any) -> tuple[Any, Any]:
    """The solution, NaN after a breakdown, and the state of the iteration."""
    sound = jnp.isfinite(residual)
    # An infinite right-hand side has an infinite tolerance.
    state = jnp.where(sound, jnp.where(residual <= small, 0, step), -1)
    return jnp.where(sound, x, np.nan), state


def conjugate_gradients(
    a: Operator, b: Any, x: Any, m: Operator, limits: Limits
) -> tuple[Any, Any]:
    """Conjugate gradients, for Hermitian positive definite operators."""
    small = limits.of(b)

    def go_on(state: Any) -> Any:
        step, _, r, *_ = state
        return (step < limits.steps) & (_norm(r) > small)

    def advance(state: Any) -> Any:
        step, x, r, p, rz = state
        ap = a(p)
        length = rz / jnp.vdot(p, ap)
        x, r = x + length * p, r - length * ap
        z = m(r)
        following = jnp.vdot(r, z)
        return step + 1, x, r, z + (following / rz) * p, following

    r = b - a(x)
    z = m(r)
    step, x, r, *_ = lax.while_loop(go_on, advance, (0, x, r, z, jnp.vdot(r, z)))
    return _ended(x, _norm(r), small, step)


def stabilized_biconjugate_gradients(
    a: Operator, b: Any, x: Any, m: Operator, limits: Limits
) -> tuple[Any, Any]:
    """BiCGSTAB, for any operators."""
    small = limits.of(b)
    shadow = first = b - a(x)

    def go_on(state: Any) -> Any:
        step, _, r, *_ = state
        return (step < limits.steps) & (_norm(r) > small)

    def advance(state: Any) -> Any:
        step, x, r, p, rho = state
        ready = m(p)
        v = a(ready)
        alpha = rho / jnp.vdot(shadow, v)
        s = r - alpha * v
        smooth = m(s)
        t = a(smooth)
        square = jnp.vdot(t, t)
        # s = 0 is the solution: then there is nothing to smooth.
        omega = jnp.where(square == 0, 0, jnp.vdot(t, s) / jnp.where(square == 0, 1, square))
        x, r = x + alpha * ready + omega * smooth, s - omega * t
        following = jnp.vdot(shadow, r)
        p = r + (following / rho) * (alpha / omega) * (p - omega * v)
        return step + 1, x, r, p, following

    state = (0, x, first, first, jnp.vdot(first, first))
    step, x, r, *_ = lax.while_loop(go_on, advance, state)
    return _ended(x, _norm(r), small, step)


def minimal_residuals(
    a: Operator,
    b: Any,
    x: Any,
    m: Operator,
    limits: Limits,
    restart: int,
    is_incremental: bool,
) -> tuple[Any, Any]:
    """GMRES, for any operators, with a basis of at most `restart` vectors at a time."""
    small = limits.of(b)

    def go_on(state: Any) -> Any:
        step, _, residual = state
        return (step < limits.steps) & (_norm(residual) > small)

    def advance(state: Any) -> Any:
        step, x, r = state
        goal = small if is_incremental else jnp.full_like(small, -1)
        x = x + m(_correction(lambda v: a(m(v)), r, restart, goal))
        return step + 1, x, b - a(x)

    step, x, r = lax.while_loop(go_on, advance, (0, x, b - a(x)))
    return _ended(x, _norm(r), small, step)


def _correction(a: Operator, r: Any, size: int, goal: Any) -> Any:
    """The y of a Krylov space for which ‖r − A y‖ is least.

    The basis grows until the norm is at most `goal`.  That norm is ‖r‖ / ‖g‖, where g, with g₀ = 1,
    is orthogonal to all columns of the Hessenberg matrix, and grows by one element with each.
    """
    beta = _norm(r)
    basis = jnp.zeros((size + 1, r.aval.shape[0]), r.aval.dtype).at[0].set(r / beta)
    columns = jnp.zeros((size, size + 1), r.aval.dtype)
    normal = jnp.zeros(size + 1, r.aval.dtype).at[0].set(1)

    def go_on(state: Any) -> Any:
        step, _, _, normal = state
        return (step < size) & (beta > goal * _norm(normal))

    def advance(state: Any) -> Any:
        step, basis, columns, normal = state
        w = a(basis[step])
        length = _norm(w)
        column = jnp.zeros(size + 1, r.aval.dtype)
        # Twice is enough to be orthogonal to working precision.
        for _ in range(2):
            parts = jnp.conj(basis) @ w
            column, w = column + parts, w - parts @ basis
        rest = _norm(w)
        is_new = rest > jnp.finfo(r.aval.dtype).eps * length
        basis = basis.at[step + 1].set(jnp.where(is_new, w / jnp.where(is_new, rest, 1), 0))
        missing = jnp.sum(normal * column)
        normal = normal.at[step + 1].set(-missing / jnp.where(is_new, rest, 1e-30))
        column = column.at[step + 1].set(jnp.where(is_new, rest, 0))
        # A space that A maps into itself holds the solution: further vectors are zeros.
        return step + 1, basis, columns.at[step].set(column), normal

    state = lax.while_loop(go_on, advance, (0, basis, columns, normal))
    _, basis, columns, _ = state
    target = jnp.zeros(size + 1, r.aval.dtype).at[0].set(beta)
    weights = jnp.linalg.lstsq(columns.T, target)[0]
    return weights @ basis[:size]
