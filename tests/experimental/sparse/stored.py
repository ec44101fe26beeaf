"""Sparse arrays for tests: the same numbers, stored in every layout and in awkward ways."""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import numpy as np

import morphax.numpy as jnp
from morphax.experimental.sparse import BCOO


class Layout(NamedTuple):
    """A shape with numbers of batch and dense axes."""

    shape: tuple[int, ...]
    n_batch: int
    n_dense: int


def layouts(*shapes: tuple[int, ...]) -> list[Layout]:
    """All layouts of arrays of these shapes."""
    return [
        Layout(shape, n_batch, n_dense)
        for shape in shapes
        for n_batch, n_dense in product(range(len(shape) + 1), repeat=2)
        if n_batch + n_dense <= len(shape)
    ]


def numbers(shape: tuple[int, ...], dtype: Any = np.float32, seed: int = 0) -> np.ndarray:
    """Small integers, half of them zero, so that sums are exact in every dtype."""
    rng = np.random.default_rng([seed, len(shape), *shape])
    x = rng.integers(-3, 4, shape) * (rng.random(shape) < 0.5)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.integers(-2, 3, shape) * (x != 0)
    return np.asarray(x, dtype)


def awkward(dense: np.ndarray, layout: Layout) -> BCOO:
    """`dense` stored out of order, each element in two parts, with padding that is not zero."""
    mat = BCOO.fromdense(dense, n_batch=layout.n_batch, n_dense=layout.n_dense)
    if not mat.n_sparse:
        return mat
    axis, data, indices = mat.n_batch, np.asarray(mat.data), np.asarray(mat.indices)
    sparse = dense.shape[axis : axis + mat.n_sparse]
    outside = np.ones_like(data[(slice(None),) * axis + (slice(0, 1),)])
    poison = 77 if dense.dtype.kind in "iub" else np.nan
    place = np.array(sparse, np.int32) + 3
    padding = np.broadcast_to(place, (*indices.shape[:axis], 1, len(sparse)))
    if data.shape[axis] == 0:
        outside = np.ones((*data.shape[:axis], 1, *data.shape[axis + 1 :]), data.dtype)
    if 0 in data.shape[:axis]:
        return mat
    part = data // 2 if dense.dtype.kind in "iu" else data - 1
    rest = data - part
    data = np.concatenate([part, outside * np.asarray(poison, dense.dtype), rest], axis)
    indices = np.concatenate([indices, padding, indices], axis)
    order = np.arange(data.shape[axis])[::-1]
    return BCOO(
        (jnp.asarray(np.take(data, order, axis)), jnp.asarray(np.take(indices, order, axis))),
        shape=dense.shape,
    )


def with_data(mat: BCOO, data: Any) -> BCOO:
    """Other elements at the places of `mat`."""
    return BCOO((data, mat.indices), shape=mat.shape)
