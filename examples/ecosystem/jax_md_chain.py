"""JAX MD: a chain of particles is relaxed, and then moved at constant temperature."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax_md import energy, minimize, quantity, simulate, space


def main() -> list[float]:
    size = 6.0
    displacement, shift = space.periodic(size)
    positions = jax.random.uniform(jax.random.key(0), (40, 2)) * size
    potential = energy.soft_sphere_pair(displacement, sigma=1.0)
    init, step = minimize.fire_descent(potential, shift)
    state = jax.jit(init)(positions)
    state = jax.lax.fori_loop(0, 60, lambda _, s: step(s), state)
    found = [float(potential(positions)), float(potential(state.position))]
    found.append(float(jnp.max(jnp.abs(quantity.force(potential)(state.position)))))

    neighbours, near = energy.soft_sphere_neighbor_list(displacement, size, sigma=1.0)
    nearby = neighbours.allocate(state.position)
    found.append(float(near(state.position, nearby)))
    assert not nearby.did_buffer_overflow

    init, step = simulate.nvt_nose_hoover(potential, shift, dt=5e-3, kT=0.1)
    moving = init(jax.random.key(1), state.position)
    moving = jax.jit(lambda s: jax.lax.fori_loop(0, 50, lambda _, s: step(s), s))(moving)
    kinetic = quantity.temperature(momentum=moving.momentum)
    found.append(float(kinetic))
    found.append(float(simulate.nvt_nose_hoover_invariant(potential, moving, 0.1)))
    return found


if __name__ == "__main__":
    print(main())
