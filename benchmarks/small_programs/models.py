"""Programs on small arrays: models, samplers, games; see `loops`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .loops import Program, _draws


def kinematics(jax: Any, steps: int = 1) -> Program:
    """The Hessian of how far a planar arm of 6 joints is from a point."""
    jnp = jax.numpy

    def distance(angles: Any, lengths: Any, target: Any) -> Any:
        turned = jnp.cumsum(angles)
        x, y = (lengths * jnp.cos(turned)).sum(), (lengths * jnp.sin(turned)).sum()
        return (x - target[0]) ** 2 + (y - target[1]) ** 2

    lengths = np.float32([1, 0.9, 0.8, 0.7, 0.6, 0.5])
    return jax.hessian(distance), (_draws(6), lengths, np.float32([1, 2]))


def hmc(jax: Any, steps: int = 50) -> Program:
    """Hamiltonian Monte Carlo for logistic regression: 100 rows of 8 columns, 10 steps a draw."""
    jnp, lax = jax.numpy, jax.lax

    def run(rows: Any, signs: Any, momenta: Any, uniforms: Any) -> Any:
        def potential(w: Any) -> Any:
            return jnp.log1p(jnp.exp(-signs * (rows @ w))).sum() + 0.5 * (w * w).sum()

        slope = jax.grad(potential)

        def leap(state: Any, _: Any) -> Any:
            w, p = state
            p = p - 0.025 * slope(w)
            w = w + 0.05 * p
            return (w, p - 0.025 * slope(w)), None

        def draw(w: Any, given: Any) -> Any:
            p, u = given
            (new, q), _ = lax.scan(leap, (w, p), None, length=10)
            before = potential(w) + 0.5 * (p * p).sum()
            after = potential(new) + 0.5 * (q * q).sum()
            w = jnp.where(jnp.log(u) < before - after, new, w)
            return w, w

        return lax.scan(draw, jnp.zeros(8), (momenta, uniforms))[1]

    rows = _draws(100, 8)
    signs = np.sign(_draws(100, seed=1) + rows[:, 0])
    uniforms = np.random.default_rng(2).uniform(0.05, 1, steps).astype(np.float32)
    return run, (rows, signs, _draws(steps, 8, seed=3), uniforms)


def particles(jax: Any, steps: int = 100) -> Program:
    """A particle filter with systematic resampling of 64 particles."""
    jnp = jax.numpy

    def run(seen: Any, noise: Any, offsets: Any) -> Any:
        def step(x: Any, given: Any) -> Any:
            z, e, u = given
            x = 0.9 * x + 0.5 * e
            weights = jnp.exp(-0.5 * (z - x) ** 2)
            weights = weights / weights.sum()
            sums = jnp.cumsum(weights)
            wanted = (jnp.arange(64) + u) / 64.0
            chosen = (sums[None, :] < wanted[:, None]).sum(1)
            return x[jnp.minimum(chosen, 63)], (weights * x).sum()

        return jax.lax.scan(step, jnp.zeros(64), (seen, noise, offsets))[1]

    offsets = np.random.default_rng(2).uniform(0, 1, steps).astype(np.float32)
    return run, (_draws(steps), _draws(steps, 64, seed=1), offsets)


def lbfgs(jax: Any, steps: int = 40) -> Program:
    """Rosenbrock's function of 10 numbers by L-BFGS with 5 pairs and halved steps."""
    jnp, lax = jax.numpy, jax.lax

    def rosenbrock(x: Any) -> Any:
        return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2).sum()

    both = jax.value_and_grad(rosenbrock)

    def direction(g: Any, s: Any, y: Any, rho: Any) -> Any:
        q, alphas = -g, []
        for i in reversed(range(5)):
            alphas.append(rho[i] * (s[i] @ q))
            q = q - alphas[-1] * y[i]
        q = q * jnp.where(rho[4] > 0, (s[4] @ y[4]) / jnp.maximum(y[4] @ y[4], 1e-20), 1.0)
        for i in range(5):
            q = q + s[i] * (alphas[4 - i] - rho[i] * (y[i] @ q))
        return q

    def step(state: Any, _: Any) -> Any:
        x, f, g, s, y, rho = state
        d = direction(g, s, y, rho)
        slope = g @ d

        def is_long(t: Any) -> Any:
            return (rosenbrock(x + t * d) > f + 1e-4 * t * slope) & (t > 1e-6)

        t = lax.while_loop(is_long, lambda t: 0.5 * t, 1.0)
        new = x + t * d
        f_new, g_new = both(new)
        ds, dy = new - x, g_new - g
        curvature = ds @ dy
        keeps = curvature > 1e-10
        rho_new = jnp.where(keeps, 1.0 / jnp.where(keeps, curvature, 1.0), 0.0)
        s = jnp.concatenate([s[1:], ds[None]])
        y = jnp.concatenate([y[1:], dy[None]])
        rho = jnp.concatenate([rho[1:], rho_new[None]])
        return (new, f_new, g_new, s, y, rho), f_new

    def run(x: Any) -> Any:
        f, g = both(x)
        empty = jnp.zeros((5, 10))
        state = x, f, g, empty, empty, jnp.zeros(5)
        return lax.scan(step, state, None, length=steps)[1]

    return run, (np.float32(0.1) * _draws(10),)


