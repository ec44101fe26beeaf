"""Operations on scalars at special points: signed zeros, NaN, infinities, extreme integers.

They are written in C, and as machine code.

The truth is eager evaluation, which the other tests compare with XLA.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from morphax import lax
from morphax.config import enable_x64
from morphax.lax.elementwise import comparison
from tests.engines.c_library import CLibrary
from tests.engines.machine_code_calls import MachineCodes

FLOATS = np.array(
    [
        *(0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, np.inf, -np.inf, np.nan, 1e-38),
        *(3.4e38, -3.4e38, 2.0**31, -(2.0**31), 2.0**32, 1e10, 127.5, 255.9, -0.9, 3.0, -3.0),
        *(100.0, -100.0),
    ]
)
ALL = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool")
OF_FLOATS = (
    *("neg", "sign", "floor", "ceil", "is_finite", "exp", "exp2", "log", "log1p", "expm1", "tanh"),
    *("logistic", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh"),
    *("atanh", "sqrt", "rsqrt", "cbrt", "abs", "erf", "erfc", "erf_inv", "lgamma", "square"),
    *("bessel_i0e", "bessel_i1e"),
)
OF_PAIRS = ("add", "sub", "mul", "div", "rem", "max", "min", "eq", "ne", "lt", "le", "gt", "ge")
OF_FLOAT_PAIRS = (*OF_PAIRS, "pow", "atan2", "nextafter")
OF_INTEGERS = ("neg", "sign", "bitwise_not", "population_count", "clz", "square")
OF_INTEGER_PAIRS = (
    *OF_PAIRS,
    *("bitwise_and", "bitwise_or", "bitwise_xor"),
    *("shift_left", "shift_right_arithmetic", "shift_right_logical"),
)

Case = tuple[str, Callable[..., Any], tuple[np.ndarray[Any, Any], ...]]


@pytest.fixture(autouse=True)
def _wide_dtypes() -> Iterator[None]:
    with enable_x64(True):
        yield


def pairs(x: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    first, second = np.meshgrid(x, x)
    return first.reshape(-1), second.reshape(-1)


def float_cases() -> Iterator[Case]:
    for dtype in ("float32", "float64"):
        x = FLOATS.astype(dtype)
        for name in OF_FLOATS:
            yield f"{name} {dtype}", getattr(lax, name), (x,)
        for name in OF_FLOAT_PAIRS:
            yield f"{name} {dtype}", getattr(lax, name), pairs(x)
        for primitive in (comparison.eq_to_p, comparison.lt_to_p, comparison.le_to_p):
            yield f"{primitive} {dtype}", primitive.bind, pairs(x)
        for target in (*ALL, "float32", "float64"):
            yield f"{dtype} to {target}", to(target), (x,)
        for method in lax.RoundingMethod:
            yield f"{method} {dtype}", lambda x, m=method: lax.round(x, m), (x,)
        for exponent in (-3, -1, 0, 1, 2, 5):
            yield f"power {exponent} {dtype}", lambda x, n=exponent: lax.integer_pow(x, n), (x,)
        zeros = x.dtype.type(0.0), x.dtype.type(-0.0)
        for zero in zeros:
            yield f"max {zero} {dtype}", lambda x, zero=zero: lax.max(x, zero), (x,)
            yield f"min {zero} {dtype}", lambda x, zero=zero: lax.min(zero, x), (x,)
        yield from neutral_cases(x)
        for bits in ((5, 10), (8, 7), (8, 0), (1, 3), (11, 52), (4, 30), (30, 1)):
            yield f"format {bits} {dtype}", lambda x, n=bits: lax.reduce_precision(x, *n), (x,)
        yield f"sort {dtype}", lambda x: lax.sort(x), (np.tile(x, 3),)
        yield f"top_k {dtype}", lambda x: lax.top_k(x, 30), (np.tile(x, 3),)
        yield f"argmax {dtype}", lambda x: lax.argmax(x, 0, np.int32), (x,)
        yield f"reduce_min {dtype}", lambda x: lax.reduce_min(x, (0,)), (x[:10].reshape(5, 2),)


def neutral_cases(x: np.ndarray[Any, Any]) -> Iterator[Case]:
    """Operations that give their operand back, and others that nearly do."""
    for name in ("add", "sub", "mul", "div"):
        operation = getattr(lax, name)
        for number in (0.0, -0.0, 1.0, -1.0):
            c = x.dtype.type(number)
            yield f"{name} {c!r}", lambda x, f=operation, c=c: f(x, c), (x,)
            yield f"{c!r} {name}", lambda x, f=operation, c=c: f(c, x), (x,)


def integer_cases() -> Iterator[Case]:
    for dtype in ("int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"):
        info = np.iinfo(dtype)
        values = [0, 1, 2, 7, 8, 31, 32, 33, 63, 64, 100, info.max, info.max - 1]
        values += [info.min, info.min + 1, -1, -2, -7] if info.min else []
        x = np.array(values, dtype)
        for name in OF_INTEGERS:
            yield f"{name} {dtype}", getattr(lax, name), (x,)
        for name in OF_INTEGER_PAIRS:
            yield f"{name} {dtype}", getattr(lax, name), pairs(x)
        for target in (*ALL, "float32", "float64"):
            yield f"{dtype} to {target}", to(target), (x,)
        yield f"slice {dtype}", sliced, (np.arange(10.0), x[-6:])


def complex_cases() -> Iterator[Case]:
    ends = np.array([0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan])
    for dtype in ("float32", "float64"):
        parts = np.stack(np.meshgrid(ends, ends, ends, ends)).reshape(4, -1).astype(dtype)
        yield f"complex div {dtype}", quotient_parts, tuple(parts)


def quotient_parts(*parts: Any) -> list[Any]:
    """Real and imaginary parts; signs of zeros, which depend on the formula, are not kept."""
    quotient = lax.div(lax.complex(*parts[:2]), lax.complex(*parts[2:]))
    return [
        lax.add(part, part.dtype.type(0.0)) for part in (lax.real(quotient), lax.imag(quotient))
    ]


def to(dtype: str) -> Callable[[Any], Any]:
    return lambda x: lax.convert_element_type(x, dtype)


def sliced(table: Any, starts: Any) -> list[Any]:
    return [lax.dynamic_slice(table, (starts[k],), (3,)) for k in range(6)]


def assert_same(label: str, given: np.ndarray[Any, Any], truth: np.ndarray[Any, Any]) -> None:
    if truth.dtype.kind != "f":
        np.testing.assert_array_equal(given, truth, err_msg=label)
        return
    info = np.finfo(truth.dtype)
    np.testing.assert_allclose(given, truth, 32 * info.eps, 2 * info.tiny, err_msg=label)
    zeros = (truth == 0) & (given == 0)
    np.testing.assert_array_equal(np.signbit(given[zeros]), np.signbit(truth[zeros]), label)


@pytest.mark.parametrize("cases", [float_cases, integer_cases, complex_cases])
@pytest.mark.parametrize("kind", ["C", "machine code"])
def test_special_points(cases: Callable[[], Iterator[Case]], kind: str, tmp_path: Path) -> None:
    library = CLibrary(tmp_path, ("-O0",)) if kind == "C" else MachineCodes()
    added = [(library.add(f, *operands), label, f, operands) for label, f, operands in cases()]
    for name, label, function, operands in added:
        with np.errstate(all="ignore"):
            result = function(*operands)
        expected = result if isinstance(result, (list, tuple)) else [result]
        for given, truth in zip(library.call(name, *operands), expected, strict=True):
            assert_same(label, given, np.asarray(truth))
