"""The same training on one process with four devices, and on four processes with one each.

    python examples/several_processes.py
    python -m morphax.distributed --processes 4 examples/several_processes.py --distributed

Both print the same losses. The program is written for all devices, whoever they belong to. Only two
lines know of processes: the one that joins them, and the one by which each brings its own part of
the data. On a cluster (Slurm, Open MPI, Kubernetes, Cloud TPU) the second form runs as it is, with
the scheduler in the place of the launcher.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

import numpy as np

import morphax as jax
import morphax.numpy as jnp

P = jax.P
DEVICES, ROWS, FEATURES, HIDDEN = 4, 64, 8, 32
Tree = dict[str, Any]


def dataset(rows: slice) -> tuple[Any, Any]:
    """Some rows of the data, as a process would read them from its own files."""
    x = np.random.default_rng(0).normal(size=(ROWS, FEATURES)).astype(np.float32)
    y = np.sin(x).sum(1, keepdims=True)
    return x[rows], y[rows]


def loss(p: Tree, x: Any, y: Any) -> Any:
    return jnp.square(jnp.tanh(x @ p["expand"]) @ p["contract"] - y).mean()


@partial(jax.jit, donate_argnums=0)
def train_step(p: Tree, x: Any, y: Any) -> tuple[Tree, Any]:
    value, gradient = jax.value_and_grad(loss)(p, x, y)
    return jax.tree.map(lambda a, da: a - 0.1 * da, p, gradient), value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--distributed", action="store_true", help="join other processes")
    parser.add_argument("--steps", type=int, default=10)
    arguments = parser.parse_args()
    jax.config.update("jax_num_cpu_devices", 1 if arguments.distributed else DEVICES)
    if arguments.distributed:
        jax.distributed.initialize()

    mesh = jax.make_mesh((DEVICES,), ("data",), (jax.sharding.AxisType.Auto,))
    rows, whole = jax.NamedSharding(mesh, P("data")), jax.NamedSharding(mesh, P())
    share = ROWS // jax.process_count()
    first = share * jax.process_index()
    own_part = dataset(slice(first, first + share))
    x, y = [jax.make_array_from_process_local_data(rows, part) for part in own_part]

    keys = jax.random.split(jax.random.key(0))
    p = {
        "expand": 0.5 * jax.random.normal(keys[0], (FEATURES, HIDDEN)),
        "contract": 0.1 * jax.random.normal(keys[1], (HIDDEN, 1)),
    }
    # The gradients of parameters that are whole everywhere are added over all devices.
    p = jax.device_put(p, whole)
    losses = []
    for _ in range(arguments.steps):
        p, value = train_step(p, x, y)
        losses.append(float(value))
    if jax.process_index() == 0:
        print(f"{jax.process_count()} processes, {jax.device_count()} devices")
        print("losses", *[f"{value:.4f}" for value in losses])


if __name__ == "__main__":
    main()
