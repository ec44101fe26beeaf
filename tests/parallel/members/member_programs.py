"""Random programs of members, and what they mean: `vmap` over the axes of the mesh, on one device.

What a spec does not name is the same for all members along an axis, so there `vmap` shares operands
and the whole takes the result of the first member.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import morphax as jax
import morphax.numpy as jnp
from morphax import P, lax

SIZES = {"x": 2, "y": 2}
KINDS = (
    *("add", "mul", "sin", "psum", "pmean", "gather", "scatter", "permute", "exchange", "index"),
    *("branch", "common branch", "scan", "while", "read", "relu", "remat", "jit", "vmap", "select"),
)
Step = tuple[str, int, int, tuple[str, ...]]
AXES = (("x",), ("y",), ("x", "y"))


def random_steps(seed: int) -> list[Step]:
    """A few steps, each on values that are there before."""
    rng = random.Random(seed)
    return [
        (rng.choice(KINDS), rng.randrange(100), rng.randrange(100), rng.choice(AXES))
        for _ in range(rng.randint(3, 8))
    ]


def member_of(steps: Sequence[Step]) -> Callable[..., Any]:
    """The program of a member: x of (4,), w of (4,), b of (4,) → a vector, and a number for all."""

    def member(x: Any, w: Any, b: Any) -> tuple[Any, Any]:
        values = [x, w, b, x * w]
        for kind, i, j, axes in steps:
            u, v = values[i % len(values)], values[j % len(values)]
            values.append(_step(kind, u, v, axes, w))
        out = values[-1]
        return out, lax.psum(_varying(jnp.sum(out), ("x", "y")), ("x", "y"))

    return member


def _varying(x: Any, axes: tuple[str, ...]) -> Any:
    """The value as one that varies over axes, where types tell."""
    missing = tuple([name for name in axes if name not in jax.typeof(x).vma])
    return lax.pcast(x, missing, to="varying") if missing else x


def _step(kind: str, u: Any, v: Any, axes: tuple[str, ...], w: Any) -> Any:
    count = 4 if len(axes) == 2 else 2
    local = {
        "add": lambda: u + v,
        "mul": lambda: u * v * 0.5,
        "sin": lambda: jnp.sin(u) + 1.0,
        "index": lambda: u * (lax.axis_index(axes[0]) + 1.0),
        "scan": lambda: lax.scan(lambda c, _: (jnp.sin(c) * 0.5 + u, None), u, None, length=3)[0],
        "while": lambda: lax.fori_loop(0, 3, lambda _, c: c * 0.9 + 0.1 * u, jnp.zeros(4)),
        "read": lambda: w * u[::-1],
        "relu": lambda: jax.nn.relu(u - 0.3),
        "remat": lambda: jax.checkpoint(lambda t: jnp.sin(jnp.sin(t)) * w)(u),
        "jit": lambda: jax.jit(lambda s, t: jnp.tanh(s) * t)(u, v),
        "vmap": lambda: jax.vmap(lambda s, t: s * t + lax.axis_index("y"))(u, v),
        "select": lambda: jnp.where(u > 0.5, v, u * 2.0),
        "common branch": lambda: lax.cond(
            lax.psum(jnp.float32(1), axes) > 1, lambda t: t * 3.0, lambda t: t * t, u
        ),
    }
    if kind in local:
        return local[kind]()
    u = _varying(u, axes)
    between = {
        "psum": lambda: lax.psum(u, axes) * 0.25,
        "pmean": lambda: lax.pmean(u, axes),
        "gather": lambda: lax.all_gather(u, axes, tiled=True).reshape(-1, 4).mean(0),
        "scatter": lambda: lax.psum_scatter(
            jnp.tile(u, count) * jnp.arange(1.0, 4 * count + 1), axes, tiled=True
        ),
        "permute": lambda: lax.ppermute(u, axes[0], [(0, 1)]),
        "exchange": lambda: lax.all_to_all(
            u.reshape(2, 2), axes[0], split_axis=0, concat_axis=0, tiled=True
        ).reshape(4),
        "branch": lambda: lax.cond(
            lax.axis_index(axes[0]) > 0, lambda t: t * 2.0, lambda t: jnp.cos(t), u
        ),
    }
    return between[kind]()


def by_members(member: Callable[..., Any], mesh: Any, check_vma: bool) -> Callable[..., Any]:
    """x of (16,), w of (4,), b of (8,), each device with its shards."""
    return jax.shard_map(
        member,
        mesh=mesh,
        in_specs=(P(("x", "y")), P(), P("x")),
        out_specs=(P(("x", "y")), P()),
        check_vma=check_vma,
    )


def by_vmap(member: Callable[..., Any]) -> Callable[..., Any]:
    """The same on one device."""

    def whole(x: Any, w: Any, b: Any) -> tuple[Any, Any]:
        inner = jax.vmap(member, in_axes=(0, None, None), axis_name="y")
        outer = jax.vmap(inner, in_axes=(0, None, 0), axis_name="x")
        out, total = outer(x.reshape(2, 2, 4), w, b.reshape(2, 4))
        return out.reshape(16), total[0, 0]

    return whole
