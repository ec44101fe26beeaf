"""The Python array API standard: what functions are at zeros, infinities and NaN.

``array_api_special_cases.txt`` lists the special cases of version 2024.12 for real numbers, a line
for each function.  Where the standard names a range, a number of it stands there.  Of complex
numbers the standard repeats Annex G of C, which NumPy follows.

JAX decides some cases otherwise, and so do we: they are `OTHERS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import morphax.numpy as jnp
from morphax import enable_x64, jit

TEXT = Path(__file__).with_name("array_api_special_cases.txt").read_text()
CASES = dict(line.split(" | ") for line in TEXT.splitlines())
OTHERS = {
    "sign": {"-0": "-0"},  # the sign of zero is kept
    # a // b is floor((a − a % b) / b), and a % 0 NaN.
    "floor_divide": {
        **dict.fromkeys(["1 0", "1 -0", "-1 0", "-1 -0"], "nan"),
        **{"-0 2": "0", "-0 -2": "-0", "-2 -inf": "-0"},
    },
    "remainder": {"-0 2": "-0", "0 -2": "0"},  # a zero keeps its sign
}
NUMBERS = {"nan": math.nan, "inf": math.inf, "pi": math.pi, "true": True, "false": False}
ROUNDING = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-6, "float64": 1e-14}
HALVES, WHOLE = ("eager", "xla"), ("eager", "xla", "native")
ENGINES = {"float16": HALVES, "bfloat16": HALVES, "float32": WHOLE, "float64": WHOLE}


def number(text: str) -> float:
    if text.removeprefix("-") == "0":
        return float(text)
    return eval(text, NUMBERS)


def cases(name: str) -> tuple[list[np.ndarray], np.ndarray]:
    """Operands, a row each, and what is expected of them."""
    pairs = [case.split(" = ") for case in CASES[name].split(", ")]
    others = OTHERS.get(name, {})
    assert set(others) <= {given for given, _ in pairs}
    operands = np.array([[number(x) for x in given.split()] for given, _ in pairs])
    return list(operands.T), np.array([number(others.get(given, out)) for given, out in pairs])


def on(engine: str, function: Callable[..., Any]) -> Callable[..., Any]:
    if engine == "eager":
        return function
    return jit(lambda *x: function(*x), compiler_options={"jax_cpu_engine": engine})


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize("name", CASES)
def test_real_numbers(name: str, dtype: str) -> None:
    operands, expected = cases(name)
    wanted = np.tile(expected, 5).astype(np.float64)  # so many fill vectors, and leave a rest
    signed = ~np.isnan(wanted)
    with enable_x64(dtype == "float64"):
        arrays = [jnp.asarray(np.tile(x, 5), dtype) for x in operands]
        for engine in ENGINES[dtype]:
            found = np.asarray(on(engine, getattr(jnp, name))(*arrays)).astype(np.float64)
            np.testing.assert_allclose(found, wanted, rtol=ROUNDING[dtype], err_msg=engine)
            signs, expected_signs = np.signbit(found[signed]), np.signbit(wanted[signed])
            np.testing.assert_array_equal(signs, expected_signs, err_msg=engine)


PARTS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, math.inf, -math.inf, math.nan]
PLACES = np.array([complex(x, y) for x in PARTS for y in PARTS])
OF_COMPLEX: dict[str, Callable[[Any], Any]] = {
    name: getattr(np, name)
    for name in """abs acos acosh asin asinh atan atanh cos cosh exp log log10 log2 sin sinh sqrt
    tan tanh""".split()
} | {"expm1": lambda z: np.exp(z) - 1, "log1p": lambda z: np.log(z + complex(1.0, -0.0))}
# On these cuts a part −0 counts as 0, in JAX and here.
ABOVE = {"acos": "imag", "acosh": "imag", "asin": "imag", "asinh": "real", "sqrt": "imag"}


def above(name: str, places: np.ndarray) -> np.ndarray:
    places = places.copy()
    if name in ABOVE:
        part = getattr(places, ABOVE[name])
        part += 0.0
    return places


@pytest.mark.sampled(3)
@pytest.mark.parametrize("engine", WHOLE)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", OF_COMPLEX)
def test_complex_numbers(name: str, dtype: str, engine: str) -> None:
    with np.errstate(all="ignore"):
        wanted = np.asarray(OF_COMPLEX[name](above(name, PLACES)), np.complex128)
    with enable_x64(dtype == "complex128"):
        found = np.asarray(on(engine, getattr(jnp, name))(jnp.asarray(PLACES, dtype)))
    for part in ("real", "imag"):
        np.testing.assert_allclose(
            getattr(found, part), getattr(wanted, part), rtol=1e-6, atol=2e-7, err_msg=part
        )
