"""Lineax: linear systems by several solvers, and their derivatives."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import lineax as lx


def main() -> list[float]:
    key = jax.random.key(0)
    a = jax.random.normal(key, (6, 6)) + 6 * jnp.eye(6)
    positive = a @ a.T
    b = jnp.arange(6.0)

    def solve(matrix, b, solver, tags=()):
        operator = lx.MatrixLinearOperator(matrix, tags)
        return lx.linear_solve(operator, b, solver).value

    cases = [
        (a, lx.LU(), ()),
        (a, lx.QR(), ()),
        (a, lx.SVD(), ()),
        (positive, lx.Cholesky(), lx.positive_semidefinite_tag),
        (positive, lx.CG(1e-5, 1e-5), lx.positive_semidefinite_tag),
        (jnp.triu(a), lx.Triangular(), lx.upper_triangular_tag),
    ]
    values = []
    for matrix, solver, tags in cases:

        def total(b, solver=solver, matrix=matrix, tags=tags):
            return jnp.sum(jax.jit(solve, static_argnums=(2, 3))(matrix, b, solver, tags) ** 2)

        value, slope = jax.value_and_grad(total)(b)
        values += [float(value), float(slope.sum())]
    tall = lx.MatrixLinearOperator(a[:, :3])
    least = lx.linear_solve(tall, b, lx.AutoLinearSolver(well_posed=None))
    return [*values, *map(float, least.value)]


if __name__ == "__main__":
    print(main())
