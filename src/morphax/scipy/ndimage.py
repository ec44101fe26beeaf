"""`morphax.scipy.ndimage`: images at places between their samples."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes, lax
from .. import numpy as jnp
from ..engines.reference.replay import replayed
from ..errors import ShapeError
from ..lax.elementwise.convert import convert
from ..numpy.operands import as_array, promoted_inexact
from ..util.messages import message

_MODES = ("constant", "nearest", "wrap", "mirror", "reflect")
_WHERE = "scipy.ndimage.map_coordinates"


@replayed(2, arrays=("cval",))
def map_coordinates(
    input: Any, coordinates: Sequence[Any], order: int, mode: str = "constant", cval: Any = 0.0
) -> Any:
    """The values of an image at places between its samples.

    With ``order=1`` the value at a place is the mean of the 2ᵏ samples around it, each weighted by
    the product over the axes of 1 − |distance|; the derivative with respect to a place on a sample
    is that towards the next one.  With ``order=0`` it is that of the nearest sample, of two of them
    the one farther from 0.

    Args:
        input: array of k axes, of any numeric dtype; the result has that dtype.
        coordinates: k arrays of places, one for each axis, in units of samples; they broadcast.
        order: 0 or 1.
        mode: how the image goes on: ``"constant"`` with `cval`, ``"nearest"`` with its last sample,
            ``"wrap"`` periodically (abcd|abcd), ``"mirror"`` by reflection in the last sample
            (abcd|cba), ``"reflect"`` by reflection behind it (abcd|dcba).  The first and the third
            are SciPy's ``"grid-constant"`` and ``"grid-wrap"``.
        cval: what is outside with ``mode="constant"``.

    Returns:
        Array of the shape of the coordinates together; integers are rounded, halves away from 0.

    Raises:
        NotImplementedError: if `order` or `mode` is none of these.
        ValueError: if there are more or fewer coordinates than axes, or no samples to continue.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> image = jnp.arange(12.0).reshape(3, 4)
        >>> places = [jnp.array([0.5, 1.5]), jnp.array([1.5, 2.5])]
        >>> jax.scipy.ndimage.map_coordinates(image, places, order=1)
        Array([3.5, 8.5], dtype=float32)
    """
    image = as_array(_WHERE, input)
    _check_options(order, mode)
    if isinstance(coordinates, (list, tuple)):
        places = [as_array(_WHERE, x) for x in coordinates]
    else:
        places = list(as_array(_WHERE, coordinates))
    shape = image.aval.shape
    if len(places) != len(shape):
        raise ShapeError(
            message(
                f"{_WHERE}, argument coordinates",
                given=f"{len(places)} arrays of places in {image.aval}",
                expected="one for each axis",
                fix="Pass a list of arrays, or an array whose first axis has that length.",
            )
        )
    if places:
        places = [as_array(_WHERE, x) for x in promoted_inexact(_WHERE, *places)]
        if any(dtypes.issubdtype(x.aval.dtype, np.complexfloating) for x in places):
            raise TypeError(
                message(
                    f"{_WHERE}, argument coordinates",
                    given="complex numbers",
                    expected="real places",
                    fix="Pass real and imaginary parts as two coordinates.",
                )
            )
        places = [convert(x, places[0].aval.dtype) for x in jnp.broadcast_arrays(*places)]
    if mode != "constant" and 0 in shape:
        raise ShapeError(
            message(
                f"{_WHERE}, argument input",
                given=f"{image.aval}",
                expected="an image with samples that it can go on with",
                fix="Pass mode='constant'.",
            )
        )
    if order == 0:
        nearest = [_split(x, n, mode, lax.round)[0] for x, n in zip(places, shape, strict=True)]
        return _where_known(_samples(image, nearest, mode, cval), places)
    return _interpolated(image, places, mode, cval)


def _interpolated(image: Any, places: Sequence[Any], mode: str, cval: Any) -> Any:
    """The mean of the samples around each place, weighted by nearness."""
    dtype = image.aval.dtype
    is_boolean = dtypes.issubdtype(dtype, np.bool_)
    around = []
    for x, n in zip(places, image.aval.shape, strict=True):
        low, part = _split(x, n, mode, lax.floor)
        around.append(((low, 1 - part), (low + 1, part)))
    total: Any = None
    for corner in itertools.product(*around):
        value = _samples(image, [i for i, _ in corner], mode, cval)
        if is_boolean:
            value = value.astype(np.int8)
        term = functools.reduce(lambda a, b: a * b, [w for _, w in corner], value)
        total = term if total is None else total + term
    if is_boolean:
        return total != 0
    if dtypes.issubdtype(dtype, np.integer):
        total = lax.round(total)
    return convert(total, dtype)


def _split(x: Any, size: int, mode: str, whole: Callable[[Any], Any]) -> tuple[Any, Any]:
    """The sample at or near a place, as an integer near the image, and how far the place is off."""
    if mode in ("constant", "nearest"):
        # Farther out all places are alike, and large numbers are no integers.
        x = jnp.clip(x, -2, size + 1)
    sample = whole(x)
    period = {"wrap": size, "mirror": 2 * (size - 1), "reflect": 2 * size}.get(mode)
    index = sample if period is None else jnp.remainder(sample, max(period, 1))
    # What is no number becomes one here: the weights, or `_where_known`, tell of it.
    index = jnp.where(jnp.isnan(index), 0, index)
    return convert(lax.stop_gradient(index), np.dtype(np.int32)), x - sample


def _samples(image: Any, indices: Sequence[Any], mode: str, cval: Any) -> Any:
    """The samples at integer places, of which those outside are folded into the image."""
    shape = image.aval.shape
    if mode != "constant":
        folded = [_folded(i, n, mode) for i, n in zip(indices, shape, strict=True)]
        return _taken(image, folded)
    filling = jnp.asarray(cval, image.aval.dtype)
    if not indices:
        return image
    if 0 in shape:
        return jnp.broadcast_to(filling, indices[0].aval.shape)
    inside = [(i >= 0) & (i < n) for i, n in zip(indices, shape, strict=True)]
    clipped = [jnp.clip(i, 0, n - 1) for i, n in zip(indices, shape, strict=True)]
    return jnp.where(functools.reduce(lax.bitwise_and, inside), _taken(image, clipped), filling)


def _taken(image: Any, places: Sequence[Any]) -> Any:
    """The samples at places inside, by their numbers in the order of memory.

    A number is one of the many steps on places; to gather by several numbers each, arrays of them
    are joined.  Of symbolic sizes nobody knows whether 32 bits hold the number.
    """
    size = image.aval.size
    if not (places and type(size) is int and size < 2**31):
        return image[tuple(places)]
    number = places[0]
    for size, place in zip(image.aval.shape[1:], places[1:], strict=True):
        number = number * size + place
    return jnp.ravel(image).at[number].get(mode="promise_in_bounds", wrap_negative_indices=False)


def _folded(index: Any, size: int, mode: str) -> Any:
    if mode == "nearest":
        return jnp.clip(index, 0, size - 1)
    if mode == "wrap":
        return jnp.remainder(index, size)
    period = max(2 * (size - 1), 1) if mode == "mirror" else 2 * size
    index = jnp.remainder(index, period)
    return jnp.minimum(index, (2 * size - 1 if mode == "reflect" else period) - index)


def _where_known(found: Any, places: Sequence[Any]) -> Any:
    """Samples, and NaN where a place is no number, if the dtype has one."""
    if not (places and dtypes.issubdtype(found.aval.dtype, np.inexact)):
        return found
    unknown = functools.reduce(lax.bitwise_or, [jnp.isnan(x) for x in places])
    return jnp.where(unknown, np.nan, found)


def _check_options(order: Any, mode: Any) -> None:
    for name, value, choice in (("order", order, (0, 1)), ("mode", mode, _MODES)):
        if value not in choice:
            raise NotImplementedError(
                message(
                    f"{_WHERE}, argument {name}",
                    given=f"{value!r}",
                    expected=" or ".join(map(repr, choice)),
                    fix="Choose one of them.",
                )
            )
