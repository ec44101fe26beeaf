"""Gaussian and uniform filters: one axis after the other."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...core import Tracer
from ...lax.elementwise.convert import convert
from ...lax.ground.axes import canonical_axis, integer
from ...numpy.operands import concrete_values
from ..arguments import known_number, refuse
from ._correlation import correlated
from ._windows import along_axes, chosen_axes, floating, for_each, image_of, with_dtype


def gaussian_filter1d(
    input: Any,
    sigma: Any,
    axis: int = -1,
    order: int = 0,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    truncate: float = 4.0,
    *,
    radius: int | None = None,
) -> Any:
    """An image smoothed along an axis by exp(−j² / 2σ²) / Σ exp(−j² / 2σ²), |j| ≤ radius.

    Args:
        input: image of any numeric dtype.
        sigma: σ > 0, in samples; derivatives with respect to it exist.
        axis: the axis.
        order: the order of the derivative of the Gaussian to filter with.
        output, mode, cval: see `correlate`.
        truncate: the radius in units of σ, rounded.
        radius: the radius in samples; where σ is traced by `jit` it must be given.

    Returns:
        Array of the shape of the image, in its dtype unless `output` says otherwise.

    Raises:
        ValueError: if there is no such axis or mode, or order or radius are negative.
        ConcretizationTypeError: if σ is not known and there is no radius.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science.ndimage import gaussian_filter1d
        >>> gaussian_filter1d(jnp.array([0.0, 0.0, 1.0, 0.0, 0.0]), 0.5).round(3)
        Array([0.   , 0.106, 0.787, 0.106, 0.   ], dtype=float32)
    """
    name = "gaussian_filter1d"
    image = image_of(name, input)
    place = canonical_axis(f"science.ndimage.{name}, argument axis", axis, image.aval.ndim)
    found = _gaussian(name, image, sigma, place, order, mode, cval, truncate, radius)
    return with_dtype(name, found, output, image)


def gaussian_filter(
    input: Any,
    sigma: Any,
    order: Any = 0,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    truncate: float = 4.0,
    *,
    radius: Any = None,
    axes: Any = None,
) -> Any:
    """An image smoothed by a Gaussian along each axis; see `gaussian_filter1d`.

    `sigma`, `order`, `mode` and `radius` may be given for each of `axes`; where σ is 0, the axis is
    left as it is.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science.ndimage import gaussian_filter
        >>> gaussian_filter(jnp.eye(2), (0.5, 0.0)).round(3)
        Array([[0.893, 0.107],
               [0.107, 0.893]], dtype=float32)
    """
    name = "gaussian_filter"
    where = f"science.ndimage.{name}"
    image = image_of(name, input)
    axes = chosen_axes(name, axes, image.aval.ndim)
    given = {"sigma": sigma, "order": order, "mode": mode, "radius": radius}
    options = [for_each(name, key, value, len(axes)) for key, value in given.items()]

    def one(x: Any, axis: int, number: int) -> Any:
        width, degree, how, extent = [values[number] for values in options]
        if not isinstance(width, Tracer) and known_number(where, "sigma", width) <= 1e-15:
            return x
        return _gaussian(name, x, width, axis, degree, how, cval, truncate, extent)

    return along_axes(name, image, axes, output, one)


def _gaussian(
    name: str,
    image: Any,
    sigma: Any,
    axis: int,
    order: Any,
    mode: str,
    cval: Any,
    truncate: float,
    radius: Any,
) -> Any:
    where = f"science.ndimage.{name}"
    order = integer(f"{where}, argument order", order)
    if radius is None:
        # The window is of whole samples, whatever the derivative.
        fixed = lax.stop_gradient(sigma) if isinstance(sigma, Tracer) else sigma
        known = concrete_values(f"{where}, argument sigma", fixed, "Pass radius=, in samples.")
        reach = truncate * float(known) + 0.5
        if not math.isfinite(reach):
            refuse(where, "sigma", f"{known}", "a finite number", "Pass σ in samples.")
        radius = int(reach)
    radius = integer(f"{where}, argument radius", radius)
    if order < 0 or radius < 0:
        refuse(where, "order", f"order {order}, radius {radius}", "numbers ≥ 0", "Leave them out.")
    x = floating(name, image)
    kernel = gaussian_kernel(sigma, order, radius, np.finfo(x.aval.dtype).dtype)
    return correlated(name, x, lax.rev(kernel, (0,)), (axis,), (mode,), cval, (0,))


def gaussian_kernel(sigma: Any, order: int, radius: int, dtype: Any) -> Any:
    """The derivative of a Gaussian: its value times a polynomial q.

    (q φ)' = (q' − x q / σ²) φ, so q is made from 1 in `order` steps.
    """
    sigma = convert(jnp.asarray(sigma), dtype)
    x = jnp.arange(-radius, radius + 1, dtype=dtype)
    variance = sigma * sigma
    values = jnp.exp(-0.5 * x * x / variance)
    values = values / jnp.sum(values)
    polynomial: list[Any] = [jnp.ones((), dtype)]
    for _ in range(order):
        zero = jnp.zeros((), dtype)
        slopes = [*[i * q for i, q in enumerate(polynomial)][1:], zero, zero]
        raised = [zero, *[-q / variance for q in polynomial]]
        polynomial = [a + b for a, b in zip(slopes, raised, strict=True)]
    factor: Any = jnp.zeros_like(x)
    for q in reversed(polynomial):
        factor = factor * x + q
    return factor * values


def gaussian_laplace(
    input: Any,
    sigma: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    *,
    axes: Any = None,
    truncate: float = 4.0,
    radius: Any = None,
) -> Any:
    """The sum of the second derivatives of an image smoothed by a Gaussian; see `gaussian_filter`.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science.ndimage import gaussian_laplace
        >>> gaussian_laplace(jnp.array([0.0, 0.0, 1.0, 0.0, 0.0]), 1.0).round(3)
        Array([ 0.197,  0.002, -0.399,  0.002,  0.197], dtype=float32)
    """
    name = "gaussian_laplace"
    image = image_of(name, input)
    image = with_dtype(name, image, output, image)
    axes = chosen_axes(name, axes, image.aval.ndim)
    total: Any = jnp.zeros_like(image)
    for number in range(len(axes)):
        order = [2 if i == number else 0 for i in range(len(axes))]
        total = total + gaussian_filter(
            image, sigma, order, None, mode, cval, truncate, radius=radius, axes=axes
        )
    return total


def uniform_filter1d(
    input: Any,
    size: int,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> Any:
    """The mean of `size` samples around each sample along an axis; see `correlate`.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science.ndimage import uniform_filter1d
        >>> uniform_filter1d(jnp.array([0.0, 3.0, 6.0]), 3)
        Array([1., 3., 5.], dtype=float32)
    """
    name = "uniform_filter1d"
    image = image_of(name, input)
    place = canonical_axis(f"science.ndimage.{name}, argument axis", axis, image.aval.ndim)
    return with_dtype(name, _mean(name, image, size, place, mode, cval, origin), output, image)


def uniform_filter(
    input: Any,
    size: Any = 3,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """The mean of the samples in a box around each sample; see `uniform_filter1d`.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science.ndimage import uniform_filter
        >>> uniform_filter(9 * jnp.eye(3), 3).round(3)
        Array([[5., 3., 1.],
               [3., 3., 3.],
               [1., 3., 5.]], dtype=float32)
    """
    name = "uniform_filter"
    image = image_of(name, input)
    axes = chosen_axes(name, axes, image.aval.ndim)
    given = {"size": size, "mode": mode, "origin": origin}
    options = [for_each(name, key, value, len(axes)) for key, value in given.items()]

    def one(x: Any, axis: int, number: int) -> Any:
        extent, how, shift = [values[number] for values in options]
        return _mean(name, x, extent, axis, how, cval, shift)

    return along_axes(name, image, axes, output, one)


def _mean(name: str, image: Any, size: Any, axis: int, mode: str, cval: Any, origin: Any) -> Any:
    count = integer(f"science.ndimage.{name}, argument size", size)
    if count < 1:
        refuse(f"science.ndimage.{name}", "size", f"{count}", "a number > 0", "Pass another.")
    x = floating(name, image)
    total = correlated(name, x, jnp.ones(count, x.aval.dtype), (axis,), (mode,), cval, (origin,))
    return total / count
