"""The programs, in the order in which `by_hand.c` takes their arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import morphax as jax
import morphax.numpy as jnp
from morphax import lax

Program = tuple[Callable[..., Any], tuple[np.ndarray[Any, Any], ...]]


def mlp(w1: Any, b1: Any, w2: Any, b2: Any, x: Any, y: Any, rate: Any) -> Any:
    """A training step of a perceptron with one hidden layer."""

    def loss(params: Any) -> Any:
        w1, b1, w2, b2 = params
        return jnp.mean((jnp.tanh(x @ w1 + b1) @ w2 + b2 - y) ** 2)

    params = (w1, b1, w2, b2)
    value, slopes = jax.value_and_grad(loss)(params)
    return value, jax.tree.map(lambda p, g: p - rate * g, params, slopes)


def kalman(f: Any, q: Any, seen: Any, r: Any, z: Any) -> Any:
    """A Kalman filter of 4 states, one of whose combinations is measured."""

    def update(state: Any, z: Any) -> Any:
        m, p = state
        m, p = f @ m, f @ p @ f.T + q
        ph = p @ seen
        gain = ph / (seen @ ph + r)
        m = m + gain * (z - seen @ m)
        return (m, p - jnp.outer(gain, ph)), m

    (_, covariance), means = lax.scan(update, (jnp.zeros(4), jnp.eye(4)), z)
    return means, covariance


def lorenz(start: Any) -> Any:
    """The Lorenz system by the method of Runge and Kutta."""

    def slope(s: Any) -> Any:
        x, y, z = s
        return jnp.stack([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z])

    def step(s: Any, _: Any) -> Any:
        k1 = slope(s)
        k2 = slope(s + 0.005 * k1)
        k3 = slope(s + 0.005 * k2)
        k4 = slope(s + 0.01 * k3)
        return s + 0.01 / 6 * (k1 + 2 * k2 + 2 * k3 + k4), None

    return lax.scan(step, start, None, length=1000)[0]


def programs() -> dict[str, Program]:
    """Functions and their arguments."""
    rng = np.random.default_rng(0)

    def draw(*shape: int) -> np.ndarray[Any, Any]:
        return rng.standard_normal(shape).astype(np.float32)

    layers = 0.3 * draw(16, 64), draw(64), 0.3 * draw(64, 4), draw(4)
    motion = np.float32(0.95) * np.eye(4, dtype=np.float32) + 0.1 * np.eye(4, k=1, dtype=np.float32)
    noise = 0.01 * np.eye(4, dtype=np.float32)
    seen = np.float32([1, 0, 0.5, 0])
    return {
        "mlp": (mlp, (*layers, draw(32, 16), draw(32, 4), np.array(0.1, np.float32))),
        "kalman": (kalman, (motion, noise, seen, np.array(0.5, np.float32), draw(500))),
        "lorenz": (lorenz, (np.float32([1, 2, 3]),)),
    }
