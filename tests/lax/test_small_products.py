"""Products of small matrices that are written as sums have the values of those that are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import export, lax
from tests.lax.engines import array

PLAIN = (((1,), (0,)), ((), ()))
OF_BATCHES = (((2,), (1,)), ((0,), (0,)))
NUMBERS = [
    ((4, 5), (5, 3), PLAIN),
    ((5, 4), (3, 5), (((0,), (1,)), ((), ()))),
    ((4, 2, 3), (3, 5, 2), (((1, 2), (2, 0)), ((), ()))),
    ((2, 4, 3), (2, 3, 4), OF_BATCHES),
    ((300, 4, 4), (300, 4, 4), OF_BATCHES),
    ((2, 150, 3, 2), (150, 4, 3, 2), (((0, 2), (3, 2)), ((1,), (0,)))),
]
DTYPES = ["bfloat16", "float32", "complex128"]
TOLERANCES = {"bfloat16": 2e-2, "float32": 1e-5}


def _drawn(shape: tuple[int, ...], dtype: str, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=shape)
    return array(values + 1j * rng.normal(size=shape) if dtype[0] == "c" else values, dtype)


def _in_loop(product: Callable[..., Any]) -> Callable[..., Any]:
    def program(x: Any, y: Any) -> Any:
        return lax.fori_loop(0, 2, lambda i, out: product(x, y), product(x, y))

    return program


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("x", "y", "numbers"), NUMBERS)
def test_in_loops_and_for_many_members(x: Any, y: Any, numbers: Any, dtype: str) -> None:
    with jax.enable_x64(True):
        left, right = _drawn(x, dtype, 0), _drawn(y, dtype, 1)

        def product(a: Any, b: Any) -> Any:
            return lax.dot_general(a, b, numbers)

        tolerance = TOLERANCES.get(dtype, 1e-12)
        expected = product(left, right)
        for f in (product, _in_loop(product)):
            out = jax.jit(f)(left, right)
            assert out.dtype == expected.dtype
            np.testing.assert_allclose(
                np.asarray(out).astype(complex),
                np.asarray(expected).astype(complex),
                rtol=tolerance,
                atol=10 * tolerance,
            )


def _products(f: Callable[..., Any], *shapes: tuple[int, ...], dtype: str = "float32") -> int:
    operands = [_drawn(shape, dtype, 0) for shape in shapes]
    return int(jax.jit(f).lower(*operands).as_text().count("dot_general"))


def _repeated(x: Any, y: Any) -> Any:
    return lax.fori_loop(0, 3, lambda _, z: z @ y, x)


@pytest.mark.parametrize(
    ("f", "shapes", "dtype", "count"),
    [
        (_repeated, ((4, 4), (4, 4)), "float32", 0),
        (_repeated, ((2, 2), (2, 2)), "complex64", 0),
        (_repeated, ((3, 3), (3, 3)), "float32", 1),
        (_repeated, ((16, 16), (16, 16)), "float32", 1),
        (_repeated, ((32, 8, 8), (32, 8, 8)), "float32", 0),
        (_repeated, ((4,), (4, 4)), "float32", 1),
        (_repeated, ((4, 4), (4, 4)), "int32", 1),
        (jnp.matmul, ((4, 4), (4, 4)), "float32", 1),
        (jnp.matmul, ((256, 4, 4), (256, 4, 4)), "float32", 0),
        (jnp.matmul, ((256, 4, 9), (256, 9, 4)), "float32", 1),
        (jax.jit(_repeated), ((4, 4), (4, 4)), "float32", 0),
    ],
)
def test_which_are_written_as_sums(f: Any, shapes: Any, dtype: str, count: int) -> None:
    assert _products(f, *shapes, dtype=dtype) == count


def test_a_function_called_in_a_loop_and_outside() -> None:
    product = jax.jit(jnp.matmul)

    def f(x: Any, y: Any) -> Any:
        return lax.fori_loop(0, 3, lambda _, z: product(z, y), product(x, y))

    assert _products(f, (4, 4), (4, 4)) == 1


def test_an_algorithm_that_is_asked_for_is_kept() -> None:
    def f(x: Any, y: Any) -> Any:
        return lax.fori_loop(0, 3, lambda _, z: jnp.matmul(z, y, precision="F32_F32_F32"), x)

    assert _products(f, (4, 4), (4, 4)) == 1


def test_exported_programs_keep_products() -> None:
    aval = jax.ShapeDtypeStruct((4, 4), np.float32)
    exported = export.export(jax.jit(_repeated), platforms=("cpu",))(aval, aval)
    assert "dot_general" in exported.mlir_module()


@pytest.mark.parametrize("members", [1, 300])
def test_special_numbers(members: int) -> None:
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -2.5, 1e3], np.float32)
    rng = np.random.default_rng(2)
    x, y = rng.choice(special, (2, members, 4, 4))
    out = jax.jit(_in_loop(jnp.matmul))(x, y)
    with np.errstate(all="ignore"):
        expected = np.zeros((members, 4, 4), np.float32)
        for k in range(4):
            expected = expected + x[:, :, k, None] * y[:, k, None]
    np.testing.assert_array_equal(np.isnan(out), np.isnan(expected))
    np.testing.assert_allclose(out, expected, rtol=1e-6)
    negative = jnp.full((members, 4, 4), -0.0)
    zeros = jax.jit(_in_loop(jnp.matmul))
    assert not np.signbit(zeros(negative, jnp.ones_like(negative))).any()
