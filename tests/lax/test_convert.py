"""Conversions: saturation, NaN, wrap-around, bits, and what is known while tracing."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import dtypes, enable_x64, jit, lax, make_jaxpr
from tests.lax.engines import array, check_all_agree, check_engines_agree, complex_array
from tests.lax.test_arithmetic import extremes

NUMBERS = (
    0.0, -0.0, 0.5, -0.5, 0.999, -1.5, 127.9, 128, -128.9, -129, 255.5, 256, 3e9, -3e9,
    2147483520, 2147483648, 4294967296, 9.3e18, -9.3e18, 1.9e19, 1e30, np.nan, np.inf, -np.inf,
)  # fmt: skip
FLOATS = ("float8_e4m3fn", "float8_e5m2", "bfloat16", "float16", "float32", "float64")
INTEGERS = ("int4", "int8", "int32", "int64", "uint4", "uint8", "uint32", "uint64")


def conversions(*dtypes: str) -> dict[str, object]:
    return {d: partial(lax.convert_element_type, new_dtype=d) for d in dtypes}


@pytest.mark.parametrize("old", FLOATS)
def test_from_floats(old: str) -> None:
    check_all_agree(conversions(*INTEGERS, *FLOATS, "bool"), array(NUMBERS, old))


@pytest.mark.parametrize("old", INTEGERS)
def test_from_integers(old: str) -> None:
    new = (*INTEGERS, "bool", "bfloat16", "float32", "complex64")
    check_all_agree(conversions(*new), extremes(old))


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_from_complex() -> None:
    new = ("int8", "bool", "float32", "bfloat16", "complex128")
    check_all_agree(conversions(*new), complex_array(NUMBERS, "complex128"))


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_complex_constants_are_converted() -> None:
    ones = np.full(2, 2 + 1j, np.complex64)
    new = ("uint8", "bool", "float32", "bfloat16")
    results = jit(lambda: [lax.convert_element_type(ones, d) for d in new])()
    assert [x.to_host().tolist() for x in results] == [[2, 2], [True, True], [2, 2], [2, 2]]


def test_saturation() -> None:
    x = np.array([300.0, -300.0, np.nan, np.inf, -1.9], np.float32)
    assert lax.convert_element_type(x, np.int8).to_host().tolist() == [127, -128, 0, 127, -1]
    assert lax.convert_element_type(x, np.uint8).to_host().tolist() == [255, 0, 0, 255, 0]


def test_numbers_known_while_tracing_are_constants() -> None:
    assert not make_jaxpr(lambda: lax.convert_element_type(2.0, np.int32))().eqns


def test_nothing_to_convert_is_no_operation() -> None:
    x = np.zeros(3, np.float32)
    assert not make_jaxpr(lambda x: lax.convert_element_type(x, float))(x).eqns


def test_weak_type_is_dropped() -> None:
    jaxpr = make_jaxpr(lambda x: lax.convert_element_type(x, np.float32))(1.0)
    assert [eqn.params for eqn in jaxpr.eqns] == [
        {"new_dtype": np.dtype(np.float32), "weak_type": False, "sharding": None}
    ]
    assert not jaxpr.out_avals[0].weak_type


def test_float0() -> None:
    zeros = lax.convert_element_type(np.ones(2, np.float32), dtypes.float0)
    assert zeros.aval.dtype == dtypes.float0


def test_no_dtype_is_refused() -> None:
    with pytest.raises(ValueError, match=r"convert_element_type, argument new_dtype[\s\S]*None"):
        lax.convert_element_type(np.float32(1), None)


def test_wide_dtype_warns_without_x64() -> None:
    with enable_x64(False), pytest.warns(UserWarning, match="float64 becomes float32"):
        assert lax.convert_element_type(np.float32(1), np.float64).aval.dtype == np.float32


WIDTHS = {"int2": 2, "uint4": 4, "int4": 4, "uint8": 8, "bfloat16": 16, "float32": 32, "int64": 64}


@pytest.mark.parametrize("new", WIDTHS)
@pytest.mark.parametrize("old", WIDTHS)
def test_bitcast(old: str, new: str) -> None:
    octets = np.random.default_rng(0).integers(0, 256, 64).astype(np.uint8)
    x = octets.view(array(0, old).dtype)
    ratio = WIDTHS[new] // WIDTHS[old]
    x = x.reshape(-1, ratio) if ratio > 1 else x
    result = check_engines_agree(lambda x: lax.bitcast_convert_type(x, new), x)
    if WIDTHS[old] >= 8 and WIDTHS[new] >= 8:
        assert result.tobytes() == octets.tobytes()


def test_bitcast_of_booleans_is_refused() -> None:
    with pytest.raises(TypeError, match=r"bitcast_convert_type[\s\S]*bool[\s\S]*new_dtype=int8"):
        lax.bitcast_convert_type(np.zeros(2, bool), np.int8)


def test_bitcast_wants_the_parts_last() -> None:
    with pytest.raises(ValueError, match=r"bitcast_convert_type[\s\S]*a last axis of size 4"):
        lax.bitcast_convert_type(np.zeros(3, np.uint8), np.int32)


FORMATS = [(5, 10), (8, 7), (4, 3), (5, 2), (8, 23), (1, 0), (3, 5), (8, 0), (11, 52)]


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
def test_reduce_precision(dtype: str) -> None:
    rng = np.random.default_rng(1)
    drawn = rng.normal(size=2000) * 2.0 ** rng.integers(-14, 15, 2000)
    edges = [0.0, -0.0, 1.0625, 65504, 65519.9, 65520, 6.1e-5, 3e38, np.nan, np.inf, -np.inf]
    x = array(np.concatenate([drawn, edges]), dtype)
    functions = {
        f"{e} and {m} bits": partial(lax.reduce_precision, exponent_bits=e, mantissa_bits=m)
        for e, m in FORMATS
    }
    check_all_agree(functions, x)


def test_reduce_precision_wants_an_exponent() -> None:
    with pytest.raises(ValueError, match=r"lax\.reduce_precision[\s\S]*exponent_bits=0"):
        lax.reduce_precision(np.float32(1), 0, 3)


@pytest.mark.parametrize("engine", ["xla", "native"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_products_with_booleans_keep_nan(engine: str, dtype: str) -> None:
    """Nothing times 0 is 0, of NaN and of infinities: on each engine, as in eager calls."""
    x = jnp.asarray([np.nan, np.inf, 1.0, -np.inf, -2.0, np.nan], dtype)
    mask = jnp.asarray([False, False, False, True, False, True])
    functions = (lambda x, m: x * m.astype(dtype), lambda x, m: m.astype(dtype) * x)
    for function in functions:
        with jax.cpu_engine(engine):
            found = np.asarray(jax.jit(function)(x, mask), np.float32)
        expected = [np.nan, np.nan, 0.0, -np.inf, -0.0, np.nan]
        np.testing.assert_array_equal(found, np.float32(expected))
        assert np.signbit(found[4]), "−2 · 0 is −0"
        np.testing.assert_array_equal(found, np.asarray(function(x, mask), np.float32))
