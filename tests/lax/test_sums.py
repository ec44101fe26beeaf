"""Long sums, which XLA's loops are given as sums of rows: values at all places, and the form."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

from morphax import cpu_engine, jit, lax
from morphax import numpy as jnp
from morphax.runtime.client import fusions_are_chosen
from tests.lax.engines import check_engines_agree

SHAPES = [
    (16, 16, 8, 8), (4, 9, 33, 12), (3, 64, 48), (128, 1, 80), (2, 1, 5000), (64, 8, 2, 16),
    (7, 11, 13, 10), (2, 3, 2048), (1, 32, 32, 16, 1), (5, 1024, 3), (8191,), (20_000,),
]  # fmt: skip
PRODUCT = np.eye(2, dtype=np.float32)


def axes_of(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    places = range(len(shape))
    return [c for n in range(len(shape) + 1) for c in itertools.combinations(places, n)]


def sums(x: object, product: object) -> list[object]:
    """All sums of an array, and a product, beside which the kernel library adds nothing."""
    return [jnp.sum(x, axes) for axes in axes_of(jnp.shape(x))] + [product @ product]


@pytest.mark.parametrize("shape", SHAPES)
def test_sums_of_integers_are_exact(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).integers(-99, 99, shape).astype(np.float32)
    with cpu_engine("xla"):
        results = jit(sums)(x, PRODUCT)
    for axes, result in zip(axes_of(shape), results, strict=False):
        assert result.shape == x.sum(axes).shape
        assert np.array_equal(result, x.sum(axes, dtype=np.float64)), axes


@pytest.mark.parametrize("shape", SHAPES[:4])
def test_reversed_axes_are_the_same_axes(shape: tuple[int, ...]) -> None:
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape) % 17
    axes = tuple(range(len(shape)))
    check_engines_agree(lambda x: jnp.sum(x, axes[:0:-1]) + (PRODUCT @ PRODUCT)[0, 0], x)


@pytest.mark.parametrize("axes", [(0, 1, 2), (1, 2), (2, 3), (0, 2, 3), (3,), (0, 1, 2, 3)])
def test_what_is_not_finite_stays_in_its_sum(axes: tuple[int, ...]) -> None:
    x = np.ones((16, 8, 8, 64), np.float32)
    x[3, 5, 7, 33], x[3, 2, 0, 1], x[15, 0, 7, 63] = np.nan, np.inf, -np.inf
    with cpu_engine("xla"):
        result = jit(lambda x, y: (jnp.sum(x, axes), y @ y))(x, PRODUCT)[0]
    assert np.array_equal(result, x.sum(axes), equal_nan=True)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int32", "complex64"])
def test_other_dtypes_are_summed_as_they_are(dtype: str) -> None:
    x = jnp.ones((16, 32, 16, 8)).astype(dtype)
    text = jit(lambda x, y: (lax.reduce_sum(x, (0, 1, 2)), y @ y)).lower(x, PRODUCT).as_text()
    assert "optimization_barrier" not in text


def test_sums_are_of_rows_where_the_library_adds_nothing() -> None:
    x = jnp.ones((16, 32, 32, 32))

    def reductions(function: object) -> list[str]:
        text = jit(function).lower(x, PRODUCT).as_text()
        return re.findall(r"across dimensions = \[(.*?)\]", text)

    columns = reductions(lambda x, y: (jnp.sum(x, (0, 1, 2)), y @ y))
    assert columns == (["0", "0"] if fusions_are_chosen() else ["0, 1, 2"])
    row_sums = reductions(lambda x, y: (jnp.sum(x.reshape(-1, 128), 1), y @ y))
    assert row_sums == (["1", "1"] if fusions_are_chosen() else ["1"])
    assert reductions(lambda x, y: (jnp.sum(x.reshape(-1, 128), 1), y)) == ["1"]
