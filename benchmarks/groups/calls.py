"""What each call costs when everything is compiled: dispatch, trees, functions made anew."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ..timing import Figures, Scale, best

MANY = (1, 10, 100, 1000)


def dispatch(jax: Any, scale: Scale) -> Figures:
    """Warm calls of a compiled function of so many arrays."""
    jnp = jax.numpy
    figures = {}
    for count in MANY:
        xs = [jnp.ones(3) for _ in range(min(count, scale.leaves))]
        f = jax.jit(lambda xs: [x + 1.0 for x in xs])
        figures[f"jit call, {count} → {count}"] = best(lambda f=f, xs=xs: f(xs), scale)
    total = jax.jit(lambda xs: xs[0] + xs[-1])
    figures["jit call, 1000 → 1"] = best(lambda: total(xs), scale)
    state = {"w": jnp.ones(3), "b": jnp.ones(3)}
    update = jax.jit(lambda s, rate, step: (jax.tree.map(lambda x: x - rate, s), step + 1))
    figures["jit call, dict and numbers"] = best(lambda: update(state, 0.1, 3), scale)
    x = jnp.ones(3)
    compiled = jax.jit(lambda x: x + 1.0).lower(x).compile()
    figures["call of a compiled stage"] = best(lambda: compiled(x), scale)
    return figures


TREES: dict[str, Callable[[], Any]] = {
    "2-tuple": lambda: (1.0, 2.0),
    "nested dict": lambda: {
        f"layer{i}": {"w": 1.0, "b": 2.0, "norm": {"scale": 3.0, "offset": (4.0, None)}}
        for i in range(3)
    },
    "300 leaves": lambda: [{"w": float(i), "b": float(i)} for i in range(150)],
}


VERBS: dict[str, Callable[[Any, Any, list[Any], Any], Any]] = {
    "flatten": lambda tree, value, leaves, structure: tree.flatten(value),
    "unflatten": lambda tree, value, leaves, structure: tree.unflatten(structure, leaves),
    "map": lambda tree, value, leaves, structure: tree.map(lambda x: x, value),
    "map of two": lambda tree, value, leaves, structure: tree.map(lambda x, y: x, value, value),
    "hash": lambda tree, value, leaves, structure: hash(structure),
}


def trees(jax: Any, scale: Scale) -> Figures:
    """Flatten, unflatten and map trees."""
    figures = {}
    for name, make in TREES.items():
        value = make()
        arguments = (jax.tree, value, *jax.tree.flatten(value))
        for verb, call in VERBS.items():
            figures[f"{verb}, {name}"] = best(partial(call, *arguments), scale)
    return figures


def fresh_lambdas(jax: Any, scale: Scale) -> Figures:
    """Calls of functions that are written in place, so new objects each time."""
    lax, jnp = jax.lax, jax.numpy
    xs, one = jnp.arange(100.0), jnp.float32(1.0)
    calls = {
        "scan of a fresh lambda": lambda: lax.scan(lambda c, x: (c + x, c * x), one, xs)[0],
        "while_loop of fresh lambdas": lambda: lax.while_loop(
            lambda c: c < 100.0, lambda c: c + 1.0, one
        ),
        "cond of fresh lambdas": lambda: lax.cond(True, lambda x: x + 1, lambda x: x - 1, one),
        "jit of a fresh lambda": lambda: jax.jit(lambda x: x * 2.0)(one),
        "grad of a fresh lambda": lambda: jax.grad(lambda x: x * x)(one),
        "vmap of a fresh lambda": lambda: jax.vmap(lambda x: x * x)(xs),
    }
    return {
        name: best(lambda call=call: call().block_until_ready(), scale)
        for name, call in calls.items()
    }
