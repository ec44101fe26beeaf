"""Edges of reductions: NaN, signed zeros, wrap-around, ties, many elements; error texts."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from morphax import enable_x64, grad, jit, lax, make_jaxpr
from morphax.core import ShapedArray
from morphax.lax.ground.row_sums import summation
from morphax.lax.reduction import reductions
from tests.lax.engines import array, check_all_agree, check_engines_agree, complex_array

FLOATS = ("float32", "float64", "float16", "bfloat16", "float8_e4m3fn")
EXTREMES = {name: getattr(reductions, name) for name in ("reduce_max", "reduce_min")}
ZEROS = [[0.0, -0.0], [-0.0, 0.0], [-0.0, -0.0], [0.0, 0.0]]


def over(axes: tuple[int, ...]) -> dict[str, Any]:
    return {name: lambda x, f=f: f(x, axes) for name, f in EXTREMES.items()}


@pytest.mark.parametrize("dtype", FLOATS)
def test_zeros_have_an_order_in_extremes(dtype: str) -> None:
    results = check_all_agree(over((1,)), array(ZEROS, dtype))
    assert np.signbit(results["reduce_max"].astype("f4")).tolist() == [False, False, True, False]
    assert np.signbit(results["reduce_min"].astype("f4")).tolist() == [True, True, True, False]


@pytest.mark.parametrize("dtype", FLOATS[:4])
def test_nan_wins_in_extremes(dtype: str) -> None:
    rows = [[1, np.nan], [-np.nan, np.inf], [np.nan, -np.inf], [np.inf, -np.inf], [-np.inf] * 2]
    results = check_all_agree(over((1,)), array(rows, dtype))
    assert np.isnan(results["reduce_max"]).tolist() == [True] * 3 + [False] * 2
    assert np.isnan(results["reduce_min"]).tolist() == [True] * 3 + [False] * 2


MANY_SHAPES = [(20_000,), (300, 300), (50, 20, 40), (3_000_001,), (7, 5003), (70, 33, 40)]


@pytest.mark.parametrize("shape", MANY_SHAPES)
def test_nan_wins_among_many(shape: tuple[int, ...]) -> None:
    # A plain maximum of so many float32 numbers loses it where XLA's kernel library computes it.
    x = np.zeros(shape, np.float32)
    x.flat[x.size // 2] = np.nan
    for axes in {(0,), (x.ndim - 1,), tuple(range(x.ndim))}:
        results = check_all_agree(over(axes), x)
        assert np.isnan(results["reduce_max"]).sum() == np.isnan(results["reduce_min"]).sum() == 1


MONOIDS = ("reduce_max", "reduce_min", "reduce_prod", "reduce_and", "reduce_or", "reduce_xor")


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint64", "bool", "int16"])
@pytest.mark.parametrize(
    "shape", [(131, 2, 5), (64, 8), (1, 33), (200, 128), (3, 129), (40_000, 7), (300, 2), (2051, 3)]
)
def test_short_rows_have_the_bits_of_numpy(shape: tuple[int, ...], dtype: str) -> None:
    rng = np.random.default_rng(0)
    special = rng.choice([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-42], shape)
    for numbers in (rng.standard_normal(shape) * 10.0 ** rng.integers(-4, 5, shape), special):
        numbers = np.clip(np.nan_to_num(numbers), 0, 9) if "int" in dtype else numbers
        x, behind = numbers.astype(dtype), tuple(range(1, numbers.ndim))
        names = {"f": MONOIDS[:3], "b": MONOIDS[3:]}.get(x.dtype.kind, MONOIDS)
        for name, axes in itertools.product(names, (behind, (0,))):
            primitive = getattr(reductions, f"{name}_p")
            reduced = primitive.kernel(ShapedArray(shape, x.dtype), axes=axes)
            with np.errstate(all="ignore"):
                assert_same(reduced(x), primitive.evaluate(x, axes=axes), name)
        if dtype != "bool":
            summed = summation(x, behind)
            with np.errstate(all="ignore"):
                assert_same(summed(x), np.add.reduce(x, behind, x.dtype), "reduce_sum")


def assert_same(found: Any, expected: Any, name: str) -> None:
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    # Which of several NaN comes through is open.
    np.testing.assert_array_equal(found, expected, name)
    if found.dtype.kind == "f":
        has_sign = ~np.isnan(expected)
        assert np.array_equal(np.signbit(found)[has_sign], np.signbit(expected)[has_sign]), name


@pytest.mark.parametrize("count", [20_000, 200_000])
def test_zeros_have_an_order_among_many(count: int) -> None:
    x = np.where(np.arange(count) % 3 == 0, 0.0, -0.0).astype(np.float32)
    check_all_agree(over((0,)), x)
    check_all_agree(over((0,)), -x)


@pytest.mark.parametrize("dtype", FLOATS[:4])
@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
def test_extremes_of_many_keep_infinities_and_nan(axes: tuple[int, ...], dtype: str) -> None:
    rows = np.random.default_rng(0).standard_normal((300, 400))
    special = [rows, np.full_like(rows, -np.inf), np.full_like(rows, np.inf), -np.abs(rows)]
    mixed = rows.copy()
    mixed[:, 1::2], mixed[7, 3], mixed[9, 5] = np.inf, -np.inf, -np.nan
    special += [mixed, np.full_like(rows, np.nan), np.full_like(rows, 1e-40)]
    special[3][5, 5], special[3][6, 6] = -0.0, 0.0
    run = jit(lambda v: (lax.reduce_max(v, axes), lax.reduce_min(v, axes)))
    for x in [array(v, dtype) for v in special]:
        for given, wanted in zip(
            run(x), (lax.reduce_max(x, axes), lax.reduce_min(x, axes)), strict=True
        ):
            found, expected = (np.asarray(v).astype("f8") for v in (given, wanted))
            np.testing.assert_array_equal(found, expected)
            with_sign = ~np.isnan(expected)
            assert (np.signbit(found) == np.signbit(expected))[with_sign].all()


@pytest.mark.parametrize("name", ["reduce_max", "reduce_min", "cummax", "cummin", "max", "min"])
def test_complex_extremes_lose_nan_as_those_of_programs(name: str) -> None:
    rng = np.random.default_rng(0)
    parts = rng.choice(np.array([0, 1, 2, np.nan], np.float32), (2, 6, 5, 3))
    operation = getattr(lax, name)
    if name in ("max", "min"):
        calls = [lambda x: operation(x, x[::-1])]
    elif "reduce" in name:
        calls = [lambda x, a=axes: operation(x, a) for axes in ((0,), (1,), (0, 2), (0, 1, 2))]
    else:
        calls = [lambda x, a=a, r=a == 2: operation(x, a, reverse=r) for a in range(3)]
    for x in (parts[0] + 1j * parts[1], (parts[0] + 1j * parts[1])[:, :1, :1]):
        for call in calls:
            np.testing.assert_array_equal(call(x), jit(call)(x))


def test_complex_extremes_go_by_real_then_imaginary_part() -> None:
    x = complex_array((0.0, 1.0, -1.0, np.inf, -np.inf))
    results = check_all_agree(over((0,)), x)
    assert results["reduce_max"] == complex(np.inf, np.inf)
    assert results["reduce_min"] == complex(-np.inf, -np.inf)


@pytest.mark.parametrize("dtype", ["int4", "int8", "uint8", "int32", "uint64"])
def test_integers_wrap_around(dtype: str) -> None:
    x = array([[3, 5, 7], [1, 1, 6]], "int64").astype(array(0, dtype).dtype)
    everything = (
        reductions.reduce_sum,
        reductions.reduce_prod,
        reductions.reduce_xor,
        reductions.reduce_and,
        reductions.reduce_or,
    )
    functions = {f.__name__: lambda v, f=f: f(v, (0, 1)) for f in everything}
    check_all_agree(functions, x)


def test_small_floats_are_summed_in_float32() -> None:
    ones = np.ones(4000, array(0, "bfloat16").dtype)
    total = check_engines_agree(lambda x: reductions.reduce_sum(x, (0,)), ones)
    assert float(total) == 4000.0


@pytest.mark.parametrize(
    ("function", "x", "expected"),
    [
        (lax.reduce_max, [1, 3, 3, 3], [0, 1 / 3, 1 / 3, 1 / 3]),
        (lax.reduce_min, [1, 1, 3], [0.5, 0.5, 0]),
        (lax.reduce_max, [0.0, -0.0], [0.5, 0.5]),
        (lax.reduce_max, [1, np.nan], [np.nan, np.nan]),
        (lax.reduce_prod, [2, 0, 3], [0, 6, 0]),
        (lax.reduce_prod, [0, 0, 3], [0, 0, 0]),
        (lax.reduce_prod, [1, 2, 3, 4, 5], [120, 60, 40, 30, 24]),
        (lax.reduce_prod, [], []),
    ],
)
def test_derivatives_at_ties_and_zeros(function: Any, x: list[float], expected: Any) -> None:
    given = grad(lambda v: function(v, (0,)))(np.array(x, np.float32)).to_host()
    np.testing.assert_array_equal(given, np.array(expected, np.float32))


@pytest.mark.parametrize("name", ["reduce_sum", "reduce_max", "reduce_prod"])
@pytest.mark.parametrize("axes", [(0, 0), (-1,), (2,)])
def test_wrong_axes_are_refused(name: str, axes: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=rf"lax\.{name}, argument axes.*\n.*float32\[2,3\]"):
        getattr(reductions, name)(np.ones((2, 3), np.float32), axes)


@pytest.mark.parametrize(
    ("name", "dtype"), [("reduce_sum", "bool"), ("reduce_prod", "bool"), ("reduce_and", "float32")]
)
def test_wrong_dtypes_are_refused(name: str, dtype: str) -> None:
    with pytest.raises(TypeError, match=rf"lax\.{name}, operand 0"):
        getattr(reductions, name)(np.ones(3, dtype), (0,))


def test_no_axes_leave_the_operand() -> None:
    x = np.arange(3.0, dtype=np.float32)
    for function in (reductions.reduce_sum, reductions.reduce_max, reductions.reduce_prod):
        assert check_engines_agree(lambda v, f=function: f(v, ()), x).tolist() == [0.0, 1.0, 2.0]


def test_parameters_are_printed_as_users_know_them() -> None:
    x = np.ones((2, 3), np.float32)
    assert "reduce_max[axes=(0,)]" in str(make_jaxpr(lambda v: reductions.reduce_max(v, [0]))(x))
    text = str(make_jaxpr(lambda v: reductions.reduce_sum(v, [0]))(x))
    assert "reduce_sum[axes=(0,) out_sharding=None]" in text


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.uint8])
def test_products_of_many_numbers(dtype: Any) -> None:
    """They are multiplied beside each other, and axes of size 1 are kept or not as ever."""
    rng = np.random.default_rng(3)
    for shape in [(511,), (513,), (1, 1000), (1000, 1), (3, 1, 700), (700, 3), (2, 30, 40), (4, 0)]:
        signs = rng.choice([-1, 1], size=shape)
        x = np.exp(0.1 * rng.normal(size=shape)) * signs if np.dtype(dtype).kind == "f" else signs
        x = x.astype(dtype)
        for axes in itertools.chain.from_iterable(
            itertools.combinations(range(len(shape)), count) for count in range(len(shape) + 1)
        ):
            with enable_x64(True):
                found = lax.reduce_prod(x, axes)
            expected = np.prod(x, axes, np.float64 if np.dtype(dtype).kind == "f" else dtype)
            assert found.shape == expected.shape
            np.testing.assert_allclose(found, expected, rtol=1e-4)
