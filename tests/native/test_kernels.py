"""Compiled kernels against NumPy, and random bits against their twin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.experimental.sparse import BCOO
from morphax.lax.elementwise.convert import converted
from morphax.lax.elementwise.selection import max_p, min_p
from morphax.lax.random.threefry import encrypt_integers
from morphax.util.compiled import part

kernels, random = part("kernels"), part("random")
compiled_only = pytest.mark.skipif(kernels is None, reason="tests the compiled kernels")

N = 10_007
RNG = np.random.default_rng(0)
DTYPES = ("bool", "int8", "float16", "float32", "float64", "complex64", "complex128")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("scalars", [(), (1,), (2,), (1, 2)], ids=str)
def test_one_of_two_of_many(dtype: str, scalars: tuple[int, ...]) -> None:
    operands: list[Any] = [RNG.random(N) > 0.5]
    operands += [(RNG.normal(size=N) * 9).astype(dtype) for _ in range(2)]
    for i in scalars:
        operands[i] = operands[i][0]
    with jax.enable_x64(True):
        chosen = jnp.where(*map(jnp.asarray, operands))
    np.testing.assert_array_equal(chosen, np.where(*operands), strict=True)


def test_operands_that_do_not_lie_in_order() -> None:
    x = jnp.asarray(RNG.normal(size=(100, 101)).astype(np.float32))
    chosen = jnp.where(x.T > 0, x.T, 1.0)
    np.testing.assert_array_equal(chosen, np.where(np.asarray(x).T > 0, np.asarray(x).T, 1))


@compiled_only
def test_shapes_and_widths_are_checked() -> None:
    flags, x = np.zeros(4, bool), np.zeros(4, np.float32)
    with pytest.raises(ValueError, match="shapes"):
        kernels.select(flags, x, x[:2].copy())
    with pytest.raises(TypeError, match="one dtype"):
        kernels.select(flags, x, x.astype(np.float64))
    with pytest.raises(TypeError, match="float32"):
        kernels.maximum(x, x.astype(np.float64))
    with pytest.raises(TypeError, match="arrays of NumPy"):
        kernels.minimum(x, 1.0)
    with pytest.raises(TypeError, match="integer dtype"):
        kernels.to_integer(x, x.dtype)


FLOATS = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.5, 1e9, -1e9, 1e20, -1e20, np.inf, -np.inf, np.nan]
POWERS = [2.0**n for n in (7, 8, 15, 16, 31, 32, 63, 64)]
ENDS = [sign * (power + k) for power in POWERS for sign in (1, -1) for k in (-1, 0, 1)]


@compiled_only
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_kernels_are_their_twins(dtype: str) -> None:
    x = np.array([*FLOATS, *ENDS], dtype)
    for a, b in (np.broadcast_arrays(x[:, None], x), (x, x[::-1]), (x, x[3]), (x[1], x)):
        a, b = np.asarray(a), np.asarray(b)
        for name, twin in (("maximum", max_p), ("minimum", min_p)):
            with np.errstate(invalid="ignore"):
                found, expected = getattr(kernels, name)(a, b), twin.evaluate(a, b)
            np.testing.assert_array_equal(found, expected, strict=True)
            np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))
    for to in map(np.dtype, ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")):
        np.testing.assert_array_equal(kernels.to_integer(x, to), converted(x, to), strict=True)
        np.testing.assert_array_equal(kernels.to_integer(x[::2], to), converted(x[::2], to))


@compiled_only
@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("shape", [(1, 0), (0, 5), (1, 1), (3, 5), (2, 40_000)], ids=str)
def test_draws_are_images_of_counters(bits: int, shape: tuple[int, int]) -> None:
    keys = RNG.integers(0, 2**64, shape[0], np.uint64)
    drawn = np.zeros(shape, f"u{bits // 8}")
    random.draw(keys, drawn)
    for i, key in enumerate(keys.tolist()):
        for n in {*range(shape[1])} & {0, 1, 2, 3, 4, 1023, 1024, 39_999}:
            image = encrypt_integers(key, n)
            expected = image if bits == 64 else (image >> 32 ^ image) & (1 << bits) - 1
            assert drawn[i, n] == expected


@pytest.mark.parametrize("function", [jnp.maximum, jnp.minimum])
@pytest.mark.parametrize("size", [3, N])
def test_zeros_that_meet(function: Any, size: int) -> None:
    """0 is larger than −0, as for XLA."""
    x, y = np.zeros(size, np.float32), np.full(size, -0.0, np.float32)
    x[1], y[2] = np.nan, -1.0
    for a, b in ((x, y), (y, x), (x, y[0]), (y[:1][0], x)):
        eager = np.asarray(function(a, b))
        compiled = np.asarray(jax.jit(function)(a, b))
        np.testing.assert_array_equal(eager, compiled)
        is_number = ~np.isnan(eager)
        np.testing.assert_array_equal(np.signbit(eager)[is_number], np.signbit(compiled)[is_number])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "sizes", [(5, 4, ()), (4, 5, (3,)), (0, 4, (2,)), (4, 0, ()), (3, 3, (0,))]
)
def test_products_of_sparse_matrices(dtype: str, sizes: tuple[int, int, tuple[int, ...]]) -> None:
    """Negative places count from the end, those out of bounds are padding, even beside NaN."""
    height, depth, width = sizes
    with jax.enable_x64(True):
        places = jnp.asarray(RNG.integers(-7, 7, (40, 2)), np.int32)
        data = RNG.normal(size=40).astype(dtype)
        data[:2] = np.nan
        matrix = BCOO((jnp.asarray(data), places), shape=(height, depth))
        rows = jnp.asarray(RNG.normal(size=(depth, *width)).astype(dtype))
        eager, compiled = matrix @ rows, jax.jit(lambda m, v: m @ v)(matrix, rows)
    assert eager.aval == compiled.aval
    np.testing.assert_allclose(eager, compiled, 1e-5, 1e-6)
