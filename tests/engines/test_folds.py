"""Long sums in loop programs: right for each shape, and as accurate as sums of sums are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.engines.loops.folds import Fold
from morphax.engines.loops.program import Const
from tests.engines.machine_code_calls import MachineCodes

# Prime lengths leave a rest, products of 32 do not; many short axes have no long one to split.
SHAPES: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    *[((n,), (0,)) for n in (1, 31, 32, 33, 37, 64, 97, 257, 1024, 1031, 4099)],
    *[((n,), (0,)) for n in (34, 47, 50, 61, 100, 250, 251, 333, 1000, 1001)],
    *[((n, 3), (0,)) for n in (33, 50, 97, 1001, 1024, 1031)],
    *[((n, 9), axes) for n in (37, 1031) for axes in ((0,), (0, 1))],
    ((3, 97), (1,)),
    ((97, 3), (1,)),
    ((5, 41, 7), (1,)),
    ((5, 41, 7), (0, 2)),
    ((41, 5, 43), (0, 2)),
    ((41, 1), (0,)),
    ((1, 1031, 1), (1,)),
    ((4, 3, 4, 3, 4, 3), (0, 1, 2, 3, 4, 5)),
    ((4, 3, 4, 3, 4, 3), (0, 2, 4)),
    ((2,) * 11, tuple(range(10))),
    *[((n, 261), (0,)) for n in (2, 7, 8, 9, 31, 32)],
    ((3, 4, 9), (0, 1)),
    ((4, 16, 5, 3), (0, 2)),
]


def test_sums_of_integers_are_exact() -> None:
    codes = MachineCodes()
    rng = np.random.default_rng(0)
    for shape, axes in SHAPES:
        x = rng.integers(-(2**31), 2**31, shape, np.int64).astype(np.int32)
        name = codes.add(lambda x, axes=axes: [lax.reduce_sum(x, axes), lax.reduce_max(x, axes)], x)
        total, top = codes.call(name, x)
        np.testing.assert_array_equal(total, x.sum(axes, np.int32), f"{shape} over {axes}")
        np.testing.assert_array_equal(top, x.max(axes), f"{shape} over {axes}")


@pytest.mark.parametrize("rows", [2, 8, 9, 32])
def test_few_rows_are_added_in_their_order(rows: int) -> None:
    codes = MachineCodes()
    x = np.random.default_rng(rows).normal(size=(rows, 300)).astype(np.float32)
    x[:, 0], x[1, 1], x[:, 2] = -0.0, np.nan, np.inf
    total, top = codes.call(codes.add(lambda x: [x.sum(0), lax.reduce_min(x, (0,))], x), x)
    expected = np.zeros(300, np.float32)
    for row in x:
        expected = expected + row
    np.testing.assert_array_equal(total, expected)
    np.testing.assert_array_equal(top, x.min(0))
    assert not np.signbit(total[0])
    assert np.signbit(top[0])


@pytest.mark.parametrize("shape", [(4099, 33), (300, 500), (1024, 128), (150_001,), (3, 50, 1000)])
def test_large_sums_are_of_rows_at_a_time(shape: tuple[int, ...]) -> None:
    codes = MachineCodes()
    x = np.random.default_rng(0).integers(-99, 99, shape).astype(np.int8)
    axes = tuple(range(max(len(shape) - 1, 1)))

    def sums(x: Any) -> Any:
        wide = x.astype(jnp.int32)
        return lax.reduce_sum(wide, axes), lax.reduce_max(x, axes), lax.reduce_min(-wide, axes)

    total, top, bottom = codes.call(codes.add(sums, x), x)
    np.testing.assert_array_equal(total, x.sum(axes, np.int32))
    np.testing.assert_array_equal(top, x.max(axes))
    np.testing.assert_array_equal(bottom, (-x.astype(np.int32)).min(axes))


def test_long_rows_of_large_arrays_are_no_single_elements() -> None:
    x = jnp.ones((300, 1000))
    with jax.cpu_engine("auto"):
        for function, engine in (
            (lambda x: x.sum(1), "native"),
            (lambda x: x.argmax(0), "native"),
            (lambda x: x.argmax(1), "xla"),
            (lambda x: x.T + 1, "xla"),
        ):
            text = jax.jit(function).lower(x).compile().as_text("engine")
            assert text.startswith(f"engine {engine}")


@pytest.mark.parametrize("terms", [1, 33, 97, 257, 1024, 1031])
def test_products_of_integers_are_exact(terms: int) -> None:
    codes = MachineCodes()
    rng = np.random.default_rng(terms)
    for columns in (1, 3, 9):
        x, y = [rng.integers(-9, 9, (n, terms)).astype(np.int32) for n in (2, columns)]
        for a, b in ((x, y.T), (np.ascontiguousarray(x.T).T, y.T), (x, y.T.copy())):
            name = codes.add(lambda a, b: a @ b, a, b)
            np.testing.assert_array_equal(codes.call(name, a, b)[0], a @ b)


def grid(x: Any) -> Any:
    return x.reshape(-1, 5)


SUMS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "sum": (jnp.sum, np.sum),
    "of columns": (lambda x: grid(x).sum(0), lambda x: grid(x).sum(0)),
    "of rows": (lambda x: grid(x).T.sum(1), lambda x: grid(x).sum(0)),
    "of what is computed": (lambda x: jnp.exp(-x).sum(), lambda x: np.exp(-x).sum()),
    "mean": (jnp.mean, np.mean),
    "squares": (lambda x: jnp.dot(x, x), lambda x: x @ x),
    "products": (lambda x: grid(x).T @ grid(x), lambda x: grid(x).T @ grid(x)),
    "of rows by a vector": (lambda x: x @ jnp.stack([x, x], 1), lambda x: x @ np.stack([x, x], 1)),
    "windows": (
        lambda x: lax.reduce_window(x, 0.0, lax.add, (x.size,), (1,), "valid"),
        lambda x: x.sum(keepdims=True),
    ),
    "running": (jnp.cumsum, np.cumsum),
    "running log": (lax.cumlogsumexp, np.logaddexp.accumulate),
}


@pytest.mark.parametrize("name", SUMS)
def test_errors_grow_slowly(name: str) -> None:
    """Equal numbers are the worst: all roundings of a sum term by term go one way."""
    function, reference = SUMS[name]
    for x in (np.full(16_000, 0.1, np.float32), np.linspace(0, 1, 16_000, dtype=np.float32)):
        with jax.cpu_engine("native"):
            found = jax.jit(lambda x: function(x))(x)
        np.testing.assert_allclose(found, reference(x.astype(np.float64)), rtol=1e-6)


def test_no_bits_depend_on_the_rows_beside() -> None:
    x = np.random.default_rng(0).normal(size=(5, 1000)).astype(np.float32)
    with jax.cpu_engine("native"):
        together = jax.jit(lambda x: x.sum(1))(x)
        alone = [jax.jit(lambda x: x.sum())(row) for row in x]
    np.testing.assert_array_equal(together, alone)


@pytest.mark.parametrize("others", [1, 2, 3, 8])
def test_rows_fill_vectors_where_they_can(others: int) -> None:
    for n in range(33, 1200):
        fold = Fold([n, others], [False, True], "add", Const(np.float32(0)))
        length, rest = divmod(n, fold.rows)
        assert fold.axis == 0
        assert 2 < fold.rows <= 32
        assert rest < fold.rows
        most = min(32, n // (8 // others))
        each = range(most // 2 + 1, most + 1)
        assert length * others % 8 == 0 or all([n // rows * others % 8 for rows in each])
