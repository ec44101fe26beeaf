"""NumPy's own ways and loops of native code against the programs that they stand for."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import jit, lax
from morphax.lax.ordering import largest as largest_module

DTYPES = ["float32", "complex64"]


def _numbers(rng: np.random.Generator, dtype: str, size: int) -> Any:
    x = rng.uniform(-1, 1, size)
    return (x + 1j * rng.uniform(-1, 1, size) if dtype == "complex64" else x).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [1, 2, 16, 17, 40])
def test_coefficients_from_zeros(dtype: str, size: int) -> None:
    zeros = jnp.asarray(_numbers(np.random.default_rng(size), dtype, size))
    result = jnp.poly(zeros)
    assert result.dtype == dtype
    np.testing.assert_allclose(result, jit(jnp.poly)(zeros), rtol=1e-4, atol=1e-5)


def test_zeros_that_are_not_finite() -> None:
    for zeros in ([1.0, np.inf], [np.nan, 2.0], [np.inf] + [0.5] * 20):
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(
                jnp.poly(jnp.array(zeros)), jit(jnp.poly)(jnp.array(zeros))
            )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sizes", [(1, 1), (4, 4), (10, 4), (60, 30), (3, 5)])
def test_quotients_of_polynomials(dtype: str, sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    u, v = (_numbers(rng, dtype, size) for size in sizes)
    v[0] = 3
    results = jnp.polydiv(jnp.asarray(u), jnp.asarray(v))
    for result, expected in zip(results, jit(jnp.polydiv)(u, v), strict=True):
        assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)


def test_remainders_are_zero_for_the_powers_that_are_divided() -> None:
    _, rest = jnp.polydiv(jnp.array([0.1, np.nan, 1.0]), jnp.array([0.3, 1.0]))
    np.testing.assert_array_equal(rest, [0, 0, np.nan])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "bool"])
@pytest.mark.parametrize("length", [0, 1, 7, 1000])
@pytest.mark.parametrize("size", [0, 9, 5000])
def test_counts(dtype: str, length: int, size: int) -> None:
    x = np.random.default_rng(0).integers(-9, 2000, size).astype(dtype)
    extremes = [] if dtype == "bool" else [np.iinfo(dtype).min, np.iinfo(dtype).max]
    x = np.concatenate([x, np.array([0, 1, *extremes], dtype)])
    expected = jit(lambda x: jnp.bincount(x, length=length))(x)
    for _ in range(2):
        result = jnp.bincount(jnp.asarray(x), length=length)
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("bitorder", ["big", "little"])
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_bits(axis: int | None, bitorder: Any) -> None:
    words = np.random.default_rng(0).integers(0, 256, (3, 10)).astype(np.uint8)
    for x in (words, words > 100, (words > 100).astype(np.int8) * -3):
        np.testing.assert_array_equal(
            jnp.packbits(jnp.asarray(x), axis, bitorder), np.packbits(x != 0, axis, bitorder)
        )
    for count in (None, 0, 5, -3, 200):
        np.testing.assert_array_equal(
            jnp.unpackbits(jnp.asarray(words), axis, count, bitorder),
            np.unpackbits(words, axis, count, bitorder),
        )


@pytest.mark.parametrize("bitorder", ["big", "little"])
@pytest.mark.parametrize("shape", [(1, 40), (7, 32), (8, 33), (20, 300), (3, 19, 40), (0, 40)])
def test_bits_in_columns(shape: tuple[int, ...], bitorder: Any) -> None:
    rng = np.random.default_rng(0)
    for x in (rng.random(shape) > 0.5, rng.integers(-1, 2, shape).astype(np.int32)):
        for axis in range(-len(shape), len(shape)):
            result = jnp.packbits(jnp.asarray(x), axis, bitorder)
            np.testing.assert_array_equal(result, np.packbits(x != 0, axis, bitorder))
    words = rng.integers(0, 256, shape).astype(np.uint8)
    for axis in range(-len(shape), len(shape)):
        for count in (None, 5, -3 * shape[axis]):
            result = jnp.unpackbits(jnp.asarray(words), axis, count, bitorder)
            np.testing.assert_array_equal(result, np.unpackbits(words, axis, count, bitorder))


def test_bits_of_nothing_are_zeros() -> None:
    np.testing.assert_array_equal(jnp.unpackbits(jnp.zeros(0, jnp.uint8), count=3), [0, 0, 0])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("shape", [(1,), (10,), (700,), (3, 40), (2, 3, 17)])
def test_the_largest_are_those_of_the_twin(dtype: str, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    special = rng.choice([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1e-40], shape)
    whole = rng.integers(-9, 9, shape)
    x = whole.astype(dtype)
    if dtype != "int32":
        x = np.where(rng.random(shape) < 0.3, special, whole).astype(dtype)
    for k in sorted({1, min(3, shape[-1]), min(16, shape[-1]), max(shape[-1] // 4, 1)}):
        values, places = largest_module.largest(x, k, x.ndim - 1)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(largest_module, "native", None)
            twin_values, twin_places = largest_module.largest(x, k, x.ndim - 1)
        np.testing.assert_array_equal(places, twin_places)
        assert values.tobytes() == twin_values.tobytes()


@pytest.mark.parametrize("size", [1, 2, 5, 12, 13, 30])
def test_updates_of_factors(size: int) -> None:
    rng = np.random.default_rng(size)
    factor = np.triu(rng.standard_normal((size, size))) + 3 * np.eye(size)
    w = rng.standard_normal(size)
    w[size // 2] = 0
    r_matrix, w_vector = factor.astype(np.float32), w.astype(np.float32)
    updated = np.asarray(lax.linalg.cholesky_update(jnp.asarray(r_matrix), jnp.asarray(w_vector)))
    np.testing.assert_allclose(
        updated.T @ updated, factor.T @ factor + np.outer(w, w), rtol=1e-4, atol=1e-4
    )
    np.testing.assert_array_equal(updated, np.triu(updated))


def test_parts_of_complex_numbers_are_rounded_apart() -> None:
    z = np.array([np.inf - 4.3567j, -0.0 + 7j, complex(np.nan, 1.239)], np.complex64)
    for decimals in (2, -1):
        result = np.asarray(jnp.round(jnp.asarray(z), decimals))
        np.testing.assert_array_equal(result.real, np.round(z.real, decimals))
        np.testing.assert_array_equal(result.imag, np.round(z.imag, decimals))
        np.testing.assert_array_equal(np.signbit(result.real), np.signbit(z.real))
    assert jnp.round(2.567, 2).weak_type


def test_axes_that_are_not_there_are_the_errors_of_numpy() -> None:
    for call in (lambda: jnp.sum(jnp.ones(3), axis=2), lambda: lax.cumsum(jnp.ones(3), axis=1)):
        with pytest.raises(np.exceptions.AxisError, match="axis") as caught:
            call()
        assert isinstance(caught.value, IndexError)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "bfloat16", "uint8"])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 100])
@pytest.mark.parametrize("side", ["left", "right"])
def test_places_in_sorted_vectors(dtype: str, size: int, side: str) -> None:
    rng = np.random.default_rng(size)
    a = np.sort(rng.integers(0, 9, size)).astype(jnp.dtype(dtype))
    v = rng.integers(0, 10, (3, 200)).astype(jnp.dtype(dtype))
    if dtype.startswith("float"):
        a[size // 2 :] = np.sort(np.append(a, [np.inf, np.nan, np.nan])[-(size - size // 2) :])
        a = np.sort(np.append(a, [-0.0, -np.inf]))[:size]
        v[0, :7] = 0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 0.5
    with jax.enable_x64(dtype in ("float64", "int64")):
        for _ in range(2):
            found = jnp.searchsorted(a, v, side)
            np.testing.assert_array_equal(found, np.searchsorted(a, v, side))
            np.testing.assert_array_equal(jnp.searchsorted(a[:0], v, side), 0)
            assert jnp.searchsorted(a, v[:0], side).shape == (0, 200)
            assert jnp.searchsorted(a, v[1, 3], side) == np.searchsorted(a, v[1, 3], side)
        many = np.resize(v, 2**18 + 5000)
        np.testing.assert_array_equal(
            jnp.searchsorted(a, many, side), np.searchsorted(a, many, side)
        )


def test_scalars_of_numpy_are_operands_too() -> None:
    """They count as constants of the program, of which NumPy's own way knows nothing."""
    four, six = np.int32(4), np.int32(6)
    several = jnp.array([4, 6], np.int32)
    for _ in range(2):
        assert jnp.gcd(four, six) == 2
        assert jnp.lcm(four, six) == 12
        assert jnp.clip(six, np.int32(1), np.int32(5)) == 5
        np.testing.assert_array_equal(jnp.gcd(several, six), [2, 6])
        np.testing.assert_array_equal(jnp.gcd(six, several), [2, 6])
        np.testing.assert_array_equal(jnp.searchsorted(several, np.int32(5)), 1)


