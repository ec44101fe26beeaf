"""`jax.image`: against the kernels' definitions in float64, closed forms, and recorded results.

`image_golden.json` holds what JAX computes for the same calls, to six digits.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import morphax as jax
from morphax import image
from morphax import numpy as jnp
from morphax.image import ResizeMethod, resize, scale_and_translate

GOLDEN = json.loads((Path(__file__).parent / "image_golden.json").read_text())
PIXELS = np.array([[1, 2, 4, 8, 16], [3, 1, 4, 1, 5], [9, 2, 6, 5, 3]], np.float32)
METHODS = ("linear", "cubic", "lanczos3", "lanczos5")


def check(got: Any, expected: Any, tolerance: float = 2e-5) -> None:
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("call", GOLDEN["resize"])
def test_resize_as_recorded(call: str) -> None:
    method, sizes, smoothing = call.split()
    shape = tuple(map(int, sizes.split("x")))
    got = resize(jnp.asarray(PIXELS), shape, method, antialias=smoothing == "antialias")
    assert (got.shape, got.dtype) == (shape, np.float32)
    check(got, GOLDEN["resize"][call])


@pytest.mark.parametrize("call", GOLDEN["scale_and_translate"])
def test_scale_and_translate_as_recorded(call: str) -> None:
    method, scale, translation, smoothing = call.split()
    got = scale_and_translate(
        jnp.asarray(PIXELS[0]),
        (6,),
        (0,),
        jnp.array([float(scale)]),
        jnp.array([float(translation)]),
        method,
        antialias=smoothing == "antialias",
    )
    check(got, GOLDEN["scale_and_translate"][call])


def kernel(method: str, x: float) -> float:
    """The kernels, written once more from their definitions."""
    x = abs(x)
    if method == "linear":
        return max(0.0, 1 - x)
    if method == "cubic":  # Keys 1981, equation 15
        if x < 1:
            return 1.5 * x**3 - 2.5 * x**2 + 1
        return -0.5 * x**3 + 2.5 * x**2 - 4 * x + 2 if x < 2 else 0.0
    radius = int(method[-1])
    if x == 0:
        return 1.0
    argument = math.pi * x
    window = math.sin(argument / radius) / (argument / radius)
    return math.sin(argument) / argument * window if x < radius else 0.0


def looped(x: Any, size: int, method: str) -> np.ndarray[Any, Any]:
    """A vector resized with antialiasing, in float64."""
    ratio = len(x) / size
    out = np.zeros(size)
    for i in range(size):
        at = (i + 0.5) * ratio - 0.5
        weights = [kernel(method, (at - j) / max(ratio, 1)) for j in range(len(x))]
        out[i] = np.dot(weights, x) / sum(weights)
    return out


@pytest.mark.parametrize("size", [1, 3, 7, 16, 23])
@pytest.mark.parametrize("method", METHODS)
def test_kernels(method: str, size: int) -> None:
    x = np.random.default_rng(0).normal(size=16)
    got = jax.jit(lambda x: resize(x, (size,), method))(x.astype(np.float32))
    check(got, looped(x, size, method))


EVERY = pytest.mark.parametrize("method", [m for m in ResizeMethod if m is not m.NEAREST])


@EVERY
@pytest.mark.parametrize("antialias", [True, False])
def test_constants_stay(method: ResizeMethod, antialias: bool) -> None:
    check(resize(jnp.full((5, 4), 3.0), (3, 9), method, antialias), np.full((3, 9), 3.0))


@pytest.mark.parametrize("method", [ResizeMethod.LINEAR, ResizeMethod.CUBIC])
def test_straight_lines_stay_inside(method: ResizeMethod) -> None:
    got = resize(jnp.arange(8.0), (16,), method)
    check(got[4:-4], np.arange(16)[4:-4] / 2 - 0.25)


def test_cubics_reproduce_parabolas_inside() -> None:
    """Keys' kernel with a = -½ is exact for polynomials of degree 2."""
    got = resize(jnp.arange(8.0) ** 2, (24,), "cubic")
    check(got[6:-6], ((np.arange(24) + 0.5) / 3 - 0.5)[6:-6] ** 2)


def test_areas_are_means_of_blocks() -> None:
    x = np.random.default_rng(0).normal(size=(6, 8)).astype(np.float32)
    check(resize(jnp.asarray(x), (3, 2), "area"), x.reshape(3, 2, 2, 4).mean((1, 3)))


@pytest.mark.parametrize("dtype", ["bool", "int8", "float32", "bfloat16"])
def test_nearest_keeps_pixels(dtype: str) -> None:
    x = jnp.arange(6).astype(dtype)
    got = resize(x, (4,), "nearest")
    assert got.dtype == x.dtype
    assert (got == x[jnp.array([0, 2, 3, 5])]).all()


DTYPES = {"bool": "float32", "int32": "float32", "bfloat16": "bfloat16", "complex64": "complex64"}


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(dtype: str) -> None:
    x = jnp.asarray(PIXELS).astype(dtype)
    got = resize(x, (2, 7), "linear")
    assert got.dtype == DTYPES[dtype]
    exact = resize(jnp.asarray(np.asarray(x, np.complex64).real), (2, 7), "linear")
    check(got.astype(np.float32) if dtype == "bfloat16" else got, exact, 2e-2)


