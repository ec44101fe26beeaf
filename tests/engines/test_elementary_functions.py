"""Elementary functions of machine code: errors, special points, and the same bits in any vector."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special

from morphax.engines.loops.check import check
from morphax.engines.loops.operations import MATH_OF_ONE, MATH_OF_TWO
from morphax.engines.loops.program import (
    INDEX,
    Assign,
    Buffer,
    For,
    Index,
    Kind,
    Load,
    LoopProgram,
    Name,
    Statement,
    Store,
)
from morphax.engines.native.functions.table import is_ours
from morphax.engines.native.machine_code import compile_loops
from tests.engines.machine_code_calls import call

F32, F64, WIDE = np.dtype(np.float32), np.dtype(np.float64), np.longdouble
NUMPY_NAMES = {
    **{"asin": "arcsin", "acos": "arccos", "atan": "arctan", "pow": "power"},
    **{"asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh"},
}
OURS = [
    pytest.param(name, dtype, id=f"{name}-{dtype}")
    for dtype in (F32, F64)
    for name in (*MATH_OF_ONE, *MATH_OF_TWO)
    if is_ours(name, dtype)
]
MOST_ULPS = 2.0


def loop_of(operation: str, dtype: Any, n: int, *, is_independent: bool) -> LoopProgram:
    """A program that applies an operation to `n` elements."""
    count = 2 if operation in MATH_OF_TWO else 1
    inputs = tuple([Buffer(f"x{i}", dtype, (n,), Kind.INPUT) for i in range(count)])
    out = Buffer("out", dtype, (n,), Kind.OUTPUT)
    i, result = Name(0, INDEX, 0, n - 1), Name(1, dtype)
    at = Index.of(i)
    operands = tuple([Name(2 + k, dtype) for k in range(count)])
    body: list[Statement] = [
        Load(name, buffer, at) for name, buffer in zip(operands, inputs, strict=True)
    ]
    body += [Assign(result, operation, operands), Store(out, at, result)]
    program = LoopProgram("f", inputs, (out,), (), (), (For(i, n, tuple(body), is_independent),))
    check(program)
    return program


def points(dtype: Any, seed: int) -> np.ndarray[Any, Any]:
    """Numbers of all sizes, those near the ends of formulas, and the special ones."""
    rng, info = np.random.default_rng(seed), np.finfo(dtype)
    integers = np.dtype(f"i{dtype.itemsize}")
    low, high = np.iinfo(integers).min, np.iinfo(integers).max
    special = [0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, info.tiny, -info.tiny, info.max, info.min]
    special += [info.smallest_subnormal, -info.smallest_subnormal, 88.7, -103.9, 709.7, -745.0]
    special += [0.41421356, -0.2928932, 0.6, 0.55, 2.41421356, 1e6, 2.0**20, 2.0**40]
    parts = [
        np.array(special, dtype),
        rng.integers(low, high, 40000, integers, endpoint=True).view(dtype),
        rng.normal(0, 10, 20000).astype(dtype),
        rng.uniform(-1.2, 1.2, 20000).astype(dtype),
        rng.uniform(-4.2, 10.2, 30000).astype(dtype),
        rng.uniform(-800, 800, 17000).astype(dtype),
        (np.arange(3000) * np.pi / 2).astype(dtype),
        (1 + rng.normal(0, 1e-4, 2000)).astype(dtype),
    ]
    return np.concatenate(parts)


def operands_of(operation: str, dtype: Any) -> list[np.ndarray[Any, Any]]:
    x = points(dtype, 1)
    if operation not in MATH_OF_TWO:
        return [x]
    y = np.random.default_rng(2).permutation(points(dtype, 3))
    y[1000:50000] = np.random.default_rng(4).uniform(-20, 20, 49000)
    x[500:60000] = np.abs(x[500:60000])
    return [x, y]


def errors_in_ulps(given: Any, truth: Any) -> np.ndarray[Any, Any]:
    """Distances in units in the last place; infinite where NaN, ∞ or the sign of 0 is wrong."""
    with np.errstate(all="ignore"):
        rounded = truth.astype(given.dtype)
        unit = np.abs(np.spacing(rounded)).astype(WIDE)
        errors = np.abs(given.astype(WIDE) - truth) / unit
    is_exact = (given == rounded) & (np.signbit(given) == np.signbit(rounded))
    is_known = np.isfinite(rounded) & np.isfinite(given) & ((given != 0) | (rounded != 0))
    errors = np.where(is_known, errors, np.where(is_exact, 0, np.inf))
    return np.where(np.isnan(given) & np.isnan(truth), 0, errors)


def truth_of(operation: str, operands: list[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    with np.errstate(all="ignore"):
        if operation in ("erf", "erfc"):
            function = getattr(scipy.special, operation)
            return np.asarray(function(operands[0].astype(F64)), WIDE)
        function = getattr(np, NUMPY_NAMES.get(operation, operation))
        return np.asarray(function(*[x.astype(WIDE) for x in operands]))


@pytest.mark.parametrize(("operation", "dtype"), OURS)
def test_errors(operation: str, dtype: Any) -> None:
    if dtype == F64 and np.finfo(WIDE).nmant < 60:
        pytest.skip("NumPy has no wider floats here to compare with")
    operands = operands_of(operation, dtype)
    program = loop_of(operation, dtype, len(operands[0]), is_independent=True)
    (given,) = call(program, compile_loops(program), *operands)
    errors = errors_in_ulps(given, truth_of(operation, operands))
    worst = int(np.argmax(errors))
    assert errors[worst] <= MOST_ULPS, [float(x[worst]) for x in operands] + [given[worst]]


@pytest.mark.parametrize(("operation", "dtype"), OURS)
def test_scalars_and_vectors_have_the_same_bits(operation: str, dtype: Any) -> None:
    operands = [x[:2003] for x in operands_of(operation, dtype)]
    found = []
    for is_independent in (True, False):
        program = loop_of(operation, dtype, 2003, is_independent=is_independent)
        found += call(program, compile_loops(program), *operands)
    np.testing.assert_array_equal(*found)
    assert (np.signbit(found[0]) == np.signbit(found[1]))[~np.isnan(found[0])].all()


def test_powers_of_negative_numbers() -> None:
    rng = np.random.default_rng(5)
    whole = [0.0, -0.0, 1, -1, 2, 3, 2.0**24 - 1, 2.0**24, 2.0**24 + 2, -7, np.inf, -np.inf]
    exponents = np.array([*whole, 0.5, -2.5, np.nan, *rng.integers(-30, 30, 500)], F32)
    bases = -np.exp(rng.uniform(-3, 3, 500)).astype(F32)
    special = np.array([-1, -0.0, 0.0, -np.inf, -np.finfo(F32).smallest_subnormal, np.nan], F32)
    x, y = [a.ravel() for a in np.meshgrid(np.concatenate([bases, special]), exponents)]
    program = loop_of("pow", F32, len(x), is_independent=True)
    (given,) = call(program, compile_loops(program), x, y)
    with np.errstate(all="ignore"):
        errors = errors_in_ulps(given, np.power(x.astype(WIDE), y.astype(WIDE)))
    worst = int(np.argmax(errors))
    assert errors[worst] <= MOST_ULPS, (x[worst], y[worst], given[worst])


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
@pytest.mark.parametrize("operation", ["log", "log1p", "acosh"])
def test_nan_of_no_logarithm_has_the_sign_that_processors_set(operation: str, dtype: Any) -> None:
    """XLA's has it too, and an order of all numbers, as that of `top_k`, tells it."""
    if not is_ours(operation, dtype):
        pytest.skip("the C library's function is called")
    x = -np.exp(np.linspace(1, 9, 21, dtype=dtype))
    for is_independent in (True, False):
        program = loop_of(operation, dtype, len(x), is_independent=is_independent)
        (found,) = call(program, compile_loops(program), x)
        assert np.isnan(found).all()
        assert np.signbit(found).all()
