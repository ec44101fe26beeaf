"""What filters of images share: how images go on beyond their edges, and windows around samples.

A window of k samples around sample i begins at sample i − ⌊k / 2⌋ − origin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...dtypes import canonicalize_dtype, finfo
from ...lax.elementwise.convert import convert
from ...lax.ground.axes import canonical_axes, integer
from ...numpy.operands import inexact_type
from ..arguments import array, check_choice, refuse, refuse_shape

# Places from the first sample of a window on.
Offsets = tuple[tuple[int, ...], ...]

_PACKAGE = "science.ndimage"
# The modes of SciPy, and how `jnp.pad` calls them.
_PADDING = {
    "reflect": "symmetric",
    "grid-mirror": "symmetric",
    "constant": "constant",
    "grid-constant": "constant",
    "nearest": "edge",
    "mirror": "reflect",
    "wrap": "wrap",
    "grid-wrap": "wrap",
}


def image_of(name: str, input: Any) -> Any:
    """The image that a filter is given."""
    return array(f"{_PACKAGE}.{name}", input)


def with_dtype(name: str, found: Any, output: Any, image: Any) -> Any:
    """A result in the dtype of the image, or in the one asked for; fractions are cut off."""
    try:
        dtype = image.aval.dtype if output is None else canonicalize_dtype(np.dtype(output))
    except TypeError:
        refuse(
            f"{_PACKAGE}.{name}",
            "output",
            f"{output!r:.80}",
            "a dtype, or None for that of the image",
            "Use the result: arrays are immutable.",
        )
    if dtype.kind in "biu" and found.aval.dtype.kind == "f":
        # What does not fit wraps around, as integers do, and as in SciPy.
        found = convert(_cut_off(found), canonicalize_dtype(np.dtype(np.int64)))
    return convert(found, dtype)


def _cut_off(x: Any) -> Any:
    """`x` without its fraction; a sum that roundings keep from a whole number is this number.

    The mean of equal pixels is one of them, where their weights add up to 1 less a rounding.
    """
    whole = lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)
    roundings = 8 * float(finfo(x.aval.dtype).eps) * abs(x)
    is_whole = abs(x - whole) <= jnp.minimum(roundings, 0.25)
    return lax.select(is_whole, whole, x)


def floating(name: str, image: Any) -> Any:
    """The image in the floating or complex dtype that filters compute in."""
    return convert(image, inexact_type(f"{_PACKAGE}.{name}", image)[0])


def chosen_axes(name: str, axes: Any, ndim: int) -> tuple[int, ...]:
    """The axes along which a filter works, by default all."""
    if axes is None:
        return tuple(range(ndim))
    given = axes if np.iterable(axes) else (axes,)
    return canonical_axes(f"{_PACKAGE}.{name}, argument axes", tuple(given), ndim)


def for_each(name: str, argument: str, value: Any, count: int) -> list[Any]:
    """A value for each axis, from one for all or from as many as there are axes."""
    if isinstance(value, str) or not (isinstance(value, (tuple, list)) or np.ndim(value)):
        return [value] * count
    values = list(value)
    if len(values) != count:
        refuse(
            f"{_PACKAGE}.{name}",
            argument,
            f"{len(values)} values for {count} axes",
            "one for all axes, or one for each",
            "Name the axes in the argument axes.",
        )
    return values


def reach(name: str, size: int, origin: Any) -> tuple[int, int]:
    """How many samples before and behind a sample a window of `size` extends."""
    where = f"{_PACKAGE}.{name}"
    shift = integer(f"{where}, argument origin", origin)
    if size < 1:
        refuse(where, "size", f"{size}", "windows of one sample at least", "Pass a larger one.")
    before = size // 2 + shift
    if not 0 <= before < size:
        low, high = -(size // 2), (size - 1) // 2
        refuse(
            where,
            "origin",
            f"{shift} for a window of {size} samples",
            f"{low} … {high}, so that the sample lies in its window",
            "Leave it out for windows around their samples.",
        )
    return before, size - 1 - before


def extended(
    name: str, x: Any, widths: Sequence[tuple[int, int]], modes: Sequence[str], cval: Any
) -> Any:
    """The image with samples added around it, along each axis by a mode of SciPy's."""
    for axis, (width, mode) in enumerate(zip(widths, modes, strict=True)):
        check_choice(f"{_PACKAGE}.{name}", "mode", mode, tuple(_PADDING))
        if not any(width):
            continue
        options = {"constant_values": cval} if _PADDING[mode] == "constant" else {}
        pairs = [(0, 0)] * x.aval.ndim
        pairs[axis] = width
        x = jnp.pad(x, pairs, _PADDING[mode], **options)
    return x


def shifted(padded: Any, offsets: Offsets, shape: tuple[int, ...]) -> Iterator[Any]:
    """The samples at given offsets from each sample: an image for each offset."""
    for offset in offsets:
        stops = [i + n for i, n in zip(offset, shape, strict=True)]
        yield lax.slice(padded, offset, stops)


def window_offsets(footprint: np.ndarray[Any, Any]) -> Offsets:
    """The offsets of what belongs to a window, in the order of its samples."""
    return tuple(map(tuple, np.argwhere(footprint).tolist()))


def along_axes(
    name: str,
    image: Any,
    axes: Sequence[int],
    output: Any,
    one: Callable[[Any, int, int], Any],
) -> Any:
    """A filter along one axis after the other; `one` is given an image, an axis and its number."""
    found = with_dtype(name, image, output, image)
    # After each axis the result has its dtype: fractions are cut off every time.
    for number, axis in enumerate(axes):
        found = with_dtype(name, one(found, axis, number), found.aval.dtype, found)
    return found


def check_weights(name: str, weights: Any, ndim: int) -> None:
    """Refuse weights that have not one element at least, or not as many axes as they must."""
    if weights.aval.ndim != ndim or not weights.aval.size:
        refuse_shape(
            f"{_PACKAGE}.{name}",
            "weights",
            f"{weights.aval}",
            f"an array of {ndim} axes that is not empty",
            "Add axes of length 1, as in weights[None].",
        )
