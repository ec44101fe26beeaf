"""BCOO against dense arrays: every operation, in every layout, by the records of `sparse_cases`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.experimental import sparse
from morphax.experimental.sparse import BCOO
from tests.sampling import IS_WHOLE

from .sparse_cases import CASES, SMALL, SparseCase
from .stored import Layout, awkward, layouts, numbers, with_data

PAIRS = [(case, layout) for case in CASES for layout in case.layouts]


def sampled(one_of: int, first: int) -> list[tuple[SparseCase, Layout]]:
    """Some pairs, others for each test; each operation comes up."""
    chosen = [i % one_of == first or pair[1].shape == (4,) for i, pair in enumerate(PAIRS)]
    return [pair for pair, is_chosen in zip(PAIRS, chosen, strict=True) if is_chosen or IS_WHOLE]


def label(value: Any) -> str:
    if isinstance(value, SparseCase):
        return value.name
    return "x".join(map(str, value.shape)) + f"b{value.n_batch}d{value.n_dense}"


def result(case: SparseCase, mat: BCOO) -> Any:
    """What an operation gives, as a dense array."""
    found = case.function(mat)
    if case.data_only:
        found = with_data(mat, found)
    return found.todense() if isinstance(found, sparse.JAXSparse) else found


@pytest.mark.parametrize(("case", "layout"), sampled(3, 0), ids=label)
def test_values(case: SparseCase, layout: Layout) -> None:
    dense = numbers(layout.shape)
    expected = np.asarray(case.dense(jnp.asarray(dense)))
    for mat in (
        awkward(dense, layout),
        BCOO.fromdense(dense, n_batch=layout.n_batch, n_dense=layout.n_dense),
    ):
        np.testing.assert_allclose(result(case, mat), expected, rtol=1e-6)


@pytest.mark.parametrize(("case", "layout"), sampled(9, 0), ids=label)
def test_compiled(case: SparseCase, layout: Layout) -> None:
    mat = awkward(numbers(layout.shape), layout)
    compiled = jax.jit(case.function)(mat)
    eager = case.function(mat)
    for x, y in zip(jax.tree.leaves(compiled), jax.tree.leaves(eager), strict=True):
        assert x.dtype == y.dtype
        np.testing.assert_allclose(x, y, rtol=1e-6)


@pytest.mark.parametrize(("case", "layout"), sampled(7, 1), ids=label)
def test_gradients(case: SparseCase, layout: Layout) -> None:
    """The chain of `todense` and the dense operation has the same gradient."""
    dense = numbers(layout.shape)
    mat = BCOO.fromdense(dense, n_batch=layout.n_batch, n_dense=layout.n_dense)
    shape = case.dense(jnp.asarray(dense)).shape
    weights = 1 + jnp.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)

    def through(data: Any) -> Any:
        return jnp.sum(weights * result(case, with_data(mat, data)) ** 2)

    def around(data: Any) -> Any:
        return jnp.sum(weights * case.dense(with_data(mat, data).todense()) ** 2)

    found, expected = jax.grad(through)(mat.data), jax.grad(around)(mat.data)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    direction = jnp.ones_like(mat.data)
    slopes = [jax.jvp(f, (mat.data,), (direction,))[1] for f in (through, around)]
    np.testing.assert_allclose(slopes[0], slopes[1], rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(("case", "layout"), sampled(9, 2), ids=label)
def test_batches(case: SparseCase, layout: Layout) -> None:
    """Of the data alone, and of whole arrays: the loop over members."""
    dense = np.stack([numbers(layout.shape, seed=i) for i in range(2)])
    whole = BCOO.fromdense(dense, n_batch=layout.n_batch + 1, n_dense=layout.n_dense)
    found = jax.vmap(lambda m: result(case, m))(whole)
    expected = np.stack([case.dense(jnp.asarray(x)) for x in dense])
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    mat = BCOO.fromdense(dense[0], n_batch=layout.n_batch, n_dense=layout.n_dense)
    data = jnp.stack([mat.data, 2 * mat.data])
    found = jax.vmap(lambda x: result(case, with_data(mat, x)))(data)
    expected = np.stack([case.dense(jnp.asarray(k * dense[0])) for k in (1, 2)])
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint8", "bool", "bfloat16", "complex64"])
@pytest.mark.parametrize("layout", layouts((2, 3)), ids=label)
def test_dtypes(dtype: str, layout: Layout) -> None:
    dense = abs(numbers(layout.shape)) if dtype in ("uint8", "bool") else numbers(layout.shape)
    dense = np.asarray(jnp.asarray(dense, dtype))
    mat = BCOO.fromdense(dense, n_batch=layout.n_batch, n_dense=layout.n_dense, nse=7)
    for found in (mat, mat.sum_duplicates(), mat.sort_indices(), jax.jit(lambda m: m)(mat)):
        assert found.dtype == dense.dtype
        np.testing.assert_array_equal(np.asarray(found.todense()), dense)


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (3, 0)])
def test_empty(shape: tuple[int, ...]) -> None:
    for layout in layouts(shape):
        mat = BCOO.fromdense(jnp.zeros(shape), n_batch=layout.n_batch, n_dense=layout.n_dense)
        assert mat.todense().shape == shape
        assert jax.jit(BCOO.todense)(mat).shape == shape
        assert mat.sum_duplicates().shape == shape
        assert (mat * 2).shape == shape
        assert float(mat.sum()) == 0.0 if shape else True


@pytest.mark.parametrize("layout", SMALL, ids=label)
def test_layouts_change_into_each_other(layout: Layout) -> None:
    dense = numbers(layout.shape)
    mat = awkward(dense, layout)
    for other in layouts(layout.shape):
        changed = mat.update_layout(
            n_batch=other.n_batch, n_dense=other.n_dense, on_inefficient=None
        )
        assert (changed.n_batch, changed.n_dense) == (other.n_batch, other.n_dense)
        np.testing.assert_allclose(changed.todense(), dense)


def test_duplicates_of_what_is_not_linear() -> None:
    mat = BCOO((jnp.array([3.0, -1.0, 9.0]), jnp.array([[1], [1], [5]])), shape=(3,))
    np.testing.assert_allclose((mat**2).todense(), [0.0, 4.0, 0.0])
    np.testing.assert_allclose(abs(-mat).todense(), [0.0, 2.0, 0.0])
    half = BCOO((jnp.array([0.5, 0.5]), jnp.array([[1], [1]])), shape=(3,))
    np.testing.assert_array_equal(half.astype(int).todense(), [0, 1, 0])


def test_negative_indices_count_from_the_end() -> None:
    mat = BCOO((jnp.array([1.0, 2.0]), jnp.array([[-1], [-4]])), shape=(3,))
    for found in (mat, mat.sum_duplicates(), mat * 1.0, mat[::-1][::-1]):
        np.testing.assert_allclose(found.todense(), [0.0, 0.0, 1.0])


def test_padding_never_contributes() -> None:
    data, places = jnp.array([jnp.nan, 1.0]), jnp.array([[2, 0], [0, 1]])
    mat = BCOO((data, places), shape=(2, 2))
    assert float(mat.sum()) == 1.0
    np.testing.assert_allclose(mat @ jnp.array([jnp.inf, 2.0]), [2.0, 0.0])
    np.testing.assert_allclose(jax.grad(lambda d: with_data(mat, d).sum())(data), [0.0, 1.0])


def test_an_index_dtype_must_hold_the_sizes() -> None:
    with pytest.raises(ValueError, match="expected: one that holds 200"):
        BCOO.fromdense(jnp.ones(200), index_dtype="int8")


def test_nse_is_known_or_given() -> None:
    with pytest.raises(jax.errors.ConcretizationTypeError, match=r"Pass nse=\.\.\."):
        jax.jit(BCOO.fromdense)(jnp.eye(2))
    with pytest.raises(ValueError, match=r"Pass nse=\.\.\."):
        jax.jit(lambda m: m.sum_duplicates())(BCOO.fromdense(jnp.eye(2)))


def wrong() -> Iterator[tuple[str, type[Exception], str, Any]]:
    m = BCOO.fromdense(jnp.eye(3))
    b = BCOO.fromdense(jnp.ones((2, 3)), n_batch=1)
    d = BCOO.fromdense(jnp.ones((2, 3)), n_dense=1)
    yield "data", ValueError, "data of shape", lambda: BCOO((m.data[1:], m.indices), shape=(3, 3))
    yield "float", TypeError, "integer", lambda: BCOO((m.data, m.indices * 1.0), shape=(3, 3))
    yield "layout", sparse.SparseEfficiencyError, "zeros", lambda: m.update_layout(n_batch=1)
    yield "axes", ValueError, "numbers of axes", lambda: m.update_layout(n_batch=3)
    yield "mixed", NotImplementedError, "among batch axes", lambda: b.T
    yield "dense", NotImplementedError, "no dense axes", lambda: d @ jnp.ones(3)
    yield "sum", NotImplementedError, "would be dense", lambda: m + 1
    yield "difference", NotImplementedError, "would be dense", lambda: m - jnp.ones((3, 3))
    yield "divisor", NotImplementedError, "would be dense", lambda: 1 / m
    yield "cos", NotImplementedError, "result is sparse", lambda: sparse.sparsify(jnp.cos)(m)
    yield "equal", NotImplementedError, "result is sparse", lambda: m == m
    yield (
        "slice",
        ValueError,
        "start <= limit",
        lambda: sparse.bcoo_slice(m, start_indices=(0, 0), limit_indices=(4, 3)),
    )
    yield (
        "sizes",
        ValueError,
        "elements of the batch",
        lambda: sparse.bcoo_reshape(m, new_sizes=(2, 2)),
    )
    yield "squeeze", ValueError, "of size 1", lambda: sparse.bcoo_squeeze(m, dimensions=(0,))
    yield "mapped", ValueError, "batch axes", lambda: jax.vmap(lambda x: x)(m)
    yield "format", ValueError, "one of", lambda: sparse.empty((2,), sparse_format="dok")


@pytest.mark.parametrize(
    ("error", "text", "call"), [pytest.param(*w[1:], id=w[0]) for w in wrong()]
)
def test_errors(error: type[Exception], text: str, call: Any) -> None:
    with pytest.raises(error, match=text):
        call()


def test_sparse_arrays_of_symbolic_sizes() -> None:
    def twice(x: Any) -> Any:
        return 2 * BCOO.fromdense(x, nse=4).todense()

    rows, columns = jax.export.symbolic_shape("n, m", constraints=["n >= 2", "m >= 1"])
    exported = jax.export.export(jax.jit(twice))(jax.ShapeDtypeStruct((rows, columns), np.float32))
    for shape in ((2, 3), (5, 1)):
        x = np.zeros(shape, np.float32)
        x[0, -1], x[-1, 0] = 3.0, -1.0
        np.testing.assert_array_equal(exported.call(x), 2 * x)
