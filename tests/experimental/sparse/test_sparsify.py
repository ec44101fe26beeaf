"""`sparsify`, creation and derivatives with respect to sparse arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.experimental import sparse
from morphax.experimental.sparse import BCOO

from .stored import numbers

DENSE = numbers((3, 4))
V = np.arange(4, dtype=np.float32)

PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "doc": lambda m: 2 * m @ V,
    "zero_to_zero": lambda m: jnp.sin(m) + jnp.tanh(m) - jnp.expm1(m),
    "jit": lambda m: jax.jit(lambda x: x * 2)(m),
    "checkpoint": lambda m: jax.checkpoint(lambda x: x * 2)(m),
    "cond": lambda m: lax.cond(m.sum() > 1e6, lambda x: x * 3, lambda x: -x, m),
    "while": lambda m: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), (0, m))[
        1
    ],
    "fori": lambda m: lax.fori_loop(0, 3, lambda i, x: x * 2, m),
    "scan": lambda m: lax.scan(lambda c, x: (c * x, c.sum()), m, jnp.arange(1.0, 3.0))[1],
    "scan_consts": lambda m: lax.scan(lambda c, x: (c, m @ x), 0.0, jnp.ones((2, 4)))[1],
    "todense": lambda m: jnp.cos(sparse.todense(m)),
    "einsum": lambda m: jnp.einsum("ij,kj->ik", m, np.ones((2, 4), np.float32)),
    "stack": lambda m: jnp.stack([m, m]),
    "split": lambda m: jnp.split(m, 2, 1)[1],
    "concatenate": lambda m: jnp.concatenate([m, m], 1),
    "index": lambda m: m[1:, ::2][-1],
    "new_axis": lambda m: m[:, None],
    "mean": lambda m: m.mean(),
    "astype": lambda m: m.astype(jnp.float16),
    "reshape": lambda m: m.reshape(2, 6).T,
    "grad": lambda m: jax.grad(lambda x: (x**2).sum())(m),
    "vmap": lambda m: jax.vmap(lambda k: m @ k)(jnp.ones((2, 4))),
    "control_flow": lambda m: m if m.shape[0] == 3 else None,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    program = PROGRAMS[name]
    mat = BCOO.fromdense(DENSE)
    expected = np.asarray(program(jnp.asarray(DENSE)))
    for function in (sparse.sparsify(program), jax.jit(sparse.sparsify(program))):
        found = sparse.todense(function(mat))
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_sums_of_one_pattern_store_it_once() -> None:
    mat = BCOO.fromdense(DENSE)
    other = mat * 2.0
    within = sparse.sparsify(lambda m: m * 2.0 + jnp.sin(m) - m)
    carried = sparse.sparsify(lambda m: lax.scan(lambda c, _: (c * 0.5 + c, None), m, None, 3)[0])
    for function in (within, jax.jit(within)):
        assert function(mat).nse == mat.nse
    np.testing.assert_allclose(within(mat).todense(), DENSE + np.sin(DENSE), rtol=1e-6)
    np.testing.assert_allclose(carried(mat).todense(), 1.5**3 * DENSE)
    twice = BCOO((V[:3], np.array([[0, 1], [0, 1], [2, 3]])), shape=(3, 4))
    np.testing.assert_allclose(within(twice).todense()[2], (V[2] + np.sin(V[2])) * np.eye(4)[3])
    assert jax.jit(lambda m: m + m)(mat).nse == 2 * mat.nse
    # What arguments share is not seen under jit, so nowhere.
    plus = sparse.sparsify(lambda x, y: x + y)
    for y in (mat, other):
        for function in (plus, jax.jit(plus), lambda x, y: x + y, jax.jit(lambda x, y: x + y)):
            found = function(mat, y)
            assert found.nse == 2 * mat.nse
            np.testing.assert_allclose(found.todense(), DENSE + np.asarray(y.todense()))


def test_trees_and_dense_arguments() -> None:
    mat = BCOO.fromdense(DENSE)

    @sparse.sparsify
    def function(tree: Any, k: Any, scale: Any = 1.0) -> Any:
        return {"product": tree["m"] * k * scale, "dense": k + 1}

    found = function({"m": mat}, 3.0, scale=2.0)
    np.testing.assert_allclose(found["product"].todense(), 6 * DENSE)
    assert float(found["dense"]) == 4.0


def test_operators_with_numpy() -> None:
    mat = BCOO.fromdense(DENSE)
    np.testing.assert_allclose(np.ones(3, np.float32) @ mat, DENSE.sum(0))
    np.testing.assert_allclose((V * mat).todense(), V * DENSE)
    np.testing.assert_allclose(mat + DENSE, 2 * DENSE)
    np.testing.assert_allclose([row.todense() for row in mat], DENSE)
    assert len(mat) == 3


def test_gradients_have_the_places_of_the_argument() -> None:
    mat = BCOO.fromdense(DENSE)

    def loss(m: Any, v: Any) -> Any:
        return jnp.sum((m @ v) ** 2)

    value, (of_mat, of_v) = sparse.value_and_grad(loss, (0, 1))(mat, V)
    dense_of_mat, dense_of_v = jax.grad(loss, (0, 1))(DENSE, V)
    np.testing.assert_allclose(value, loss(DENSE, V))
    np.testing.assert_allclose(of_mat.todense(), np.where(DENSE != 0, dense_of_mat, 0))
    np.testing.assert_allclose(of_v, dense_of_v)
    alone, aux = sparse.grad(lambda m: (loss(m, V), "aux"), has_aux=True)(mat)
    np.testing.assert_allclose(alone.data, of_mat.data)
    assert aux == "aux"


@pytest.mark.parametrize("jacobian", [sparse.jacfwd, sparse.jacrev])
def test_jacobians(jacobian: Any) -> None:
    mat = BCOO.fromdense(DENSE)
    found = jacobian(lambda m: m @ V)(mat)
    assert (found.shape, found.n_batch) == ((3, 3, 4), 1)
    expected = jax.jacrev(lambda m: m @ V)(jnp.asarray(DENSE))
    np.testing.assert_allclose(found.todense(), np.where(DENSE != 0, expected, 0))
    with pytest.raises(NotImplementedError, match="one dense array"):
        sparse.jacrev(lambda m: {"a": m @ V})(mat)


@pytest.mark.parametrize("k", [-2, 0, 1, 9])
@pytest.mark.parametrize(("n_batch", "n_dense"), [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (0, 2)])
def test_eye(k: int, n_batch: int, n_dense: int) -> None:
    found: Any = sparse.eye(3, 4, k, n_batch=n_batch, n_dense=n_dense)
    assert (found.n_batch, found.n_dense) == (n_batch, n_dense)
    np.testing.assert_array_equal(found.todense(), np.eye(3, 4, k))


def test_random() -> None:
    key = jax.random.key(0)
    found = sparse.random_bcoo(key, (3, 4), nse=5, sorted_indices=True, dtype=np.float32)
    places = np.asarray(found.indices)
    assert len({tuple(place) for place in places.tolist()}) == 5
    assert sorted(places.tolist()) == places.tolist()
    batch = sparse.random_bcoo(key, (2, 3, 4), nse=0.5, n_batch=1, n_dense=1, dtype=np.float32)
    assert (batch.nse, batch.todense().shape) == (2, (2, 3, 4))
    # The numbers of JAX 0.10.
    same = sparse.random_bcoo(key, (3, 4), dtype=np.float32)
    assert same.indices.tolist() == [[0, 0], [0, 3], [2, 1]]
    with pytest.raises(ValueError, match="12 places"):
        sparse.random_bcoo(key, (3, 4), nse=13)
