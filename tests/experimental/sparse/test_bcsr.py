"""BCSR against dense arrays and SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import morphax as jax
import morphax.numpy as jnp
from morphax.experimental import sparse
from morphax.experimental.sparse import BCOO, BCSR
from morphax.experimental.sparse.bcsr.rows import coordinates

from .stored import Layout, layouts, numbers

LAYOUTS = [
    layout
    for layout in layouts((3, 4), (2, 3, 4), (2, 3, 4, 2))
    if len(layout.shape) - layout.n_batch - layout.n_dense == 2
]


def make(layout: Layout, nse: int | None = None) -> tuple[np.ndarray, BCSR]:
    dense = numbers(layout.shape)
    return dense, BCSR.fromdense(dense, nse=nse, n_batch=layout.n_batch, n_dense=layout.n_dense)


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("nse", [None, 14])
def test_round_trips(layout: Layout, nse: int | None) -> None:
    dense, mat = make(layout, nse)
    for found in (
        mat,
        BCSR.from_bcoo(mat.to_bcoo()),
        mat.sum_duplicates(),
        sparse.bcsr_sum_duplicates(mat, nse=13),
        jax.jit(lambda m: m)(mat),
    ):
        np.testing.assert_allclose(found.todense(), dense)
    np.testing.assert_allclose(jax.jit(BCSR.todense)(mat), dense)
    assert sparse.bcsr_extract(mat.indices, mat.indptr, dense).shape == mat.data.shape


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_products(layout: Layout) -> None:
    dense, mat = make(layout, 14)
    k = layout.n_batch + 1
    right = numbers((layout.shape[k], 2), seed=3)
    numbers_ = (((k,), (0,)), ((), ()))

    def product(m: Any) -> Any:
        return sparse.bcsr_dot_general(m, right, dimension_numbers=numbers_)

    expected = np.asarray(jax.lax.dot_general(dense, right, numbers_))
    np.testing.assert_allclose(product(mat), expected)
    np.testing.assert_allclose(jax.jit(product)(mat), expected)

    def loss(data: Any) -> Any:
        return jnp.sum(product(mat.replaced(data, mat.indices, mat.indptr)) ** 2)

    def around(data: Any) -> Any:
        whole = mat.replaced(data, mat.indices, mat.indptr).todense()
        return jnp.sum(jax.lax.dot_general(whole, right, numbers_) ** 2)

    np.testing.assert_allclose(jax.grad(loss)(mat.data), jax.grad(around)(mat.data), rtol=1e-5)
    if layout.n_batch:
        members = jax.vmap(lambda m: m.todense())(mat)
        np.testing.assert_allclose(members, dense)


@pytest.mark.parametrize("ends", [[0, 2, 2, 3], [0, 0, 0, 0], [1, 4, 9, 9], [0, 3, 1, -1]])
def test_rows_are_those_of_compiled_programs_for_any_pointers(ends: list[int]) -> None:
    columns, ends = jnp.array([2, 0, 1, 3]), jnp.array(ends)
    given = coordinates(columns, ends)
    assert given.dtype == jnp.int32
    np.testing.assert_array_equal(given, jax.jit(coordinates)(columns, ends))


def test_from_scipy() -> None:
    dense = numbers((4, 5))
    given = scipy.sparse.csr_matrix(dense)
    for found in (BCSR.from_scipy_sparse(given), BCOO.from_scipy_sparse(given)):
        np.testing.assert_allclose(found.todense(), dense)
        np.testing.assert_allclose(found @ jnp.arange(5.0), given @ np.arange(5.0))


def test_concatenation_and_new_axes() -> None:
    dense, mat = make(Layout((3, 4), 0, 0))
    for axis in (0, 1):
        found = sparse.bcsr_concatenate([mat, mat], dimension=axis)
        np.testing.assert_allclose(found.todense(), np.concatenate([dense, dense], axis))
    found = sparse.bcsr_broadcast_in_dim(mat, shape=(2, 3, 4), broadcast_dimensions=(1, 2))
    np.testing.assert_allclose(found.todense(), np.stack([dense, dense]))
    assert repr(found) == f"BCSR(float32[2, 3, 4], nse={mat.nse}, n_batch=1)"


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (ValueError, lambda m: BCSR((m.data, m.indices, m.indptr[1:]), shape=m.shape)),
        (TypeError, lambda m: BCSR((m.data, m.indices * 1.0, m.indptr), shape=m.shape)),
        (ValueError, lambda m: BCSR.fromdense(jnp.ones(3))),
        (NotImplementedError, lambda m: m.T),
        (NotImplementedError, lambda m: m @ m.to_bcoo().T),
        (NotImplementedError, lambda m: m * 2),
        (NotImplementedError, lambda m: BCSR.from_bcoo(BCOO.fromdense(jnp.ones(3)))),
        (NotImplementedError, lambda m: sparse.eye(3, sparse_format="bcsr")),
    ],
)
def test_errors(error: type[Exception], call: Any) -> None:
    mat = make(Layout((3, 4), 0, 0))[1]
    with pytest.raises(error, match="expected:"):
        call(mat)


@pytest.mark.parametrize("dtype", [np.int32, np.float32])
def test_products_with_numbers_of_another_dtype(dtype: Any) -> None:
    dense = np.array([[1, 0, 2], [0, 3, 0]], dtype)
    vector = np.array([1 + 2j, 0, 3], np.complex64)
    for product in (lambda m, v: m @ v, jax.jit(lambda m, v: m @ v)):
        np.testing.assert_allclose(product(BCSR.fromdense(dense), vector), dense @ vector)


@pytest.mark.parametrize("shape", [(3,), (3, 3), ()])
def test_places_of_another_array_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="a matrix of 2 rows"):
        sparse.bcsr_extract(np.array([0]), np.array([0, 1, 1]), np.ones(shape))