SPECIAL = [0.0, 1.0, 3.5, 1e-3, np.inf, np.nan, 1e-45, 5e-324, 2e-38, 1.7e38, 1e-300, 1e300]


def _pairs(dtype: str) -> tuple[Any, Any]:
    """All pairs of special numbers, and random ones: more than are few, in no whole blocks."""
    rng = np.random.default_rng(0)
    with np.errstate(over="ignore"):
        special = np.array([*SPECIAL, *[-x for x in SPECIAL], 1 + 1e-5], dtype)
    x, y = (side.ravel() for side in np.meshgrid(special, special))
    more = rng.standard_normal((2, 5000)) * np.exp2(rng.uniform(-126, 126, (2, 5000)))
    near = np.stack([more[0], more[0] * (1 + 1e-6 * rng.standard_normal(5000))])
    plain = rng.standard_normal((2, 1500))
    together = np.concatenate([[x, y], more, near, plain], axis=1).astype(dtype)
    return together[0], together[1]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["hypot", "isclose"])
def test_one_pass_has_the_bits_of_the_program(name: str, dtype: str) -> None:
    function = getattr(jnp, name)
    with jax.enable_x64(dtype == "float64"):
        x, y = map(jnp.asarray, _pairs(dtype))
        expected = np.asarray(inspect.unwrap(function)(x, y))
        result = np.asarray(function(x, y))
        assert (result.dtype, result.tobytes()) == (expected.dtype, expected.tobytes())
        matrices = x[:6000].reshape(2, 3000), y[3000].reshape(())
        for operands in (matrices, matrices[::-1], (x[:5000, None], y[:2])):
            expected = np.asarray(inspect.unwrap(function)(*operands))
            assert np.asarray(function(*operands)).tobytes() == expected.tobytes()


