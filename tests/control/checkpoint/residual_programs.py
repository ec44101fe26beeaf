"""Programs and policies whose residuals under `checkpoint` are compared with JAX's.

Each takes the module `jax` (that one, or this package).  `residuals_golden.json` holds what JAX
0.10.1 keeps for each pair: the type of each residual, and whether it is an argument, a constant, or
computed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Program = tuple[Callable[..., Any], tuple[Any, ...]]

SQUARE = np.ones((3, 3), np.float32)
VECTOR = np.ones(3, np.float32)
ROWS = np.ones((4, 3), np.float32)
PARAMS = {"w1": SQUARE, "w2": SQUARE}


def _mlp(jax: Any) -> Callable[..., Any]:
    jnp, name = jax.numpy, jax.ad_checkpoint.checkpoint_name

    def mlp(p: Any, x: Any) -> Any:
        h = name(jnp.sin(name(jnp.dot(x, p["w1"]), "h")), "a")
        return name(jnp.dot(h, p["w2"]), "o").sum()

    return mlp


def chain(jax: Any) -> Program:
    jnp = jax.numpy
    return lambda x: jnp.sin(jnp.cos(jnp.sin(x))), (VECTOR,)


def exponential(jax: Any) -> Program:
    return lambda x, y: jax.numpy.exp(x * y).sum(), (VECTOR, VECTOR)


def mlp(jax: Any) -> Program:
    return _mlp(jax), (PARAMS, ROWS)


def mlp_after_a_layer(jax: Any) -> Program:
    jnp, f = jax.numpy, _mlp(jax)
    return lambda p, x: f(p, jnp.sin(jnp.dot(jnp.cos(x), p["w2"]))), (PARAMS, ROWS)


def batched_product(jax: Any) -> Program:
    numbers = (((2,), (1,)), ((0,), (0,)))
    operands = np.ones((2, 4, 3), np.float32), np.ones((2, 3, 3), np.float32)
    return lambda x, w: jax.numpy.sin(jax.lax.dot_general(x, w, numbers)).sum(), operands


def call(jax: Any) -> Program:
    jnp = jax.numpy

    def function(w: Any, x: Any) -> Any:
        return jnp.sin(jax.jit(lambda x: jnp.sin(jnp.dot(w, jnp.sin(x))))(x))

    return function, (SQUARE, VECTOR)


def loop(jax: Any) -> Program:
    jnp = jax.numpy

    def function(w: Any, x: Any) -> Any:
        return jax.lax.scan(lambda c, _: (jnp.sin(jnp.dot(w, c)), None), x, None, length=5)[0]

    return function, (SQUARE, VECTOR)


def loop_with_slices(jax: Any) -> Program:
    jnp = jax.numpy

    def function(w: Any, xs: Any) -> Any:
        step = lambda c, x: (jnp.sin(jnp.dot(w, c)) * x, jnp.cos(c))  # noqa: E731
        return jax.lax.scan(step, xs[0], xs)[1]

    return function, (SQUARE, ROWS)


def branches(jax: Any) -> Program:
    jnp = jax.numpy

    def function(w: Any, x: Any) -> Any:
        taken, other = lambda x: jnp.sin(jnp.dot(w, x)), lambda x: jnp.cos(x) * x
        return jax.lax.cond(x[0] > 0, taken, other, x)

    return function, (SQUARE, VECTOR)


def loop_without_tangent(jax: Any) -> Program:
    lax = jax.lax

    def function(x: Any) -> Any:
        doubled = lax.while_loop(lambda x: x[0] < 10, lambda x: x * 2, x)
        return jax.numpy.sin(lax.stop_gradient(doubled) * x)

    return function, (VECTOR,)


def nested(jax: Any) -> Program:
    jnp = jax.numpy

    def function(w: Any, x: Any) -> Any:
        return jnp.sin(jax.checkpoint(lambda x: jnp.sin(jnp.dot(w, jnp.sin(x))))(x))

    return function, (SQUARE, VECTOR)


PROGRAMS = {
    f.__name__: f
    for f in (
        chain,
        exponential,
        mlp,
        mlp_after_a_layer,
        batched_product,
        call,
        loop,
        loop_with_slices,
        branches,
        loop_without_tangent,
        nested,
    )
}


def policies(jax: Any) -> dict[str, Any]:
    """All policies; those about names concern the activations of the MLP."""
    known = jax.checkpoint_policies
    memories = {"offload_src": "device", "offload_dst": "pinned_host"}
    return {
        "None": None,
        "everything_saveable": known.everything_saveable,
        "nothing_saveable": known.nothing_saveable,
        "dots_saveable": known.dots_saveable,
        "dots_with_no_batch_dims_saveable": known.dots_with_no_batch_dims_saveable,
        "offload_dot_with_no_batch_dims": known.offload_dot_with_no_batch_dims(*memories.values()),
        "save_anything_except_these_names": known.save_anything_except_these_names("a"),
        "save_any_names_but_these": known.save_any_names_but_these("a"),
        "save_only_these_names": known.save_only_these_names("a"),
        "save_from_both_policies": known.save_from_both_policies(
            known.save_only_these_names("a"), known.dots_saveable
        ),
        "save_and_offload_only_these_names": known.save_and_offload_only_these_names(
            names_which_can_be_saved=["a"], names_which_can_be_offloaded=["h"], **memories
        ),
    }


def described(residuals: list[tuple[Any, str]]) -> list[str]:
    """What is compared: types, and the kind of origin; literals take no memory."""
    kinds = [
        (aval, origin if origin.startswith("from") else "computed") for aval, origin in residuals
    ]
    return sorted(
        f"{aval.str_short(short_dtypes=True).replace('<host>', '')} {kind}"
        for aval, kind in kinds
        if kind != "from a literal"
    )
