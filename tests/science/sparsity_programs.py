"""Functions of a vector, of which random programs are put together.

Each entry is made for a size and a generator of random numbers, and maps a vector to a vector, of
whatever size.  They cover what moves elements, by known and by unknown indices, what mixes them,
and control flow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import morphax as jax
import morphax.numpy as jnp
from morphax import lax

Vector = Any
Function = Callable[[Vector], Vector]
Maker = Callable[[int, np.random.Generator], Function]


def _matrix(n: int, rng: np.random.Generator) -> Any:
    """Mostly zeros."""
    return jnp.asarray(rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.3))


def _by_known_matrix(n: int, rng: np.random.Generator) -> Function:
    matrix = _matrix(n, rng)
    return lambda x: matrix @ jnp.sin(x)


def _by_row_products(n: int, rng: np.random.Generator) -> Function:
    matrix = jnp.asarray(rng.normal(size=(n, 2, 2)))
    return lambda x: jnp.einsum("bij,bj->ib", matrix, jnp.stack([x, x * x], 1)).reshape(-1)


def _taken(n: int, rng: np.random.Generator) -> Function:
    places = rng.integers(-n, n, n + 1)
    return lambda x: x[places] * 2


def _taken_outside(n: int, rng: np.random.Generator) -> Function:
    places = rng.integers(-2 * n, 2 * n, n)
    return lambda x: jnp.take(x, places, mode="fill", fill_value=3.0)


def _computed_places(n: int, rng: np.random.Generator) -> Function:
    step = int(rng.integers(1, 5))
    return lambda x: x[(jnp.arange(n) * step + 1) % n] * x


def _added_at(n: int, rng: np.random.Generator) -> Function:
    places = rng.integers(0, n + 2, n)
    return lambda x: (x * x).at[places].add(jnp.cos(x), mode="drop")


def _set_at(n: int, rng: np.random.Generator) -> Function:
    places = rng.permutation(n)[: max(n // 2, 1)]
    return lambda x: jnp.sin(x).at[places].set(x[: places.size] ** 2)


def _set_twice(n: int, rng: np.random.Generator) -> Function:
    places = rng.integers(0, n, n)
    return lambda x: jnp.sin(x).at[places].set(x[::-1])


def _multiplied_at(n: int, rng: np.random.Generator) -> Function:
    places = rng.permutation(n)[:2]
    return lambda x: jnp.exp(x / 4).at[places].multiply(x[:2], unique_indices=True)


def _masked(n: int, rng: np.random.Generator) -> Function:
    bound = int(rng.integers(0, n))
    return lambda x: jnp.where(jnp.arange(n) < bound, x, x[::-1] * 2)


def _written_in_loop(n: int, rng: np.random.Generator) -> Function:
    shift = int(rng.integers(0, n))

    def step(i: Any, y: Any) -> Any:
        return y.at[i].set(y[(i + shift) % n] * y[i] + 0.5)

    return lambda x: lax.fori_loop(0, n, step, x)


def _recurrence(n: int, rng: np.random.Generator) -> Function:
    scale, reverse = rng.normal(size=2), bool(rng.integers(2))

    def step(carry: Any, x: Any) -> Any:
        carry = carry * scale + jnp.stack([x, x * x])
        return carry, carry[0] * 2

    return lambda x: lax.scan(step, jnp.zeros(2), x, reverse=reverse)[1]


def _diffused(n: int, rng: np.random.Generator) -> Function:
    def step(y: Any, _: Any) -> Any:
        return y + 0.1 * (jnp.roll(y, 1) - y) * y, None

    return lambda x: lax.scan(step, x, None, length=2)[0]


def _mapped(n: int, rng: np.random.Generator) -> Function:
    weight = float(rng.normal())
    return lambda x: lax.map(lambda pair: pair[0] * jnp.sin(pair[1] * weight), (x, x[::-1]))


def _newton(n: int, rng: np.random.Generator) -> Function:
    def goes_on(state: Any) -> Any:
        return (state[0] < 20) & (jnp.max(jnp.abs(state[1] ** 2 - 2 - state[2] ** 2)) > 1e-9)

    def step(state: Any) -> Any:
        i, y, a = state
        return i + 1, (y + (2 + a * a) / y) / 2, a

    return lambda x: lax.while_loop(goes_on, step, (0, 1 + x * x, x))[1]


def _branched(n: int, rng: np.random.Generator) -> Function:
    number = int(rng.integers(0, 2))
    branches = (jnp.sin, lambda y: y[::-1] * y, jnp.cumsum)
    return lambda x: lax.switch(jnp.where(x[0] > 0, number, 2), branches, x)


def _by_mixing_rule(n: int, rng: np.random.Generator) -> Function:
    """A derivative that depends on more than the function does."""

    @jax.custom_jvp
    def same(x: Any) -> Any:
        return x

    same.defjvp(lambda primals, tangents: (primals[0], tangents[0] + jnp.roll(tangents[0], 1)))
    return lambda x: same(x) * x


def _from_largest(n: int, rng: np.random.Generator) -> Function:
    return lambda x: lax.dynamic_slice(x, (jnp.argmax(x) // 2,), (max(n // 2, 1),)) * x[0]


def _row_at_unknown(n: int, rng: np.random.Generator) -> Function:
    def rows(x: Any) -> Any:
        grid = jnp.stack([x, jnp.sin(x), x * x])
        return lax.dynamic_index_in_dim(grid, jnp.argmax(x) % 3, 0, keepdims=False)

    return rows


def _written_at_unknown(n: int, rng: np.random.Generator) -> Function:
    return lambda x: jnp.sin(x).at[jnp.argmin(x)].set(x[-1] ** 2)


def _block_at_unknown(n: int, rng: np.random.Generator) -> Function:
    def write(x: Any) -> Any:
        grid = jnp.outer(jnp.arange(1.0, 3.0), x)
        return lax.dynamic_update_slice(grid, (x * x)[None], (jnp.argmax(x) % 2, 0)).reshape(-1)

    return write


def _solved(n: int, rng: np.random.Generator) -> Function:
    matrix = jnp.asarray(rng.normal(size=(2, 2)) + 3 * np.eye(2))

    def solve(x: Any) -> Any:
        return jax.vmap(lambda b: jnp.linalg.solve(matrix, b))(jnp.stack([x, x * x], 1)).reshape(-1)

    return solve


def _through_reference(n: int, rng: np.random.Generator) -> Function:
    def write(x: Any) -> Any:
        ref = jax.new_ref(jnp.zeros(n))
        ref[...] = x * 2
        ref[0] = x[-1]
        return ref[...] * x

    return write


def _windows(n: int, rng: np.random.Generator) -> Function:
    size, stride = int(rng.integers(1, 4)), int(rng.integers(1, 3))
    return lambda x: lax.reduce_window(x, 0.0, lax.add, (size,), (stride,), "SAME")


STEPS: dict[str, Maker] = {
    "product of neighbours": lambda n, rng: lambda x: x * jnp.roll(x, 1),
    "differences": lambda n, rng: lambda x: jnp.diff(x, prepend=0.0) ** 2,
    "reversed": lambda n, rng: lambda x: jnp.flip(x) * jnp.exp(-x),
    "padded": lambda n, rng: lambda x: jnp.pad(x, (1, 2)) + 1,
    "dilated": lambda n, rng: lambda x: lax.pad(x, x[0], [(0, 1, 1)]),
    "halves": lambda n, rng: lambda x: jnp.concatenate([x[::2], x[1::2] * x[0]]),
    "tiled": lambda n, rng: lambda x: jnp.tile(jnp.sin(x), 2),
    "outer": lambda n, rng: lambda x: jnp.diag(jnp.outer(x, x[::-1])),
    "grid": lambda n, rng: lambda x: (jnp.stack([x, x * x]).T @ jnp.ones((2, 1))).reshape(-1),
    "convolution": lambda n, rng: lambda x: jnp.convolve(x, jnp.array([1.0, 0.0, -2.0]), "same"),
    "transform": lambda n, rng: lambda x: jnp.real(jnp.fft.fft(x)),
    "running sum": lambda n, rng: lambda x: jnp.cumsum(x) * x,
    "sorted": lambda n, rng: lambda x: jnp.sort(x) * x,
    "normalised": lambda n, rng: lambda x: x / (1 + jnp.sum(x * x)),
    "softmax": lambda n, rng: jax.nn.softmax,
    "relu": lambda n, rng: lambda x: jax.nn.relu(x) + x[0],
    "compiled": lambda n, rng: jax.jit(lambda x: x * jnp.roll(x, 2)),
    "recomputed": lambda n, rng: jax.checkpoint(lambda x: jnp.sin(x) * x[::-1]),
    "batched": lambda n, rng: lambda x: jax.vmap(lambda a, b: a * b + jnp.cos(a))(x, x[::-1]),
    "largest": lambda n, rng: lambda x: jnp.maximum(x, x[::-1]),
    "stopped": lambda n, rng: lambda x: x * lax.stop_gradient(x[::-1]),
    "constant": lambda n, rng: lambda x: jnp.concatenate([jnp.zeros(1), x[:1] * 0 + 1, x]),
    "reduced by windows": _windows,
    "known matrix": _by_known_matrix,
    "products of rows": _by_row_products,
    "taken": _taken,
    "taken outside": _taken_outside,
    "computed places": _computed_places,
    "added at": _added_at,
    "set at": _set_at,
    "set twice": _set_twice,
    "multiplied at": _multiplied_at,
    "masked": _masked,
    "written in a loop": _written_in_loop,
    "recurrence": _recurrence,
    "diffused": _diffused,
    "mapped": _mapped,
    "newton": _newton,
    "branched": _branched,
    "mixing rule": _by_mixing_rule,
    "from the largest": _from_largest,
    "row at unknown": _row_at_unknown,
    "written at unknown": _written_at_unknown,
    "block at unknown": _block_at_unknown,
    "solved": _solved,
    "through a reference": _through_reference,
}


# Loops of unknown length have no derivative in reverse mode.
FORWARD_ONLY = frozenset(["newton"])


def random_program(seed: int) -> tuple[list[str], Function, np.ndarray[Any, Any]]:
    """A few steps, one after the other, and a point."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 7))
    names = [str(name) for name in rng.choice(list(STEPS), int(rng.integers(1, 5)))]
    functions: list[Function] = []
    x = jax.ShapeDtypeStruct((n,), jnp.float64)
    for name in names:
        functions.append(STEPS[name](x.shape[0], rng))
        x = jax.eval_shape(functions[-1], x)

    def program(x: Vector) -> Vector:
        for function in functions:
            x = function(x)
        return x

    return names, program, rng.normal(size=n)
