"""Stacks of matrices in native code: the results of the loop over single ones."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
from morphax import lax
from morphax.lax.linalg import lapack, matrix_stacks
from morphax.lax.linalg.linear_systems import solved_with_factors
from morphax.util.library_threads import thread_functions

linalg = lax.linalg

needs_native = pytest.mark.skipif(lapack.compiled is None, reason="the compiled module is not used")


def solved(a: Any, *, transpose_a: bool) -> Any:
    factors, _, permutation = linalg.lu(a)
    return solved_with_factors(a, factors, permutation, a[..., :2], transpose_a=transpose_a)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "lu": linalg.lu,
    "qr": linalg.qr,
    "thin qr": lambda x: linalg.qr(x, full_matrices=False),
    "svd": linalg.svd,
    "thin svd by QR": lambda x: linalg.svd(
        x, full_matrices=False, algorithm=linalg.SvdAlgorithm.QR
    ),
    "singular values": lambda x: linalg.svd(x, compute_uv=False),
}
OF_SQUARES: dict[str, Callable[[Any], Any]] = {
    "cholesky": linalg.cholesky,
    "eigh": linalg.eigh,
    "eigh of the upper triangle": lambda x: linalg.eigh(x, lower=False, symmetrize_input=False),
    "eig": linalg.eig,
    "schur": linalg.schur,
    "schur, T alone": lambda x: linalg.schur(x, compute_schur_vectors=False),
    "hessenberg": linalg.hessenberg,
    "tridiagonal": linalg.tridiagonal,
    "tridiagonal of the upper triangle": lambda x: linalg.tridiagonal(x, lower=False),
    "reflections": lambda x: linalg.householder_product(x, x[..., 0, :3]),
    "times reflections": lambda x: linalg.ormqr(x, x[..., 0, :2], x[..., :3]),
    "adjoint reflections": lambda x: linalg.ormqr(
        x, x[..., 0, :2], x[..., :3, :], left=False, transpose=True
    ),
    "permutation": lambda x: linalg.lu_pivots_to_permutation(linalg.lu(x)[1], 5),
    "solve": lambda x: solved(x, transpose_a=False),
    "solve with the transpose": lambda x: solved(x, transpose_a=True),
    "triangular": lambda x: linalg.triangular_solve(
        x, x[..., :2, :], conjugate_a=True, unit_diagonal=True
    ),
    "triangular, adjoint": lambda x: linalg.triangular_solve(
        x, x[..., :2], left_side=True, lower=True, transpose_a=True, conjugate_a=True
    ),
}


def stack(shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    """Random matrices, one of them singular, two not finite and two of extreme scale."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=shape) + 1j * rng.normal(size=shape)
    if np.dtype(dtype).kind != "c":
        x = x.real
    x = (x + 3 * np.eye(*shape[-2:])).astype(dtype)
    limit = float(np.finfo(dtype).max) ** 0.75
    x[0, 0], x[0, 1, -1, 0], x[1, 0, 0, -1] = 0, np.nan, np.inf
    x[1, 1] *= limit
    x[2, 0] /= limit
    return x


