"""Filters of images, against SciPy."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.ndimage

import morphax as jax
from morphax import enable_x64
from morphax.errors import ConcretizationTypeError, ShapeError
from morphax.science import ndimage
from morphax.test_util import check_grads

RNG = np.random.default_rng(3)
MODES = ["reflect", "constant", "nearest", "mirror", "wrap", "grid-mirror", "grid-wrap"]
FLOATS = RNG.normal(size=(4, 5))
IMAGES = {
    "float": FLOATS,
    "int": RNG.integers(-9, 9, (4, 5)),
    "uint8": RNG.integers(0, 255, (4, 5)).astype("u1"),
    "one": FLOATS[:1, :1],
    "line": FLOATS[0],
}
HOLES = np.array([[True, False, True], [False, True, True]])
# Names, arguments after the image, keyword arguments.
CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("correlate1d", ([0.5, -1.0, 2.0],), {"axis": 0}),
    ("correlate1d", ([1, -1, 2, 3],), {"origin": 1}),
    ("convolve1d", ([0.5, -1.0, 2.0, 1.0],), {"axis": -1, "origin": -2}),
    ("convolve1d", (RNG.normal(size=9),), {"axis": 0}),
    ("gaussian_filter1d", (0.8,), {"order": 1}),
    ("gaussian_filter1d", (1.5,), {"axis": 0, "order": 3, "truncate": 3}),
    ("uniform_filter1d", (4,), {"origin": 1}),
    ("maximum_filter1d", (4,), {"axis": 0, "origin": 1}),
    ("minimum_filter1d", (3,), {}),
    ("gaussian_filter", (0.9,), {}),
    ("gaussian_laplace", (0.9,), {}),
    ("uniform_filter", (3,), {}),
    ("laplace", (), {}),
    ("sobel", (), {}),
    ("prewitt", (), {"axis": 0}),
    ("median_filter", (3,), {}),
    ("median_filter", (2,), {"origin": -1}),
    ("rank_filter", (-2, 3), {}),
    ("percentile_filter", (30, 3), {}),
    ("percentile_filter", (-20, 3), {}),
    ("maximum_filter", (3,), {}),
    ("minimum_filter", (4,), {}),
]
PLANE_CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("correlate", (RNG.normal(size=(3, 2)),), {"origin": (1, -1)}),
    ("convolve", (RNG.normal(size=(2, 4)),), {"origin": (0, 1)}),
    ("convolve", (RNG.normal(size=3),), {"axes": (0,)}),
    ("correlate", (RNG.normal(size=(9, 9)),), {}),
    ("gaussian_filter", ((0.9, 0.0),), {"order": (1, 0)}),
    ("gaussian_filter", ((0.9, 1.2),), {"radius": (2, 3)}),
    ("uniform_filter", ((2, 3),), {"origin": (-1, 0)}),
    ("median_filter", (), {"footprint": HOLES}),
    ("maximum_filter", (), {"footprint": HOLES, "origin": (0, 1)}),
    ("minimum_filter", ((2, 3),), {}),
    ("rank_filter", (1,), {"size": 2, "axes": (1,)}),
]


@pytest.fixture(autouse=True)
def _wide_dtypes() -> Iterator[None]:
    with enable_x64(True):
        yield


def _agree(name: str, image: np.ndarray, args: Any, options: Any) -> None:
    expected = getattr(scipy.ndimage, name)(image, *args, **options)
    found = getattr(ndimage, name)(image, *args, **options)
    assert found.dtype == expected.dtype
    tolerance = 1e-6 if found.dtype == "f4" else 1e-9
    np.testing.assert_allclose(found, expected, tolerance, tolerance)


@pytest.mark.parametrize("kind", IMAGES)
@pytest.mark.parametrize("number", range(len(CALLS)), ids=lambda i: f"{i}-{CALLS[i][0]}")
def test_filters(number: int, kind: str) -> None:
    name, args, options = CALLS[number]
    image = IMAGES[kind]
    if image.ndim == 1:
        options = {key: value for key, value in options.items() if key != "axis"}
    mode = MODES[(number + len(kind)) % len(MODES)]
    _agree(name, image, args, {**options, "mode": mode, "cval": 2})


@pytest.mark.parametrize("mode", MODES)
def test_modes_with_kernels_longer_than_the_image(mode: str) -> None:
    for size in (1, 2, 5):
        for kernel in (RNG.normal(size=3), RNG.normal(size=70)):
            _agree("correlate1d", RNG.normal(size=size), (kernel,), {"mode": mode, "cval": 2.0})


@pytest.mark.parametrize("number", range(len(PLANE_CALLS)), ids=lambda i: PLANE_CALLS[i][0])
def test_filters_of_planes(number: int) -> None:
    name, args, options = PLANE_CALLS[number]
    for kind in ("float", "int"):
        mode = MODES[number % len(MODES)]
        _agree(name, IMAGES[kind], args, {**options, "mode": mode, "cval": 2})
    # SciPy has several modes at a time where one axis is filtered after the other.
    if name in ("gaussian_filter", "uniform_filter", "minimum_filter"):
        _agree(name, FLOATS, args, {**options, "mode": ("wrap", "nearest")})


def test_other_dtypes() -> None:
    mask = FLOATS > 0
    for name, args in (
        ("gaussian_filter", (1.0,)),
        ("median_filter", (3,)),
        ("maximum_filter", (2,)),
    ):
        _agree(name, mask, args, {})
        _agree(name, IMAGES["int"], args, {"output": np.float32})
    _agree("correlate", FLOATS * (1 + 2j), (RNG.normal(size=(3, 3)),), {})
    _agree("correlate1d", mask, ([1, 0, 1],), {"output": np.int32})
    assert ndimage.sobel(FLOATS.astype("f4")).dtype == "f4"
    # The sum of integers is exact where that of floating numbers is not.
    large = np.array([2**53 + 1, 0, 1])
    assert ndimage.correlate1d(large, [1]).tolist() == large.tolist()


def test_images_without_samples_and_numbers_that_are_none() -> None:
    empty = np.zeros((0, 3))
    for name, args, options in CALLS:
        assert getattr(ndimage, name)(empty, *args, **options).shape == (0, 3)
    x = np.array([0, 1, np.nan, 3, 4, 5, np.inf])
    assert np.isnan(ndimage.maximum_filter(x, 3)).tolist() == [False] + [True] * 3 + [False] * 3
    assert ndimage.median_filter(x, 3).tolist()[-2:] == [5, np.inf]
    assert np.isnan(ndimage.gaussian_filter(x, 1.0, radius=1)).tolist()[1:4] == [True] * 3


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("gaussian_filter", (0.7,)),
        ("correlate", (np.ones((9, 9)),)),
        ("median_filter", (3,)),
        ("maximum_filter", (3,)),
        ("sobel", ()),
    ],
)
def test_derivatives_and_transformations(name: str, args: Any) -> None:
    run = getattr(ndimage, name)
    image = np.random.default_rng(0).permutation(20.0 + np.arange(20)).reshape(4, 5)
    check_grads(lambda x: run(x, *args), (image,), order=2, atol=1e-3, rtol=1e-3, eps=1e-3)
    np.testing.assert_allclose(jax.jit(lambda x: run(x, *args))(image), run(image, *args), 1e-12)
    many = np.stack([image, image[::-1]])
    found = jax.vmap(lambda x: run(x, *args))(many)
    np.testing.assert_allclose(found, [run(x, *args) for x in many], 1e-12)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "u4", "bool"])
def test_ranks_of_windows_small_and_large(dtype: str) -> None:
    image = RNG.normal(size=(7, 9)) * 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        image = image.astype(dtype)
    if image.dtype.kind == "f":
        image[:2, 1] = np.inf, -0.0
    # SciPy knows no float16.
    reference = image.astype("f4") if dtype == "f2" else image
    for rank, size in ((0, 1), (1, 2), (4, (3, 4)), (8, 3), (12, 5), (99, (11, 12))):
        found = ndimage.rank_filter(image, rank, size)
        expected = scipy.ndimage.rank_filter(reference, rank, size)
        np.testing.assert_array_equal(found, expected.astype(dtype))


def test_ranks_of_windows_with_nan_are_those_of_a_sort() -> None:
    x = np.array([3, -np.nan, 1, np.nan, -np.inf, 0.0, -0.0, 2, 5e-324, np.inf])
    windows = np.sort(np.lib.stride_tricks.sliding_window_view(np.pad(x, 2, "symmetric"), 5))
    for rank in range(5):
        np.testing.assert_array_equal(ndimage.rank_filter(x, rank, 5), windows[:, rank])


@pytest.mark.parametrize("size", [3, 129])
def test_derivatives_of_ranks_are_those_of_one_sample(size: int) -> None:
    x = np.array([1.0, 1, 2, 1, 2, 2, np.nan, np.nan])
    for rank in (0, 2):
        slopes = jax.jacobian(lambda x, r=rank: ndimage.rank_filter(x, r, size))(x)
        # One sample of the window, with the value that was found.
        assert np.isin(slopes, [0, 1]).all()
        assert (np.sum(slopes, 1) == 1).all()
        read = x[np.argmax(slopes, 1)]
        np.testing.assert_array_equal(read, ndimage.rank_filter(x, rank, size))
    # Of equal ones the earliest has the lowest rank.
    slopes = jax.jacobian(lambda x: ndimage.rank_filter(x, 0, 3, mode="constant", cval=9.0))(x[:2])
    np.testing.assert_array_equal(slopes, [[1, 0], [1, 0]])


def test_derivatives_of_kernels() -> None:
    run = lambda w: ndimage.convolve(FLOATS, w)  # noqa: E731
    check_grads(run, (RNG.normal(size=(2, 3)),), order=2, atol=1e-3, rtol=1e-3)
    run = lambda s: ndimage.gaussian_filter(FLOATS, s)  # noqa: E731
    check_grads(run, (np.float64(1.1),), order=2, atol=1e-3, rtol=1e-3)
    smooth = jax.jit(lambda s: ndimage.gaussian_filter(FLOATS, s, radius=3))
    np.testing.assert_allclose(smooth(0.8), ndimage.gaussian_filter(FLOATS, 0.8, radius=3), 1e-12)
    with pytest.raises(ConcretizationTypeError, match="radius="):
        jax.jit(run)(1.0)


@pytest.mark.parametrize("mode", [*MODES, "grid-constant"])
@pytest.mark.parametrize("order", [0, 1])
def test_images_moved_and_turned(mode: str, order: int) -> None:
    matrix = np.array([[0.9, 0.3], [-0.4, 1.2]])
    for kind in ("float", "int", "one"):
        for name, args, options in (
            ("shift", (0.3,), {}),
            ("shift", ((9.1, -13.4),), {}),
            ("affine_transform", (matrix, (0.17, -0.6), (3, 8)), {}),
            ("affine_transform", (np.c_[matrix, [0.11, -2.35]],), {}),
            ("affine_transform", ([0.93, 1.04], 0.3), {}),
            ("zoom", ((2.1, 0.4),), {}),
            ("zoom", (1.7,), {"grid_mode": True}),
            ("rotate", (31.0,), {}),
            ("rotate", (-90,), {"reshape": True}),
            ("rotate", (200.0,), {"reshape": False}),
        ):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                _agree(
                    name, IMAGES[kind], args, {**options, "order": order, "mode": mode, "cval": 2}
                )


def test_derivatives_of_images_that_are_moved_and_turned() -> None:
    turn = lambda x, a: ndimage.rotate(x, a, reshape=False, order=1)  # noqa: E731
    check_grads(turn, (FLOATS, np.float64(20.0)), order=2, atol=1e-3, rtol=1e-3)
    move = lambda x, s: ndimage.shift(x, [s, 0.3], order=1, mode="mirror")  # noqa: E731
    check_grads(move, (FLOATS, np.float64(0.2)), order=2, atol=1e-3, rtol=1e-3)
    np.testing.assert_allclose(jax.jit(turn)(FLOATS, 20.0), turn(FLOATS, 20.0), 1e-9, 1e-9)
    with pytest.raises(ConcretizationTypeError, match="reshape=False"):
        jax.jit(lambda a: ndimage.rotate(FLOATS, a, order=1))(20.0)
    assert ndimage.zoom(np.zeros((0, 2)), 2, order=1).shape == (0, 4)
    assert ndimage.zoom(FLOATS, 0, order=1).shape == (0, 0)


def test_moves_that_are_refused() -> None:
    for name, args, options, text in (
        ("shift", (1,), {"order": 3}, "argument order"),
        ("shift", (1,), {"order": 1, "mode": "other"}, "argument mode"),
        ("zoom", (-1,), {"order": 1}, "argument zoom"),
        ("affine_transform", (np.eye(4),), {"order": 1}, "argument matrix"),
        ("affine_transform", (np.eye(2), 0, (3,)), {"order": 1}, "argument output_shape"),
    ):
        with pytest.raises(ValueError, match=text):
            getattr(ndimage, name)(FLOATS, *args, **options)


def test_arguments_that_are_refused() -> None:
    for name, args, options, text in (
        ("correlate", (np.ones(3),), {}, "argument weights"),
        ("correlate", (np.ones((0, 3)),), {}, "argument weights"),
        ("correlate", (np.ones((3, 3)),), {"mode": "other"}, "argument mode"),
        ("correlate", (np.ones((3, 3)),), {"origin": 2}, "argument origin"),
        ("correlate", (np.ones((3, 3)),), {"origin": (0, 0, 0)}, "argument origin"),
        ("correlate", (np.ones((3, 3)),), {"output": FLOATS}, "argument output"),
        ("gaussian_filter", (1.0,), {"order": -1}, "argument order"),
        ("uniform_filter", (0,), {}, "argument size"),
        ("median_filter", (), {}, "argument size"),
        ("median_filter", (3,), {"footprint": HOLES}, "argument size"),
        ("median_filter", (), {"footprint": np.zeros((2, 2))}, "argument footprint"),
        ("rank_filter", (9, 3), {}, "argument rank"),
        ("percentile_filter", (101, 3), {}, "argument percentile"),
    ):
        with pytest.raises(ValueError, match=text):
            getattr(ndimage, name)(FLOATS, *args, **options)
    with pytest.raises(ValueError, match="real numbers"):
        ndimage.median_filter(FLOATS * 1j, 3)
    with pytest.raises(ShapeError):
        ndimage.correlate1d(FLOATS, np.ones((2, 2)))


@pytest.mark.parametrize("mode", ["grid-wrap", "grid-constant"])
def test_ties_of_grids_go_up(mode: str) -> None:
    image = np.arange(20.0).reshape(4, 5)
    for move in (0.5, -0.5, 1.5, (0.5, 2.5)):
        expected = scipy.ndimage.shift(image, move, order=0, mode=mode)
        found = ndimage.shift(image, move, order=0, mode=mode)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("sigma", [np.nan, np.inf])
def test_widths_that_are_not_finite_are_refused(sigma: float) -> None:
    with pytest.raises(ValueError, match="a finite number"):
        ndimage.gaussian_filter(np.ones((3, 3)), sigma)


@pytest.mark.parametrize("mode", ["reflect", "mirror", "nearest", "constant", "wrap", "grid-wrap"])
@pytest.mark.parametrize("length", [1, 2, 3, 6])
def test_half_steps_beyond_the_edges(mode: str, length: int) -> None:
    image = np.arange(1.0, length + 1)
    for step in np.arange(-15, 15.5, 0.5):
        given = ndimage.shift(image, step, order=0, mode=mode)
        np.testing.assert_array_equal(given, scipy.ndimage.shift(image, step, order=0, mode=mode))


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("dtype", ["uint8", "int32"])
@pytest.mark.parametrize(
    ("name", "argument"),
    [
        ("gaussian_filter", 1.3),
        ("gaussian_filter1d", 2.0),
        ("uniform_filter", 3),
        ("correlate1d", np.array([0.1, 0.7, 0.2])),
    ],
)
def test_whole_numbers_are_not_cut_off(wide: bool, dtype: str, name: str, argument: Any) -> None:
    image = np.full((7, 8), 24, dtype)
    with jax.enable_x64(wide):
        found = getattr(ndimage, name)(image, argument)
    expected = getattr(scipy.ndimage, name)(image, argument)
    np.testing.assert_array_equal(found, expected)
