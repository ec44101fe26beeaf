"""Values between the points of grids, and the nearest vectors of code books, against SciPy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.cluster.vq
import scipy.interpolate
import scipy.ndimage

import morphax as jax
from morphax import enable_x64
from morphax import numpy as jnp
from morphax.errors import ShapeError
from morphax.scipy.cluster.vq import vq
from morphax.scipy.interpolate import RegularGridInterpolator
from morphax.scipy.ndimage import map_coordinates
from morphax.test_util import check_grads

RNG = np.random.default_rng(0)
IMAGES = [RNG.normal(size=shape) for shape in ((5,), (1,), (4, 3), (3, 4, 2))]
SQUARES = np.arange(5.0) ** 2
# Modes whose name is another one in SciPy.
RENAMED = {"constant": "grid-constant", "wrap": "grid-wrap"}
GRID = tuple([np.sort(RNG.normal(size=n)) for n in (4, 3, 5)])
VALUES = RNG.normal(size=(4, 3, 5, 2))


@pytest.fixture(autouse=True)
def _wide_dtypes() -> Iterator[None]:
    with enable_x64(True):
        yield


def _close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, 1e-10, 1e-12)


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("mode", ["constant", "nearest", "wrap", "mirror", "reflect"])
def test_places_between_samples(order: int, mode: str) -> None:
    for image in IMAGES:
        places = [RNG.uniform(-15, 15, 40) for _ in image.shape]
        places = [np.concatenate([x, [0, 1, -1, 4, 5, -5]]) for x in places]
        expected = scipy.ndimage.map_coordinates(
            image, places, order=order, mode=RENAMED.get(mode, mode), cval=7
        )
        _close(map_coordinates(image, places, order, mode, 7), expected)
        run = jax.jit(map_coordinates, static_argnums=(2, 3))
        _close(run(image, places, order, mode, 7), expected)


@pytest.mark.parametrize("shape", [(1,), (1, 1), (2, 1), (1, 3), (2, 1, 3)])
@pytest.mark.parametrize("mode", ["constant", "nearest", "wrap", "mirror", "reflect"])
def test_samples_of_short_images(shape: tuple[int, ...], mode: str) -> None:
    image = np.arange(math.prod(shape), dtype=np.float32).reshape(shape)
    places = np.array(list(itertools.product(range(-7, 8), repeat=len(shape)))).T
    # NumPy's padding of one axis at a time says which sample lies at a place.
    padding = {"wrap": "wrap", "mirror": "reflect", "reflect": "symmetric"}.get(mode, "edge")
    folded = [np.pad(np.arange(n), 7, padding)[x + 7] for n, x in zip(shape, places, strict=True)]
    expected = image[tuple(folded)]
    if mode == "constant":
        expected = np.where((folded == places).all(axis=0), expected, 9)
    for order in (0, 1):
        for run in (map_coordinates, jax.jit(map_coordinates, static_argnums=(2, 3))):
            found = run(image, [*places], order, mode, 9)
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("mode", ["constant", "reflect"])
def test_samples_of_images_of_symbolic_sizes(mode: str) -> None:
    image, places = RNG.normal(size=(4, 3)), RNG.uniform(-1, 4, (2, 20))
    sizes = jax.ShapeDtypeStruct(jax.export.symbolic_shape("n, m"), image.dtype)
    run = jax.jit(lambda image, places: map_coordinates(image, places, 1, mode))
    exported = jax.export.export(run)(sizes, places)
    _close(exported.call(image, places), map_coordinates(image, places, 1, mode))


def test_nearest_of_two_samples() -> None:
    places = [np.array([0.5, 1.5, 2.5, -0.5, 4.5])]
    assert map_coordinates(SQUARES, places, 0, cval=7).tolist() == [1, 4, 9, 7, 7]


def test_images_of_integers_and_booleans() -> None:
    places = [np.array([0.5, 1.5, 2.5, 2.25])]
    assert map_coordinates(np.arange(5), places, 1).tolist() == [1, 2, 3, 2]
    assert map_coordinates(np.arange(5) > 2, places, 1).tolist() == [False, False, True, True]
    large = np.array([2**62 + 1, 3])
    assert map_coordinates(large, [np.array([0, 1])], 0).tolist() == large.tolist()


def test_places_that_are_no_numbers() -> None:
    places = [np.array([np.nan, np.inf, -np.inf, 1e30])]
    for order in (0, 1):
        _close(map_coordinates(SQUARES, places, order, cval=7), [np.nan, 7, 7, 7])
        _close(map_coordinates(SQUARES, places, order, "nearest"), [np.nan, 16, 0, 16])


def test_images_without_samples_or_axes() -> None:
    assert map_coordinates(np.float64(3), [], 1) == 3
    assert map_coordinates(np.ones(0), [np.ones(2)], 1, cval=7).tolist() == [7, 7]
    with pytest.raises(ShapeError, match="samples that it can go on with"):
        map_coordinates(np.ones(0), [np.ones(2)], 1, "nearest")
    with pytest.raises(ShapeError, match="one for each axis"):
        map_coordinates(SQUARES, [np.ones(2)] * 2, 1)
    with pytest.raises(NotImplementedError, match="argument order"):
        map_coordinates(SQUARES, [np.ones(2)], 3)
    with pytest.raises(NotImplementedError, match="argument mode"):
        map_coordinates(SQUARES, [np.ones(2)], 1, "grid-wrap")


def test_derivatives_at_places() -> None:
    def run(image: Any, x: Any) -> Any:
        return map_coordinates(image, [x], 1, "mirror")

    check_grads(run, (SQUARES, np.array([0.3, 1.4, -3.3])), order=2)
    # On a sample it is that towards the next one.
    assert jax.grad(lambda x: run(SQUARES, x))(2.0) == 5


@pytest.mark.parametrize("method", ["linear", "nearest"])
@pytest.mark.parametrize("fill_value", [np.nan, None, 3.0])
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_functions_on_grids(method: str, fill_value: Any, axes: int) -> None:
    grid, values = GRID[:axes], VALUES[(..., *[0] * (3 - axes), slice(None))]
    places = 1.3 * RNG.normal(size=(30, axes))
    special = [[g[0] for g in grid], [g[-1] for g in grid], [(g[0] + g[1]) / 2 for g in grid]]
    places = np.concatenate([places, special])
    for v in (values, values[..., 0] * 1j):
        for g, w in ((grid, v), ((grid[0][::-1], *grid[1:]), v[::-1])):
            found, expected = (
                kind(g, w, method, bounds_error=False, fill_value=fill_value)(places)
                for kind in (RegularGridInterpolator, scipy.interpolate.RegularGridInterpolator)
            )
            _close(found, expected)


def test_places_on_grids() -> None:
    f = RegularGridInterpolator(GRID[:2], VALUES[:, :, 0, 0])
    x, y = np.full((2, 1), GRID[0][1]), GRID[1]
    _close(f((x, y)), [VALUES[1, :, 0, 0]] * 2)
    _close(f(np.array([GRID[0][2], GRID[1][0]])), [VALUES[2, 0, 0, 0]])
    assert f(np.zeros((0, 2))).shape == (0,)
    assert np.isnan(f(np.array([[np.nan, 0.0]]), method="nearest"))
    one = RegularGridInterpolator((np.array([1.0]),), np.array([2.0]))
    _close(one(np.array([1.0, 1.5])), [2, np.nan])


def test_derivatives_on_grids() -> None:
    places = np.array([[(g[0] + g[1]) / 2 for g in GRID]])
    check_grads(lambda x, v: RegularGridInterpolator(GRID, v)(x), (places, VALUES), order=2)
    # On a point of the grid it is that towards the next one.
    f = RegularGridInterpolator((np.arange(5),), SQUARES)
    assert jax.grad(lambda x: f(x[None])[0])(np.array([2.0])) == 5
    # Places that are none, or too far out, leave the derivatives of the others alone.
    places = np.array([[1.5], [np.nan], [np.inf], [-np.inf], [9.0]])
    total = jax.grad(lambda v: jnp.nansum(RegularGridInterpolator((np.arange(5),), v)(places)))
    np.testing.assert_array_equal(total(SQUARES), [0, 0.5, 0.5, 0, 0])


def test_grids_that_are_refused() -> None:
    x = np.arange(3.0)
    with pytest.raises(NotImplementedError, match="bounds_error"):
        RegularGridInterpolator((x,), x, bounds_error=True)
    with pytest.raises(ValueError, match="argument method"):
        RegularGridInterpolator((x,), x, "cubic")
    with pytest.raises(ValueError, match="none twice"):
        RegularGridInterpolator((np.ones(3),), x)
    with pytest.raises(ValueError, match="argument fill_value"):
        RegularGridInterpolator((x,), x, fill_value=1j)
    for grid in ((x, x), (x[:2],), ()):
        with pytest.raises(ShapeError, match="argument points"):
            RegularGridInterpolator(grid, x)
    with pytest.raises(ShapeError, match="argument xi"):
        RegularGridInterpolator((x,), x)(np.ones((2, 3)))
    with pytest.raises(TypeError, match="list"):
        RegularGridInterpolator(([1.0, 2.0],), np.ones(2))


def test_code_books() -> None:
    for obs, book in (
        (RNG.normal(size=(20, 3)), RNG.normal(size=(4, 3))),
        (RNG.normal(size=20), RNG.normal(size=3)),
    ):
        code, distance = vq(obs, book)
        expected = scipy.cluster.vq.vq(obs, book)
        np.testing.assert_array_equal(code, expected[0])
        _close(distance, expected[1])
    assert vq(np.array([1, 2]), np.array([0, 2, 2]))[0].tolist() == [0, 1]
    assert vq(np.ones((0, 2)), np.ones((3, 2)))[1].shape == (0,)
    check_grads(lambda x, b: vq(x, b)[1], (VALUES[0, :, :, 0], VALUES[1, :, :, 0]), order=2)
    assert jax.grad(lambda x: vq(x, np.ones((1, 2)))[1].sum())(np.ones((1, 2))).tolist() == [[0, 0]]


@pytest.mark.parametrize(
    ("obs", "book"), [((2, 3), (2, 2)), ((2,), (2, 1)), ((2, 3), (0, 3)), ((2, 2, 2), (2, 2, 2))]
)
def test_code_books_that_do_not_fit(obs: tuple[int, ...], book: tuple[int, ...]) -> None:
    with pytest.raises(ShapeError, match="a code book"):
        vq(np.ones(obs), np.ones(book))
