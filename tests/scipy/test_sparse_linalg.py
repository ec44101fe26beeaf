"""Iterative solvers, against direct ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import morphax as jax
from morphax import enable_x64
from morphax import numpy as jnp
from morphax.errors import ShapeError
from morphax.scipy.sparse.linalg import bicgstab, cg, gmres
from morphax.test_util import check_grads

RNG = np.random.default_rng(0)
N = 12
GENERAL = RNG.normal(size=(N, N)) + 6 * np.eye(N)
TURNED = GENERAL + 1j * RNG.normal(size=(N, N))
B = RNG.normal(size=N)
SOLVERS = [cg, bicgstab, gmres]


@pytest.fixture(autouse=True)
def _wide_dtypes() -> Iterator[None]:
    with enable_x64(True):
        yield


def _matrix(solver: Callable[..., Any], a: Any) -> Any:
    """`a`, or for conjugate gradients a positive definite matrix."""
    return a @ a.conj().T if solver is cg else a


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("a", [GENERAL, TURNED])
def test_solutions(solver: Callable[..., Any], a: Any) -> None:
    a = _matrix(solver, a)
    expected = np.linalg.solve(a, B)
    inverse = np.diag(1 / np.diag(a))
    for operator, options in (
        (a, {}),
        (lambda x: jnp.matmul(a, x), {"x0": np.ones(N), "M": lambda x: inverse @ x}),
    ):
        x, info = jax.jit(lambda b, o=operator, k=options: solver(o, b, tol=1e-12, **k))(B)
        assert info == 0
        np.testing.assert_allclose(x, expected, 1e-8, 1e-10)


@pytest.mark.parametrize("method", ["batched", "incremental"])
@pytest.mark.parametrize("restart", [3, 100])
def test_spaces_of_gmres(method: str, restart: int) -> None:
    x, info = gmres(TURNED, B, tol=1e-10, restart=restart, solve_method=method)
    assert info == 0
    np.testing.assert_allclose(x, np.linalg.solve(TURNED, B), 1e-7, 1e-8)
    # A space of dimension 2 that the operator maps into itself.
    a = np.diag([1.0] * 6 + [2.0] * 6)
    x, info = gmres(a, B, tol=1e-10, restart=max(restart, 2), solve_method=method)
    assert info == 0
    np.testing.assert_allclose(x, np.linalg.solve(a, B), 1e-8)


@pytest.mark.parametrize("method", ["batched", "incremental"])
def test_gmres_of_singular_systems_that_have_a_solution(method: str) -> None:
    with_zeros, twice = GENERAL.copy(), GENERAL.copy()
    with_zeros[:, 0], twice[-1] = 0, twice[0]
    for a in (with_zeros, twice, TURNED * (np.arange(N) != 2)):
        b = a @ B
        x, info = gmres(a, b, tol=1e-9, restart=N, solve_method=method)
        assert info == 0
        np.testing.assert_allclose(a @ x, b, 1e-6, 1e-8)
    # Each vector of the space but the last one leaves the residual as large as it was.
    turned = np.roll(np.eye(N), 1, axis=0)
    x, info = gmres(turned, B, tol=1e-12, restart=N, solve_method=method)
    assert info == 0
    np.testing.assert_allclose(x, np.roll(B, -1), 1e-9, 1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_derivatives_of_solutions(solver: Callable[..., Any]) -> None:
    def run(a: Any, b: Any, scale: Any) -> Any:
        inverse = jnp.diag(scale / jnp.diag(a))
        return solver(a, b, tol=1e-13, M=inverse, x0=scale * b)[0]

    a = _matrix(solver, GENERAL[:4, :4])
    sample = (lambda s, b: run(s @ s.T + 9 * jnp.eye(4), b, 1.0)) if solver is cg else None
    check_grads(
        sample or (lambda a, b: run(a, b, 1.0)),
        (a / 20 if solver is cg else a, B[:4]),
        order=2,
        atol=1e-4,
        rtol=1e-4,
    )
    # Neither a preconditioner nor a guess changes the solution.
    assert jax.grad(lambda scale: run(a, B[:4], scale).sum())(1.0) == 0


@pytest.mark.parametrize("solver", SOLVERS)
def test_trees(solver: Callable[..., Any]) -> None:
    a = _matrix(solver, GENERAL)
    b = {"a": B[:4].reshape(2, 2), "b": [B[4:], np.float64(2)]}

    def operator(x: Any) -> Any:
        flat = jnp.matmul(a, jnp.concatenate([x["a"].ravel(), x["b"][0]]))
        return {"a": flat[:4].reshape(2, 2), "b": [flat[4:], 3 * x["b"][1]]}

    x, info = solver(operator, b, tol=1e-12, maxiter=500)
    assert info == 0
    for found, expected in zip(jax.tree.leaves(operator(x)), jax.tree.leaves(b), strict=True):
        np.testing.assert_allclose(found, expected, 1e-8, 1e-10)
    many = jax.vmap(lambda b: solver(a, b, tol=1e-12, maxiter=500)[0])(np.stack([B, 2 * B]))
    np.testing.assert_allclose(many, [np.linalg.solve(a, v) for v in (B, 2 * B)], 1e-7, 1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_special_systems(solver: Callable[..., Any]) -> None:
    a = _matrix(solver, GENERAL)
    x, info = solver(a, np.zeros(N))
    assert (x == 0).all()
    assert info == 0
    x, info = solver(a, B, x0=np.linalg.solve(a, B))
    assert info == 0
    assert solver(np.ones((0, 0)), np.ones(0))[0].shape == (0,)
    x, _ = solver(np.array([[2]]), np.array([3]))
    assert x == 1.5
    assert x.dtype == np.float64
    assert solver(np.ones((1, 1), np.float32), np.ones(1, np.float32))[0].dtype == np.float32


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("scale", [1e-250, 1e250])
def test_systems_whose_squares_have_no_number(solver: Callable[..., Any], scale: float) -> None:
    a = _matrix(solver, GENERAL)
    x, info = solver(a, scale * B, tol=1e-12, atol=1e-14 * scale, x0=np.full(N, scale))
    np.testing.assert_allclose(x / scale, np.linalg.solve(a, B), 1e-8, 1e-10)
    assert info == 0


@pytest.mark.parametrize("solver", SOLVERS)
def test_systems_without_solution(solver: Callable[..., Any]) -> None:
    a = _matrix(solver, GENERAL)
    assert solver(a, B, maxiter=1, tol=1e-12, **({"restart": 2} if solver is gmres else {}))[1] == 1
    x, info = solver(np.full((N, N), np.nan), B)
    assert np.isnan(x).all()
    assert info == -1
    assert solver(np.zeros((N, N)), B)[1] != 0
    for options in ({"maxiter": 0}, {"tol": np.nan}):
        x, info = solver(a, B, x0=np.ones(N), **options)
        assert (x == 1).all()
        assert info == -1
    # No residual is larger than an infinite tolerance.
    x, info = solver(a, np.where(np.arange(N) == 1, np.inf, B))
    assert np.isnan(x).all()
    assert info == -1


@pytest.mark.parametrize("solver", SOLVERS)
def test_what_is_no_system(solver: Callable[..., Any]) -> None:
    for a in (GENERAL[:2], GENERAL[None], GENERAL[0]):
        with pytest.raises(ShapeError, match="argument A"):
            solver(a, B)
    for a in ("text", [[1.0]]):
        with pytest.raises(TypeError, match="argument A"):
            solver(a, B)
    with pytest.raises(TypeError, match="argument A"):
        solver(lambda x: [x], B)
    with pytest.raises(ShapeError, match="argument A"):
        solver(lambda x: x[1:], B)
    with pytest.raises(ValueError, match="argument x0"):
        solver(GENERAL, B, [B])
    with pytest.raises(ShapeError, match="argument x0"):
        solver(GENERAL, B, B[1:])
    with pytest.raises(ShapeError, match="argument M"):
        solver(GENERAL, B, M=GENERAL[:2])
    with pytest.raises(ShapeError, match="argument A"):
        solver(GENERAL, B[1:])


def test_options_of_gmres() -> None:
    with pytest.raises(ValueError, match="argument solve_method"):
        gmres(GENERAL, B, solve_method="none such")
    for restart in (0, 2.5):
        with pytest.raises(ValueError, match="argument restart"):
            gmres(GENERAL, B, restart=restart)  # type: ignore[arg-type]
