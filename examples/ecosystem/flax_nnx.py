"""Flax nnx: a network with state trained in place, scanned layers, and variables of a high type."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Block(nnx.Module):
    def __init__(self, size: int, rngs: nnx.Rngs):
        self.linear = nnx.Linear(size, size, rngs=rngs)
        self.norm = nnx.LayerNorm(size, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        return x + nnx.gelu(self.linear(self.norm(x)))


class Net(nnx.Module):
    def __init__(self, size: int, depth: int, rngs: nnx.Rngs):
        @nnx.split_rngs(splits=depth)
        @nnx.vmap(in_axes=(0,), out_axes=0)
        def make(rngs: nnx.Rngs) -> Block:
            return Block(size, rngs)

        self.conv = nnx.Conv(1, size, (3, 3), use_bias=False, rngs=rngs)
        self.norm = nnx.BatchNorm(size, rngs=rngs)
        self.dropout = nnx.Dropout(0.1, rngs=rngs)
        self.blocks = make(rngs)
        self.out = nnx.Linear(size, 3, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        @nnx.scan(in_axes=(nnx.Carry, 0), out_axes=nnx.Carry)
        @nnx.remat
        def through(x: jax.Array, block: Block) -> jax.Array:
            return block(x)

        x = nnx.relu(self.norm(self.conv(x))).mean((1, 2))
        return self.out(through(self.dropout(x), self.blocks))


def trained() -> list[float]:
    images = jnp.sin(jnp.arange(16 * 8 * 8.0)).reshape(16, 8, 8, 1)
    labels = jnp.arange(16) % 3
    net = Net(8, 3, nnx.Rngs(0))
    optimizer = nnx.Optimizer(net, optax.adam(1e-2), wrt=nnx.Param)

    @nnx.jit
    def step(net: Net, optimizer: nnx.Optimizer) -> jax.Array:
        def loss(net: Net) -> jax.Array:
            losses = optax.softmax_cross_entropy_with_integer_labels(net(images), labels)
            return losses.mean()

        value, gradient = nnx.value_and_grad(loss)(net)
        optimizer.update(net, gradient)
        return value

    values = [float(step(net, optimizer)) for _ in range(10)][::3]
    graph, parameters, rest = nnx.split(net, nnx.Param, ...)
    again = nnx.merge(graph, parameters, rest)
    again.eval()
    return [*values, float(again(images).sum()), float(again.norm.mean[...].sum())]


def in_place() -> list[float]:
    """Variables as values of a type of their own, which plain transformations of JAX change."""
    with nnx.var_defaults(hijax=True):
        total, rngs = nnx.Variable(jnp.zeros(3)), nnx.Rngs(1)

    @jax.jit
    def add(total: nnx.Variable, rngs: nnx.Rngs) -> jax.Array:
        def step(carry: jax.Array, x: jax.Array) -> tuple[jax.Array, None]:
            total[...] += x * carry
            return carry + 1, None

        draws = jax.random.normal(rngs(), (4, 3))
        return jax.lax.scan(step, 1.0, draws)[0]

    carries = [float(add(total, rngs)) for _ in range(2)]
    return [*carries, float(total[...].sum()), float(rngs.default.count[...])]


def main() -> list[float]:
    return trained() + in_place()


if __name__ == "__main__":
    print(main())
