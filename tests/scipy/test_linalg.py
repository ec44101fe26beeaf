"""Functions of `scipy.linalg` against SciPy, on both engines, and their derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg

from morphax import enable_x64, jit, tree, vjp, vmap
from morphax import numpy as jnp
from morphax.errors import ShapeError
from morphax.scipy import linalg
from morphax.test_util import check_grads

RNG = np.random.default_rng(0)
A = RNG.normal(size=(4, 4)) + 4 * np.eye(4)
C = A + 1j * RNG.normal(size=(4, 4))
P = A @ A.T
T = RNG.normal(size=(5, 3))
V, B = RNG.normal(size=4), RNG.normal(size=(4, 2))
ROWS: list[tuple[str, Callable[..., Any], tuple[Any, ...]]] = [
    ("lu", lambda m, x: m.lu(x), (A,)),
    ("lu tall", lambda m, x: m.lu(x), (T,)),
    ("lu wide", lambda m, x: m.lu(x), (T.T,)),
    ("lu permuted", lambda m, x: m.lu(x, permute_l=True), (C,)),
    ("lu_factor", lambda m, x: m.lu_factor(x), (A,)),
    *[(f"lu_solve {t}", lambda m, x, b, t=t: m.lu_solve(m.lu_factor(x), b, trans=t), (C, B))
      for t in (0, 1, 2)],
    ("lu_solve vector", lambda m, x, b: m.lu_solve(m.lu_factor(x), b), (A, V)),
    ("cholesky", lambda m, x: m.cholesky(x), (P,)),
    ("cholesky lower", lambda m, x: m.cholesky(x, lower=True), (P + np.triu(A),)),
    ("cholesky upper", lambda m, x: m.cholesky(x), (P + np.tril(A),)),
    *[(f"cho_solve {low}", lambda m, x, b, low=low: m.cho_solve(m.cho_factor(x, low), b), (P, B))
      for low in (False, True)],
    *[(f"solve_triangular {t} {low} {unit}",
       lambda m, x, b, t=t, low=low, unit=unit: m.solve_triangular(x, b, t, low, unit), (C, V))
      for t, low, unit in ((0, False, False), (1, True, False), ("C", False, True), (2, True, True),
                           ("N", True, False), ("T", False, False))],
    *[(f"solve {kind}", lambda m, x, b, kind=kind: m.solve(x, b, assume_a=kind), (P, B))
      for kind in ("gen", "sym", "her", "pos")],
    ("inv", lambda m, x: m.inv(x), (C,)),
    ("det", lambda m, x: m.det(x), (C,)),
    *[(f"qr {mode} {p}", lambda m, x, mode=mode, p=p: m.qr(x, mode=mode, pivoting=p), (T,))
      for mode in ("full", "economic", "r") for p in (False, True)],
    *[(f"qr_multiply {mode} {rows} {p}",
       lambda m, x, c, mode=mode, p=p: m.qr_multiply(x, c, mode, p, conjugate=True), (x, c))
      for mode, rows, x, c in (("left", "tall", T + 1j, T[:3]), ("right", "tall", T + 1j, T.T),
                               ("left", "wide", T.T, V[:3]), ("right", "wide", T.T, V[:3]))
      for p in (False, True)],
    *[(f"sqrtm {i}", lambda m, x: m.sqrtm(x), (x,))
      for i, x in enumerate((A, C, np.diag([4.0, -9.0]), A[:1, :1]))],
    *[(f"funm {i}", lambda m, x: m.funm(x, lambda w: w**3 - 2 * w), (x,))
      for i, x in enumerate((A, C, np.eye(3), A[:1, :1]))],
    *[(f"rsf2csf {i}", lambda m, t, z: m.rsf2csf(t, z), scipy.linalg.schur(x))
      for i, x in enumerate((RNG.normal(size=(5, 5)), A[:1, :1], np.array([[1, 2], [-3.0, 1]])))],
    *[(f"solve_sylvester {kind}", lambda m, a, b, c: m.solve_sylvester(a, b, c), (a, b, c))
      for kind, a, b, c in (("real", A, P[:2, :2], B), ("complex", C, P[:2, :2], B),
                            ("scalar", A[:1, :1], P[:1, :1], B[:1, :1]))],
    ("eigh_tridiagonal", lambda m, d, e: m.eigh_tridiagonal(d, e, eigvals_only=True), (V, V[:3])),
    ("eigh_tridiagonal places", lambda m, d, e: m.eigh_tridiagonal(
        d, e, eigvals_only=True, select="i", select_range=(1, 2)), (V, V[:3])),
    *[(f"fiedler_companion {n}", lambda m, a: m.fiedler_companion(a), (RNG.normal(size=n),))
      for n in (2, 3, 6, 7)],
    ("toeplitz", lambda m, c: m.toeplitz(c), (V + 1j,)),
    ("toeplitz rows", lambda m, c, r: m.toeplitz(c, r), (V, V[:3])),
    ("block_diag", lambda m, *xs: m.block_diag(*xs), (A, V, B)),
    ("block_diag empty", lambda m, *xs: m.block_diag(*xs), (np.ones((0, 2)), A)),
]  # fmt: skip


@pytest.mark.parametrize(("call", "operands"), [r[1:] for r in ROWS], ids=[r[0] for r in ROWS])
def test_agrees_with_scipy(call: Callable[..., Any], operands: tuple[Any, ...]) -> None:
    expected = tree.leaves(call(scipy.linalg, *operands))
    with enable_x64(True):
        for run in (call, lambda m, *xs: jit(lambda *ys: call(m, *ys))(*xs)):
            given = tree.leaves(run(linalg, *operands))
            for g, e in zip(given, expected, strict=True):
                np.testing.assert_allclose(g, e, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["lu_solve 2", "cho_solve True", "solve pos", "toeplitz rows",
                                  "solve_triangular C False True"])  # fmt: skip
def test_derivatives(name: str) -> None:
    (row,) = [r for r in ROWS if r[0] == name]
    # Factors of Hermitian matrices are functions of these: others have no derivative.
    hermitian = name in ("cho_solve True", "solve pos")

    def call(x: Any, *rest: Any) -> Any:
        return row[1](linalg, (x + x.T) / 2 if hermitian else x, *rest)

    with enable_x64(True):
        check_grads(call, row[2], 2, atol=1e-4, rtol=1e-4)


def test_stacks_are_solved_at_once() -> None:
    stack, right = np.stack([A, P]), np.stack([B, -B])
    with enable_x64(True):
        for solve in (linalg.solve_triangular, linalg.solve,
                      lambda a, b: linalg.lu_solve(linalg.lu_factor(a), b)):  # fmt: skip
            np.testing.assert_allclose(solve(stack, right), vmap(solve)(stack, right), atol=1e-12)
            np.testing.assert_allclose(
                solve(stack, B), vmap(solve, (0, None))(stack, B), atol=1e-12
            )


@pytest.mark.parametrize("lower", [False, True])
def test_derivatives_of_positive_definite_systems_are_those_of_any(lower: bool) -> None:
    """Of A as a whole: cotangents are −A⁻ᵀ ct xᵀ, whichever triangle was read."""
    rng = np.random.default_rng(4)
    x, right = (rng.normal(size=s) + 1j * rng.normal(size=s) for s in ((2, 4, 4), (2, 4, 3)))
    with enable_x64(True):
        for a, b in ((P, B), (x @ np.conj(x.swapaxes(-1, -2)) + np.eye(4), right)):
            value, pull = vjp(lambda a, b: linalg.solve(a, b, lower, assume_a="pos"), a, b)
            expected, pull_of_any = vjp(linalg.solve, a, b)
            np.testing.assert_allclose(value, expected, atol=1e-12)
            for given, of_any in zip(pull(expected), pull_of_any(expected), strict=True):
                np.testing.assert_allclose(given, of_any, atol=1e-12)


def test_a_stack_of_vectors_is_deprecated() -> None:
    stack, right = np.stack([A, P, A]), np.ones((3, 4))
    with pytest.warns(DeprecationWarning, match="stack of vectors"):
        given = linalg.solve_triangular(stack, right)
    expected = [scipy.linalg.solve_triangular(a, b) for a, b in zip(stack, right, strict=True)]
    np.testing.assert_allclose(given, expected, rtol=1e-4)


REFUSED = [
    ("lu stack", lambda: linalg.lu(np.ones((2, 3, 3))), ShapeError),
    ("qr mode", lambda: linalg.qr(A, mode="complete"), ValueError),
    ("trans", lambda: linalg.solve_triangular(A, V, trans="H"), ValueError),
    ("lu_solve trans", lambda: linalg.lu_solve(linalg.lu_factor(A), V, trans=3), ValueError),
    ("lu_solve pivots", lambda: linalg.lu_solve((A, np.arange(4)), V), TypeError),
    ("solve kind", lambda: linalg.solve(A, V, assume_a="banded"), ValueError),
    ("sizes", lambda: linalg.cho_solve((A, True), V[:3]), ShapeError),
    ("qr_multiply mode", lambda: linalg.qr_multiply(A, B, mode="up"), ValueError),
    ("qr_multiply", lambda: linalg.qr_multiply(A, B), ShapeError),
    ("sqrtm", lambda: linalg.sqrtm(T), ShapeError),
    ("funm of what is no function", lambda: linalg.funm(A, 3), TypeError),
    ("exchanges of others", lambda: linalg.lu_solve((A, np.zeros(2, np.int32)), V), ShapeError),
    ("sqrtm blocks", lambda: linalg.sqrtm(A, blocksize=64), NotImplementedError),
    ("funm stack", lambda: linalg.funm(np.stack([A, A]), jnp.sin), ShapeError),
    ("funm func", lambda: linalg.funm(A, jnp.sum), ShapeError),
    ("rsf2csf", lambda: linalg.rsf2csf(A, A[:2, :2]), ShapeError),
    ("solve_sylvester", lambda: linalg.solve_sylvester(A, A, B), ShapeError),
    ("solve_sylvester method", lambda: linalg.solve_sylvester(A, A, A, method="qr"), ValueError),
    ("eigh_tridiagonal", lambda: linalg.eigh_tridiagonal(V, V), ShapeError),
    ("eigh_tridiagonal v", lambda: linalg.eigh_tridiagonal(V, V[:3], select="v"),
     NotImplementedError),
    ("eigh_tridiagonal i",
     lambda: linalg.eigh_tridiagonal(V, V[:3], select="i", select_range=(2, 4)), ValueError),
    ("fiedler_companion", lambda: linalg.fiedler_companion(V[:1]), ShapeError),
    ("block_diag", lambda: linalg.block_diag(jnp.ones((2, 2, 2))), ShapeError),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_refused(call: Callable[[], Any], error: Any) -> None:
    with enable_x64(True), pytest.raises(error, match=r"given:(.|\n)*expected:(.|\n)*fix:"):
        call()


def test_lists_are_taken_as_in_scipy() -> None:
    rows = [[4.0, 1.0], [1.0, 3.0]]
    for name in ("svd", "eigh", "polar", "lu_factor", "cho_factor", "qr"):
        for found, e in zip(
            getattr(linalg, name)(rows), getattr(linalg, name)(jnp.array(rows)), strict=True
        ):
            np.testing.assert_array_equal(found, e)
    right = [9.0, 5.0]
    for found in (
        linalg.cho_solve(([[2.0, 0.5], [0.0, 2.75**0.5]], False), right),
        linalg.lu_solve(([[4.0, 1.0], [0.25, 2.75]], np.array([0, 1], np.int32)), right),
    ):
        np.testing.assert_allclose(found, [2, 1], 1e-5)
    np.testing.assert_array_equal(linalg.expm_frechet([[0.0]], [[1.0]]), [[[1]], [[1]]])


NAMED: list[tuple[str, tuple[Any, ...]]] = [
    *[(name, (T,)) for name in ("inv", "det", "expm", "eigh", "schur", "cholesky", "sqrtm")],
    *[(name, (T, V)) for name in ("solve", "solve_triangular")],
    *[(name, ([1.0, 2.0],)) for name in ("toeplitz", "companion", "svd", "polar", "block_diag")],
    ("solve", (A, V[:3])),
    ("qr_multiply", (A, V[:3])),
]  # fmt: skip


@pytest.mark.parametrize(("name", "operands"), NAMED)
def test_errors_name_the_function_of_scipy(name: str, operands: tuple[Any, ...]) -> None:
    with enable_x64(True), pytest.raises((TypeError, ValueError), match=f"scipy.linalg.{name}"):
        getattr(linalg, name)(*operands)


@pytest.mark.parametrize("x", [np.array([[0.0, 1.0], [0.0, 0.0]]), np.full((2, 2), np.nan)])
def test_a_matrix_without_a_root_gives_nan(x: Any) -> None:
    assert np.isnan(linalg.sqrtm(x)).all()


def test_the_root_of_zeros() -> None:
    assert not linalg.sqrtm(np.zeros((2, 2))).any()
    assert linalg.sqrtm(np.eye(2, dtype=np.float16)).dtype == np.complex64


def test_functions_of_defective_matrices_are_not_guessed() -> None:
    found, error = linalg.funm(np.array([[1.0, 1.0], [0.0, 1.0]]), jnp.exp, disp=False)
    assert np.isnan(found).all()
    assert np.isinf(error)


def test_equations_without_one_solution_give_nan() -> None:
    for method in ("schur", "eigen"):
        assert np.isnan(linalg.solve_sylvester(P, -P, A, method=method)).all()


def test_matrices_without_elements() -> None:
    empty = np.zeros((0, 0))
    for f in (linalg.sqrtm, lambda x: linalg.funm(x, jnp.sin), lambda x: linalg.rsf2csf(x, x)[0],
              lambda x: linalg.solve_sylvester(x, x, x)):  # fmt: skip
        assert f(empty).shape == (0, 0)
