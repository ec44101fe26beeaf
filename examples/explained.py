"""The programs that explain composable transformations, one after the other.

    python examples/explained.py

Each section is a few lines that run as they would with JAX; only the import differs.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import morphax as jax
import morphax.numpy as jnp


def predict(params: Any, inputs: Any) -> Any:
    """A multi-layer perceptron."""
    for w, b in params:
        outputs = jnp.dot(inputs, w) + b
        inputs = jnp.tanh(outputs)
    return outputs


def loss(params: Any, inputs: Any, targets: Any) -> Any:
    predictions = predict(params, inputs)
    return jnp.sum((predictions - targets) ** 2)


def gradients_in_one_and_many() -> None:
    """grad, one gradient per example by vmap of grad, and both compiled."""
    keys = jax.random.split(jax.random.key(0), 2)
    params = [(jax.random.normal(k, (3, 3)), jnp.zeros(3)) for k in keys]
    inputs, targets = jnp.ones((4, 3)), jnp.zeros((4, 3))
    grad_loss = jax.jit(jax.grad(loss))
    per_example = jax.jit(jax.vmap(jax.grad(loss), in_axes=(None, 0, 0)))
    whole = grad_loss(params, inputs, targets)
    each = per_example(params, inputs, targets)
    same = np.allclose(whole[0][0], each[0][0].sum(0), rtol=1e-5)
    print("the gradient is the sum of the per-example gradients:", same)


def log2(x: Any) -> Any:
    return jnp.log(x) / jnp.log(2.0)


def a_jaxpr() -> None:
    """What tracing records."""
    print(jax.make_jaxpr(log2)(3.0))


def convolve(x: Any, w: Any) -> Any:
    """One signal, one kernel, no thought of batches."""
    return jnp.array([jnp.dot(x[i - 1 : i + 2], w) for i in range(1, len(x) - 1)])


def batching_in_other_axes() -> None:
    """in_axes and out_axes choose where the batch lies."""
    x, w = jnp.arange(5.0), jnp.array([2.0, 3.0, 4.0])
    xs, ws = jnp.stack([x, x]), jnp.stack([w, w])
    print(jax.vmap(convolve)(xs, ws))
    print(jax.vmap(convolve, in_axes=1, out_axes=1)(xs.T, ws.T).T)
    print(jax.vmap(convolve, in_axes=(0, None))(xs, w))


def python_control_flow() -> None:
    """A Python loop needs a concrete value: mark it static."""

    def power(x: Any, n: Any) -> Any:
        out = 1.0
        while n > 0:
            out, n = out * x, n - 1
        return out

    try:
        jax.jit(power)(2.0, 3)
    except jax.errors.TracerBoolConversionError as error:
        print(str(error).splitlines()[0])
    print(jax.jit(power, static_argnames="n")(2.0, n=3))


def trees() -> None:
    """Containers are trees; their leaves have paths."""
    tree = {"layer": [jnp.ones(2), jnp.zeros(3)], "scale": 2.0}
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        print(jax.tree_util.keystr(path), jnp.shape(leaf))


def pure_counters() -> None:
    """State goes in and comes out."""

    @jax.jit
    def count(state: Any) -> tuple[Any, Any]:
        return state, state + 1

    state = 0
    for _ in range(3):
        value, state = count(state)
        print(value)


def updates_and_bounds() -> None:
    """Arrays do not change; reads out of bounds clamp, writes are dropped."""
    x = jnp.arange(4.0)
    print(x.at[1].set(10.0), x.at[9].set(10.0), x[9])
    try:
        x[0] = 1.0  # type: ignore[index]
    except TypeError as error:
        print(str(error).splitlines()[-1].strip())


def structured_control_flow() -> None:
    """Loops and branches that are part of the program."""
    print(jax.lax.cond(True, lambda x: x + 1, lambda x: x - 1, 1.0))
    print(jax.lax.while_loop(lambda x: x < 10, lambda x: x * 2, 1))
    print(jax.lax.fori_loop(0, 5, lambda i, x: x + i, 0))
    total, partial = jax.lax.scan(lambda c, x: (c + x, c + x), 0.0, jnp.arange(4.0))
    print(total, partial)


def printing_inside() -> None:
    """debug.print runs when the program runs."""

    @functools.partial(jax.jit, static_argnums=1)
    def f(x: Any, name: str) -> Any:
        jax.debug.print("{name} = {x}", name=name, x=x)
        return x * 2

    f(jnp.float32(3.0), "x")


SECTIONS = (
    gradients_in_one_and_many,
    a_jaxpr,
    batching_in_other_axes,
    python_control_flow,
    trees,
    pure_counters,
    updates_and_bounds,
    structured_control_flow,
    printing_inside,
)


def main() -> None:
    for section in SECTIONS:
        print(f"— {(section.__doc__ or '').strip()}")
        section()


if __name__ == "__main__":
    main()
