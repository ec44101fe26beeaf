"""Chains of compiled operations: the bits of single ones, in every layout and length."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.config import override
from morphax.core import apply_jaxpr
from morphax.engines.reference import fusion
from morphax.engines.reference.kernel_program import kernel_program
from morphax.engines.reference.kernels import KernelCall
from morphax.lax.elementwise.inverse_erf import inverse_erf
from morphax.lax.elementwise.special import erf_p

if fusion.native is None:
    pytest.skip("without the compiled module there are no chains", allow_module_level=True)

_POINTS = {
    "float32": np.array(
        [0, -0.0, 0.3, -7.5, 1, -1, 1e-42, 3e38, np.inf, -np.inf, np.nan], np.float32
    ),
    "int32": np.array([0, 1, -1, 5, 31, 32, 33, 2**31 - 1, -(2**31)], np.int32),
    "uint32": np.array([0, 1, 5, 31, 32, 33, 2**31, 2**32 - 1], np.uint32),
    "bool": np.array([False, True]),
    "float64": np.array(
        [0, -0.0, 0.3, -7.5, 1, -1, 5e-324, 1e300, 3e9, -1e19, 2.0**31, np.inf, -np.inf, np.nan]
    ),
    "int64": np.array(
        [0, 1, -1, 5, -7, 31, 63, 64, 2**31, 2**50, -(2**50), 2**51 + 1, 2**63 - 1, -(2**63)]
    ),
    "uint64": np.array(
        [0, 1, 5, 63, 64, 65, 2**31, 2**53 + 1, 2**63 - 1, 2**63, 2**63 + 1025, 2**64 - 1],
        np.uint64,
    ),
    "float16": np.array(
        [0, -0.0, 0.3, -7.5, 1, -1, 1e-7, -3e-5, 6e4, 257, np.inf, -np.inf, np.nan], np.float16
    ),
    "bfloat16": np.array(
        [0, -0.0, 0.3, -7.5, 1, -1, 1e-40, 3e38, 257, np.inf, -np.inf, np.nan], jnp.bfloat16
    ),
}
_CONVERSIONS = sorted([n for n in fusion.native.operations if "_of_" in n or "_as_" in n])
# Computed by other steps than their twins; or with operands that are widths.
_OF_OTHER_STEPS = {
    f"{name}_float32"
    for name in (
        *("bessel_i0e", "bessel_i1e", "erfc", "lgamma", "digamma", "zeta", "polygamma", "igamma"),
        *("igammac", "reduce_precision", "exp", "logistic", "exp2", "expm1", "log", "log1p"),
        *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    )
}
_OF_OTHER_STEPS |= {name for name in fusion.native.operations if name.endswith("_complex64")}
_OF_OTHER_STEPS |= {
    f"{name}_float64"
    for name in (
        *("erf_inv", "exp", "exp2", "expm1", "sinh", "cosh", "tanh", "logistic", "lgamma"),
        *("log1p", "asinh", "acosh", "atanh"),
    )
}
# `test_densities.py` compares these with theirs.
_OF_DENSITIES = {
    f"{name}_{dtype}"
    for name in (
        *("log_scaled_factorial", "deviance", "density_deviance", "binomial_excess"),
        *[f"{part}_distance_from_product" for part in ("full", "whole", "broken")],
    )
    for dtype in ("float32", "float64")
}
# And `tests/numpy/test_of_numpy.py` and `test_integer_powers.py` these, which are several each.
_COMPOSITIONS = {
    f"{name}_{dtype}"
    for name in ("hypot", "tolerance", "close", "number", "bounded", "finite")
    for dtype in ("float32", "float64")
} | {f"integer_power_{dtype}" for dtype in ("int32", "uint32", "int64")}
_OPERATIONS = sorted(
    fusion.native.operations
    - {*fusion.DRAWS, *_CONVERSIONS, *_OF_OTHER_STEPS, *_OF_DENSITIES, *_COMPOSITIONS}
)
_DTYPES = {name: np.dtype(name).num for name in _POINTS}
_OF_ONE = (
    "abs acosh asinh atanh ceil clz cosh erf erf_inv exp exp2 expm1 floor is_finite log log1p "
    "logistic neg not population_count round_away round_even rsqrt sign sinh sqrt square tanh"
)
_OPERANDS = {"clamp": 3} | dict.fromkeys(_OF_ONE.split(), 1)


def _computed(name: str, result: Any, *operands: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """An operation on arrays, as a chain of one step."""
    given = [(_DTYPES[str(x.dtype)], True) for x in operands]
    number = _DTYPES[str(result)]
    step, out = (name, tuple(range(len(given))), number), (len(given), number)
    computed: np.ndarray[Any, Any] = fusion.native.make(
        given, [], [step], [out], operands[0].shape
    )(*operands)
    return computed


def _bits(x: np.ndarray[Any, Any]) -> list[Any]:
    """The bits of numbers, in which all NaN are one."""
    if x.dtype == jnp.bfloat16:
        x = x.astype(np.float32)
    if x.dtype.kind != "f":
        return list(x)
    return list(np.where(np.isnan(x), x.dtype.type(np.nan), x).view(f"u{x.dtype.itemsize}"))


@pytest.mark.parametrize("name", _OPERATIONS)
def test_operations_give_the_bits_of_numpy(name: str) -> None:
    of, dtype = name.rsplit("_", 1)
    if of == "repeat":
        expected, operands = _POINTS[dtype], [_POINTS[dtype]]
    elif of == "select":
        rows = itertools.product(_POINTS["bool"], _POINTS[dtype], _POINTS[dtype])
        flags, no, yes = zip(*rows, strict=True)
        operands = [np.array(flags), np.array(no, dtype), np.array(yes, dtype)]
        expected = np.where(*[operands[i] for i in (0, 2, 1)])
    else:
        count = _OPERANDS.get(of, 2)
        operands = [np.ravel(x) for x in np.meshgrid(*[_POINTS[dtype]] * count)]
        if of.startswith("round_"):
            method = {"away": "AWAY_FROM_ZERO", "even": "TO_NEAREST_EVEN"}[
                of.removeprefix("round_")
            ]
            rounding = lax.RoundingMethod[method]
            expected = lax.round_p.evaluate(*operands, rounding_method=rounding)
        else:
            with np.errstate(all="ignore"):
                expected = np.asarray(getattr(lax, f"{of}_p").evaluate(*operands))
    assert _bits(_computed(name, expected.dtype, *operands)) == _bits(expected)


@pytest.mark.parametrize("name", _CONVERSIONS)
def test_conversions(name: str) -> None:
    new, how, old = name.split("_")
    x = _POINTS[old]
    as_new = {"new_dtype": np.dtype(new), "weak_type": False, "sharding": None}
    with np.errstate(all="ignore"):
        expected = lax.convert_element_type_p.evaluate(x, **as_new) if how == "of" else x.view(new)
    assert _bits(_computed(name, new, x)) == _bits(expected)


def test_the_inverse_of_erf_is_its_twin() -> None:
    x = np.linspace(-1.01, 1.01, 20001, dtype=np.float32)
    with np.errstate(all="ignore"):
        twin = inverse_erf(x)
    assert _bits(_computed("erf_inv_float32", "float32", x)) == _bits(twin)


def _program(function: Any, *operands: Any) -> KernelCall:
    program = kernel_program(jax.make_jaxpr(function)(*operands).jaxpr)
    assert program is not None
    return program


def _compiled_count(program: KernelCall) -> int:
    space = program.function.__globals__ if hasattr(program.function, "__globals__") else {}
    return sum(
        getattr(value, "__name__", "") in ("chain", "small_program") for value in space.values()
    )


def _function(x: Any, y: Any, scale: Any) -> Any:
    is_large = lax.gt(x, scale)
    z = lax.mul(lax.add(x, y), scale)
    chosen = lax.select(is_large, z, lax.neg(lax.abs(y)))
    return chosen, is_large, lax.reduce_sum(lax.sub(chosen, y), (0,))


def test_the_error_function_is_its_twin_and_exact() -> None:
    bits = np.random.default_rng(0).integers(0, 2**32, 200_000).astype(np.uint32)
    middle = np.linspace(-5, 5, 50_001, dtype=np.float32)
    x = np.concatenate([_POINTS["float32"], bits.view(np.float32), middle])
    ours = _computed("erf_float32", "float32", x)
    with np.errstate(invalid="ignore"):
        assert _bits(ours) == _bits(type(erf_p).numpy(x))
    number = ~np.isnan(x)
    exact = np.array([math.erf(v) for v in x.tolist()], np.float64).astype(np.float32)
    distance = np.abs(ours.view(np.int32).astype(np.int64) - exact.view(np.int32))[number]
    assert distance.max() <= 1
    assert np.count_nonzero(distance) < 1e-3 * number.sum()


def test_remainders_are_exact_wherever_quotients_are_nearly_whole() -> None:
    rng = np.random.default_rng(1)
    y = (rng.normal(size=50_000) * 10 ** rng.uniform(-45, 38, 50_000)).astype(np.float32)
    with np.errstate(all="ignore"):
        for most in (1, 7, 2**12, 2**24, 2**27, 2**30, 2**40):
            whole = (y.astype(np.float64) * rng.integers(-most, most + 1, y.size)).astype(
                np.float32
            )
            for x in (whole, np.nextafter(whole, np.float32(0)), np.nextafter(whole, y)):
                ours = _computed("rem_float32", "float32", x, y)
                assert _bits(ours) == _bits(np.fmod(x, y))


def test_quotients_of_integers_are_exact() -> None:
    rng = np.random.default_rng(2)
    for shift in range(0, 32, 3):
        y = rng.integers(-(2**31), 2**31, 20_000).astype(np.int32) >> np.int32(shift)
        for x in (rng.integers(-(2**31), 2**31, y.size).astype(np.int32), y * np.int32(77) - 1):
            a, b = x.astype(np.int64), np.where(y == 0, 1, y).astype(np.int64)
            quotient = np.where(y == 0, -1, np.sign(a) * np.sign(b) * (abs(a) // abs(b)))
            rest = np.where(y == 0, a, a - quotient * b).astype(np.int32)
            quotient = quotient.astype(np.int32)
            np.testing.assert_array_equal(_computed("div_int32", "int32", x, y), quotient)
            np.testing.assert_array_equal(_computed("rem_int32", "int32", x, y), rest)


@pytest.mark.parametrize("size", [0, 1, 7, 512, 513, 5000, 20000])
def test_chains_of_all_lengths(size: int) -> None:
    x, y = (jnp.asarray(np.random.default_rng(i).normal(size=size), jnp.float32) for i in range(2))
    scale = jnp.float32(0.25)
    program = kernel_program(jax.make_jaxpr(_function)(x, y, scale).jaxpr, tuple)
    assert program is not None
    assert size in (0, 20000) or _compiled_count(program) == 1, "a chain, or a small program"
    for result, alone in zip(
        program([np.asarray(v) for v in (x, y, scale)]), _function(x, y, scale), strict=True
    ):
        assert result.aval is alone.aval
        np.testing.assert_array_equal(result, alone)


def test_operands_in_any_layout() -> None:
    whole = np.arange(24, dtype=np.float32).reshape(4, 6)
    program = _program(lambda x: lax.add(lax.mul(x, x), x), jnp.zeros((2, 3)))
    for x in (whole[::2, ::2], whole.T[:2, :3], whole[:2, 3:], whole[::-2, 5::-2]):
        np.testing.assert_array_equal(program([x]), x * x + x)


_OF_NUMPY = (
    *(lax.exp, lax.log, lax.tanh, lax.sin, lax.cos, lax.expm1, lax.log1p, lax.sqrt, lax.exp2),
    lambda x: lax.pow(lax.abs(x), lax.full_like(x, 0.3)),
    lambda x: lax.atan2(x, lax.full_like(x, 2)),
    lambda x: lax.select(lax.gt(x, lax.full_like(x, 0)), x, lax.neg(x)),
    lambda x: lax.div(x, lax.add(lax.abs(x), lax.full_like(x, 1))),
)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("size", [1025, 5003, 2**18 + 4097])
@pytest.mark.parametrize("seed", range(8))
def test_functions_of_numpy_in_chains_have_their_bits(size: int, seed: int, dtype: str) -> None:
    """In blocks, and with remainders, as in one piece."""
    with jax.enable_x64(dtype == "float64"):
        _check_functions_of_numpy(size, seed, dtype)


def _check_functions_of_numpy(size: int, seed: int, dtype: str) -> None:
    draw = np.random.default_rng([seed, size])
    x = (draw.normal(size=size) * 10.0 ** draw.uniform(-20, 20, size)).astype(jnp.dtype(dtype))
    x[:: 7 + seed] = draw.choice(_POINTS[dtype], x[:: 7 + seed].shape)
    chosen = [_OF_NUMPY[i] for i in draw.integers(len(_OF_NUMPY), size=6)]

    def function(x: Any) -> Any:
        for operation in chosen:
            x = operation(x)
        return x

    jaxpr = jax.make_jaxpr(function)(x).jaxpr
    program = kernel_program(jaxpr)
    assert program is not None
    (alone,) = apply_jaxpr(jaxpr, jnp.asarray(x))
    assert _bits(np.asarray(program([x]))) == _bits(np.asarray(alone))


def _mixed(draw: np.random.Generator, values: list[Any]) -> Any:
    """An operation on some of the values so far, of any of their dtypes."""
    a, b = (values[i] for i in draw.integers(len(values), size=2))
    dtype = a.dtype
    b = lax.convert_element_type(b, dtype)
    if dtype == np.bool_:
        return lax.select(a, lax.full_like(a, True), b)
    kinds = {
        0: lambda: lax.add(lax.mul(a, b), lax.convert_element_type(values[0], dtype)),
        1: lambda: lax.mul(b, lax.full_like(a, 3)),
        2: lambda: lax.select(lax.lt(a, b), a, lax.add(b, lax.full_like(a, 1))),
        3: lambda: lax.add(lax.full_like(a, 2), lax.mul(lax.full_like(a, 3), lax.full_like(a, 5))),
        4: lambda: lax.max(a if dtype == np.uint64 else lax.abs(a), b),
        5: lambda: lax.convert_element_type(a, [np.float64, np.float32, np.int64][dtype.num % 3]),
        9: lambda: lax.convert_element_type(lax.gt(a, b), np.uint64),
        10: lambda: lax.pow(lax.convert_element_type(a, np.float64), values[0]),
        6: lambda: lax.convert_element_type(a, jnp.bfloat16),
        7: lambda: lax.gt(a, b),
        8: lambda: lax.sub(a, lax.mul(a, b)),
    }
    return kinds[int(draw.integers(len(kinds)))]()


@pytest.mark.parametrize("size", [3, 700, 1500])
@pytest.mark.parametrize("seed", range(30))
def test_chains_of_several_widths_have_the_bits_of_single_operations(seed: int, size: int) -> None:
    draw = np.random.default_rng([seed, size])
    given = [
        draw.choice(_POINTS[name], size)
        for name in ("float64", "float32", "int64", "uint64", "int32", "bfloat16", "bool")
    ]

    def function(*operands: Any) -> Any:
        own, values = np.random.default_rng(seed), list(operands)
        for _ in range(20):
            values.append(_mixed(own, values))
        return values[len(operands) :: 2]

    with jax.enable_x64(True):
        jaxpr = jax.make_jaxpr(function)(*given).jaxpr
        program = kernel_program(jaxpr, list)
        assert program is not None
        assert _compiled_count(program) or size == 3
        alone = apply_jaxpr(jaxpr, *map(jnp.asarray, given))
        for result, single in zip(program(given), alone, strict=True):
            assert result.aval is single.aval
            assert _bits(np.asarray(result)) == _bits(np.asarray(single))


def test_all_words_are_rounded_to_bfloat16_as_single_conversions_are() -> None:
    high = np.arange(2**16, dtype=np.uint32) << 16
    for low in (0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF):
        x = (high | np.uint32(low)).view(np.float32)
        with np.errstate(invalid="ignore"):
            expected = x.astype(jnp.bfloat16)
        computed = _computed("bfloat16_of_float32", "bfloat16", x)
        assert computed.tobytes() == expected.tobytes()


def test_quotients_of_wide_integers_are_exact() -> None:
    rng = np.random.default_rng(2)
    for shift in range(0, 64, 5):
        y = rng.integers(-(2**63), 2**63 - 1, 5_000) >> shift
        for x in (rng.integers(-(2**63), 2**63 - 1, y.size), y * 77 - 1, y * 5, y >> 13):
            a, b = x.astype(object), np.where(y == 0, 1, y).astype(object)
            quotient = np.where(y == 0, -1, np.sign(a) * np.sign(b) * (abs(a) // abs(b)))
            rest = np.where(y == 0, a, a - quotient * b).astype(np.int64)
            quotient = np.array([(q + 2**63) % 2**64 - 2**63 for q in quotient], np.int64)
            np.testing.assert_array_equal(_computed("div_int64", "int64", x, y), quotient)
            np.testing.assert_array_equal(_computed("rem_int64", "int64", x, y), rest)


def test_functions_of_numpy_are_in_chains() -> None:
    program = _program(lambda x: lax.mul(lax.exp(lax.neg(x)), lax.tanh(x)), jnp.ones(5000))
    assert _compiled_count(program) == 1


@pytest.mark.parametrize(
    "shape", [(3, 700), (700, 3), (40, 50), (2, 3, 400), (1, 2000), (5, 1, 500)]
)
@pytest.mark.parametrize("dtype", ["float32", "bool"])
def test_repeated_operands_are_read_where_they_are(shape: tuple[int, ...], dtype: str) -> None:
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    program = _program(lambda x, y: lax.add(lax.mul(x, x), x * y), x, np.ones(shape, dtype))
    for kept in itertools.product((False, True), repeat=len(shape)):
        small = [n if keep else 1 for n, keep in zip(shape, kept, strict=True)]
        numbers = np.random.default_rng(1).normal(size=small)
        y = np.broadcast_to((numbers > 0) if dtype == "bool" else numbers.astype(dtype), shape)
        np.testing.assert_array_equal(program([x, y]), x * x + x * y)
        np.testing.assert_array_equal(program([x, y[::-1]]), x * x + x * y[::-1])


def test_draws_begin_at_every_block() -> None:
    key = jax.random.key(5)
    with override(debug_infs=True):
        alone = jax.random.normal(key, (3, 700))
    np.testing.assert_array_equal(jax.random.normal(key, (3, 700)), alone)


@pytest.mark.parametrize("size", [5, 300, 5001, 20000])
def test_draws_beside_wide_numbers(size: int) -> None:
    """Blocks of 64 bits are shorter, and words of streams are numbered all the same."""

    def function(key: Any) -> Any:
        u = jax.random.uniform(key, (size,), np.float32).astype(np.float64) * 2
        wide = jax.random.bits(key, (size,), np.uint64)
        narrow = jax.random.bits(key, (size,), np.uint32)
        return [u + 1, narrow.astype(np.int64) * 3, wide >> 9, narrow + wide.astype(np.uint32)]

    with jax.enable_x64(True):
        key = jax.random.key(7)
        jaxpr = jax.make_jaxpr(function)(key).jaxpr
        program = kernel_program(jaxpr, list)
        assert program is not None
        results = program([key._host])
        for result, alone in zip(results, apply_jaxpr(jaxpr, key), strict=True):
            np.testing.assert_array_equal(result, alone)


def test_what_is_no_array_or_has_another_size_is_refused() -> None:
    number = _DTYPES["float32"]
    chain = fusion.native.make(
        [(number, True)], [], [("neg_float32", (0,), number)], [(1, number)], (3,)
    )
    for wrong, error in ((2.0, TypeError), (np.zeros(2, np.float32), ValueError)):
        with pytest.raises(error, match="chain of operations"):
            chain(wrong)
    with pytest.raises(TypeError, match="number of operands"):
        chain()
    with pytest.raises(ValueError, match="cannot be in a chain"):
        fusion.native.make(
            [(number, True)], [], [("sin_float32", (0,), number)], [(1, number)], (3,)
        )
    with pytest.raises(ValueError, match="before written"):
        fusion.native.make(
            [(number, True)], [], [("neg_float32", (1,), number)], [(1, number)], (3,)
        )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_not_a_number_keeps_its_sign(dtype: str) -> None:
    """What is sorted by bits must not depend on how many numbers there are."""
    points = np.array([np.nan, np.copysign(np.nan, -1)], dtype)
    x, y = points, np.full(2, 3, dtype)
    for result in (
        *(
            _computed(f"{name}_{dtype}", dtype, *given)
            for name in ("min", "max")
            for given in ((x, y), (y, x))
        ),
        _computed(f"clamp_{dtype}", dtype, -y, x, y),
        *(_computed(f"{name}_{dtype}", dtype, x) for name in ("floor", "sign", "sqrt")),
    ):
        np.testing.assert_array_equal(np.signbit(result), [False, True])
        assert np.isnan(result).all()


def test_not_a_number_keeps_its_sign_in_the_inverse_of_erf() -> None:
    points = np.array([np.nan, np.copysign(np.nan, -1)], np.float32)
    result = _computed("erf_inv_float32", "float32", points)
    np.testing.assert_array_equal(np.signbit(result), [False, True])
    assert not np.signbit(_computed("erf_inv_float32", "float32", np.float32([2, -2]))).any()