@needs_native
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("name", [*FUNCTIONS, *OF_SQUARES])
def test_a_stack_is_its_matrices(name: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function = (FUNCTIONS | OF_SQUARES)[name]
    tolerance = 100 * np.finfo(dtype).eps
    shapes = [(4, 4)] if name in OF_SQUARES else [(4, 4), (6, 3), (3, 6)]
    with jax.enable_x64(True):
        for shape in shapes:
            x = jax.numpy.asarray(stack((3, 2, *shape), dtype))
            found = jax.tree.leaves(function(x))
            with monkeypatch.context() as one_by_one:
                one_by_one.setattr(matrix_stacks, "compiled", None)
                expected = jax.tree.leaves(function(x))
            for mine, other in zip(found, expected, strict=True):
                assert mine.dtype == other.dtype
                np.testing.assert_allclose(mine, other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("native", [pytest.param(True, marks=needs_native), False])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_what_a_nan_has_a_part_in_is_nan(
    dtype: str, native: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library skips divisions by a NaN, and what it leaves looks like a result."""
    if not native:
        monkeypatch.setattr(matrix_stacks, "compiled", None)
    for size in (1, 2, 3, 20):
        a = np.random.default_rng(size).normal(size=(size, size))
        a = (a @ a.T + size * np.eye(size)).astype(dtype)
        for i, j in [(0, 0), (size - 1, 0), (size // 2, size // 2), (size - 1, size - 1)]:
            x = np.stack([a, a, a])
            x[1, i, j] = np.nan
            with jax.enable_x64(True):
                given = jax.numpy.asarray(x)
                inverse, factor = jax.numpy.linalg.inv(given), linalg.cholesky(given)
                solution = jax.numpy.linalg.solve(given, jax.numpy.ones_like(given))
                _, r = linalg.qr(given)
                lower = linalg.cholesky(given.mT, symmetrize_input=False)
            assert np.isnan(np.asarray(inverse)[1]).any(axis=1).all()
            assert np.isnan(np.asarray(solution)[1]).all()
            assert np.isnan(np.asarray(factor)[1][np.tril_indices(size)]).all()
            assert np.isnan(np.asarray(r)[1, -1, -1])
            if i > j:  # the triangle that is not read
                np.testing.assert_array_equal(lower[1], lower[0])
            for found in (inverse, factor, solution, r):
                assert np.isfinite(np.asarray(found)[::2]).all()


@pytest.mark.parametrize("native", [pytest.param(True, marks=needs_native), False])
def test_an_infinite_reflection_leaves_nothing_finite(
    native: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not native:
        monkeypatch.setattr(matrix_stacks, "compiled", None)
    x = np.array([[np.inf, 1], [1, 2]], np.float32)
    q, r = linalg.qr(jax.numpy.asarray(x))
    np.testing.assert_array_equal(q, np.full((2, 2), np.nan))
    np.testing.assert_array_equal(r, [[np.nan, np.nan], [0, np.nan]])


@needs_native
def test_many_matrices_are_shared_by_threads() -> None:
    x = np.random.default_rng(0).normal(size=(3000, 12, 12))
    with jax.enable_x64(True):
        q, r = linalg.qr(jax.numpy.asarray(x))
    np.testing.assert_allclose(q @ r, x, atol=1e-12)


@needs_native
def test_small_matrices_have_the_thread_that_asks_alone() -> None:
    """The number of threads is one while small matrices are computed, and then what it was."""
    functions = thread_functions()
    if functions is None:
        pytest.skip("the BLAS is no OpenBLAS")
    numbers = [5]
    get = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: numbers[-1])
    set_ = ctypes.CFUNCTYPE(None, ctypes.c_int)(numbers.append)
    addresses = [ctypes.cast(f, ctypes.c_void_p).value for f in (get, set_)]
    lapack.compiled.control_library_threads(*addresses)
    try:
        x = np.random.default_rng(0).normal(size=(2, 257, 257)).astype(np.float32)
        linalg.qr(jax.numpy.asarray(x[:, :256, :256]))
        assert numbers == [5, 1, 5]
        linalg.qr(jax.numpy.asarray(x[0]))
        # As many as find a processor, if that are fewer.
        assert numbers[:3] == [5, 1, 5]
        assert numbers[3:] == [] or (1 <= numbers[3] < 5 == numbers[4])
        numbers[:] = [5]
        jax.block_until_ready(jax.jit(linalg.qr)(x[:, :256, :256]))
        assert len(numbers) > 1
        assert (set(numbers[::2]), set(numbers[1::2])) == ({5}, {1})
    finally:
        lapack.compiled.control_library_threads(*functions)


@needs_native
def test_a_plan_that_does_not_fit_is_refused() -> None:
    single, sizes = np.dtype(np.float32), lapack.Plan((3,), [((1,), np.int32)])
    sizes.call("getrf", single, 1, 1)
    with pytest.raises(TypeError, match="other arguments"):
        sizes.function([], single=False)
    others = lapack.Plan((3,), [((1,), np.int32)])
    others.call("getrf", single, 1, 1, None, 1, others.info(), others.info())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a number, a letter"):
        others.function([], single=False)
    plan = lapack.Plan((3,), [((2, 2), single)])
    copy = plan.function([plan.copied(plan.operands[0])], single=True)
    with pytest.raises(ValueError, match="another size"):
        copy(np.ones((2, 2, 2), single))
    with pytest.raises(TypeError, match="takes arrays"):
        copy([1.0])
    x = np.arange(12, dtype=single).reshape(2, 2, 3)
    np.testing.assert_array_equal(copy(x.T), x.T)
