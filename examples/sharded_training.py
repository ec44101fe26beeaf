"""A small transformer, trained on one device and on eight: the same losses, whatever is split.

    python examples/sharded_training.py [--steps 10]

The function that is trained knows nothing of devices. A *layout* is a mesh and, for each parameter,
the axes of the mesh that its own axes are split over; the compiler finds out what the devices have
to tell each other. Three layouts are shown:

- data parallel: each device has all parameters and an eighth of the batch;
- tensor parallel: four devices share the heads and the hidden units, two such groups the batch;
- fully sharded: each device keeps an eighth of every parameter and gathers them when needed.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import morphax as jax
import morphax.numpy as jnp

P = jax.P
VOCABULARY, WIDTH, HEADS, HIDDEN, LENGTH, BATCH = 32, 32, 4, 64, 16, 16
Tree = dict[str, Any]


@dataclass(frozen=True)
class Layout:
    """How a training step is spread over devices.

    Args:
        name: what people call it.
        axes: names and sizes of the axes of the mesh.
        batch: how a batch of token sequences is split.
        parameters: how each parameter is split; those that are not named are whole everywhere.
    """

    name: str
    axes: dict[str, int]
    batch: Any
    parameters: dict[str, Any]


LAYOUTS = (
    Layout("one device", {"data": 1}, P(), {}),
    Layout("data parallel", {"data": 8}, P("data"), {}),
    Layout(
        "tensor parallel",
        {"data": 2, "model": 4},
        P("data"),
        {
            "query_key_value": P(None, None, "model"),
            "projection": P("model"),
            "expand": P(None, "model"),
            "contract": P("model"),
        },
    ),
    Layout(
        "fully sharded",
        {"data": 8},
        P("data"),
        {
            "embedding": P("data"),
            "positions": P("data"),
            "query_key_value": P(None, "data"),
            "projection": P(None, None, "data"),
            "expand": P("data"),
            "contract": P("data"),
        },
    ),
)


def initial_parameters(key: Any) -> Tree:
    shapes = {
        "embedding": (VOCABULARY, WIDTH),
        "positions": (LENGTH, WIDTH),
        "query_key_value": (3, WIDTH, HEADS, WIDTH // HEADS),
        "projection": (HEADS, WIDTH // HEADS, WIDTH),
        "expand": (WIDTH, HIDDEN),
        "contract": (HIDDEN, WIDTH),
    }
    keys = jax.random.split(key, len(shapes))
    pairs = zip(keys, shapes.items(), strict=True)
    return {name: 0.1 * jax.random.normal(k, shape) for k, (name, shape) in pairs}


def normalized(x: Any) -> Any:
    centered = x - x.mean(-1, keepdims=True)
    return centered * jax.lax.rsqrt(jnp.square(centered).mean(-1, keepdims=True) + 1e-5)


def logits(p: Tree, tokens: Any) -> Any:
    """One block: attention to earlier tokens, then a perceptron; `(batch, length, vocabulary)`."""
    x = p["embedding"][tokens] + p["positions"]
    q, k, v = jnp.einsum("btw,swhd->sbhtd", normalized(x), p["query_key_value"])
    scores = jnp.einsum("bhtd,bhsd->bhts", q, k) / jnp.sqrt(WIDTH / HEADS)
    seen = jnp.tril(jnp.ones((LENGTH, LENGTH), bool))
    weights = jax.nn.softmax(jnp.where(seen, scores, -jnp.inf))
    x = x + jnp.einsum("bhts,bhsd,hdw->btw", weights, v, p["projection"])
    x = x + jax.nn.gelu(normalized(x) @ p["expand"]) @ p["contract"]
    return normalized(x) @ p["embedding"].T


def loss(p: Tree, tokens: Any) -> Any:
    """The mean surprise at each next token, in nats."""
    log_p = jax.nn.log_softmax(logits(p, tokens[:, :-1]))
    return -jnp.take_along_axis(log_p, tokens[:, 1:, None], -1).mean()


@partial(jax.jit, donate_argnums=0)
def train_step(p: Tree, tokens: Any) -> tuple[Tree, Any]:
    """The parameters after one step of gradient descent, and the loss before it.

    Old parameters are given up for new ones, which the compiler lays out in the same way.
    """
    value, gradient = jax.value_and_grad(loss)(p, tokens)
    return jax.tree.map(lambda x, dx: x - 0.5 * dx, p, gradient), value


def batch_of_tokens(key: Any) -> Any:
    """Sequences that count in strides: `(batch, length + 1)`."""
    first, stride = jax.random.randint(key, (2, BATCH, 1), 1, 6)
    return (first + stride * jnp.arange(LENGTH + 1)) % VOCABULARY


def train(layout: Layout, steps: int) -> list[float]:
    """The losses of the steps, with everything laid out so."""
    shape = tuple(layout.axes.values())
    devices = jax.devices("cpu")[: math.prod(shape)]
    kinds = (jax.sharding.AxisType.Auto,) * len(shape)
    mesh = jax.make_mesh(shape, tuple(layout.axes), kinds, devices=devices)
    p = initial_parameters(jax.random.key(0))
    place = {name: jax.NamedSharding(mesh, layout.parameters.get(name, P())) for name in p}
    rows = jax.NamedSharding(mesh, layout.batch)

    p = jax.device_put(p, place)
    losses = []
    for key in jax.random.split(jax.random.key(1), steps):
        p, value = train_step(p, jax.device_put(batch_of_tokens(key), rows))
        losses.append(float(value))
    assert all(p[name].sharding.is_equivalent_to(place[name], p[name].ndim) for name in p)
    share = sum(x.addressable_shards[0].data.size for x in jax.tree.leaves(p))
    size = sum(x.size for x in jax.tree.leaves(p))
    print(f"{layout.name:16} {share:6} of {size} parameters on each device,", end=" ")
    print(f"loss {losses[0]:.4f} to {losses[-1]:.4f}")
    return losses


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=10)
    arguments = parser.parse_args()
    jax.config.update("jax_num_cpu_devices", 8)
    alone, *spread = [train(layout, arguments.steps) for layout in LAYOUTS]
    for losses in spread:
        # Sums are taken in another order, and the difference grows with the steps.
        assert jnp.allclose(jnp.array(losses), jnp.array(alone), rtol=1e-3)
    print("All layouts give the same losses.")


if __name__ == "__main__":
    main()
