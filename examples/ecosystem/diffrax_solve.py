"""Diffrax: an adaptive solve, a stiff one, an SDE, and gradients through a solve."""

from __future__ import annotations

import diffrax as dfx
import jax
import jax.numpy as jnp


def main() -> list[float]:
    def pendulum(t, y, args):
        return jnp.array([y[1], -args * jnp.sin(y[0])])

    @jax.jit
    def solve(length):
        return dfx.diffeqsolve(
            dfx.ODETerm(pendulum), dfx.Tsit5(), 0.0, 5.0, 0.1, jnp.array([1.0, 0.0]), args=length,
            saveat=dfx.SaveAt(ts=jnp.linspace(0.0, 5.0, 6)),
            stepsize_controller=dfx.PIDController(rtol=1e-5, atol=1e-5),
        )  # fmt: skip

    solution = solve(2.0)
    slope = jax.grad(lambda length: solve(length).ys[-1, 0])(2.0)

    def stiff(t, y, args):
        return -50.0 * (y - jnp.cos(t))

    implicit = dfx.diffeqsolve(
        dfx.ODETerm(stiff), dfx.Kvaerno5(), 0.0, 1.0, 0.01, jnp.array(0.0),
        stepsize_controller=dfx.PIDController(rtol=1e-4, atol=1e-4),
    )  # fmt: skip
    noise = dfx.VirtualBrownianTree(0.0, 1.0, 1e-2, (), jax.random.key(0))
    terms = dfx.MultiTerm(
        dfx.ODETerm(lambda t, y, args: -y), dfx.ControlTerm(lambda t, y, args: 0.2, noise)
    )
    walk = dfx.diffeqsolve(terms, dfx.Euler(), 0.0, 1.0, 0.02, jnp.array(1.0))
    values = [*solution.ys[:, 0], slope, implicit.ys[0], walk.ys[0]]
    return [*map(float, values), float(solution.stats["num_steps"])]


if __name__ == "__main__":
    print(main())
