"""Factors of matrices that are hard: ill conditioned, graded, deficient, zero, not finite."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.linalg

from morphax import (
    config,
    cpu_engine,
    enable_x64,
    grad,
    jit,
    jvp,
    lax,
    make_jaxpr,
    value_and_grad,
    vmap,
)
from morphax import numpy as jnp
from morphax.core import Jaxpr, jaxprs_in_params
from morphax.errors import ShapeError

DTYPES = ("float64", "complex128", "float32", "complex64")
SIZE = 12


def _matrices(dtype: str) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(SIZE, SIZE))
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.normal(size=x.shape)
    scales = 10.0 ** -np.arange(SIZE)
    found = {
        "random": x,
        "ill conditioned": x @ np.diag(scales) @ x,
        "Hilbert": scipy.linalg.hilbert(SIZE),
        "graded rows": scales[:, None] * x,
        "graded columns": x * scales[::-1],
        "rank 3": x[:, :3] @ x[:3],
        "equal rows": x[[0] * SIZE],
        "nilpotent": np.diag(np.ones(SIZE - 1), 1),
        "zero": np.zeros((SIZE, SIZE)),
        "ones": np.ones((SIZE, SIZE)),
        "tall": x[:, :5],
        "wide": x[:5],
        "large": 1e30 * x,
        "small": 1e-30 * x,
    }
    return {name: matrix.astype(dtype) for name, matrix in found.items()}


@pytest.fixture(autouse=True)
def _wide_dtypes() -> Iterator[None]:
    with enable_x64(True):
        yield


def _on_both_engines(function: Callable[..., Any], *operands: Any) -> list[list[Any]]:
    results = function(*operands), jit(function)(*operands)
    return [[np.asarray(x) for x in (r if isinstance(r, (tuple, list)) else [r])] for r in results]


def _size(x: Any) -> float:
    """The Frobenius norm; that of its scaled elements, as squares could leave the range."""
    largest = float(np.abs(x).max(initial=0.0))
    return largest * float(np.linalg.norm(x / largest)) if largest else 0.0


def _check_product(matrix: Any, *factors: Any) -> None:
    """The backward error is at most 10 n ε."""
    wide = np.complex128 if matrix.dtype.kind == "c" else np.float64
    product = np.linalg.multi_dot([f.astype(wide) for f in factors])
    bound = 10 * SIZE * np.finfo(matrix.dtype).eps * _size(matrix)
    assert _size(product - matrix) <= bound


def _check_orthonormal(q: Any) -> None:
    error = np.abs(q.conj().T @ q - np.eye(q.shape[1])).max(initial=0.0)
    assert error <= 10 * SIZE * np.finfo(q.dtype).eps


@pytest.mark.parametrize("dtype", DTYPES)
def test_lu(dtype: str) -> None:
    for matrix in _matrices(dtype).values():
        rows, columns = matrix.shape
        size = min(rows, columns)
        for factors, _, permutation in _on_both_engines(lax.linalg.lu, matrix):
            lower = np.tril(factors[:, :size], -1) + np.eye(rows, size, dtype=dtype)
            # LAPACK compares complex pivots by |Re| + |Im|.
            assert np.abs(lower).max() <= 1.5
            _check_product(matrix[permutation], lower, np.triu(factors[:size]))


@pytest.mark.parametrize("pivoting", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_qr(dtype: str, pivoting: bool) -> None:
    for matrix in _matrices(dtype).values():
        for full in (False, True):

            def function(x: Any, full: bool = full) -> Any:
                return lax.linalg.qr(x, pivoting=pivoting, full_matrices=full)

            for q, r, *order in _on_both_engines(function, matrix):
                _check_orthonormal(q)
                assert not np.tril(r, -1).any()
                _check_product(matrix[:, order[0]] if pivoting else matrix, q, r)
                sizes = np.abs(np.diagonal(r))
                if pivoting:
                    slack = 1 + 100 * np.finfo(dtype).eps
                    least = 10 * SIZE * np.finfo(dtype).eps * _size(matrix)
                    assert all(b <= a * slack + least for a, b in pairwise(sizes))


@pytest.mark.parametrize("dtype", DTYPES)
def test_cholesky(dtype: str) -> None:
    for name in ("random", "graded columns", "large", "small"):
        x = _matrices(dtype)[name]
        if name in ("large", "small") and np.finfo(dtype).eps > 1e-10:
            continue
        matrix = x @ x.conj().T + _size(x) ** 2 * np.eye(SIZE, dtype=dtype)
        for (factor,) in _on_both_engines(lax.linalg.cholesky, matrix):
            _check_product(matrix, factor, factor.conj().T)


@pytest.mark.parametrize("dtype", DTYPES)
def test_solve(dtype: str) -> None:
    right = np.ones((SIZE, 2), dtype)
    for name in ("random", "ill conditioned", "Hilbert", "graded rows", "graded columns"):
        matrix = _matrices(dtype)[name]
        for (x,) in _on_both_engines(jnp.linalg.solve, matrix, right):
            scale = _size(matrix) * _size(x) + _size(right)
            assert _size(matrix @ x - right) <= 10 * SIZE * np.finfo(dtype).eps * scale


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_systems_are_machine_code_too(dtype: str) -> None:
    rng = np.random.default_rng(2)
    a = (rng.normal(size=(2, 4, 4)) + 1j * rng.normal(size=(2, 4, 4))).astype(dtype)
    flags = ("left_side", "lower", "transpose_a", "conjugate_a", "unit_diagonal")

    def systems(a: Any, b: Any) -> list[Any]:
        """Of all kinds, and the factors with which two are solved."""
        all_kinds = itertools.product((False, True), repeat=len(flags))
        kinds = [dict(zip(flags, values, strict=True)) for values in all_kinds]
        found = [lax.linalg.triangular_solve(a, b, **kind) for kind in kinds]
        return [*found, *lax.linalg.lu(a), jnp.linalg.solve(a, b), jnp.linalg.solve(a.mT, b)]

    with cpu_engine("native"):
        results = jit(systems)(a, a[::-1])
    for given, expected in zip(results, systems(a, a[::-1]), strict=True):
        largest = np.abs(expected).max()
        np.testing.assert_allclose(given, expected, atol=300 * np.finfo(dtype).eps * largest)


def test_not_positive_definite() -> None:
    for matrix in (-np.eye(3), np.full((3, 3), np.nan), np.zeros((3, 3))):
        for (factor,) in _on_both_engines(lax.linalg.cholesky, matrix):
            assert np.isnan(np.tril(factor)).any()
    stack = np.stack([np.eye(2), -np.eye(2)])
    for (factor,) in _on_both_engines(lax.linalg.cholesky, stack):
        assert np.isnan(factor).any((1, 2)).tolist() == [False, True]


@pytest.mark.parametrize("dtype", ["float64", "complex64"])
def test_what_is_not_finite_neither_hangs_nor_crashes(dtype: str) -> None:
    """NaN spreads, on both engines; an infinity may vanish, as in 1 / ∞."""
    calls = [
        lax.linalg.lu,
        lax.linalg.qr,
        lambda x: lax.linalg.qr(x, pivoting=True),
        jnp.linalg.inv,
        jnp.linalg.det,
    ]
    for shape in ((4, 4), (5, 3), (3, 5)):
        for call in calls if shape == (4, 4) else calls[:3]:
            compiled = jit(call)
            for value, place in itertools.product((np.nan, np.inf, -np.inf), (0, 4, 7, ...)):
                x = np.random.default_rng(1).normal(size=shape).astype(dtype)
                x.reshape(-1)[place] = value
                for results in (call(x), compiled(x)):
                    parts = results if isinstance(results, (tuple, list)) else [results]
                    spread = any(np.isnan(part).any() for part in parts)
                    assert spread or not np.isnan(value)


def test_signs_of_columns_that_begin_with_zero_are_those_of_lapack() -> None:
    for order in itertools.permutations(range(3)):
        matrix = np.eye(3)[list(order)]
        wanted = np.linalg.qr(matrix)
        for found in _on_both_engines(lax.linalg.qr, matrix):
            np.testing.assert_array_equal(found, [wanted.Q, wanted.R])


def test_singular_systems_have_no_finite_solution() -> None:
    for matrix in (np.zeros((3, 3)), np.ones((3, 3))):
        for (x,) in _on_both_engines(jnp.linalg.solve, matrix, np.arange(3.0)):
            assert not np.isfinite(x).all()


def _count(jaxpr: Jaxpr, name: str) -> int:
    inner = [_count(j, name) for e in jaxpr.eqns for j in jaxprs_in_params(e.params)]
    return sum(e.primitive.name == name for e in jaxpr.eqns) + sum(inner)


def test_a_system_and_its_derivatives_cost_one_factorisation() -> None:
    a, b = np.eye(3) + 0.1, np.arange(3.0)

    def loss(a: Any, b: Any) -> Any:
        return jnp.sum(jnp.linalg.solve(a, b) ** 2)

    programs = [
        value_and_grad(loss, (0, 1)),
        lambda a, b: jvp(loss, (a, b), (a, b)),
        lambda a, b: jvp(grad(loss), (a, b), (a, b)),
        lambda a, b: grad(lambda a: jnp.linalg.slogdet(a)[1])(a),
        grad(lambda a, b: jnp.sum(jnp.linalg.inv(a))),
    ]
    assert [_count(make_jaxpr(p)(a, b), "lu") for p in programs] == [1] * 5


def test_one_matrix_is_factorised_once_for_a_batch_of_right_hand_sides() -> None:
    a, b = np.eye(3) + 0.1, np.arange(12.0).reshape(4, 3)
    jaxpr = make_jaxpr(vmap(jnp.linalg.solve, (None, 0)))(a, b)
    (factorisation,) = [e for e in jaxpr.eqns if e.primitive.name == "lu"]
    assert factorisation.outvars[0].aval.shape == (3, 3)
    given = vmap(jnp.linalg.solve, (None, 0))(a, b)
    np.testing.assert_allclose(given, np.linalg.solve(a, b.T).T)


def _adjugate(a: Any) -> Any:
    size = range(len(a))
    minors = [[np.linalg.det(np.delete(np.delete(a, j, 0), i, 1)) for j in size] for i in size]
    return np.array([[(-1) ** (i + j) * minors[i][j] for j in size] for i in size])


X = np.random.default_rng(2).normal(size=(5, 5))
SINGULAR = {
    "zero": np.zeros((5, 5)),
    "nilpotent": np.diag(np.ones(4), 1),
    **{f"zero at {i}": np.diag(np.where(np.arange(5) == i, 0.0, np.arange(1.0, 6.0)))
       for i in range(5)},
    **{f"rank {k}": X[:, :k] @ X[:k] for k in range(1, 5)},
    "ones": np.ones((5, 5)),
    "equal rows": X[[0, 0, 1, 2, 3]],
    "zero column": X * np.array([1.0, 0, 1, 1, 1]),
    "two zero columns": X * np.array([0.0, 1, 1, 0, 1]),
    "regular": X,
}  # fmt: skip


@pytest.mark.parametrize("name", SINGULAR)
def test_determinants_of_singular_matrices_have_derivatives(name: str) -> None:
    a = SINGULAR[name]
    first = grad(jnp.linalg.det)
    np.testing.assert_allclose(first(a), _adjugate(a).T, rtol=0, atol=1e-13)
    np.testing.assert_allclose(jit(first)(a), _adjugate(a).T, rtol=0, atol=1e-13)
    direction, step = np.random.default_rng(3).normal(size=a.shape), 1e-5
    second = jvp(first, (a,), (direction,))[1]
    plus, minus = _adjugate(a + step * direction), _adjugate(a - step * direction)
    np.testing.assert_allclose(second, (plus - minus).T / (2 * step), rtol=0, atol=1e-7)


def _of_two(dtype: Any) -> Any:
    """Matrices of 2 rows with the scales of the dtype in all mixtures, some of them with zeros."""
    rng, limits = np.random.default_rng(4), np.finfo(dtype)
    scales = rng.integers(limits.minexp, limits.maxexp - 2, (400, 2, 2))
    scales[:200] = scales[:200, :1, :1] + rng.integers(-3, 4, (200, 2, 2))
    x = np.ldexp(rng.normal(size=scales.shape), np.minimum(scales, limits.maxexp - 3))
    return np.where(rng.random(x.shape) < 0.1, 0, x).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_determinants_whose_products_are_out_of_range(dtype: str) -> None:
    matrices, limits = _of_two(dtype), np.finfo(dtype)
    p, q, r, s = [[Fraction(float(x)) for x in column] for column in matrices.reshape(-1, 4).T]
    products = [(a * d, b * c) for a, b, c, d in zip(p, q, r, s, strict=True)]
    for function in (jnp.linalg.det, jit(jnp.linalg.det)):
        for (first, second), value in zip(products, np.asarray(function(matrices)), strict=True):
            exact = first - second
            if abs(exact) > Fraction(float(limits.max)):
                assert value == (np.inf if exact > 0 else -np.inf)
                continue
            rounding = Fraction(float(limits.eps)) * (abs(first) + abs(second))
            error = abs(Fraction(float(value)) - exact)
            assert error <= 2 * rounding + Fraction(float(limits.tiny))


def test_determinants_out_of_range_have_derivatives() -> None:
    a = np.array([[1e30, 2e30], [3e30, -1e30]], np.float32)
    for function in (grad(jnp.linalg.det), jit(grad(jnp.linalg.det))):
        np.testing.assert_array_equal(function(a), [[a[1, 1], -a[1, 0]], [-a[0, 1], a[0, 0]]])
    turned = np.array([[1 + 1j, 1], [1j, 1 - 1j]], np.complex64) * np.float32(2.0**80)
    assert np.isposinf(jnp.linalg.det(turned).real)
    assert np.isneginf(jnp.linalg.det(turned).imag)
    assert np.isnan(jnp.linalg.det(np.array([[np.inf, 1.0], [1.0, 0.0]])))


def test_derivatives_that_do_not_exist() -> None:
    reflections, taus = np.ones((3, 2)), np.ones(2)
    for call in (
        lambda a: lax.linalg.householder_product(a, taus),
        lambda a: lax.linalg.ormqr(a, taus, np.eye(3)),
    ):
        with pytest.raises(NotImplementedError, match=r"lax\.linalg\.qr has derivatives"):
            grad(lambda a, call=call: jnp.sum(call(a)))(reflections)


V = np.ones(3)
ROWS = [
    ("lu vector", lambda: lax.linalg.lu(np.ones(3)), ShapeError),
    ("lu scalar", lambda: lax.linalg.lu(1.0), ShapeError),
    ("lu integers", lambda: lax.linalg.lu(np.ones((2, 2), int)), TypeError),
    ("lu half", lambda: lax.linalg.lu(jnp.ones((2, 2), "bfloat16")), TypeError),
    ("qr vector", lambda: lax.linalg.qr(np.ones(3)), ShapeError),
    ("qr booleans", lambda: lax.linalg.qr(np.ones((2, 2), bool)), TypeError),
    ("permutation", lambda: lax.linalg.lu_pivots_to_permutation(np.zeros(3, "i4"), 2), ShapeError),
    ("permutation i8", lambda: lax.linalg.lu_pivots_to_permutation(np.zeros(3, int), 3), TypeError),
    ("update size", lambda: lax.linalg.cholesky_update(np.eye(3), np.ones(2)), ShapeError),
    ("update complex", lambda: lax.linalg.cholesky_update(np.eye(2) * 1j, np.ones(2)), TypeError),
    ("update dtypes", lambda: lax.linalg.cholesky_update(np.eye(2), np.ones(2, "f4")), TypeError),
    ("reflections", lambda: lax.linalg.householder_product(np.ones((2, 3)), V[:2]), ValueError),
    ("scalars", lambda: lax.linalg.householder_product(np.ones((3, 2)), V), ValueError),
    ("ormqr", lambda: lax.linalg.ormqr(np.ones((4, 2)), np.ones(2), np.ones((3, 4))), ValueError),
    ("ormqr rank", lambda: lax.linalg.ormqr(np.ones((4, 2)), np.ones(2), np.ones(4)), TypeError),
    ("det", lambda: jnp.linalg.det(np.ones((2, 3))), ValueError),
    ("inv", lambda: jnp.linalg.inv(np.ones(3)), ValueError),
    ("slogdet", lambda: jnp.linalg.slogdet(np.eye(2), method="svd"), ValueError),
    ("slogdet qr", lambda: jnp.linalg.slogdet(np.eye(2) * 1j, method="qr"), NotImplementedError),
    ("solve", lambda: jnp.linalg.solve(np.eye(3), np.ones(4)), ValueError),
    ("solve stack", lambda: jnp.linalg.solve(np.ones((5, 3, 3)), np.ones((5, 3))), ValueError),
    ("solve scalar", lambda: jnp.linalg.solve(np.eye(3), 1.0), ValueError),
    ("qr mode", lambda: jnp.linalg.qr(np.eye(3), mode="full"), ValueError),
    ("power", lambda: jnp.linalg.matrix_power(np.eye(3), 2.0), TypeError),
    ("power shape", lambda: jnp.linalg.matrix_power(np.ones((2, 3)), 2), TypeError),
    ("multi_dot one", lambda: jnp.linalg.multi_dot([np.eye(3)]), ValueError),
    ("multi_dot sizes", lambda: jnp.linalg.multi_dot([np.eye(3), np.ones((4, 2))]), ValueError),
    ("multi_dot rank", lambda: jnp.linalg.multi_dot([np.eye(3), np.ones((2, 3, 3))]), ValueError),
    ("tensorsolve", lambda: jnp.linalg.tensorsolve(np.ones((2, 3)), np.ones(2)), ValueError),
    ("tensorsolve axes", lambda: jnp.linalg.tensorsolve(np.eye(2), np.ones(2), 0), TypeError),
    ("tensorinv", lambda: jnp.linalg.tensorinv(np.eye(2), 0), ValueError),
    ("tensorinv sizes", lambda: jnp.linalg.tensorinv(np.ones((2, 3)), 1), ValueError),
    ("outer", lambda: jnp.linalg.outer(np.eye(2), np.ones(2)), ValueError),
    ("cross", lambda: jnp.linalg.cross(np.ones(2), np.ones(2)), ValueError),
    ("diagonal", lambda: jnp.linalg.diagonal(np.ones(3)), ValueError),
    ("trace", lambda: jnp.linalg.trace(np.ones(3)), ValueError),
    ("norm order", lambda: jnp.linalg.norm(np.eye(3), 3), ValueError),
    ("vector_norm", lambda: jnp.linalg.vector_norm(np.ones(3), ord="fro"), ValueError),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error"), [r[1:] for r in ROWS], ids=[r[0] for r in ROWS])
def test_refused(call: Callable[[], Any], error: Any) -> None:
    with pytest.raises(error, match=r"given:(.|\n)*expected:(.|\n)*fix:"):
        call()
    assert config.jax_enable_x64
