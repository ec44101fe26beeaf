"""COO, CSR and CSC: conversions, products and their derivatives, against dense matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.experimental import sparse
from morphax.test_util import check_grads

FORMATS = (sparse.COO, sparse.CSR, sparse.CSC)
SHAPES = ((4, 3), (3, 5), (1, 1), (0, 3), (3, 0))


def dense_matrix(shape: tuple[int, int], dtype: Any = np.float32) -> np.ndarray[Any, Any]:
    """Small integers, half of them zero."""
    rng = np.random.default_rng(shape)
    return (rng.integers(1, 5, shape) * (rng.random(shape) < 0.5)).astype(dtype)


def with_data(matrix: Any, data: Any) -> Any:
    """The matrix with other stored elements."""
    children, aux = matrix.tree_flatten()
    return type(matrix).tree_unflatten(aux, (data, *children[1:]))


CASES = [((4, 3), dtype) for dtype in ("float32", "int32", "complex64", "bfloat16", "bool")]
CASES += [(shape, "float32") for shape in SHAPES[1:]]


@pytest.mark.parametrize("kind", FORMATS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize(("shape", "dtype"), CASES, ids=str)
def test_conversion_and_products(kind: Any, shape: tuple[int, int], dtype: str) -> None:
    dense = np.asarray(jnp.asarray(dense_matrix(shape)).astype(dtype))
    m = kind.fromdense(dense)
    assert (m.shape, str(m.dtype), m.nse) == (shape, dtype, np.count_nonzero(dense))
    assert (m.ndim, m.size) == (2, dense.size)
    rng = np.random.default_rng(0)
    v, b = (jnp.asarray(rng.integers(-3, 4, s)).astype(dtype) for s in (shape[1], (shape[1], 2)))

    def compute(m: Any, v: Any, b: Any) -> list[Any]:
        return [m.todense(), m.T.todense(), m @ v, m @ b]

    expected = [dense, dense.T, jnp.asarray(dense) @ v, jnp.asarray(dense) @ b]
    for results in (compute(m, v, b), jax.jit(compute)(m, v, b)):
        for given, truth in zip(results, expected, strict=True):
            np.testing.assert_array_equal(given, truth)


@pytest.mark.parametrize("kind", FORMATS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("nse", [0, 2, 9])
def test_number_of_elements(kind: Any, nse: int) -> None:
    """The first elements in the order of the format; what is behind the last does not count."""
    dense = dense_matrix((4, 3))
    m = jax.jit(lambda x: kind.fromdense(x, nse=nse))(dense)
    order = "F" if kind is sparse.CSC else "C"
    places = np.flatnonzero(dense.ravel(order))[:nse]
    expected = np.zeros(12, np.float32)
    expected[places] = dense.ravel(order)[places]
    assert m.nse == nse
    np.testing.assert_array_equal(m.todense(), expected.reshape(4, 3, order=order))
    np.testing.assert_array_equal(m @ jnp.ones(3), np.asarray(m.todense()).sum(1))


@pytest.mark.parametrize("kind", FORMATS, ids=lambda kind: kind.__name__)
def test_derivatives(kind: Any) -> None:
    dense = dense_matrix((4, 3))
    m, v, b = kind.fromdense(dense), jnp.arange(3.0), jnp.ones((3, 2))
    check_grads(lambda d, v: with_data(m, d) @ v, (m.data, v), order=2, rtol=2e-2)
    check_grads(lambda d, b: with_data(m, d) @ b, (m.data, b), order=2, rtol=2e-2)
    check_grads(lambda d: with_data(m, d).todense(), (m.data,), order=2, rtol=2e-2)
    stored, slopes = jax.jvp(
        lambda x: kind.fromdense(x, nse=m.nse + 2).data, (dense,), (2 * dense,)
    )
    np.testing.assert_array_equal(slopes, 2 * stored)
    # The truth in closed form: ∂/∂Aᵢⱼ of Σ (A v)² is 2 (A v)ᵢ vⱼ.
    slope = jax.grad(lambda d: jnp.sum((with_data(m, d) @ v) ** 2))(m.data)
    full = 2 * np.outer(dense @ np.arange(3.0), np.arange(3.0))
    np.testing.assert_allclose(with_data(m, slope).todense(), np.where(dense != 0, full, 0))


@pytest.mark.parametrize("kind", FORMATS, ids=lambda kind: kind.__name__)
def test_batches(kind: Any) -> None:
    """The formats have no batch axes; a batch of their operations is one of dense operations."""
    m = kind.fromdense(dense_matrix((4, 3)))
    vs = jnp.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(jax.vmap(lambda v: m @ v)(vs), jnp.stack([m @ v for v in vs]))
    datas = jnp.stack([m.data, 2 * m.data], 1)
    batched = jax.vmap(lambda d: with_data(m, d).todense(), in_axes=1)(datas)
    np.testing.assert_array_equal(batched, jnp.stack([m.todense(), 2 * m.todense()]))
    matrices = jnp.stack([dense_matrix((4, 3)), 2 * dense_matrix((4, 3))])
    stored = jax.vmap(lambda x: kind.fromdense(x, nse=12).data)(matrices)
    assert stored.shape == (2, 12)


def test_products_of_transposes() -> None:
    dense = dense_matrix((4, 3))
    v, b = jnp.arange(4.0), jnp.arange(8.0).reshape(4, 2)
    coo, csr = sparse.coo_fromdense(dense), sparse.csr_fromdense(dense)
    for given in (sparse.coo_matvec(coo, v, transpose=True), sparse.csr_matvec(csr, v, True)):
        np.testing.assert_array_equal(given, dense.T @ np.asarray(v))
    for given in (
        sparse.coo_matmat(coo, b, transpose=True),
        sparse.csr_matmat(csr, b, transpose=True),
    ):
        np.testing.assert_array_equal(given, dense.T @ np.asarray(b))


def test_elements_at_one_place_add_up_and_those_out_of_range_do_not_count() -> None:
    m = sparse.COO((jnp.arange(1.0, 7.0), [0, 0, 5, 1, -1, -3], [1, 1, 0, 7, 0, 0]), shape=(2, 2))
    np.testing.assert_array_equal(m.todense(), [[0, 3], [5, 0]])
    np.testing.assert_array_equal(m @ jnp.ones(2), [3, 5])
    np.testing.assert_array_equal(m.T @ jnp.ones(2), [5, 3])
    with_padding = sparse.CSR((jnp.arange(1.0, 5.0), [1, 0, 9, 0], [0, 1, 3]), shape=(2, 2))
    np.testing.assert_array_equal(with_padding.todense(), [[0, 1], [2, 0]])
    np.testing.assert_array_equal(with_padding.T @ jnp.ones(2), [2, 1])


@pytest.mark.parametrize("name", ["coo", "csr", "csc"])
@pytest.mark.parametrize("k", [-5, -1, 0, 2, 9])
def test_eye_and_empty(name: str, k: int) -> None:
    given = sparse.eye(3, 5, k, sparse_format=name)
    np.testing.assert_array_equal(given.todense(), np.eye(3, 5, k))
    assert type(given).__name__.lower() == name
    np.testing.assert_array_equal(
        sparse.empty((2, 3), sparse_format=name).todense(), np.zeros((2, 3))
    )


def test_columns_of_a_csr_matrix_are_its_transpose() -> None:
    m = sparse.CSR.fromdense(dense_matrix((4, 3)))
    assert isinstance(m.T, sparse.CSC)
    assert isinstance(m.T.T, sparse.CSR)
    coo = sparse.COO.fromdense(dense_matrix((4, 3)))
    assert coo.tree_flatten()[1] == {"shape": (4, 3), "rows_sorted": True, "cols_sorted": False}
    assert coo.T.tree_flatten()[1] == {"shape": (3, 4), "rows_sorted": False, "cols_sorted": True}


_coo = sparse.COO.fromdense(dense_matrix((4, 3)))
REFUSALS: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "shape": (lambda: _coo @ jnp.ones(4), ValueError, "the first of size 3"),
    "axes": (lambda: _coo @ jnp.ones((3, 2, 2)), NotImplementedError, "one or two axes"),
    "sparse": (lambda: _coo @ _coo.T, NotImplementedError, "the format COO"),
    "sum": (lambda: _coo + _coo, NotImplementedError, "the format COO"),
    "permutation": (lambda: _coo.transpose((1, 0)), NotImplementedError, "argument axes"),
    "vector": (lambda: sparse.CSR.fromdense(jnp.ones(3)), ValueError, "two sizes"),
    "dtype": (
        lambda: sparse.coo_matvec(_coo, jnp.ones(3, jnp.int32)),
        TypeError,
        "operands of one dtype",
    ),
    "ends": (
        lambda: sparse.CSR((jnp.ones(2), [0, 1], [0, 1, 2]), shape=(3, 2)),
        ValueError,
        "4 ends of runs",
    ),
    "index dtype": (
        lambda: sparse.csr_fromdense(jnp.ones((20, 20)), index_dtype=np.int8),
        ValueError,
        "index_dtype",
    ),
    "traced": (
        lambda: jax.jit(lambda x: sparse.csr_fromdense(x).data)(jnp.eye(2)),
        jax.errors.ConcretizationTypeError,
        "argument nse",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(name: str) -> None:
    call, kind, text = REFUSALS[name]
    with pytest.raises(kind, match=text):
        call()
