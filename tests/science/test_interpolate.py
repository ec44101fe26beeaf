"""Piecewise polynomials and splines through data, against SciPy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.interpolate

import morphax as jax
from morphax import enable_x64
from morphax.errors import ShapeError
from morphax.science import interpolate
from morphax.test_util import check_grads

RNG = np.random.default_rng(1)
# Sizes, shapes of the data and the axis of the places.
LAYOUTS = [(2, (2,), 0), (3, (3, 2), 0), (4, (4,), -1), (7, (2, 7, 3), 1)]
ENDS: list[Any] = [
    "not-a-knot",
    "natural",
    "clamped",
    "periodic",
    ("not-a-knot", "natural"),
    ((2, 0.5), (1, -1.0)),
]


@pytest.fixture(autouse=True)
def _wide_dtypes() -> Iterator[None]:
    with enable_x64(True):
        yield


def _places(size: int) -> np.ndarray:
    """Places that are apart: third derivatives divide roundings by cubes of distances."""
    return np.cumsum(RNG.uniform(0.2, 1, size)) - size / 4


def _close(found: Any, expected: Any, tolerance: float = 1e-9) -> None:
    assert np.shape(found) == np.shape(expected)
    np.testing.assert_allclose(found, expected, tolerance, tolerance)


def _agree(found: Any, expected: Any, x: np.ndarray, orders: int, tolerance: float = 1e-9) -> None:
    """Values, derivatives and integrals, in and out of the data."""
    places = np.concatenate([RNG.uniform(x[0] - 2, x[-1] + 2, 6), [x[0], x[-1], np.nan]])
    for nu in range(orders):
        _close(found(places[:, None], nu), expected(places[:, None], nu), tolerance)
    ends = (x[0] + 0.1, x[-1] - 0.2), (x[-1] + 3.5, x[0] - 2)
    for a, b in ends if found.extrapolate is not False else ends[:1]:
        _close(found.integrate(a, b), expected.integrate(a, b), tolerance)


@pytest.mark.parametrize(("size", "shape", "axis"), LAYOUTS)
@pytest.mark.parametrize("ends", ENDS, ids=str)
def test_cubic_splines(size: int, shape: tuple[int, ...], axis: int, ends: Any) -> None:
    x, y = _places(size), RNG.normal(size=shape)
    if ends == "periodic":
        rows = np.moveaxis(y, axis, 0)
        rows[-1] = rows[0]
    if isinstance(ends[0], tuple):
        one = np.ones(np.delete(shape, axis))
        ends = tuple([(order, value * one) for order, value in ends])
    for values in (y, y * (1 - 2j)):
        made = [
            kind(x, values, axis, ends)
            for kind in (interpolate.CubicSpline, scipy.interpolate.CubicSpline)
        ]
        # Of a periodic spline the third derivative jumps where SciPy's places are rounded.
        _agree(*made, x, 3 if ends == "periodic" else 5)


@pytest.mark.parametrize(("size", "shape", "axis"), LAYOUTS)
@pytest.mark.parametrize("name", ["PchipInterpolator", "Akima1DInterpolator", "makima"])
def test_cubics_with_local_slopes(size: int, shape: Any, axis: int, name: str) -> None:
    options = {"method": name} if name == "makima" else {}
    name = "Akima1DInterpolator" if name == "makima" else name
    x, y = _places(size), 2 * RNG.normal(size=shape)
    # Rounded data have equal neighbours, and slopes that are 0.
    for values in (y, np.round(y), np.round(y).astype(int)):
        made = [
            getattr(package, name)(x, values, axis, **options)
            for package in (interpolate, scipy.interpolate)
        ]
        _agree(*made, x, 4)


def test_given_slopes_and_coefficients() -> None:
    x, y, slopes = np.array([0.0, 1, 3]), RNG.normal(size=(3, 2)), RNG.normal(size=(3, 2))
    made = [p.CubicHermiteSpline(x, y, slopes) for p in (interpolate, scipy.interpolate)]
    _agree(*made, x, 4)
    for axis in (0, 1):
        c = RNG.normal(size=(2, 2, 2))
        for mode in (True, False, "periodic"):
            made = [p.PPoly(c, x, mode, axis) for p in (interpolate, scipy.interpolate)]
            _agree(*made, x, 3)
            _close(made[0].antiderivative(2)(0.5), made[1].antiderivative(2)(0.5))


@pytest.mark.parametrize("k", range(5))
def test_splines_of_any_degree(k: int) -> None:
    for size, shape, axis in ((k + 1, (k + 1,), 0), (k + 6, (2, k + 6), 1)):
        t = np.sort(RNG.normal(size=size + k + 1))
        if size > k + 1:
            t[: k + 1], t[-k - 1 :], t[k + 2] = t[0], t[-1], t[k + 1]
        c = RNG.normal(size=shape)
        for mode in (True, False, "periodic"):
            made = [p.BSpline(t, c, k, mode, axis) for p in (interpolate, scipy.interpolate)]
            inside = np.array([t[k], t[size]])
            _agree(*made, inside, max(k - 1, 1), 1e-7)
            x = RNG.uniform(*inside, 4)
            _close(made[0](x, k), made[1](x, k), 1e-7)
            _close(made[0].antiderivative()(x), made[1].antiderivative()(x), 1e-7)
    assert float(interpolate.BSpline(np.arange(3), [2.0, 1.0], 0)(0.5, 1)) == 0


def test_one_b_spline() -> None:
    made = [p.BSpline.basis_element([0, 1, 2, 4.0]) for p in (interpolate, scipy.interpolate)]
    _close(made[0](np.array([0.5, 1.5, 3])), made[1](np.array([0.5, 1.5, 3])))


@pytest.mark.parametrize("k", range(5))
@pytest.mark.parametrize(
    "ends",
    [None, "natural", "clamped", ([(1, 0.5)], [(2, -1.0)]), (None, [(1, 1.0), (2, 0.0)])],
    ids=str,
)
def test_splines_through_data(k: int, ends: Any) -> None:
    for size in (k + 1, 9):
        x, y = np.sort(RNG.normal(size=size)), RNG.normal(size=size)
        try:
            expected = scipy.interpolate.make_interp_spline(x, y, k, bc_type=ends)
        except ValueError:
            with pytest.raises(ValueError, match="argument bc_type"):
                interpolate.make_interp_spline(x, y, k, bc_type=ends)
            continue
        found = interpolate.make_interp_spline(x, y, k, bc_type=ends)
        _close(found.t, expected.t)
        _close(found.c, expected.c, 1e-6)


def test_knots_that_are_given() -> None:
    x, y = np.arange(5.0), RNG.normal(size=(5, 2))
    t = np.array([0, 0, 0, 1.4, 2.6, 4, 4, 4])
    made = [p.make_interp_spline(x, y, 2, t) for p in (interpolate, scipy.interpolate)]
    _close(made[0].c, made[1].c)
    # No data between knots that carry a B-spline of their own.
    far = interpolate.make_interp_spline(x, y, 2, np.array([0, 0, 0, 0.1, 0.2, 4, 4, 4]))
    assert np.isnan(far.c).all()


@pytest.mark.parametrize(
    "name", ["CubicSpline", "PchipInterpolator", "Akima1DInterpolator", "make_interp_spline"]
)
def test_derivatives_and_transformations(name: str) -> None:
    make = getattr(interpolate, name)
    x, y = np.arange(6.0) + 0.1 * RNG.normal(size=6), RNG.normal(size=6)
    v = np.array([0.7, 2.3, 4.4])
    # One of degree k solves a system by a loop: its second derivatives are those of the system.
    order = 1 if name == "make_interp_spline" else 2
    check_grads(lambda x, y, v: make(x, y)(v), (x, y, v), order=order, atol=1e-3, rtol=1e-3)
    f = make(x, y)
    _close(jax.jit(lambda f, v: f(v))(f, v), f(v))
    _close(jax.jit(lambda x, y: make(x, y))(x, y)(v), f(v))
    many = jax.vmap(lambda y, v: make(x, y)(v))(np.stack([y, 2 * y]), np.stack([v, v + 0.1]))
    _close(many, np.stack([f(v), 2 * f(v + 0.1)]))
    expected = np.asarray(f(v))
    with enable_x64(False):
        narrow = make(x.astype("f4"), y.astype("f4"))(v.astype("f4"))
        assert narrow.dtype == "f4"
        _close(narrow, expected, 1e-4)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_numbers(dtype: str) -> None:
    x = jax.numpy.arange(5.0).astype(dtype)
    for f in (interpolate.CubicSpline(x, x * x), interpolate.make_interp_spline(x, x * x)):
        assert f(x).dtype == dtype
        _close(f(1.5).astype("f4"), np.float32(2.25), 0.02)


def test_places_that_are_special() -> None:
    f = interpolate.CubicSpline([0, 1, 2], [True, False, True])
    assert f(np.zeros((0, 2))).shape == (0, 2)
    assert float(f(1)) == 0
    assert np.isnan(f(np.nan))
    assert np.isnan(interpolate.BSpline([0.0, 1.0], [2.0], 0)(np.nan))
    assert interpolate.CubicSpline([0, 1], np.zeros((2, 0)))(0.5).shape == (0,)
    # A slope that is no number spoils its neighbourhood, not more.
    y = np.array([0, 0, np.nan, 0, 0, 0, 1.0])
    found = interpolate.PchipInterpolator(np.arange(7), y)(np.arange(7) - 0.5)
    assert np.isnan(found[1:6]).any()
    assert np.isfinite(found[6])


def test_data_that_are_refused() -> None:
    cubic = interpolate.CubicSpline
    for x in ([0, 0, 1], [0, 2, 1], [0, np.nan, 1]):
        with pytest.raises(ValueError, match="none twice"):
            cubic(x, [1, 2, 3])
    for x, y in (([0, 1], [1, 2, 3]), ([0], [1]), ([0], 1), ([[0, 1]], [1, 2])):
        with pytest.raises(ShapeError, match=r"argument [xy]"):
            cubic(x, y)
    for ends in ("none", (1, 2), ("natural",), ((3, 0.0), "natural")):
        with pytest.raises(ValueError, match="argument bc_type"):
            cubic([0, 1, 2], [1, 2, 3], bc_type=ends)
        if ends != ((3, 0.0), "natural"):
            with pytest.raises((ValueError, TypeError)):
                interpolate.make_interp_spline([0, 1, 2, 3], [1, 2, 3, 4], bc_type=ends)
    with pytest.raises(ShapeError, match="argument bc_type"):
        cubic([0, 1, 2], [1, 2, 3], bc_type=((1, [0.0]), "natural"))
    with pytest.raises(ValueError, match="same values"):
        cubic([0, 1, 2], [1, 2, 3], bc_type="periodic")
    with pytest.raises(ValueError, match="real numbers"):
        cubic([0, 1j], [1, 2])
    with pytest.raises(ValueError, match="real values"):
        interpolate.PchipInterpolator([0, 1], [1, 2j])
    with pytest.raises(ValueError, match="argument method"):
        interpolate.Akima1DInterpolator([0, 1], [1, 2], method="other")
    with pytest.raises(ValueError, match="argument extrapolate"):
        cubic([0, 1], [1, 2])(0.5, extrapolate="no")
    with pytest.raises(ShapeError, match="argument dydx"):
        interpolate.CubicHermiteSpline([0, 1], [1, 2], [1.0])
    with pytest.raises(ShapeError, match="argument x"):
        interpolate.PPoly([[1.0]], [0, 1, 2])
    with pytest.raises(ShapeError, match="argument t"):
        interpolate.BSpline([0, 1, 2], [1.0], 2)
    with pytest.raises(ValueError, match="ascending"):
        interpolate.BSpline([1, 0], [1.0], 0)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: interpolate.CubicSpline(x, y)(0.5),
        lambda x, y: interpolate.PchipInterpolator(x, y)(0.5),
        lambda x, y: interpolate.Akima1DInterpolator(x, y)(0.5),
        lambda x, y: interpolate.make_interp_spline(x, y)(0.5),
        lambda x, y: interpolate.PPoly(y[None, :4], x)(0.5),
        lambda x, y: interpolate.BSpline(jax.numpy.concatenate([x, 9 + x[:4]]), y, 3)(4.5),
    ],
)
@pytest.mark.parametrize("x", [[4.0, 3, 2, 1, 0], [0.0, 2, 1, 3, 4], [0.0, 1, 2, 3, np.inf]])
def test_what_cannot_be_refused_while_tracing_is_nan(function: Any, x: Any) -> None:
    y = np.array([1.0, -1, 2, 0, 3])
    with pytest.raises(ValueError, match="finite numbers"):
        function(np.array(x), y)
    for run in (jax.jit(function), lambda x, y: jax.vmap(function)(x[None], y[None])[0]):
        assert np.isnan(run(jax.numpy.array(x), jax.numpy.array(y)))
    np.testing.assert_allclose(jax.jit(function)(np.arange(5.0), y), function(np.arange(5.0), y))


def test_periodic_splines_whose_ends_differ_are_nan_in_programs() -> None:
    def value(y: Any) -> Any:
        return interpolate.CubicSpline(np.arange(4.0), y, bc_type="periodic")(0.5)

    assert np.isnan(jax.jit(value)(np.array([1.0, 2, 0, 3])))
    same = np.array([1.0, 2, 0, 1])
    np.testing.assert_allclose(jax.jit(value)(same), value(same))
