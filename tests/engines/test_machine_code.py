"""Loop programs as machine code: operations of the case tables, products of matrices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import morphax.numpy as jnp
from morphax import lax
from morphax.config import enable_x64, override
from morphax.engines.loops import NotALoopProgram
from morphax.engines.loops.program import Product, walk
from morphax.engines.native.llvm_text import llvm_module
from morphax.transforms.make_jaxpr import make_jaxpr
from tests.engines.machine_code_calls import call, compiled
from tests.lax.test_operations import CASES, assert_close, truth
from tests.sampling import is_taken

INTEGERS = [f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)]
DTYPES = frozenset(("bool", "float16", "bfloat16", "float32", "float64", *INTEGERS))
CHOSEN = [
    (case, dtype)
    for case in CASES
    for dtype in case.dtypes
    if dtype in DTYPES and is_taken(f"{case.label} {dtype}", "machine code", 15)
]


@pytest.fixture(autouse=True)
def _wide_dtypes() -> Iterator[None]:
    with enable_x64(True):
        yield


def test_operations() -> None:
    wrong, count = [], 0
    for case, dtype in CHOSEN:
        operands = case.draw(dtype)
        try:
            program, code = compiled(make_jaxpr(case.function)(*operands))
        except NotALoopProgram:
            continue
        count += 1
        try:
            with np.errstate(all="ignore"):
                results = call(program, code, *operands)
                assert_close(results, truth(case, operands), dtype, case.tolerance)
        except AssertionError as error:
            wrong.append(f"{case.label} {dtype}: {error}")
    assert not wrong, "\n".join(wrong)
    assert count > len(CHOSEN) // 2


X = np.arange(1.0, 4.0, dtype=np.float32)

PRODUCTS: dict[str, tuple[Any, tuple[int, ...], tuple[int, ...], bool]] = {
    "plain": (jnp.matmul, (30, 50), (50, 40), True),
    "both transposed": (lambda x, y: x.T @ y.T, (50, 30), (40, 50), True),
    "transposed result": (lambda x, y: (x @ y).T, (30, 50), (50, 40), True),
    "stacked": (jnp.matmul, (3, 30, 50), (3, 50, 40), True),
    "heads": (lambda x, y: jnp.einsum("qhd,khd->hqk", x, y), (30, 3, 16), (40, 3, 16), True),
    "two axes": (lambda x, y: jnp.tensordot(x, y, 2), (30, 5, 10), (5, 10, 40), True),
    "slices": (lambda x, y: x[1:, 2:42] @ y[5:45], (30, 50), (50, 40), True),
    "reversed": (lambda x, y: x[::-1] @ y, (30, 50), (50, 40), False),
    "with gaps": (lambda x, y: x[:, ::2] @ y, (30, 100), (50, 40), False),
    "overlapping windows": (
        lambda x, y: lax.conv_general_dilated(
            x[None], y[:, None], (1,), "VALID", dimension_numbers=("NWC", "WIO", "NWC")
        )[0],
        (90, 1),
        (60, 40),
        False,
    ),
    "small": (jnp.matmul, (8, 8), (8, 8), False),
}


@pytest.mark.parametrize("label", PRODUCTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_of_matrices(label: str, dtype: Any) -> None:
    """Large ones are the BLAS's, if they lie as it takes them."""
    function, *shapes, is_for_library = PRODUCTS[label]
    rng = np.random.default_rng(1)
    operands = [rng.normal(size=shape).astype(dtype) for shape in shapes]
    program, code = compiled(make_jaxpr(function)(*operands))
    assert is_for_library == any([isinstance(x, Product) for x in walk(program.body)])
    (given,) = call(program, code, *operands)
    expected = np.asarray(function(*[jnp.asarray(x, np.float64) for x in operands]))
    size = np.finfo(dtype).eps * 1000
    np.testing.assert_allclose(given, expected, size, size)


def test_many_branches_and_deep_loops() -> None:
    """A choice of 200 programs, and 40 loops in one another, on stacks of usual size."""

    def chosen(i: Any, x: Any) -> Any:
        return lax.switch(i, [lambda x, k=k: x + k for k in range(200)], x)

    def deep(x: Any, depth: int = 40) -> Any:
        if not depth:
            return x * 2
        return lax.fori_loop(0, 1, lambda _, y: deep(y, depth - 1) + 1, x)

    program, code = compiled(make_jaxpr(chosen)(np.int32(0), X))
    for i in (-5, 0, 1, 77, 198, 199, 300):
        (given,) = call(program, code, np.int32(i), X)
        np.testing.assert_array_equal(given, X + min(max(i, 0), 199))
    (given,) = call(*compiled(make_jaxpr(deep)(X)), X)
    np.testing.assert_array_equal(given, X * 2 + 40)


def test_long_programs() -> None:
    """More than LLVM compiles at its full level."""

    def function(x: Any) -> Any:
        for _ in range(3500):
            x = x * np.float32(0.999) + np.float32(0.001)
        return x

    x = np.float32(3)
    with override(find_repeated_steps=False):
        program, code = compiled(make_jaxpr(function)(x))
    assert llvm_module(program).count("\n") > 6000
    np.testing.assert_allclose(call(program, code, x)[0], 1 + 2 * 0.999**3500, 1e-4)


def test_large_constants() -> None:
    table = np.random.default_rng(1).normal(size=5000)
    (given,) = call(*compiled(make_jaxpr(lambda x: x + table)(0.0)), 0.0)
    np.testing.assert_array_equal(given, table)
