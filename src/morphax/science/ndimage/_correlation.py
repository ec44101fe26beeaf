"""Correlations and convolutions with kernels, and the kernels that derivatives are made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...control.loops.scans import scan
from ...lax.elementwise.convert import convert
from ...lax.ground.axes import canonical_axis
from ...numpy.operands import of_one_dtype
from ._windows import (
    check_weights,
    chosen_axes,
    extended,
    for_each,
    image_of,
    reach,
    shifted,
    window_offsets,
    with_dtype,
)

# Longer sums are loops: programs stay short.
_LONGEST_SUM = 64


def correlate(
    input: Any,
    weights: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """The correlation of an image with a kernel: yᵢ = Σⱼ wⱼ x[i + j − ⌊k / 2⌋ − origin].

    Args:
        input: image of any numeric dtype.  Of integers with integer weights the sum is exact, and
            wraps around like all sums of the result's dtype.
        weights: kernel, with an axis for each of `axes`; it may be longer than the image.
        output: the dtype of the result, by default that of the image: fractions are cut off.
        mode: how the image goes on, one mode or one for each axis: ``"reflect"`` (d c b a | a b c d
            | d c b a), ``"mirror"`` (d c b | a b c d | c b a), ``"nearest"`` (a a a | a b c d | d d
            d), ``"wrap"`` (a b c d | a b c d), ``"constant"``; or their names on grids
            ``"grid-mirror"``, ``"grid-constant"``, ``"grid-wrap"``, which mean the same here.
        cval: the value beyond the edges with ``"constant"``.
        origin: how far windows are moved towards lower indices, one number or one for each axis.
        axes: the axes of the image that the kernel has, by default all.

    Returns:
        Array of the shape of the image.

    Raises:
        ValueError: if there is no such mode or axis, the kernel has other axes or no elements, or
            a sample lies outside of its window.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science.ndimage import correlate
        >>> correlate(jnp.array([1.0, 2.0, 4.0]), jnp.array([-1.0, 0.0, 1.0]))
        Array([1., 3., 2.], dtype=float32)
    """
    return _filtered("correlate", input, weights, output, mode, cval, origin, axes)


def convolve(
    input: Any,
    weights: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """The convolution of an image with a kernel; see `correlate` for arguments and errors.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science.ndimage import convolve
        >>> convolve(jnp.array([1.0, 2.0, 4.0]), jnp.array([-1.0, 0.0, 1.0]))
        Array([-1., -3., -2.], dtype=float32)
    """
    return _filtered("convolve", input, weights, output, mode, cval, origin, axes)


def correlate1d(
    input: Any,
    weights: Any,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> Any:
    """The correlation of an image with a kernel along one axis; see `correlate`.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science.ndimage import correlate1d
        >>> correlate1d(jnp.array([[1, 2, 4]]), jnp.array([-1, 1]), mode="constant")
        Array([[1, 1, 2]], dtype=int32)
    """
    return _filtered("correlate1d", input, weights, output, mode, cval, origin, axis)


def convolve1d(
    input: Any,
    weights: Any,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> Any:
    """The convolution of an image with a kernel along one axis; see `correlate`.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science.ndimage import convolve1d
        >>> convolve1d(jnp.array([1.0, 2.0, 4.0]), jnp.array([0.5, 0.5]))
        Array([1.5, 3. , 4. ], dtype=float32)
    """
    return _filtered("convolve1d", input, weights, output, mode, cval, origin, axis)


def _filtered(
    name: str, input: Any, weights: Any, output: Any, mode: Any, cval: Any, origin: Any, axes: Any
) -> Any:
    image = image_of(name, input)
    kernel = image_of(name, weights)
    ndim = image.aval.ndim
    if name.endswith("1d"):
        axes = (canonical_axis(f"science.ndimage.{name}, argument axis", axes, ndim),)
    axes = chosen_axes(name, axes, ndim)
    check_weights(name, kernel, len(axes))
    origins = for_each(name, "origin", origin, len(axes))
    modes = for_each(name, "mode", mode, len(axes))
    if name.startswith("convolve"):
        # Read backwards; of an even number of weights, the other of the two middles is the centre.
        origins = [-o - (n % 2 == 0) for o, n in zip(origins, kernel.aval.shape, strict=True)]
        kernel = lax.rev(kernel, tuple(range(kernel.aval.ndim)))
    return with_dtype(
        name, correlated(name, image, kernel, axes, modes, cval, origins), output, image
    )


def correlated(
    name: str, image: Any, kernel: Any, axes: Any, modes: Any, cval: Any, origins: Any
) -> Any:
    """The correlation along some axes, in the common dtype of image and kernel."""
    x, kernel = of_one_dtype(f"science.ndimage.{name}", image, kernel)
    if x.aval.dtype == np.bool_:
        x, kernel = x.astype(np.int32), kernel.astype(np.int32)
    shape = x.aval.shape
    widths, sizes, every = [(0, 0)] * len(shape), [1] * len(shape), ["reflect"] * len(shape)
    for axis, size, origin, mode in zip(axes, kernel.aval.shape, origins, modes, strict=True):
        widths[axis], sizes[axis], every[axis] = reach(name, size, origin), size, mode
    if not x.aval.size:
        return x
    padded = extended(name, x, widths, every, cval)
    order = np.argsort(np.argsort(axes))
    flat = jnp.ravel(jnp.transpose(kernel, np.argsort(axes).tolist()) if len(order) > 1 else kernel)
    return weighted_sum(padded, flat, window_offsets(np.ones(sizes, bool)), shape)


def weighted_sum(padded: Any, weights: Any, offsets: Any, shape: tuple[int, ...]) -> Any:
    """Σⱼ wⱼ x[i + offsetⱼ]."""
    if len(offsets) <= _LONGEST_SUM:
        total: Any = 0
        for j, samples in enumerate(shifted(padded, offsets, shape)):
            total = total + weights[j] * samples
        return total

    def add(total: Any, term: Any) -> tuple[Any, None]:
        weight, offset = term
        samples = lax.dynamic_slice(padded, [offset[i] for i in range(len(shape))], shape)
        return total + weight * samples, None

    start = jnp.zeros(shape, padded.aval.dtype)
    return scan(add, start, (weights, jnp.asarray(offsets, np.int32)))[0]


def derivative(name: str, image: Any, kernels: Any, axis: int, mode: Any, cval: Any) -> Any:
    """A difference along one axis, and a smoothing kernel along the others."""
    place = canonical_axis(f"science.ndimage.{name}, argument axis", axis, image.aval.ndim)
    modes = for_each(name, "mode", mode, image.aval.ndim)
    difference, smoothing = [np.asarray(k, np.int32) for k in kernels]
    found = image
    for i in [place, *[i for i in range(image.aval.ndim) if i != place]]:
        kernel = jnp.asarray(difference if i == place else smoothing)
        filtered = correlated(name, found, kernel, (i,), (modes[i],), cval, (0,))
        found = convert(filtered, image.aval.dtype)
    return found


def prewitt(
    input: Any, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0
) -> Any:
    """The derivative along an axis by Prewitt: −1, 0, 1 along it, and 1, 1, 1 along the others.

    Arguments and errors are those of `correlate`.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science.ndimage import prewitt
        >>> prewitt(jnp.array([[1.0, 2.0], [1.0, 2.0]]))
        Array([[3., 3.],
               [3., 3.]], dtype=float32)
    """
    image = with_dtype("prewitt", image_of("prewitt", input), output, image_of("prewitt", input))
    return derivative("prewitt", image, ([-1, 0, 1], [1, 1, 1]), axis, mode, cval)


def sobel(
    input: Any, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0
) -> Any:
    """The derivative along an axis by Sobel: −1, 0, 1 along it, and 1, 2, 1 along the others.

    Arguments and errors are those of `correlate`.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science.ndimage import sobel
        >>> sobel(jnp.array([[1.0, 2.0], [1.0, 2.0]]))
        Array([[4., 4.],
               [4., 4.]], dtype=float32)
    """
    image = with_dtype("sobel", image_of("sobel", input), output, image_of("sobel", input))
    return derivative("sobel", image, ([-1, 0, 1], [1, 2, 1]), axis, mode, cval)


def laplace(
    input: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    *,
    axes: Any = None,
) -> Any:
    """The sum of the second differences 1, −2, 1 along the axes.

    Arguments and errors are those of `correlate`.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science.ndimage import laplace
        >>> laplace(jnp.array([0.0, 1.0, 0.0]))
        Array([ 1., -2.,  1.], dtype=float32)
    """
    image = image_of("laplace", input)
    image = with_dtype("laplace", image, output, image)
    axes = chosen_axes("laplace", axes, image.aval.ndim)
    kernel = jnp.asarray(np.array([1, -2, 1], np.int32))
    total: Any = jnp.zeros_like(image)
    for axis, mode_here in zip(axes, for_each("laplace", "mode", mode, len(axes)), strict=True):
        found = correlated("laplace", image, kernel, (axis,), (mode_here,), cval, (0,))
        total = total + convert(found, image.aval.dtype)
    return total
