"""Filters by rank: the smallest, the largest, the middle one, or any other in a window."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import lax
from ...lax.ground.axes import canonical_axis, integer
from ..arguments import known_number, refuse
from ._selection import selected
from ._windows import (
    Offsets,
    along_axes,
    chosen_axes,
    extended,
    for_each,
    image_of,
    reach,
    shifted,
    window_offsets,
    with_dtype,
)


def median_filter(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """The median of the samples in a window around each sample.

    Of an even number of samples it is the upper one of the two in the middle; NaN counts as larger
    than all numbers.

    Args:
        input: real image of any numeric dtype.
        size: the lengths of the window, one number or one for each axis.
        footprint: or which samples of a window count: booleans that are known while tracing.
        output, mode, cval, origin, axes: see `correlate`.

    Returns:
        Array of the shape of the image.

    Raises:
        ValueError: if there are neither or both of `size` and `footprint`, or as for `correlate`.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science.ndimage import median_filter
        >>> median_filter(jnp.array([1, 9, 2, 3, 8]), 3)
        Array([1, 2, 3, 3, 8], dtype=int32)
    """
    count = int(np.count_nonzero(_window("median_filter", input, size, footprint, axes)[0]))
    options = (size, footprint, output, mode, cval, origin, axes)
    return _ranked("median_filter", input, count // 2, *options)


def rank_filter(
    input: Any,
    rank: int,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """The sample of a rank, counted from 0, in a window around each sample; see `median_filter`.

    Negative ranks count from the largest.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science.ndimage import rank_filter
        >>> rank_filter(jnp.array([1, 9, 2, 3, 8]), -2, 3)
        Array([1, 2, 3, 3, 8], dtype=int32)
    """
    rank = integer("science.ndimage.rank_filter, argument rank", rank)
    return _ranked("rank_filter", input, rank, size, footprint, output, mode, cval, origin, axes)


def percentile_filter(
    input: Any,
    percentile: float,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """The sample of rank ⌊n · percentile / 100⌋ of n in a window; see `median_filter`.

    Negative percentiles count from 100.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science.ndimage import percentile_filter
        >>> percentile_filter(jnp.array([1, 9, 2, 3, 8]), 100, 3)
        Array([9, 9, 9, 8, 8], dtype=int32)
    """
    name = "percentile_filter"
    share = known_number(f"science.ndimage.{name}", "percentile", percentile)
    share += 100 if share < 0 else 0
    if not 0 <= share <= 100:
        refuse(f"science.ndimage.{name}", "percentile", f"{percentile}", "0 … 100", "Clip it.")
    count = int(np.count_nonzero(_window(name, input, size, footprint, axes)[0]))
    rank = count - 1 if share == 100 else int(count * share / 100)
    return _ranked(name, input, rank, size, footprint, output, mode, cval, origin, axes)


def _window(
    name: str, input: Any, size: Any, footprint: Any, axes: Any
) -> tuple[np.ndarray[Any, Any], tuple[int, ...], Any]:
    """Which samples of a window count, for the axes along which it extends, and the image."""
    image = image_of(name, input)
    axes = chosen_axes(name, axes, image.aval.ndim)
    where = f"science.ndimage.{name}"
    if (size is None) == (footprint is None):
        refuse(
            where,
            "size",
            f"size={size!r} and footprint={footprint!r:.40}",
            "one of them",
            "Leave one out.",
        )
    if footprint is None:
        sizes = [
            integer(f"{where}, argument size", n) for n in for_each(name, "size", size, len(axes))
        ]
        footprint = np.ones([max(n, 0) for n in sizes], bool)
    kept = np.asarray(footprint, bool)
    if kept.ndim != len(axes) or not kept.any():
        refuse(
            where,
            "footprint",
            f"an array of shape {kept.shape}, {np.count_nonzero(kept)} elements true",
            f"{len(axes)} axes and one element at least that is true",
            "Name the axes that the window has.",
        )
    return kept, axes, image


def _ranked(
    name: str,
    input: Any,
    rank: int,
    size: Any,
    footprint: Any,
    output: Any,
    mode: Any,
    cval: Any,
    origin: Any,
    axes: Any,
) -> Any:
    kept, axes, image = _window(name, input, size, footprint, axes)
    count = int(np.count_nonzero(kept))
    if not -count <= rank < count:
        refuse(
            f"science.ndimage.{name}",
            "rank",
            f"{rank} of {count} samples",
            f"{-count} … {count - 1}",
            "Count from 0.",
        )
    padded, offsets = _surrounded(name, image, kept, axes, mode, cval, origin)
    found = image
    if image.aval.size:
        found = selected(padded, offsets=offsets, shape=image.aval.shape, rank=rank % count)
    return with_dtype(name, found, output, image)


def _surrounded(
    name: str, image: Any, kept: Any, axes: Any, mode: Any, cval: Any, origin: Any
) -> tuple[Any, Offsets]:
    """The image with what windows see around it, and where the first window has its samples."""
    if image.aval.dtype.kind == "c":
        refuse(f"science.ndimage.{name}", "input", f"{image.aval}", "real numbers", "Take a part.")
    ndim = image.aval.ndim
    widths, modes, sizes = [(0, 0)] * ndim, ["reflect"] * ndim, [1] * ndim
    origins = for_each(name, "origin", origin, len(axes))
    given = for_each(name, "mode", mode, len(axes))
    for axis, n, o, m in zip(axes, kept.shape, origins, given, strict=True):
        widths[axis], sizes[axis], modes[axis] = reach(name, n, o), n, m
    footprint = kept.transpose(np.argsort(axes)).reshape(sizes)
    padded = extended(name, image, widths, modes, cval) if image.aval.size else image
    return padded, window_offsets(footprint)


def _samples(
    name: str, image: Any, kept: Any, axes: Any, mode: Any, cval: Any, origin: Any
) -> list[Any]:
    """For each sample of a window that counts, the image of these samples."""
    padded, offsets = _surrounded(name, image, kept, axes, mode, cval, origin)
    if not image.aval.size:
        return [image] * len(offsets)
    return list(shifted(padded, offsets, image.aval.shape))


def _extreme(
    name: str,
    input: Any,
    size: Any,
    footprint: Any,
    output: Any,
    mode: Any,
    cval: Any,
    origin: Any,
    axes: Any,
) -> Any:
    choose = lax.max if name.startswith("maximum") else lax.min
    kept, axes, image = _window(name, input, size, footprint, axes)
    modes = for_each(name, "mode", mode, len(axes))
    origins = for_each(name, "origin", origin, len(axes))
    if not kept.all():
        return with_dtype(
            name,
            _folded(choose, _samples(name, image, kept, axes, modes, cval, origins)),
            output,
            image,
        )

    def one(x: Any, axis: int, number: int) -> Any:
        line = np.ones(kept.shape[number], bool)
        return _folded(
            choose, _samples(name, x, line, (axis,), modes[number], cval, origins[number])
        )

    # Of a box, the extreme is that of the extremes along its axes.
    return along_axes(name, image, axes, output, one)


def _folded(choose: Any, images: list[Any]) -> Any:
    found = images[0]
    for x in images[1:]:
        found = choose(found, x)
    return found


def maximum_filter(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """The largest sample in a window around each sample; see `median_filter`.

    NaN in a window gives NaN.  Derivatives are shared by the samples that are equally large.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science.ndimage import maximum_filter
        >>> maximum_filter(jnp.array([1, 9, 2, 3, 8]), 3)
        Array([9, 9, 9, 8, 8], dtype=int32)
    """
    return _extreme("maximum_filter", input, size, footprint, output, mode, cval, origin, axes)


def minimum_filter(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """The smallest sample in a window around each sample; see `maximum_filter`.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science.ndimage import minimum_filter
        >>> minimum_filter(jnp.array([1, 9, 2, 3, 8]), 3)
        Array([1, 1, 2, 2, 3], dtype=int32)
    """
    return _extreme("minimum_filter", input, size, footprint, output, mode, cval, origin, axes)


def maximum_filter1d(
    input: Any,
    size: int,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> Any:
    """The largest of `size` samples along an axis; see `maximum_filter`.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science.ndimage import maximum_filter1d
        >>> maximum_filter1d(jnp.array([[1, 9, 2]]), 2)
        Array([[1, 9, 9]], dtype=int32)
    """
    return _along("maximum_filter1d", input, size, axis, output, mode, cval, origin)


def minimum_filter1d(
    input: Any,
    size: int,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    origin: int = 0,
) -> Any:
    """The smallest of `size` samples along an axis; see `maximum_filter`.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science.ndimage import minimum_filter1d
        >>> minimum_filter1d(jnp.array([[1, 9, 2]]), 2)
        Array([[1, 1, 2]], dtype=int32)
    """
    return _along("minimum_filter1d", input, size, axis, output, mode, cval, origin)


def _along(
    name: str, input: Any, size: Any, axis: Any, output: Any, mode: Any, cval: Any, origin: Any
) -> Any:
    image = image_of(name, input)
    place = canonical_axis(f"science.ndimage.{name}, argument axis", axis, image.aval.ndim)
    return _extreme(name, image, size, None, output, mode, cval, origin, (place,))
