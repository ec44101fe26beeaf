"""Training that is saved on one mesh and goes on over another, with the same losses.

    python examples/checkpoint.py [--steps 10] [--tensorstore]

The transformer of `sharded_training.py` learns on eight devices in a (4, 2) grid.  Half-way its
state is saved.  From there it is trained to the end three times: on the same grid, on one of (2,
4), and on a single device.

The file of an array is one that NumPy reads.  Each device's part is written to its place in it, and
each device reads its own part, so the whole is never in memory.  That will do for one process.
With `--tensorstore` the library of that name does it: for many processes, with checksums, and such
that a checkpoint can take the place of an older one.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sharded_training import batch_of_tokens, initial_parameters, loss

import morphax as jax
import morphax.numpy as jnp
from morphax.experimental.array_serialization import pytree_serialization

P = jax.P
Tree = dict[str, Any]
SPLIT = {
    "embedding": P("data"),
    "query_key_value": P(None, "data", "model"),
    "projection": P("model"),
    "expand": P("data", "model"),
    "contract": P("model", "data"),
}


def initial_state() -> Tree:
    """All that training needs to go on: without the velocities, losses would differ later."""
    parameters = initial_parameters(jax.random.key(0))
    velocity = jax.tree.map(jnp.zeros_like, parameters)
    return {"parameters": parameters, "velocity": velocity, "step": jnp.int32(0)}


@partial(jax.jit, donate_argnums=0)
def train_step(state: Tree, tokens: Any) -> tuple[Tree, Any]:
    """Gradient descent with momentum."""
    p = state["parameters"]
    value, gradient = jax.value_and_grad(loss)(p, tokens)
    velocity = jax.tree.map(lambda v, g: 0.9 * v - 0.1 * g, state["velocity"], gradient)
    p = jax.tree.map(jnp.add, p, velocity)
    return {"parameters": p, "velocity": velocity, "step": state["step"] + 1}, value


def placement(shape: tuple[int, int]) -> Any:
    """For each array of the state, how it lies on a grid of that shape."""
    devices = jax.devices("cpu")[: math.prod(shape)]
    kinds = (jax.sharding.AxisType.Auto,) * 2
    mesh = jax.make_mesh(shape, ("data", "model"), kinds, devices=devices)

    def place(path: Any, _: Any) -> Any:
        return jax.NamedSharding(mesh, SPLIT.get(path[-1].key, P()))

    return jax.tree.map_with_path(place, jax.eval_shape(initial_state))


def file_name(path: Any) -> str:
    return jax.tree_util.keystr(path, simple=True, separator=".") + ".npy"


def save(state: Tree, folder: Path) -> None:
    """Write each part to its place; under its name the checkpoint is there when it is whole."""
    beside = folder.with_suffix(".partial")
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir()
    for path, x in jax.tree.leaves_with_path(state):
        whole = np.lib.format.open_memmap(beside / file_name(path), "w+", x.dtype, x.shape)
        for shard in x.addressable_shards:
            if shard.replica_id == 0:
                whole[shard.index] = shard.data
        whole.flush()
    beside.rename(folder)


def load(folder: Path, place: Any) -> Tree:
    """Read for each device what it shall hold."""

    def read(path: Any, sharding: Any) -> Any:
        whole = np.load(folder / file_name(path), mmap_mode="r", allow_pickle=False)
        return jax.make_array_from_callback(whole.shape, sharding, lambda index: whole[index])

    return jax.tree.map_with_path(read, place)


def train(state: Tree, place: Any, steps: int) -> tuple[Tree, list[float]]:
    """The state some steps later, and the losses; batches depend on the number of the step only."""
    rows = jax.NamedSharding(place["step"].mesh, P("data"))
    losses = []
    for step in range(int(state["step"]), steps):
        tokens = batch_of_tokens(jax.random.fold_in(jax.random.key(1), step))
        state, value = train_step(state, jax.device_put(tokens, rows))
        losses.append(float(value))
    return state, losses


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--tensorstore", action="store_true", help="write with the library")
    arguments = parser.parse_args()
    jax.config.update("jax_num_cpu_devices", 8)
    library = pytree_serialization
    write, read = (library.save, library.load) if arguments.tensorstore else (save, load)

    place = placement((4, 2))
    state, losses = train(jax.device_put(initial_state(), place), place, arguments.steps // 2)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "checkpoint"
        write(state, folder)
        _, uninterrupted = train(state, place, arguments.steps)
        print(f"(4, 2)  losses {json.dumps([round(x, 4) for x in losses + uninterrupted])}")
        for shape in ((4, 2), (2, 4), (1, 1)):
            place = placement(shape)
            state = read(folder, place)
            assert jax.tree.all(jax.tree.map(lambda x, s: x.sharding == s, state, place))
            _, resumed = train(state, place, arguments.steps)
            # Sums are taken in another order on another mesh.
            assert np.allclose(resumed, uninterrupted, rtol=1e-3), (resumed, uninterrupted)
            print(f"{shape}  resumed at step {len(losses)}: {resumed[0]:.4f} to {resumed[-1]:.4f}")
    print("All go on with the same losses.")


if __name__ == "__main__":
    main()
