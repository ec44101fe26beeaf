"""The calls that programs make most, eager, on arrays of very many numbers.

`CALLS` is text, a call on each line.  Behind ``64:`` stands what is computed in 64 bits.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..timing import Figures, Scale, best

CALLS = """
-x
x * 2 + 1
x / y
x % y
i // j
i % j
jnp.log1p(p)
jnp.hypot(x, y)
jnp.nextafter(x, y)
jnp.sign(x)
jnp.clip(x, -1, 1)
jnp.isclose(x, y)
jnp.nan_to_num(x)
jnp.bitwise_count(i)
jnp.where(b, x, y)
a + v
v[:, None] - v
a - a.mean(0)
jnp.outer(v, v)
jnp.mean(x)
jnp.sum(a, 0)
jnp.max(a, 1)
jnp.var(a, 1)
jnp.prod(x)
jnp.diff(x)
jnp.gradient(x)
jnp.dot(x, y)
a @ v
v @ a
a @ a[:, :10]
stack @ stack
jnp.einsum("ij,ij->i", a, a)
jnp.flip(x)
x[1:-1]
x.at[::2].multiply(2)
jnp.take_along_axis(x, k, 0)
jnp.tril(a)
jnp.arange(n)
jnp.linspace(0, 1, n)
jnp.repeat(x, 2)
jnp.stack([x, y], 1)
jnp.pad(a, 5)
jnp.roll(x, 3)
jnp.polyval(q, x)
jnp.interp(x, q, q)
jnp.searchsorted(q, x)
h + h
x.astype(jnp.bfloat16)
x.astype(int)
jnp.abs(c)
nn.softmax(a)
nn.gelu(x)
nn.sigmoid(x)
64: d + d
64: jnp.exp(d)
64: jnp.clip(d, -1, 1)
64: jnp.nan_to_num(d)
64: jnp.dot(d, d)
64: jnp.var(d)
64: whole // 7
"""


def _operands(size: int) -> dict[str, Any]:
    """Numbers of each kind; those of 64 bits have longer names."""
    rng = np.random.default_rng(0)
    side = max(4, round(size**0.5))

    def normal(*shape: int) -> Any:
        return rng.normal(size=shape).astype(np.float32)

    return {
        **{name: normal(size) for name in "xy"},
        "p": rng.random(size, np.float32),
        **{name: rng.integers(1, 100, size).astype(np.int32) for name in "ij"},
        "k": rng.integers(0, size, size).astype(np.int32),
        "b": rng.random(size) < 0.5,
        "a": normal(side, side),
        "v": normal(side),
        "stack": normal(max(1, size // 400), 20, 20),
        "q": np.sort(normal(10)),
        "c": (normal(size) + 1j * normal(size)).astype(np.complex64),
        "d": rng.normal(size=size),
        "whole": rng.integers(1, 1000, size),
    }


def warm(jax: Any, scale: Scale) -> Figures:
    """Calls on operands that were seen before."""
    jnp, short, figures = jax.numpy, replace(scale, seconds=scale.seconds / 4), {}
    with jax.enable_x64(True):
        names = {name: jnp.asarray(x) for name, x in _operands(scale.elements).items()}
    names["h"] = names["x"].astype(jnp.bfloat16)
    names |= {"jnp": jnp, "nn": jax.nn, "n": scale.elements}
    for line in CALLS.strip().splitlines():
        text = line.removeprefix("64: ")
        call = eval(f"lambda: {text}", names)
        with jax.enable_x64(text != line):
            figures[f"of very many, {text}"] = best(partial(_ready, jax, call), short)
    return figures


def _ready(jax: Any, call: Any) -> None:
    jax.block_until_ready(call())
