"""JAXopt: minima with and without constraints, and the derivative of a solution."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import jaxopt


def main() -> list[float]:
    x = jnp.sin(jnp.arange(60.0)).reshape(20, 3)
    y = x @ jnp.array([1.0, -2.0, 0.5]) + 0.01 * jnp.cos(jnp.arange(20.0))

    def ridge(w, penalty, x, y):
        return jnp.mean((x @ w - y) ** 2) + penalty * jnp.sum(w**2)

    def solution(penalty):
        solver = jaxopt.LBFGS(ridge, maxiter=100, tol=1e-6)
        return solver.run(jnp.zeros(3), penalty, x, y).params

    jacobian = jax.jacobian(solution)(0.1)
    lasso = jaxopt.ProximalGradient(
        lambda w, x, y: jnp.mean((x @ w - y) ** 2), jaxopt.prox.prox_lasso, maxiter=200
    ).run(jnp.zeros(3), hyperparams_prox=0.1, x=x, y=y)
    simplex = jaxopt.ProjectedGradient(
        lambda w, x, y: jnp.mean((x @ w - y) ** 2), jaxopt.projection.projection_simplex
    ).run(jnp.ones(3) / 3, hyperparams_proj=1.0, x=x, y=y)
    root = jaxopt.Bisection(lambda z, a: z**3 - a, 0.0, 3.0).run(a=2.0).params
    return [float(v) for v in (*solution(0.1), *jacobian, *lasso.params, *simplex.params, root)]


if __name__ == "__main__":
    print(main())
