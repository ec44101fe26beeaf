"""The programs, in the order in which `by_hand.c` takes their arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import morphax as jax
import morphax.numpy as jnp

from ..small_programs.loops import kalman, lorenz

Program = tuple[Callable[..., Any], tuple[np.ndarray[Any, Any], ...]]


def mlp(w1: Any, b1: Any, w2: Any, b2: Any, x: Any, y: Any, rate: Any) -> Any:
    """A training step of a perceptron with one hidden layer."""

    def loss(params: Any) -> Any:
        w1, b1, w2, b2 = params
        return jnp.mean((jnp.tanh(x @ w1 + b1) @ w2 + b2 - y) ** 2)

    params = (w1, b1, w2, b2)
    value, slopes = jax.value_and_grad(loss)(params)
    return value, jax.tree.map(lambda p, g: p - rate * g, params, slopes)


def programs() -> dict[str, Program]:
    """Functions and their arguments."""
    rng = np.random.default_rng(0)

    def draw(*shape: int) -> np.ndarray[Any, Any]:
        return rng.standard_normal(shape).astype(np.float32)

    layers = 0.3 * draw(16, 64), draw(64), 0.3 * draw(64, 4), draw(4)
    return {
        "mlp": (mlp, (*layers, draw(32, 16), draw(32, 4), np.array(0.1, np.float32))),
        "kalman": kalman(jax),
        "lorenz": lorenz(jax),
    }
