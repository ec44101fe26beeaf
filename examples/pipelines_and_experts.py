"""Layers on devices of their own, and experts on devices of their own: `shard_map` by hand.

    python examples/pipelines_and_experts.py [--steps 5]

What the compiler does not find by itself, members of a mesh do in so many words:

- pipeline parallel: four devices hold one layer each, two such rows share the batch.  A batch is
  cut into small ones; in each tick every device works on the one that its neighbour has passed on.
- expert parallel: eight devices hold one expert each and an eighth of the tokens.  A token goes to
  the expert that its gate names, and comes back.

Both are functions like others: `jax.grad` finds out who sends which cotangents back.  The losses
are those of one device that has all layers or all experts.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any

import morphax as jax
import morphax.numpy as jnp
from morphax import P, lax

STAGES, EXPERTS, WIDTH, HIDDEN, BATCH, SMALL = 4, 8, 16, 32, 64, 4
Tree = dict[str, Any]
AUTO = jax.sharding.AxisType.Auto


def initial_parameters(key: Any, count: int) -> Tree:
    """As many perceptrons, and a gate that chooses among them."""
    keys = jax.random.split(key, 3)
    shapes = {"up": (count, WIDTH, HIDDEN), "down": (count, HIDDEN, WIDTH), "gate": (WIDTH, count)}
    return {
        name: 0.3 * jax.random.normal(k, shape)
        for k, (name, shape) in zip(keys, shapes.items(), strict=True)
    }


def layer(up: Any, down: Any, x: Any) -> Any:
    return x + jnp.tanh(x @ up) @ down


def error(x: Any, wanted: Any) -> Any:
    return jnp.square(x - wanted).mean()


def layers_alone(p: Tree, x: Any, wanted: Any) -> Any:
    """One layer after the other, on one device."""
    for up, down in zip(p["up"], p["down"], strict=True):
        x = layer(up, down, x)
    return error(x, wanted)


def layers_in_a_pipeline(p: Tree, x: Any, wanted: Any) -> Any:
    """What a member of the mesh (stage, data) does: it has one layer, and its part of the batch."""
    stage = lax.axis_index("stage")
    apply = partial(layer, p["up"][0], p["down"][0])
    small = x.reshape(SMALL, -1, WIDTH)
    onwards = [(i, i + 1) for i in range(STAGES - 1)]

    def tick(passed: Any, t: Any) -> tuple[Any, Any]:
        # The first stage takes the next small batch, the others what they were passed.
        own = jnp.where(stage == 0, small[jnp.minimum(t, SMALL - 1)], passed)
        done = apply(own)
        return lax.ppermute(done, "stage", onwards), done

    _, done = lax.scan(tick, jnp.zeros_like(small[0]), jnp.arange(SMALL + STAGES - 1))
    # The last stage has finished the first small batch after as many ticks as there are others.
    out = done[STAGES - 1 :].reshape(-1, WIDTH)
    return lax.pmean(
        lax.psum(jnp.where(stage == STAGES - 1, error(out, wanted), 0), "stage"), "data"
    )


def chosen_expert(gate: Any, x: Any) -> tuple[Any, Any]:
    """The number of the expert for each token, and how much its answer counts."""
    weights = jax.nn.softmax(x @ gate)
    expert = jnp.argmax(weights, -1)
    return expert, jnp.take_along_axis(weights, expert[:, None], -1)


def experts_alone(p: Tree, x: Any, wanted: Any) -> Any:
    """Every token with its expert, on one device."""
    expert, weight = chosen_expert(p["gate"], x)
    answers = jax.vmap(layer)(p["up"][expert], p["down"][expert], x)
    return error(weight * answers, wanted)


def experts_apart(p: Tree, x: Any, wanted: Any) -> Any:
    """What a member of the mesh (expert,) does: it has one expert, and its part of the tokens."""
    expert, weight = chosen_expert(p["gate"], x)
    # There is room for all own tokens at each expert; what is not used is zero.
    choice = jax.nn.one_hot(expert, EXPERTS)
    sent = jnp.einsum("te,tw->etw", choice, x)
    received = lax.all_to_all(sent, "expert", 0, 0, tiled=True)
    answers = layer(p["up"][0], p["down"][0], received)
    returned = lax.all_to_all(answers, "expert", 0, 0, tiled=True)
    return lax.pmean(error(weight * jnp.einsum("te,etw->tw", choice, returned), wanted), "expert")


def train(name: str, loss: Callable[..., Any], count: int, steps: int) -> list[float]:
    """The losses of as many steps of gradient descent."""
    p = initial_parameters(jax.random.key(0), count)
    x = jax.random.normal(jax.random.key(1), (BATCH, WIDTH))
    wanted = jnp.roll(x, 1, axis=1)

    @jax.jit
    def step(p: Tree) -> tuple[Tree, Any]:
        value, gradient = jax.value_and_grad(loss)(p, x, wanted)
        return jax.tree.map(lambda q, dq: q - 0.3 * dq, p, gradient), value

    losses = []
    for _ in range(steps):
        p, value = step(p)
        losses.append(float(value))
    print(f"{name:20} loss {losses[0]:.4f} to {losses[-1]:.4f}")
    return losses


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=5)
    steps = parser.parse_args().steps
    jax.config.update("jax_num_cpu_devices", 8)
    rows = jax.make_mesh((STAGES, 2), ("stage", "data"), (AUTO, AUTO))
    one_each = {"up": P("stage"), "down": P("stage"), "gate": P()}
    pipeline = jax.shard_map(
        layers_in_a_pipeline, mesh=rows, in_specs=(one_each, P("data"), P("data")), out_specs=P()
    )
    circle = jax.make_mesh((EXPERTS,), ("expert",), (AUTO,))
    one_each = {"up": P("expert"), "down": P("expert"), "gate": P()}
    experts = jax.shard_map(
        experts_apart, mesh=circle, in_specs=(one_each, P("expert"), P("expert")), out_specs=P()
    )
    for name, alone, spread, count in (
        ("layers", layers_alone, pipeline, STAGES),
        ("experts", experts_alone, experts, EXPERTS),
    ):
        expected = train(f"{name}, one device", alone, count, steps)
        found = train(f"{name}, eight devices", spread, count, steps)
        # Sums are taken in another order, and the difference grows with the steps.
        assert jnp.allclose(jnp.array(found), jnp.array(expected), rtol=1e-3)
    print("The losses are the same.")


if __name__ == "__main__":
    main()
