"""Values at zeros, infinities, NaN and out of bounds, where functions have to decide something."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax

INF, NAN = np.inf, np.nan
V = np.arange(1.0, 6.0, dtype=np.float32)
PLACES = np.array([-7, -5, -1, 0, 4, 5, 11])
C = np.array([1 + 2j, 1 - 2j, 2, 0, 0, 3j], np.complex64)
D = np.array([1 + 2j, 1 + 2j, 1 - 5j, 1j, -1j, 3j], np.complex64)


def both_ways(function: Callable[..., Any], *operands: Any) -> list[Any]:
    """The results, eager and compiled, as NumPy arrays."""
    arrays = [jnp.asarray(x) for x in operands]
    results = [evaluate(*arrays) for evaluate in (function, jax.jit(function))]
    return [[np.asarray(leaf) for leaf in jax.tree.leaves(r)] for r in results]


def check(function: Callable[..., Any], operands: Any, *expected: Any, rtol: float = 1e-6) -> None:
    for results in both_ways(function, *operands):
        for result, wanted in zip(results, expected, strict=True):
            np.testing.assert_allclose(result, wanted, rtol=rtol)


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint8", "uint32"])
def test_integers_divided_by_zero_leave_no_rest(dtype: str) -> None:
    low = int(jnp.iinfo(dtype).min)
    x, zero = np.array([low, 7, 5, 0], dtype), np.zeros(4, dtype)
    check(lambda x, y: (x % y, jnp.fmod(x, y), jnp.divmod(x, y)[1]), (x, zero), zero, zero, zero)
    check(lambda x, y: lax.rem(x, y), (x, zero), x)


def test_the_least_integer_divided_by_minus_one() -> None:
    x, y = np.array([-(2**31), 7], np.int32), np.array([-1, -2], np.int32)
    check(lambda x, y: (x // y, x % y), (x, y), [-(2**31), -4], [0, -1])


POINTS = [0.0, -0.0, 1.0, -1.0, 1.5, -1.5, INF, -INF, NAN, 2.0, 3.0, 1e-3]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_floor_division_and_remainder(dtype: str) -> None:
    x, y = (a.reshape(-1).astype(jnp.dtype(dtype)) for a in np.meshgrid(POINTS, POINTS))
    wide_x, wide_y = (a.astype(np.float64) for a in (x, y))
    with np.errstate(all="ignore"):
        # NaN, not infinity, is the quotient by 0.
        quotient = np.where(wide_y == 0, NAN, np.floor_divide(wide_x, wide_y))
        rest, truncated = np.remainder(wide_x, wide_y), np.fmod(wide_x, wide_y)
    exact = np.abs(quotient) < 100
    exact |= ~np.isfinite(quotient)

    def function(x: Any, y: Any) -> Any:
        parts = (x // y, *jnp.divmod(x, y), x % y, jnp.fmod(x, y))
        return [p.astype(jnp.float32)[exact] for p in parts]

    wanted = (quotient, quotient, rest, rest, truncated)
    check(function, (x, y), *[w[exact] for w in wanted], rtol=1e-2)


def test_hypot_of_infinity_and_nan() -> None:
    x, y = np.array([INF, NAN, -INF, NAN, 3, 0]), np.array([NAN, INF, NAN, 1, 4, 0])
    check(jnp.hypot, (x, y), [INF, INF, INF, NAN, 5, 0])
    assert jax.grad(jnp.hypot)(3.0, 4.0) == pytest.approx(0.6)
    for place, slopes in (
        ((0.0, 0.0), (0.5, 0.5)),
        ((-INF, NAN), (-1, 0)),
        ((NAN, INF), (0, 1)),
        ((INF, INF), (1, 0)),
    ):
        np.testing.assert_array_equal(jax.grad(jnp.hypot, (0, 1))(*place), slopes)
    for call in (lambda: jnp.hypot(1j, 2.0), lambda: jnp.fabs(1j)):
        with pytest.raises(TypeError, match="expected: real numbers"):
            call()


def test_order_of_complex_numbers() -> None:
    def compared(x: Any, y: Any) -> Any:
        return x < y, x <= y, x > y, x >= y, jnp.fmax(x, y), jnp.maximum(x, y), jnp.fmin(x, y)

    larger, smaller = np.maximum(C, D), np.minimum(C, D)
    relations = (C < D, C <= D, C > D, C >= D)
    check(compared, (C, D), *relations, larger, larger, smaller)
    edges = np.sort(C)
    for side in ("left", "right"):
        expected = np.searchsorted(edges, D, side)
        check(lambda a, v, s=side: jnp.searchsorted(a, v, s), (edges, D), expected)
    assert (jnp.asarray(C) < 1).tolist() == (C < 1).tolist()


def test_sums_of_complex_powers() -> None:
    x, y = C.astype(np.complex128), D.astype(np.complex128)
    # At the cut either sign of the imaginary part is right; elementwise exponentials have no cut.
    check(lambda x, y: jnp.exp(jnp.logaddexp(x, y)), (C, D), np.exp(x) + np.exp(y), rtol=1e-5)
    check(lambda x, y: jnp.exp2(jnp.logaddexp2(x, y)), (C, D), 2**x + 2**y, rtol=1e-5)
    assert jnp.logaddexp(1j, 2.0).aval.weak_type
    assert not jnp.logaddexp(1j, jnp.float32(2)).aval.weak_type
    (log2,), _ = both_ways(jnp.log2, np.array([0, INF], np.complex64))
    assert log2.tolist() == [complex(-INF, 0), complex(INF, 0)]
    check(
        lambda y, x: jnp.arctan2(y, x) - 1,
        (np.complex64([0, 0]), np.complex64([1j, -1j])),
        [-1, np.pi - 1],
    )


def test_booleans_as_numbers() -> None:
    x, y = np.array([True, False, True]), np.array([True, True, True])

    def function(x: Any, y: Any) -> Any:
        parts = (x // y, x % y, jnp.fmod(x, y), *jnp.divmod(x, y), x << y, x >> y, jnp.square(x))
        return parts, jnp.outer(x, y)

    one, zero = [1, 0, 1], [0, 0, 0]
    outer = np.outer(x, y)
    check(function, (x, y), one, zero, zero, one, zero, [2, 0, 2], zero, one, outer)
    assert {a.dtype.kind for a in function(jnp.asarray(x), jnp.asarray(y))[0]} == {"i"}


def test_sums_of_truth_values() -> None:
    def totals(x: Any) -> Any:
        return [f(x, axis=0, dtype=bool) for f in (jnp.sum, jnp.prod, jnp.nansum)]

    check(totals, (np.array([[256, 0, 1], [0, 0, 1]]),), *[[1, 0, 1], [0, 0, 1], [1, 0, 1]])
    assert jnp.sum(jnp.zeros(2), dtype=bool, initial=True).tolist() is True
    assert jnp.trace(jnp.eye(2), dtype=bool).dtype == bool


def test_take_out_of_bounds() -> None:
    def taken(mode: str) -> Callable[[Any, Any], Any]:
        return lambda v, i: jnp.take(v, i, mode=mode)

    def gradient(v: Any, i: Any) -> Any:
        weights = jnp.arange(1.0, 8.0)
        return jax.grad(lambda v: (jnp.take(v, i, mode="clip") * weights).sum())(v)

    check(taken("clip"), (V, PLACES), V[np.clip(PLACES, 0, 4)])
    check(taken("wrap"), (V, PLACES), V[PLACES % 5])
    check(taken("fill"), (V, PLACES), [NAN, 1, 5, 1, 5, NAN, NAN])
    check(gradient, (V, PLACES), [1 + 2 + 3 + 4, 0, 0, 0, 5 + 6 + 7])
    long = np.arange(300.0)
    check(taken("wrap"), (long, np.array([-1, 100], np.int8)), [299, 100])


def test_choose() -> None:
    choices = np.arange(21).reshape(3, 7)
    for mode in ("clip", "wrap"):
        expected = np.choose(PLACES, choices, mode=mode)
        check(lambda i, c, m=mode: jnp.choose(i, c, mode=m), (PLACES, choices), expected)
    for a in ([0, 3], [-1], [True], [1.0]):
        with pytest.raises(ValueError, match=r"jnp\.choose, argument"):
            jnp.choose(jnp.array(a), [1, 2, 3])
    with pytest.raises(jax.errors.ConcretizationTypeError, match="mode='clip'"):
        jax.jit(lambda i: jnp.choose(i, [1, 2]))(0)


def test_the_derivative_of_clamped_reads() -> None:
    w = jnp.array([1.0, 2.0])
    for index in (jnp.array([0, 5]), np.array([0, 5])):
        read = lambda w, index=index: w[index]  # noqa: E731
        assert jax.jacrev(read)(w).tolist() == jax.jacfwd(read)(w).tolist() == [[1, 0], [0, 1]]
    by_member = jax.vmap(lambda k: jax.grad(lambda w: w[k])(w))(jnp.array([0, 5, -7]))
    assert by_member.tolist() == [[1, 0], [0, 1], [1, 0]]
    filled = jax.grad(lambda w: w.at[jnp.array([0, 5])].get(mode="fill", fill_value=0).sum())(w)
    assert filled.tolist() == [1, 0]


def test_apply_counts_repetitions() -> None:
    def tenfold(v: Any, i: Any) -> Any:
        return v.at[i].apply(lambda q: q * 10)

    check(tenfold, (V, np.array([1, 1, -4])), [1, 2000, 3, 4, 5])
    check(lambda v: tenfold(v, np.array([1, 9])), (V,), [1, 20, 3, 4, 5])
    clip = {"mode": "clip"}
    check(lambda v: v.at[np.array([7, 9])].apply(lambda q: q + 1, **clip), (V,), [1, 2, 3, 4, 7])
    check(lambda v: v.at[::2].apply(lambda q: q.sum() * 2), (V,), [2, 2, 6, 4, 10])
    grad = jax.grad(lambda v: v.at[np.array([1, 2])].apply(lambda q: q * q).sum())(jnp.asarray(V))
    assert grad.tolist() == [1, 4, 6, 1, 1]
    with pytest.raises(TypeError, match="argument func"):
        jnp.arange(3).at[1].apply(lambda q: q / 2)


def test_roll_adds_up_the_shifts_of_an_axis_named_twice() -> None:
    x = np.arange(6).reshape(2, 3)
    for shift, axis in [((1, 1), (0, 0)), ((1, 1, 1), (1, 0, -1)), (2, (0, 1, 1)), ((), ())]:
        np.testing.assert_array_equal(jnp.roll(x, shift, axis), np.roll(x, shift, axis))


def test_piecewise_with_one_condition_for_all() -> None:
    assert jnp.piecewise(V, True, [1.0, 2.0]).tolist() == [1.0] * len(V)


def test_complex_arctan2_of_scalars() -> None:
    # The tangent of the angle is the quotient.
    assert abs(jnp.tan(jnp.arctan2(2 + 1j, 0.5 - 3j)) - (2 + 1j) / (0.5 - 3j)) < 1e-5


def test_piecewise_takes_the_last() -> None:
    def function(v: Any) -> Any:
        return jnp.piecewise(v, [v > 1, v > 3], [10.0, lambda q: -q, 30.0])

    check(function, (V,), [30, 10, 10, -4, -5])
    check(jax.grad(lambda v: function(v).sum()), (V,), [0, 0, 0, -1, -1])
    with pytest.raises(ValueError, match="at least one"):
        jnp.piecewise(V, [], [1.0])


def test_piecewise_is_of_scalars() -> None:
    x = np.array([[-1.0, 0.0, 4.0], [9.0, -4.0, 0.25]], np.float32)
    safe = lambda v: jnp.piecewise(v, [v > 0], [jnp.sqrt, lambda s: s * 0])  # noqa: E731
    check(safe, (x,), [[0, 0, 2], [3, 0, 0.5]])
    # The root has no slope at 0, and no value below.
    check(jax.grad(lambda v: safe(v).sum()), (x,), [[0, 0, 0.25], [1 / 6, 0, 1]])
    check(
        lambda v: jnp.piecewise(v, [v > 0], [jax.grad(jnp.square)]), (x,), [[0, 0, 8], [18, 0, 0.5]]
    )
    check(jax.vmap(safe), (x,), [[0, 0, 2], [3, 0, 0.5]])
    # Conditions broadcast; as many as there are functions are conditions one by one.
    check(lambda v: jnp.piecewise(v, [np.array([True, False, True])], [1.0]), (x,), [[1, 0, 1]] * 2)
    check(lambda v: jnp.piecewise(v, x > 0, [5.0, 6.0]), (x,), [[6, 0, 6]] * 2)
    check(lambda v: jnp.piecewise(v, [True, False, True], [5.0, 6.0]), (x,), [[5, 6, 5]] * 2)
    further = lambda v: jnp.piecewise(v, [v > 0], [lambda s, a, k: s * a.sum() + k], x, k=1.0)  # noqa: E731
    check(further, (x,), [[0, 0, 34], [75.25, 0, 3.0625]])


def test_nothing() -> None:
    for shape in ((2, 0), (0,)):
        assert np.isnan(jnp.cov(jnp.zeros(shape))).all()
    empty, none = jnp.zeros((0, 3)), jnp.zeros(0, int)
    assert empty[none].shape == jnp.take(empty, none, axis=0).shape == (0, 3)
    assert jnp.take_along_axis(jnp.zeros(0), none, 0).shape == (0,)
    assert jax.grad(lambda x: x[none].sum())(jnp.zeros(0)).shape == (0,)
    for read in (lambda: empty[0], lambda: empty[jnp.array([1])], lambda: jnp.take(empty, 1, 0)):
        with pytest.raises(IndexError, match="axis of size 0"):
            read()


def test_scaling_short_floats() -> None:
    x = np.array([65504, 60000, 6e-8, -3], np.float16)
    check(lambda x: jnp.frexp(x)[0], (x,), np.frexp(x)[0])
    exponents = np.array([-16, -20, 20, 3])
    check(jnp.ldexp, (x, exponents), np.ldexp(x, exponents), rtol=1e-3)


@pytest.mark.parametrize("engine", ["xla", "native"])
def test_frexp_of_subnormal_numbers(engine: str) -> None:
    with jax.enable_x64(True), jax.cpu_engine(engine):
        for dtype, integer in ((np.float16, np.int16), (np.float32, np.int32), (float, np.int64)):
            if engine == "native" and dtype is np.float16:
                continue
            tiny = np.finfo(dtype).smallest_subnormal
            bits = np.concatenate([np.arange(1, 200), 1 << np.arange(np.finfo(dtype).nmant + 1)])
            x = bits.astype(integer).view(dtype)
            x = np.concatenate([x, -x, [dtype(0), dtype(-0.0), dtype(np.inf), tiny]])
            mantissa, exponent = jax.jit(jnp.frexp)(x)
            expected = np.frexp(x)
            np.testing.assert_array_equal(mantissa, expected[0])
            np.testing.assert_array_equal(np.signbit(mantissa), np.signbit(x))
            np.testing.assert_array_equal(exponent, expected[1])
        # JAX's derivative: that of the product with a power of two that x makes.
        assert jax.jit(jax.grad(lambda x: jnp.frexp(x)[0]))(3.0) == 0.25


def test_digitize_by_edges_with_nan() -> None:
    x = np.array([1, NAN, 2, INF, -INF, 0])
    for edges in (np.sort(x), np.sort(x)[::-1]):
        for right in (False, True):
            expected = np.digitize(x, edges, right)
            check(lambda x, e, r=right: jnp.digitize(x, e, r), (x, edges), expected)


def test_shifts_of_one_axis_add_up() -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    for shift in ((1, 2), np.array([0, 2, 1, -2]), jnp.array([3, 4])):
        for axis in (0, -1, None, (1,)):
            assert np.array_equal(jnp.roll(x, shift, axis), np.roll(x, np.asarray(shift), axis))
    shifted = jax.jit(lambda s: jnp.roll(x, s, 1))(jnp.array([1, 1]))
    assert np.array_equal(shifted, np.roll(x, 2, 1))


def test_nan_differs_from_nan_in_sets() -> None:
    one, other = np.array([np.nan, 1, np.nan], np.float32), np.array([np.nan, 2, 2], np.float32)
    assert np.array_equal(jnp.setxor1d(one, other), np.setxor1d(one, other), equal_nan=True)
    assert jnp.setdiff1d(jnp.array([True, False]), jnp.array([1, 3])).dtype == bool
    assert [r.shape for r in jnp.unique(jnp.ones((0, 3)), False, True)] == [(0,), (0, 3)]


def test_extremes_of_complex_numbers_beside_an_initial_value_are_those_of_programs() -> None:
    x = np.array([complex(np.nan, 1), 2], np.complex64)
    for name in ("max", "min"):
        extreme = functools.partial(getattr(jnp, name), initial=2.5)
        for given in (x, x[::-1], x[:1]):
            np.testing.assert_array_equal(extreme(given), jax.jit(extreme)(given))
        assert extreme(x[1:]) == getattr(np, name)(x[1:], initial=2.5)


@pytest.mark.parametrize("k", [4, -5, 2**31, -(2**31), 2**63, -(2**70)])
def test_diagonals_far_outside(k: int) -> None:
    x = np.arange(12).reshape(3, 4)
    near = max(-9, min(k, 9))
    for name in ("tril", "triu"):
        for transform in (lambda f: f, jax.jit):
            found = transform(lambda x, name=name: getattr(jnp, name)(x, k))(x)
            np.testing.assert_array_equal(found, getattr(np, name)(x, near))
        indices = getattr(jnp, f"{name}_indices")(3, k, 4)
        np.testing.assert_array_equal(indices, getattr(np, f"{name}_indices")(3, near, 4))
    np.testing.assert_array_equal(jnp.eye(3, 4, k), np.eye(3, 4, near))
    np.testing.assert_array_equal(jnp.tri(3, 4, k), np.tri(3, 4, near))


def test_numbers_of_steps_beyond_the_size() -> None:
    x = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    for n in (2, 3, 4, 2**40):
        np.testing.assert_array_equal(jnp.diff(x, n), np.diff(x, min(n, 4)))
    np.testing.assert_array_equal(jnp.roll(x, 2**70 + 1), np.roll(x, (2**70 + 1) % 6))
    shifts = 2**33 + 1, -(2**40)
    np.testing.assert_array_equal(jnp.roll(x, shifts, (0, 1)), np.roll(x, shifts, (0, 1)))


def test_quantiles_of_nothing() -> None:
    for function in (jnp.median, jnp.nanmedian):
        assert np.isnan(function(jnp.ones((0, 3)), axis=0)).tolist() == [True] * 3
        assert function(jnp.ones((0, 3)), axis=1).shape == (0,)
        assert np.isnan(function(jnp.ones(0)))


def test_the_trapezoidal_rule_with_ends_that_are_not_finite() -> None:
    samples = np.array([[1, 2, 4], [INF, 1, 2], [1, 2, -INF], [INF, 1, -INF], [1, NAN, 2]], "f4")
    check(jnp.trapezoid, (samples,), [4.5, INF, -INF, NAN, NAN])
    check(jax.grad(lambda y: jnp.trapezoid(y).sum()), (samples,), [[0.5, 1, 0.5]] * 5)
    check(jnp.trapezoid, (samples[:, :1],), np.zeros(5))


def test_ldexp_by_truth_values() -> None:
    np.testing.assert_array_equal(jnp.ldexp(np.float32(3), np.array([False, True])), [3, 6])


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 16])
@pytest.mark.parametrize("dtype", ["float32", "int32", "int8", "bool", "complex64"])
def test_columns_of_powers(count: int, dtype: str) -> None:
    with np.errstate(all="ignore"):
        x = np.array([0, -0.0, 1, -3, np.inf, np.nan] if dtype == "float32" else [0, 1, 2]).astype(
            dtype
        )
        expected = x[:, None] ** np.arange(count, dtype=np.int32)
        if dtype == "int8":
            expected = expected.astype(dtype)
        for f in (jnp.vander, jax.jit(jnp.vander, static_argnums=(1, 2))):
            for increasing in (True, False):
                given = np.asarray(f(x, count, increasing))
                assert given.dtype == ("int32" if dtype == "bool" else dtype)
                np.testing.assert_array_equal(given, expected[:, :: 1 if increasing else -1])
                is_negative = np.signbit(expected[1].real if count else expected.real)
                if dtype == "float32" and count and increasing:
                    assert (np.signbit(given[1]) == is_negative).all()


@pytest.mark.parametrize("count", [2, 3, 5, 9, 16, 17])
def test_slopes_of_columns_of_powers(count: int) -> None:
    """They are k xᵏ⁻¹, also where another column is infinite."""
    x = np.array([0, -0.0, 1, -3, 0.7, 1e-30, 1e30, -1e6, np.inf, -np.inf], np.float32)
    powers = np.arange(count)
    with np.errstate(all="ignore"):
        expected = powers * x[:, None].astype(float) ** np.maximum(powers - 1, 0)
        expected = np.where(powers == 0, 0, expected).astype(np.float32)
    powers_of = functools.partial(jnp.vander, N=count, increasing=True)
    _, slopes = jax.jvp(powers_of, (x,), (jnp.ones_like(x),))
    tiny = np.finfo(np.float32).tiny
    np.testing.assert_allclose(slopes, expected, 2e-6, tiny)
    sums = jax.grad(lambda x: powers_of(x).sum())(x[:6])
    np.testing.assert_allclose(sums, expected[:6].sum(1), 2e-6, tiny)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_columns_of_powers_have_the_digits_of_numpys(dtype: str) -> None:
    with jax.enable_x64(True):
        x = np.random.default_rng(0).uniform(-3, 3, 500).astype(dtype)
        for count in range(4, 17):
            exact = x[:, None].astype(np.longdouble) ** np.arange(count)
            given = np.asarray(jnp.vander(x, count, increasing=True))
            np.testing.assert_allclose(given, exact.astype(dtype), 7 * np.finfo(dtype).eps)


@pytest.mark.parametrize("copies", [1, 4000])
@pytest.mark.parametrize(
    ("xp", "fp", "expected"),
    [
        ([0, 1e-39, 1], [1, 2, 3], [1, 2.5, 3]),
        ([0, 1, 2], [0, INF, 3], [0, INF, INF]),
        ([0, 1, 2], [-INF, 0, INF], [-INF, NAN, 0]),
        ([0, 0, 1], [5, 7, 2], [7, 4.5, 2]),
    ],
)
def test_lines_have_their_points_where_they_rise_without_bound(
    xp: Any, fp: Any, expected: Any, copies: int
) -> None:
    """In one pass over many numbers too."""
    x = np.tile(np.array([0, 0.5, 1], np.float32), copies)
    line = [np.array(v, np.float32) for v in (xp, fp)]
    for (result,) in both_ways(jnp.interp, x, *line):
        # XLA may take what is next to 0 for 0.
        np.testing.assert_array_equal(result[1:], np.tile(expected, copies)[1:])
        assert result[0] in (expected[0], fp[1] if xp[1] < 1e-38 else expected[0])
