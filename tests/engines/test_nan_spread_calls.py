"""NaN goes through compiled factorisations as through eager ones, by native code and without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.engines.xla import nan_spread_calls
from morphax.runtime.native_calls import NAN_SPREAD_TARGET


def of_hermitian(x: Any) -> Any:
    size = x.shape[-1]
    return lax.linalg.cholesky(x @ jnp.conj(jnp.swapaxes(x, -1, -2)) + 3 * jnp.eye(size))


FACTORISATIONS: dict[str, Callable[[Any], Any]] = {
    "lu": lax.linalg.lu,
    "qr": lambda x: lax.linalg.qr(x, full_matrices=False),
    "raw": lambda x: jnp.linalg.qr(x, mode="raw"),
    "cholesky": of_hermitian,
    "inv": jnp.linalg.inv,
    "slogdet": jnp.linalg.slogdet,
    "svd": lambda x: lax.linalg.svd(x, full_matrices=False),
    "eigvals": jnp.linalg.eigvals,
    "eigvalsh": jnp.linalg.eigvalsh,
}
OF_SQUARES = ("cholesky", "inv", "slogdet", "eigvals", "eigvalsh")
SHAPES = [(1, 1), (3, 3), (7, 4), (4, 7), (40, 40), (2, 3, 5, 5), (3, 6, 2), (0, 3, 3)]


def matrices(shape: tuple[int, ...], dtype: Any, seed: int) -> Any:
    """Numbers, one of which is NaN, but in the first of a stack."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape)
    x = (x + 1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)
    if x.size:
        x[tuple([n - 1 if n < 3 else int(rng.integers(n)) for n in shape])] = np.nan
    return x


@pytest.mark.sampled(4)
@pytest.mark.parametrize("is_native", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("name", FACTORISATIONS)
def test_nan_is_where_eager_factors_have_it(
    name: str, dtype: Any, is_native: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_native:
        monkeypatch.setattr(nan_spread_calls, "part", lambda name: None)
    factorise = FACTORISATIONS[name]
    for seed, shape in enumerate(SHAPES):
        if shape[-1] != shape[-2] and name in OF_SQUARES:
            continue
        x = matrices(shape, dtype, seed)
        with jax.enable_x64(True):
            expected = jax.tree.leaves(factorise(jnp.asarray(x)))
            compiled = jax.jit(lambda x: factorise(x), compiler_options={"jax_cpu_engine": "xla"})
            found = jax.tree.leaves(compiled(x))
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(np.isnan(one), np.isnan(other), err_msg=str(shape))
            is_number = ~np.isnan(other)
            np.testing.assert_allclose(
                np.asarray(one)[is_number], np.asarray(other)[is_number], rtol=1e-3, atol=1e-3
            )
        if x.size:
            assert any(np.isnan(part).any() for part in found)


@pytest.mark.parametrize("is_native", [True, False])
@pytest.mark.parametrize("other", [np.inf, -np.inf, np.nan, 1j * np.inf, 3e38, -0.0])
def test_iterations_see_finite_matrices_only(
    other: Any, is_native: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_native:
        monkeypatch.setattr(nan_spread_calls, "part", lambda name: None)
    # One after another each place of the vectors that native code adds up, and of their rest.
    x = np.tile(np.eye(5, dtype=np.complex64 if np.iscomplex(other) else np.float32), (25, 1, 1))
    x.reshape(25, 25)[np.diag_indices(25)] = other
    x = np.concatenate([np.eye(5, dtype=x.dtype)[None], x])
    values = jax.jit(jnp.linalg.svdvals, compiler_options={"jax_cpu_engine": "xla"})(x)
    assert (values[0] == 1).all()
    assert np.isfinite(values[1:]).all() if np.isfinite(other) else np.isnan(values[1:]).all()


@pytest.mark.skipif(nan_spread_calls.part("nan_spread") is None, reason="it is not compiled")
def test_programs_that_stay_call_native_code() -> None:
    x = np.eye(3, dtype=np.float32)
    with jax.cpu_engine("xla"):
        for factorise in (lax.linalg.lu, lax.linalg.qr, lax.linalg.cholesky, jnp.linalg.svd):
            lowered = jax.jit(lambda x, f=factorise: f(x)).lower(x)
            assert NAN_SPREAD_TARGET in lowered.as_text()
            exported = jax.export.export(jax.jit(factorise), platforms=["cpu"])(x)
            assert NAN_SPREAD_TARGET not in exported.mlir_module()


ENDS: dict[str, Callable[[Any], Any]] = {
    "large": lambda x: x / abs(x).max() * np.finfo(x.dtype).max * x.dtype.type(0.4),
    "subnormal": lambda x: x * np.finfo(x.dtype).tiny * 1e-2,
    "a subnormal diagonal": lambda x: x * np.eye(*x.shape) * np.finfo(x.dtype).tiny * 1e-2,
}


@pytest.mark.skipif(nan_spread_calls.part("nan_spread") is None, reason="it is not compiled")
@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("shape", [(2, 2), (5, 3), (3, 5), (12, 12)])
def test_numbers_near_the_ends_are_divided(shape: Any, end: str, dtype: Any) -> None:
    """By a reciprocal that is subnormal, and not at all by a subnormal pivot: NaN, or factors."""
    rng = np.random.default_rng(3)
    x = np.asarray(rng.normal(size=shape) + (1j * rng.normal(size=shape)), dtype=np.complex128)
    x = (x if np.dtype(dtype).kind == "c" else x.real).astype(dtype)
    with jax.enable_x64(True):
        extreme = ENDS[end](x).astype(dtype)
        eager = [np.asarray(part) for part in lax.linalg.lu(jnp.asarray(extreme))]
        of_one = lax.linalg.lu_p.evaluate_one(extreme)
        compiled = jax.jit(lambda x: lax.linalg.lu(x), compiler_options={"jax_cpu_engine": "xla"})
        alone, stacked = compiled(extreme), compiled(np.stack([x, extreme, x]))
        usual = lax.linalg.lu(jnp.asarray(x))
    for parts in (of_one, alone, [part[1] for part in stacked]):
        np.testing.assert_array_equal(np.isnan(parts[0]), np.isnan(eager[0]))
        np.testing.assert_allclose(parts[0], eager[0], rtol=1e-3)
    np.testing.assert_allclose(stacked[0][2], usual[0], rtol=1e-3)
    if not np.isnan(eager[0]).any():
        inner = min(shape)
        lower = np.tril(eager[0][:, :inner], -1) + np.eye(shape[0], inner)
        product = lower @ np.triu(eager[0][:inner])
        atol = 1e-5 * abs(extreme).max()
        np.testing.assert_allclose(product, extreme[eager[2]], rtol=0, atol=atol)
    assert (end == "subnormal") == np.isnan(eager[0]).any()
