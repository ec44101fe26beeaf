"""Krylov methods for one vector: each returns the solution and what became of the iteration.

The state is 0 if the residual is small enough, −1 if the iteration broke down in NaN or infinity or
had no step, and otherwise the number of steps after which it was given up.

References:
    Y. Saad, "Iterative Methods for Sparse Linear Systems", 2nd edition, SIAM 2003: algorithms 9.1
    (conjugate gradients), 7.7 (BiCGSTAB), 6.9 and 6.11 (GMRES), each with a preconditioner on the
    right, as in 9.5, so that the residual is that of the system itself.
    Y. Saad and M. H. Schultz, "GMRES: a generalized minimal residual algorithm for solving
    nonsymmetric linear systems", SIAM Journal on Scientific and Statistical Computing 7 (1986).
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
    given_up = jnp.where(step == 0, -1, step)
    state = jnp.where(sound, jnp.where(residual <= small, 0, given_up), -1)
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

    The basis V grows until the norm is at most `goal`.  With A V = V' H, where H has one row more
    than columns, rotations Q make Q H a triangle above a row of zeros, column by column; the norm
    is that of the element of Q e₀ ‖r‖ in this row.
    """
    beta = _norm(r)
    basis = jnp.zeros((size + 1, r.aval.shape[0]), r.aval.dtype).at[0].set(r / beta)
    columns = jnp.zeros((size, size + 1), r.aval.dtype)
    turns = jnp.eye(size + 1, dtype=r.aval.dtype)
    rows = np.arange(size + 1)

    def go_on(state: Any) -> Any:
        step, _, _, turns = state
        return (step < size) & (beta * jnp.abs(turns[step, 0]) > goal)

    def advance(state: Any) -> Any:
        step, basis, columns, turns = state
        w = a(basis[step])
        length = _norm(w)
        column = jnp.zeros(size + 1, r.aval.dtype)
        # Twice is enough to be orthogonal to working precision.
        for _ in range(2):
            parts = jnp.conj(basis) @ w
            column, w = column + parts, w - parts @ basis
        rest = _norm(w)
        # A space that A maps into itself holds the solution: further vectors are zeros.
        is_new = rest > jnp.finfo(r.aval.dtype).eps * length
        basis = basis.at[step + 1].set(jnp.where(is_new, w / jnp.where(is_new, rest, 1), 0))
        column = turns @ column
        column, turns = _turned(step, rows, column, jnp.where(is_new, rest, 0), turns)
        return step + 1, basis, columns.at[step].set(column), turns

    _, basis, columns, turns = lax.while_loop(go_on, advance, (0, basis, columns, turns))
    return _of_triangle(columns[:, :size].T, beta * turns[:size, 0]) @ basis[:size]


def _turned(step: Any, rows: Any, column: Any, rest: Any, turns: Any) -> tuple[Any, Any]:
    """Rows `step` and the next one of a column and of rotations, turned such that `rest` vanishes.

    The element of the column in the next row is `rest`, which is real.
    """
    head = column[step]
    length = lax.sqrt(lax.square(jnp.abs(head)) + lax.square(rest))
    is_zero = length == 0
    cosine = jnp.where(is_zero, 1, head / jnp.where(is_zero, 1, length))
    sine = jnp.where(is_zero, 0, rest / jnp.where(is_zero, 1, length))
    first, second = turns[step], turns[step + 1]
    turns = turns.at[step].set(jnp.conj(cosine) * first + sine * second)
    turns = turns.at[step + 1].set(cosine * second - sine * first)
    return jnp.where(rows < step, column, jnp.where(rows == step, length, 0)), turns


def _of_triangle(t: Any, b: Any) -> Any:
    """x of T x = b, T upper triangular, with 0 where the diagonal is next to nothing."""
    size = b.aval.shape[0]
    diagonal = jnp.abs(jnp.diagonal(t))
    least = size * jnp.finfo(t.aval.dtype).eps * jnp.max(diagonal)
    is_known = diagonal > least
    t = jnp.where(is_known[:, None], t, jnp.eye(size, dtype=t.aval.dtype))
    b = jnp.where(is_known, b, 0)[:, None]
    return lax.linalg.triangular_solve(t, b, left_side=True, lower=False)[:, 0]