@pytest.mark.parametrize("number", [2.5, -3, 0.0, np.nan, np.inf, 1e300, np.float16(7)])
def test_lengths_beside_a_number_of_another_dtype(number: Any) -> None:
    with jax.enable_x64(True), np.errstate(over="ignore"):
        x = jnp.asarray(_pairs("float32")[0])
        for operands in ((x, number), (number, x)):
            expected = np.asarray(inspect.unwrap(jnp.hypot)(*operands))
            for _ in range(2):
                result = np.asarray(jnp.hypot(*operands))
                assert (result.dtype, result.tobytes()) == (expected.dtype, expected.tobytes())


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_numbers_in_place_of_others(dtype: str) -> None:
    limits = [{}, *({name: value} for name in ("nan", "posinf", "neginf") for value in (7, -0.0))]
    chained = {"nan": np.inf, "posinf": -np.inf, "neginf": 3.0}, {"posinf": np.nan, "nan": -np.inf}
    with jax.enable_x64(dtype == "float64"):
        x = jnp.asarray(_pairs("float64")[0]).astype(dtype)
        arrays = {"nan": x[::-1], "posinf": x[:1]}, {"neginf": jnp.asarray(2, x.dtype)}
        for options in (*limits, *chained, *arrays, {"nan": 3e38}, {"neginf": True}):
            expected = np.asarray(inspect.unwrap(jnp.nan_to_num)(x, **options))
            for _ in range(2):
                result = np.asarray(jnp.nan_to_num(x, **options))
                assert (result.dtype, result.tobytes()) == (expected.dtype, expected.tobytes())


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "float16"])
def test_slopes_of_many_numbers(dtype: str) -> None:
    with jax.enable_x64(dtype == "float64"), np.errstate(invalid="ignore"):
        x = jnp.asarray(_pairs("float64")[0][:6000]).astype(dtype)
        several = ((x,), (x, 2), (x, 0.5), (x, jnp.arange(6000.0)), (x[:2],))
        matrix = x.reshape(60, 100)
        for given in (*several, (matrix,), (matrix, 2), (matrix, 1.0, 3)):
            expected = inspect.unwrap(jnp.gradient)(*given)
            for _ in range(2):
                np.testing.assert_array_equal(jnp.gradient(*given), expected)
        for options in ({"axis": 0}, {"axis": (1,)}, {"edge_order": 1}):
            for result, slopes in zip(
                jax.tree.leaves(jnp.gradient(matrix, **options)),
                jax.tree.leaves(inspect.unwrap(jnp.gradient)(matrix, **options)),
                strict=True,
            ):
                np.testing.assert_array_equal(result, slopes)