def smith_waterman(jax: Any, steps: int = 100) -> Program:
    """The best local alignment of two sequences of 100 letters."""
    jnp, lax = jax.numpy, jax.lax

    def run(a: Any, b: Any) -> Any:
        def row(above: Any, letter: Any) -> Any:
            def cell(state: Any, given: Any) -> Any:
                left, corner = state
                up, other = given
                score = jnp.where(letter == other, 2, -1)
                best = jnp.maximum(jnp.maximum(0, corner + score), jnp.maximum(left, up) - 1)
                return (best, up), best

            _, new = lax.scan(cell, (0, 0), (above, b))
            return new, new.max()

        return lax.scan(row, jnp.zeros(100, jnp.int32), a)[1].max()

    letters = np.random.default_rng(0).integers(0, 4, (2, 100)).astype(np.int32)
    return run, (letters[0, :steps], letters[1])


def automaton(jax: Any, steps: int = 200) -> Program:
    """Rule 110 on a ring of 256 cells."""
    jnp = jax.numpy

    def step(cells: Any, _: Any) -> Any:
        left, right = jnp.roll(cells, 1), jnp.roll(cells, -1)
        return (cells | right) & ~(left & cells & right) & 1, None

    cells = np.random.default_rng(0).integers(0, 2, 256).astype(np.uint8)
    return lambda x: jax.lax.scan(step, x, None, length=steps)[0], (cells,)


def bodies(jax: Any, steps: int = 100) -> Program:
    """Sixteen bodies that attract each other, by leaps of half a step."""
    jnp = jax.numpy

    def run(x: Any, v: Any, mass: Any) -> Any:
        def pull(x: Any) -> Any:
            apart = x[None, :, :] - x[:, None, :]
            near = 1.0 / jnp.sqrt((apart**2).sum(-1) + 0.01)
            return ((mass[None, :] * near**3)[:, :, None] * apart).sum(1)

        def step(state: Any, _: Any) -> Any:
            x, v, f = state
            v = v + 0.005 * f
            x = x + 0.01 * v
            f = pull(x)
            return (x, v + 0.005 * f, f), None

        (x, v, _), _ = jax.lax.scan(step, (x, v, pull(x)), None, length=steps)
        return x, v

    return run, (_draws(16, 3), np.float32(0.1) * _draws(16, 3, seed=1), np.abs(_draws(16, seed=2)))


def mandelbrot(jax: Any, steps: int = 200) -> Program:
    """How soon each point of a grid of 64 × 64 escapes."""

    def one(a: Any, b: Any) -> Any:
        def goes_on(state: Any) -> Any:
            i, x, y = state
            return (i < steps) & (x * x + y * y < 4.0)

        def body(state: Any) -> Any:
            i, x, y = state
            return i + 1, x * x - y * y + a, 2.0 * x * y + b

        return jax.lax.while_loop(goes_on, body, (0, 0.0 * a, 0.0 * b))[0]

    rows, columns = (np.linspace(low, low + 3, 64, dtype=np.float32) for low in (-1.5, -2.2))
    return jax.vmap(jax.vmap(one, (0, None)), (None, 0)), (columns, rows)


def option(jax: Any, steps: int = 500) -> Program:
    """An American put by a binomial tree."""
    jnp = jax.numpy

    def run(price: Any, strike: Any) -> Any:
        up = jnp.float32(1.01)
        levels = jnp.arange(steps + 1) * 2.0
        worth = jnp.maximum(strike - price * up ** (levels - steps), 0.0)

        def step(worth: Any, i: Any) -> Any:
            later = 0.999 * (0.51 * jnp.roll(worth, -1) + 0.49 * worth)
            now = strike - price * up ** (levels - i)
            return jnp.maximum(later, now), None

        return jax.lax.scan(step, worth, jnp.arange(steps - 1, -1, -1.0))[0][0]

    return run, (np.array(100, np.float32), np.array(103, np.float32))
