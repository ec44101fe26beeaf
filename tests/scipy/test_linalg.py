"""Functions of `scipy.linalg` against SciPy, on both engines, and their derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg

from morphax import enable_x64, jit, tree, vmap
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
    ("block_diag", lambda: linalg.block_diag(jnp.ones((2, 2, 2))), ShapeError),
]


@pytest.mark.parametrize(("call", "error"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_refused(call: Callable[[], Any], error: Any) -> None:
    with enable_x64(True), pytest.raises(error, match=r"given:(.|\n)*expected:(.|\n)*fix:"):
        call()