def test_tolerances_of_many_numbers() -> None:
    x, y = map(jnp.asarray, _pairs("float32"))
    for options in ({}, {"rtol": 0.1}, {"atol": 1}, {"rtol": 0, "atol": 0}, {"equal_nan": True}):
        expected = inspect.unwrap(jnp.isclose)(x, y, **options)
        np.testing.assert_array_equal(jnp.isclose(x, y, **options), expected)
    np.testing.assert_array_equal(jnp.isclose(x, y, 0.1), jnp.isclose(x, y, rtol=0.1))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64", "bool"])
def test_bits_of_many_numbers(dtype: str) -> None:
    with jax.enable_x64(True):
        x = np.random.default_rng(0).integers(0, 256, 40_000).astype(np.uint8).view(dtype)
        if dtype == "bool":
            x = np.arange(5000) % 3 == 0
        else:
            x = np.append(x, np.array([np.iinfo(dtype).min, np.iinfo(dtype).max], dtype))
        result = jnp.bitwise_count(jnp.asarray(x))
        assert result.dtype == np.uint8
        expected = x if dtype == "bool" else np.bitwise_count(x)
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("dtype", ["float32", "bool", "complex64", "bfloat16"])
@pytest.mark.parametrize("shape", [(100, 70), (70, 100), (3, 50, 40), (5000, 1), (0, 5000)])
def test_triangles_of_many_numbers(shape: tuple[int, ...], dtype: str) -> None:
    m = (np.random.default_rng(0).standard_normal(shape) + 0.5).astype(jnp.dtype(dtype))
    for k in (0, 1, -1, 30, -30, 10**6, -(10**6)):
        np.testing.assert_array_equal(jnp.tril(jnp.asarray(m), k), np.tril(m, k))
        np.testing.assert_array_equal(jnp.triu(jnp.asarray(m), k=k), np.triu(m, k))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("points", [2, 10, 33, 700])
def test_broken_lines_of_many_numbers(points: int, dtype: str) -> None:
    rng = np.random.default_rng(points)
    xp = np.sort(np.round(rng.standard_normal(points), 1)).astype(dtype)  # some are equal
    fp = rng.standard_normal(points).astype(dtype)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, *xp, *np.nextafter(xp, 9)]
    x = np.concatenate([special, rng.standard_normal(6000)]).astype(dtype).reshape(2, -1)
    with jax.enable_x64(dtype == "float64"):
        for ends in ([], [np.inf, -np.inf], [np.nan]):
            line = np.sort(np.append(xp[: points - len(ends)], ends)).astype(dtype)
            operands = [jnp.asarray(v) for v in (x, line, fp)]
            expected = np.asarray(inspect.unwrap(jnp.interp)(*operands))
            result = np.asarray(jnp.interp(*operands))
            assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
            np.testing.assert_array_equal(result, expected)
            np.testing.assert_array_equal(np.signbit(result), np.signbit(expected))
        for options in ({"left": -1.0}, {"right": "extrapolate"}, {"period": 2.0}):
            expected = inspect.unwrap(jnp.interp)(*operands, **options)
            np.testing.assert_array_equal(jnp.interp(*operands, **options), expected)


