"""Programs whose steps are a few operations on numbers or short vectors.

Each function takes the package and how many steps to make, and returns a program with its operands.
`by_hand.c` has the same programs, under the same names, for as many steps as are the default here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Numbers = np.ndarray[Any, Any]
Program = tuple[Callable[..., Any], tuple[Numbers, ...]]


def _draws(*shape: int, seed: int = 0) -> Numbers:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def lorenz(jax: Any, steps: int = 1000) -> Program:
    """The Lorenz system by the method of Runge and Kutta."""
    jnp = jax.numpy

    def slope(s: Any) -> Any:
        x, y, z = s
        return jnp.stack([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z])

    def step(s: Any, _: Any) -> Any:
        k1 = slope(s)
        k2 = slope(s + 0.005 * k1)
        k3 = slope(s + 0.005 * k2)
        k4 = slope(s + 0.01 * k3)
        return s + 0.01 / 6 * (k1 + 2 * k2 + 2 * k3 + k4), None

    return lambda s: jax.lax.scan(step, s, None, length=steps)[0], (np.float32([1, 2, 3]),)


def _ring(jax: Any, x: Any, steps: int) -> Any:
    def step(s: Any, _: Any) -> Any:
        following = (*s[1:], s[0])
        moved = [a + 0.01 * jax.numpy.sin(b - a) for a, b in zip(s, following, strict=True)]
        return tuple(moved), None

    s, _ = jax.lax.scan(step, tuple([x[i] for i in range(16)]), None, length=steps)
    return jax.numpy.stack(s)


def coupled(jax: Any, steps: int = 600) -> Program:
    """Sixteen oscillators in a ring, each a carry of its own."""
    return lambda x: _ring(jax, x, steps), (_draws(16),)


def coupled_gradient(jax: Any, steps: int = 600) -> Program:
    """The gradient of where they end."""
    return jax.grad(lambda x: (_ring(jax, x, steps) ** 2).sum()), (_draws(16),)


def kalman(jax: Any, steps: int = 500) -> Program:
    """A Kalman filter of 4 states, one of whose combinations is measured."""
    jnp = jax.numpy

    def run(f: Any, q: Any, seen: Any, r: Any, z: Any) -> Any:
        def update(state: Any, z: Any) -> Any:
            m, p = state
            m, p = f @ m, f @ p @ f.T + q
            ph = p @ seen
            gain = ph / (seen @ ph + r)
            m = m + gain * (z - seen @ m)
            return (m, p - jnp.outer(gain, ph)), m

        (_, covariance), means = jax.lax.scan(update, (jnp.zeros(4), jnp.eye(4)), z)
        return means, covariance

    eye = np.eye(4, dtype=np.float32)
    motion = np.float32(0.95) * eye + np.float32(0.1) * np.eye(4, k=1, dtype=np.float32)
    noise, seen, r = np.float32(0.01) * eye, np.float32([1, 0, 0.5, 0]), np.array(0.5, np.float32)
    return run, (motion, noise, seen, r, _draws(steps))


def newton(jax: Any, steps: int = 2000) -> Program:
    """A damped iteration of Newton's for a square root."""

    def run(a: Any) -> Any:
        def body(state: Any) -> Any:
            i, x = state
            return i + 1, x - 0.01 * (x * x - a) / (2.0 * x)

        return jax.lax.while_loop(lambda s: s[0] < steps, body, (0, a + 1.0))[1]

    return run, (np.array(7.0, np.float32),)


def divergent(jax: Any, steps: int = 10_000) -> Program:
    """A batch of loops of which one is a thousand times as long as the others."""

    def one(n: Any) -> Any:
        def body(state: Any) -> Any:
            i, x = state
            return i + 1, x * 0.999 + 0.1

        return jax.lax.while_loop(lambda s: s[0] < n, body, (0, 1.0))[1]

    counts = np.full(4096, 10, np.int32)
    counts[77] = steps
    return jax.vmap(one), (counts,)


def gibbs(jax: Any, steps: int = 1000) -> Program:
    """A Gibbs sampler of a normal distribution in the plane; nothing by hand."""
    normal = jax.random.normal

    def run(seed: Any) -> Any:
        def step(state: Any, _: Any) -> Any:
            key, x, y = state
            key, one, two = jax.random.split(key, 3)
            x = 0.8 * y + 0.6 * normal(one)
            y = 0.8 * x + 0.6 * normal(two)
            return (key, x, y), (x, y)

        return jax.lax.scan(step, (jax.random.key(seed), 0.0, 0.0), None, length=steps)[1]

    return run, (np.array(3, np.int32),)


def lstm(jax: Any, steps: int = 200) -> Program:
    """A recurrent network of 16 cells."""
    jnp, sigmoid = jax.numpy, jax.nn.sigmoid

    def run(w: Any, b: Any, xs: Any) -> Any:
        def step(state: Any, x: Any) -> Any:
            h, c = state
            i, f, g, o = jnp.split(jnp.concatenate([x, h]) @ w + b, 4)
            c = sigmoid(f) * c + sigmoid(i) * jnp.tanh(g)
            h = sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        return jax.lax.scan(step, (jnp.zeros(16), jnp.zeros(16)), xs)[1]

    return run, (np.float32(0.3) * _draws(32, 64), _draws(64), _draws(steps, 16, seed=1))


def reversed_reads(jax: Any, steps: int = 40) -> Program:
    """A value that is read forwards and backwards, again and again."""

    def run(x: Any) -> Any:
        for _ in range(steps):
            x = jax.numpy.sin(x) * 1.1 + x[::-1] * 0.1
        return x

    return run, (_draws(100),)


def springs(jax: Any, steps: int = 200) -> Program:
    """A chain of 30 masses, whose positions and velocities are 60 carries, with its gradient."""

    def energy(start: Any) -> Any:
        def step(state: Any, _: Any) -> Any:
            x, v = state
            padded = (0.0, *x, 0.0)
            pulled = [
                vi + 0.01 * (a - 2.0 * b + c)
                for vi, a, b, c in zip(v, padded, padded[1:], padded[2:], strict=False)
            ]
            return ([xi + 0.01 * vi for xi, vi in zip(x, pulled, strict=True)], pulled), None

        state = [start[i] for i in range(30)], [start[30 + i] for i in range(30)]
        x, v = jax.lax.scan(step, state, None, length=steps)[0]
        return sum([a * a for a in (*x, *v)])

    return jax.value_and_grad(energy), (_draws(60),)


def unrolled(jax: Any, steps: int = 400) -> Program:
    """1600 operations in a row, without a loop."""

    def run(x: Any) -> Any:
        for i in range(steps):
            x = x * (1.0 - 1e-3 * (i % 7)) + 0.01
            x = x - 0.02 * (x * x)
        return x

    return run, (np.abs(_draws(8)),)


def tridiagonal(jax: Any, steps: int = 1000) -> Program:
    """A tridiagonal system by the algorithm of Thomas."""

    def run(below: Any, diagonal: Any, above: Any, right: Any) -> Any:
        def forwards(state: Any, row: Any) -> Any:
            c, d = state
            a, b, c_new, r = row
            slope = b - a * c
            state = c_new / slope, (r - a * d) / slope
            return state, state

        def backwards(x: Any, row: Any) -> Any:
            c, d = row
            x = d - c * x
            return x, x

        rows = jax.lax.scan(forwards, (0.0, 0.0), (below, diagonal, above, right))[1]
        return jax.lax.scan(backwards, 0.0, rows, reverse=True)[1]

    below, above, right = (_draws(steps, seed=i) for i in range(3))
    return run, (below, 4 + np.abs(below) + np.abs(above), above, right)
