"""Products of small matrices with long rows, whose sums are one expression."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.engines.loops.program import For, Load, Product, Store, walk
from morphax.engines.native.machine_code import compile_loops
from morphax.transforms.make_jaxpr import make_jaxpr
from tests.engines.c_library import checked_program
from tests.engines.machine_code_calls import call

PRODUCTS = {
    "a stack": ("bij,bjk->bik", (3, 10, 11), (3, 11, 12)),
    "a matrix": ("ij,jk->ik", (5, 7), (7, 19)),
    "a row": ("j,jk->k", (13,), (13, 40)),
    "two contracting axes": ("iab,abk->ik", (4, 2, 3), (2, 3, 17)),
    "the first axis": ("ji,jk->ik", (6, 3), (6, 10)),
    "one term": ("ij,jk->ik", (9, 1), (1, 9)),
    "as many terms as there may be": ("ij,jk->ik", (2, 32), (32, 10)),
    "more": ("ij,jk->ik", (2, 33), (33, 10)),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "bool", "complex64"])
@pytest.mark.parametrize(("names", "left", "right"), PRODUCTS.values(), ids=PRODUCTS)
def test_products_by_native_code(
    names: str, left: tuple[int, ...], right: tuple[int, ...], dtype: str
) -> None:
    rng = np.random.default_rng(0)
    x, y = [rng.integers(-3, 4, size=shape).astype(dtype) for shape in (left, right)]
    with jax.enable_x64(True):
        run = jax.jit(
            lambda x, y: jnp.einsum(names, x, y), compiler_options={"jax_cpu_engine": "native"}
        )
        found = np.asarray(run(x, y))
    expected = np.einsum(names, x, y)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def test_sums_of_few_terms_are_not_in_memory() -> None:
    x = np.ones((20, 10, 10), np.float32)
    program = checked_program(make_jaxpr(lambda x: jnp.matmul(x, x))(x), "f")
    out = program.outputs[0]
    statements = list(walk(program.body))
    assert not any([isinstance(s, Load) and s.buffer is out for s in statements])
    assert len([s for s in statements if isinstance(s, Store)]) == 1
    assert all([s.is_independent for s in statements if isinstance(s, For)])


def test_special_numbers_in_sums_of_few_terms() -> None:
    x = np.array([[-0.0, 0.0], [np.inf, 1], [np.nan, 0]], np.float32)
    y = np.tile(np.array([[1.0], [-0.0]], np.float32), (1, 9))
    program = checked_program(make_jaxpr(lax.dot)(x, y), "f")
    (found,) = call(program, compile_loops(program), x, y)
    expected = np.repeat(np.array([[0], [np.inf], [np.nan]], np.float32), 9, 1)
    np.testing.assert_array_equal(found, expected)
    assert not np.signbit(found[0]).any()


def test_products_in_a_loop() -> None:
    def filtered(f: Any, p: Any) -> Any:
        return lax.scan(lambda p, _: (f @ p @ f.T + jnp.eye(12), p[0]), p, None, length=20)

    rng = np.random.default_rng(1)
    f, p = rng.normal(size=(12, 12)).astype(np.float32) * 0.2, np.eye(12, dtype=np.float32)
    found, expected = [
        jax.jit(filtered, compiler_options={"jax_cpu_engine": engine})(f, p)
        for engine in ("native", "xla")
    ]
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("text", "x", "y", "sizes"),
    [
        ("btkgh,bskh->bkgts", (2, 33, 2, 3, 16), (2, 34, 2, 16), (33, 34, 16)),
        ("bkgts,bskh->btkgh", (2, 2, 3, 33, 34), (2, 34, 2, 16), (99, 16, 34)),
    ],
    ids=["queries of heads", "rows that are one axis"],
)
def test_products_of_several_heads_are_the_librarys(
    text: str, x: Any, y: Any, sizes: tuple[int, int, int]
) -> None:
    rng = np.random.default_rng(0)
    values = [rng.normal(size=shape).astype(np.float32) for shape in (x, y)]
    program = checked_program(make_jaxpr(lambda *v: jnp.einsum(text, *v))(*values), "f")
    found = {s.sizes for s in walk(program.body) if isinstance(s, Product)}
    assert found & {sizes, (sizes[1], sizes[0], sizes[2])}
    (made,) = call(program, compile_loops(program), *values)
    np.testing.assert_allclose(made, np.einsum(text, *values), rtol=1e-4, atol=1e-5)


def test_convolutions_of_computed_operands_are_vectors_of_features() -> None:
    x, kernel = np.ones((2, 9, 9, 8), np.float32), np.ones((3, 3, 8, 16), np.float32)
    layout = ("NHWC", "HWIO", "NHWC")

    def loss(kernel: Any) -> Any:
        made = lax.conv_general_dilated(x, kernel, (1, 1), "VALID", dimension_numbers=layout)
        return (made * made).sum()

    derivative = jax.jit(jax.grad(loss), compiler_options={"jax_cpu_engine": "native"})
    assert "insertelement" not in derivative.lower(kernel).compile().as_text("native")
    expected = jax.jit(jax.grad(loss), compiler_options={"jax_cpu_engine": "xla"})(kernel)
    np.testing.assert_allclose(derivative(kernel), expected, rtol=1e-5)