@pytest.mark.parametrize("narrow", ["bfloat16", "float16"])
def test_broken_lines_of_narrow_values_have_the_digits_of_the_places(narrow: str) -> None:
    rng = np.random.default_rng(7)
    x, xp = rng.standard_normal(50).astype(np.float32), np.array([-2, -0.3, 0.4, 2], np.float32)
    fp = jnp.asarray(rng.standard_normal(4), narrow)
    wide = np.asarray(fp, np.float64)
    result = jnp.interp(x, xp, fp)
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, np.interp(x, xp, wide), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "bool", "complex64", "bfloat16"])
@pytest.mark.parametrize("size", [7, 9000])
def test_regions_with_steps(size: int, dtype: str) -> None:
    x = (np.random.default_rng(0).standard_normal((3, size)) + 0.5).astype(jnp.dtype(dtype))
    indices = [np.s_[:, ::2], np.s_[0, 1::3], np.s_[::-2, 5:1:-1], np.s_[1:1, ::2], np.s_[..., ::4]]
    for index in indices:
        values = x[index][..., ::-1]
        expected, product = x.copy(), x.copy()
        expected[index], product[index] = values, x[index] * x[index]
        for _ in range(2):
            given = jnp.asarray(x)
            np.testing.assert_array_equal(given.at[index].set(values), expected)
            np.testing.assert_array_equal(given.at[index].multiply(x[index]), product)
            np.testing.assert_array_equal(given, x)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("count", [1, 3, 4, 10, 16])
def test_polynomials_of_many_numbers(count: int, dtype: str) -> None:
    rng = np.random.default_rng(count)
    p = rng.standard_normal(count).astype(dtype)
    p[0] = [-0.0, 2.5][count % 2]
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 1e30]
    x = np.concatenate([special, rng.standard_normal(8993)]).astype(dtype)
    with jax.enable_x64(dtype == "float64"):
        for shape in ((9000,), (3, 3000)):
            operands = jnp.asarray(p), jnp.asarray(x).reshape(shape)
            expected = np.asarray(inspect.unwrap(jnp.polyval)(*operands))
            result = np.asarray(jnp.polyval(*operands))
            assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
            assert result.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(80, 70), (1, 5000), (5000, 1), (1100, 1000), (0, 9)])
def test_products_of_all_pairs(dtype: str, shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    special = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1e-40, 3e38], dtype)
    a, b = (np.where(rng.random(n) < 0.3, rng.choice(special, n), n / 3) for n in shape)
    with jax.enable_x64(True), np.errstate(all="ignore"):
        expected = np.outer(a.astype(dtype), b.astype(dtype))
        for _ in range(2):
            result = jnp.outer(jnp.asarray(a, dtype), jnp.asarray(b, dtype))
            assert (result.dtype, result.shape) == (dtype, shape)
            np.testing.assert_array_equal(result, expected)
            np.testing.assert_array_equal(
                np.signbit(result)[expected == 0], np.signbit(expected)[expected == 0]
            )


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_bits_of_extreme_numbers(dtype: str) -> None:
    info = np.iinfo(dtype)
    x = np.random.default_rng(0).integers(info.min, info.max, 1001, dtype)
    x[:4] = info.min, info.max, 0, -1
    with jax.enable_x64(True):
        np.testing.assert_array_equal(jnp.bitwise_count(jnp.asarray(x)), np.bitwise_count(x))


@pytest.mark.parametrize("values", ["int8", "int32", "bool", "int4", "float16", "float32"])
@pytest.mark.parametrize("places", ["float16", "float32", "int32"])
def test_values_that_are_no_floats_are_interpolated_as_float32(places: str, values: str) -> None:
    x, xp = jnp.array([0, 1, 1], places), jnp.array([0, 1, 2], places)
    result = jnp.interp(x, xp, jnp.array([0, 1, 1]).astype(values))
    assert result.dtype == (np.float16 if places == values == "float16" else np.float32)
    np.testing.assert_array_equal(result, [0, 1, 1])


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint16", "uint64"])
@pytest.mark.parametrize("function", [jnp.floor_divide, jnp.remainder])
def test_many_integers_divided_by_one(dtype: str, function: Any) -> None:
    rng, info = np.random.default_rng(0), np.iinfo(dtype)
    extremes = np.array([info.min, info.min + 1, 0, 1, 2, info.max - 1, info.max], dtype)
    divisors = [*extremes, *np.array([7, 100], dtype), *([-1, -7] if info.min else [3])]
    with jax.enable_x64(True):
        many = rng.integers(info.min, info.max, 5000, dtype=dtype, endpoint=True)
        x = jnp.asarray(np.concatenate([extremes, many]))
        for y in divisors:
            divisor = y if isinstance(y, int) else jnp.asarray(y)
            expected = np.asarray(inspect.unwrap(function)(x, divisor))
            for _ in range(2):
                result = np.asarray(function(x, divisor))
                assert (result.dtype, result.tobytes()) == (expected.dtype, expected.tobytes())
