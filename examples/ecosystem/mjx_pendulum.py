"""MJX: MuJoCo's dynamics of a batch of double pendulums, and the gradient of a swing."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import mujoco
from mujoco import mjx

MODEL = """
<mujoco>
  <option timestep="0.01" iterations="4"/>
  <worldbody>
    <body pos="0 0 1"><joint name="a" type="hinge" axis="0 1 0" damping="0.1"/>
      <geom type="capsule" fromto="0 0 0 0 0 -.4" size=".03"/>
      <body pos="0 0 -.4"><joint name="b" type="hinge" axis="0 1 0" damping="0.1"/>
        <geom type="capsule" fromto="0 0 0 0 0 -.4" size=".03"/></body></body>
  </worldbody>
  <actuator><motor joint="a" gear="1"/></actuator>
</mujoco>
"""


def main() -> list[float]:
    model = mjx.put_model(mujoco.MjModel.from_xml_string(MODEL))
    start = mjx.make_data(model)

    def swing(angles, force):
        data = start.replace(qpos=angles, ctrl=force)
        return jax.lax.fori_loop(0, 10, lambda _, d: mjx.step(model, d), data).qpos

    angles = jnp.linspace(0.0, 1.0, 8).reshape(4, 2)
    force = jnp.full((4, 1), 0.3)
    ends = jax.jit(jax.vmap(swing))(angles, force)
    slope = jax.jit(jax.jacfwd(swing, 1))(angles[1], force[1])
    return [*map(float, ends.ravel()), *map(float, slope.ravel())]


if __name__ == "__main__":
    print(main())
