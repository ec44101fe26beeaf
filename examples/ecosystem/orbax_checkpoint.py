"""Orbax: the state of a training run is written, kept to the last ones, and read back."""

from __future__ import annotations

import tempfile

import jax
import jax.numpy as jnp
import numpy as np
import optax
import orbax.checkpoint as ocp


def main() -> list[float]:
    params = {"w": jax.random.normal(jax.random.key(0), (8, 3)), "b": jnp.zeros(3, jnp.bfloat16)}
    optimizer = optax.adam(0.1)
    state = {"params": params, "optimizer": optimizer.init(params), "step": 0}

    @jax.jit
    def step(state):
        gradient = jax.grad(lambda p: jnp.sum((p["w"] + p["b"] - 1.0) ** 2))(state["params"])
        updates, moments = optimizer.update(gradient, state["optimizer"])
        params = optax.apply_updates(state["params"], updates)
        return {"params": params, "optimizer": moments, "step": state["step"] + 1}

    with tempfile.TemporaryDirectory() as folder:
        options = ocp.CheckpointManagerOptions(max_to_keep=2, save_interval_steps=2)
        with ocp.CheckpointManager(folder, options=options) as manager:
            for i in range(7):
                state = step(state)
                manager.save(i, args=ocp.args.StandardSave(state))
            manager.wait_until_finished()
            kept, latest = manager.all_steps(), manager.latest_step()
            shapes = jax.tree.map(ocp.utils.to_shape_dtype_struct, state)
            restored = manager.restore(latest, args=ocp.args.StandardRestore(shapes))
    same = jax.tree.map(lambda a, b: bool(np.array_equal(a, b)), restored, state)
    again = step(restored)
    sums = [float(jnp.sum(leaf)) for leaf in jax.tree.leaves(again["params"])]
    return [*map(float, kept), float(restored["step"]), float(all(jax.tree.leaves(same))), *sums]


if __name__ == "__main__":
    print(main())
