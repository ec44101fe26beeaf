"""Boolean arrays as indices: they must have the sizes of the axes that they stand for."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp

X = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
T, F = True, False

FITTING: list[Any] = [
    T,
    F,
    np.True_,
    (None, T),
    (T, None),
    (0, T),
    (..., T),
    (slice(None), T, 0),
    (slice(0, 1), F),
    (T, F),
    ([0, 1], T),
    (np.array([T, F]), T),
    (np.array([T, F]), [0]),
    (0, [1, 2]),
    ([0, 1], [1, 2]),
    ((0, 1),),
    (0, []),
    (slice(None), [T, F, T]),
    (..., [T, F, T, F]),
    (..., np.ones((3, 4), bool)),
    (None, np.array([F, T]), ..., 1),
    (np.ones((2, 3), bool), slice(1, 2)),
    np.zeros((2, 3, 4), bool),
]
MISFITTING: list[Any] = [
    np.array([T, F, T]),
    np.array([T]),
    np.array([], bool),
    np.array([[T, F]]),
    np.ones((2, 4), bool),
    np.ones((3, 3), bool),
    np.ones((2, 3, 4, 1), bool),
    (slice(None), np.array([T, F])),
    (..., np.array([T, F])),
    (0, np.ones((4, 3), bool)),
    (0, [T, F]),
    (None, np.array([T, F, T]), ...),
]
PARTS: list[Any] = [None, ..., 0, -1, slice(None), slice(1, 0, -1), [1, 0], np.array([[0], [1]])]
SHAPES = [s for rank in range(4) for s in itertools.product((1, 2, 3, 4), repeat=rank)]
USES: dict[str, Callable[[Any, Any], Any]] = {
    "read": lambda x, i: x[i],
    "set": lambda x, i: x.at[i].set(0.0),
    "grad": lambda x, i: jax.grad(lambda y: y[i].sum())(x),
    "grad of an update": lambda x, i: jax.grad(lambda y: y.at[i].multiply(2.0).sum())(x),
    "vmap": lambda x, i: jax.vmap(lambda y: y[i])(jnp.stack([x, x])),
    "jit": lambda x, i: jax.make_jaxpr(lambda y: y[i])(x),
    "jit of an update": lambda x, i: jax.make_jaxpr(lambda y: y.at[i].add(1.0))(x),
}


def test_what_fits_is_read_and_written_as_by_numpy() -> None:
    for index in FITTING:
        expected = X[index]
        assert np.array_equal(jnp.asarray(X)[index], expected), index
        values = np.arange(float(expected.size), dtype=np.float32).reshape(expected.shape)
        written = X.copy()
        written[index] = values
        assert np.array_equal(jnp.asarray(X).at[index].set(values), written), index


def _indices() -> list[Any]:
    """Masks of every shape, alone, beside every other part of an index, and beside each other."""
    rng = np.random.default_rng(0)
    masks = [rng.integers(0, 2, shape).astype(bool) for shape in SHAPES]
    low = [m for m in masks if m.ndim < 3]
    found: list[Any] = [*masks]
    for part in PARTS:
        found += [index for m in low for index in ((m, part), (part, m))]
    found += itertools.product([m for m in low if m.shape in ((), (2,), (3,), (2, 3))], repeat=2)
    for m, p, q in itertools.product([m for m in low if m.ndim < 2], PARTS, PARTS):
        found += [(m, p, q), (p, m, q), (p, q, m)]
    return [i for i in found if zlib.crc32(repr(i).encode()) % 3 == 0]


def test_every_combination_of_shapes() -> None:
    """What NumPy reads is read, what it refuses is refused, reading and writing."""
    x = jnp.asarray(X)
    for index in _indices():
        written = X.copy()
        try:
            expected = X[index]
            np.add.at(written, index, 1.0)
        except IndexError:
            for use in ("read", "set"):
                with pytest.raises(IndexError):
                    USES[use](x, index)
            continue
        assert np.array_equal(x[index], expected), index
        assert np.array_equal(x.at[index].add(1.0), written), index


def test_masks_that_do_not_fit_together() -> None:
    x = jnp.asarray(X)
    with pytest.raises(IndexError, match=r"shapes \(2,\), \(3,\)[\s\S]*as long as it has true"):
        x[np.array([T, T]), np.array([T, T, T])]


def test_the_same_compiled() -> None:
    def both(x: Any) -> Any:
        return [(x[i], x.at[i].add(1.0)) for i in FITTING]

    for index, (read, added) in zip(FITTING, jax.jit(both)(X), strict=True):
        expected = X.copy()
        np.add.at(expected, index, 1.0)
        assert np.array_equal(read, X[index]), index
        assert np.array_equal(added, expected), index


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("convert", [np.asarray, jnp.asarray])
def test_what_does_not_fit_is_refused(use: str, convert: Callable[[Any], Any]) -> None:
    for index in MISFITTING:
        if isinstance(index, np.ndarray):
            index = convert(index)
        with pytest.raises(IndexError):
            USES[use](jnp.asarray(X), index)


def test_the_refusal_names_both_shapes() -> None:
    with pytest.raises(IndexError, match=r"shape \(3,\) for axes of sizes \(2,\)") as info:
        jnp.zeros((2, 3))[jnp.array([T, F, T])]
    assert all(part in str(info.value) for part in ("given:", "expected:", "fix:"))


def test_a_traced_mask_is_refused() -> None:
    with pytest.raises(jax.errors.NonConcreteBooleanIndexError, match=r"jnp\.where[\s\S]*size="):
        jax.jit(lambda x, m: x[m])(X, np.array([T, F]))


def test_too_many_masks_are_refused_alike_where_they_are_traced() -> None:
    mask = np.array([True, False])
    for function in (lambda x: x[jnp.array(mask)], lambda x: x.at[jnp.array(mask)].set(0)):
        for call in (function, jax.jit(function)):
            with pytest.raises(IndexError, match="at most 0 indices"):
                call(jnp.asarray(3))
