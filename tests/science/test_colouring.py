"""Colourings: every entry can be read, in as few products as the structure allows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from morphax.science.sparsity.colouring import Reading, column_reading, symmetric_reading


def pattern_of(entries: Any) -> Any:
    pattern = sparse.csr_array(np.asarray(entries) != 0)
    pattern.sort_indices()
    return pattern


def recovered(matrix: np.ndarray[Any, Any], reading: Reading) -> np.ndarray[Any, Any]:
    """The matrix from its products with the sums of each colour's columns."""
    seeds = (reading.colours[:, None] == np.arange(reading.num_colours)).astype(float)
    products = matrix @ seeds
    result = np.zeros_like(matrix)
    result[reading.rows, reading.columns] = products[reading.from_rows, reading.from_colours]
    return result


@pytest.mark.parametrize("seed", range(30))
def test_random_matrices_are_recovered(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(0, 12, 2)
    density = rng.choice([0.05, 0.2, 0.5, 1.0])
    matrix = rng.integers(1, 9, (rows, columns)) * (rng.random((rows, columns)) < density)
    matrix = matrix.astype(float)
    reading = column_reading(pattern_of(matrix))
    np.testing.assert_array_equal(recovered(matrix, reading), matrix)
    assert reading.num_colours <= columns
    size = min(rows, columns)
    square = matrix[:size, :size] + matrix[:size, :size].T
    reading = symmetric_reading(pattern_of(square))
    np.testing.assert_array_equal(recovered(square, reading), square)


def _banded(n: int, width: int) -> Any:
    return sparse.diags_array(
        [np.ones(n - abs(k)) for k in range(-width, width + 1)],
        offsets=list(range(-width, width + 1)),
        format="csr",
        dtype=bool,
    )


def _arrow(n: int) -> Any:
    arrow = np.eye(n, dtype=bool)
    arrow[0] = arrow[:, 0] = True
    return pattern_of(arrow)


BOUNDS: dict[str, tuple[Any, Callable[[Any], Reading], int]] = {
    "tridiagonal": (_banded(2000, 1), column_reading, 3),
    "pentadiagonal": (_banded(2000, 2), column_reading, 5),
    "symmetric tridiagonal": (_banded(2000, 1), symmetric_reading, 3),
    "diagonal": (_banded(100, 0), column_reading, 1),
    "arrow": (_arrow(200), column_reading, 200),
    "symmetric arrow": (_arrow(200), symmetric_reading, 2),
    "empty": (pattern_of(np.zeros((3, 4))), column_reading, 1),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_number_of_colours(name: str) -> None:
    pattern, read, expected = BOUNDS[name]
    assert read(pattern).num_colours == expected
