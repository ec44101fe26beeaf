"""Optimistix: a root, a least-squares fit, a minimum, and the derivative of a root."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import optimistix as optx


def main() -> list[float]:
    def cosine(x, scale):
        return x - jnp.cos(scale * x)

    def root(scale):
        return optx.root_find(cosine, optx.Newton(1e-6, 1e-6), jnp.array(0.5), scale).value

    def residuals(p, data):
        x, y = data
        return p[0] * jnp.exp(-p[1] * x) - y

    x = jnp.linspace(0, 3, 20)
    data = (x, 2.0 * jnp.exp(-0.7 * x) + 0.01 * jnp.sin(9 * x))
    start = jnp.array([1.0, 1.0])
    fit = optx.least_squares(residuals, optx.LevenbergMarquardt(1e-6, 1e-6), start, data).value

    def rosenbrock(p, _):
        return (1 - p[0]) ** 2 + 10 * (p[1] - p[0] ** 2) ** 2

    minimum = optx.minimise(rosenbrock, optx.BFGS(1e-6, 1e-6), jnp.array([-1.0, 1.0])).value
    fixed = optx.fixed_point(
        lambda y, _: jnp.cos(y), optx.FixedPointIteration(1e-6, 1e-6), jnp.array(0.1)
    ).value
    scale = jnp.array(1.0)
    values = [root(scale), jax.grad(root)(scale), *fit, *minimum, fixed]
    return [float(value) for value in values]


if __name__ == "__main__":
    print(main())