def test_narrow_dtypes_of_long_axes() -> None:
    x = jnp.linspace(0.0, 1.0, 2000).astype(jnp.bfloat16)
    assert abs(resize(x, (1000,), "linear") - x[::2]).max() < 0.01


def test_double_precision() -> None:
    with jax.enable_x64(True):
        x = np.random.default_rng(0).normal(size=16)
        np.testing.assert_allclose(resize(x, (7,), "cubic"), looped(x, 7, "cubic"), rtol=1e-12)


def test_axes_that_stay_are_not_touched() -> None:
    x = jnp.array([[1.0, jnp.nan], [2.0, 3.0]])
    assert np.isnan(np.asarray(resize(x, (4, 2), "linear"))).sum() == 4
    assert resize(x, (2, 2), "cubic")[0, 0] == 1.0


def test_empty_results() -> None:
    assert resize(jnp.ones((3, 2)), (0, 4), "linear").shape == (0, 4)
    assert resize(jnp.ones((0, 2)), (0, 4), "nearest").shape == (0, 4)


def test_scaling_the_second_axis() -> None:
    x = jnp.asarray(PIXELS)
    two, shift = jnp.array([2.0]), jnp.array([1.0])
    got = scale_and_translate(x, (3, 8), (-1,), two, shift, ResizeMethod.LINEAR)
    for row, out in zip(x, got, strict=True):
        check(out, scale_and_translate(row, (8,), (0,), two, shift, "linear"))


def test_resize_is_scaling() -> None:
    x = jnp.asarray(PIXELS)
    scale = jnp.array([2.0, 9 / 5])
    for method in ("linear", "cubic", "lanczos3", "area"):
        got = scale_and_translate(x, (6, 9), (0, 1), scale, jnp.zeros(2), method)
        check(got, resize(x, (6, 9), method))


def test_derivatives() -> None:
    x = jnp.asarray(PIXELS[0])

    def total(x: Any, scale: Any, shift: Any) -> Any:
        return jnp.sum(scale_and_translate(x, (6,), (0,), scale, shift, "cubic") ** 2)

    scale, shift = jnp.array([1.3]), jnp.array([0.3])
    gradients = jax.jit(jax.grad(total, (0, 1, 2)))(x, scale, shift)
    step = 1e-2
    for position, gradient in enumerate(gradients):
        values = [x, scale, shift]
        ends = []
        for sign in (1, -1):
            values[position] = [x, scale, shift][position].at[0].add(sign * step)
            ends.append(float(total(*values)))
        check(gradient[0], (ends[0] - ends[1]) / (2 * step), 1e-2)


def test_vmap() -> None:
    x = jnp.asarray(PIXELS)
    check(jax.vmap(lambda row: resize(row, (3,), "cubic"))(x), resize(x, (3, 3), "cubic"))


def test_names() -> None:
    assert ResizeMethod.from_string("tricubic") is ResizeMethod.CUBIC
    assert ResizeMethod.from_string("triangle") is ResizeMethod.LINEAR
    assert [m.name for m in ResizeMethod][-1] == "AREA"


X, ONE = jnp.ones((3, 4)), jnp.ones(1)
REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "method": (lambda: resize(X, (3, 3), "sharp"), ValueError, r"argument method[\s\S]*'sharp'"),
    "number as method": (lambda: resize(X, (3, 3), 1), TypeError, "argument method"),
    "rank": (lambda: resize(X, (3,), "linear"), ValueError, r"\(3,\)[\s\S]*each axis"),
    "negative": (lambda: resize(X, (3, -1), "linear"), ValueError, "not negative"),
    "number as shape": (lambda: resize(X, 3, "linear"), ValueError, "argument shape"),
    "empty image": (lambda: resize(X[:0], (3, 4), "cubic"), ValueError, "pixels along axis 0"),
    "nearest": (
        lambda: scale_and_translate(X, (3, 4), (0,), ONE, ONE, "nearest"),
        ValueError,
        r"no weights[\s\S]*jax\.image\.resize",
    ),
    "scale": (
        lambda: scale_and_translate(X, (3, 4), (0, 1), ONE, ONE, "linear"),
        ValueError,
        r"argument scale[\s\S]*shape \(2,\)",
    ),
    "translation": (
        lambda: scale_and_translate(X, (3, 4), (0,), ONE, 1.0, "linear"),
        ValueError,
        "argument translation",
    ),
    "axis": (
        lambda: scale_and_translate(X, (3, 4), (2,), ONE, ONE, "linear"),
        ValueError,
        "axis 2 of an array of rank 2",
    ),
    "axis twice": (
        lambda: scale_and_translate(X, (3, 4), (0, -2), ONE, ONE, "linear"),
        ValueError,
        "Name each axis once",
    ),
    "other axis": (
        lambda: scale_and_translate(X, (3, 5), (0,), ONE, ONE, "linear"),
        ValueError,
        "4 along axis 1, which is not in spatial_dims",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    call, error, text = REFUSED[name]
    with pytest.raises(error, match=text):
        call()


def test_public_names() -> None:
    assert jax.image is image
