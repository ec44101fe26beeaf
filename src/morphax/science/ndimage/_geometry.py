"""Images moved, scaled, turned and sheared.

Each sample of the result is read at a place of the image, between its samples the mean of those
around it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...lax.elementwise.convert import convert
from ...lax.ground.axes import canonical_axes, integer
from ...numpy.operands import concrete_values, inexact_type
from ...scipy.ndimage import map_coordinates
from ..arguments import array, check_choice, inexact, refuse, refuse_shape
from ._windows import for_each, image_of, with_dtype

_PACKAGE = "science.ndimage"
# Modes of SciPy that `map_coordinates` of JAX has under this or another name; the rest is made.
_MODES = {
    "constant": "nearest",
    "grid-constant": "constant",
    "nearest": "nearest",
    "mirror": "mirror",
    "reflect": "reflect",
    "grid-mirror": "reflect",
    "grid-wrap": "wrap",
    "wrap": "nearest",
}


def affine_transform(
    input: Any,
    matrix: Any,
    offset: Any = 0.0,
    output_shape: Sequence[int] | None = None,
    output: Any = None,
    *,
    order: int,
    mode: str = "constant",
    cval: Any = 0.0,
) -> Any:
    """An image read at the places M i + offset, for all indices i of the result.

    Args:
        input: image of n axes, of any numeric dtype.
        matrix: M (n, n); or a vector (n,), its diagonal; or homogeneous, (n, n + 1) or
            (n + 1, n + 1), with the offset in the last column.  Derivatives exist.
        offset: the place of the first sample, one number or one for each axis; not read if the
            matrix is homogeneous.
        output_shape: shape of the result, by default that of the image.
        output: dtype of the result, by default that of the image; integers are rounded.
        order: 0 for the nearest sample, of two of them the one farther from 0, as in
            `map_coordinates`; 1 for the mean of those around a place, by nearness.  There is no
            default, for SciPy's is 3, cubic splines, which are not offered.
        mode: what is read beyond the edges: ``"constant"`` for `cval` from the outermost samples
            on, ``"grid-constant"`` for samples of `cval`, ``"wrap"`` for an image whose last
            sample is its first one, or as in `correlate` ``"nearest"``, ``"mirror"``,
            ``"reflect"``, ``"grid-mirror"``, ``"grid-wrap"``.
        cval: the value beyond the edges.

    Returns:
        Array of the shape asked for.

    Raises:
        ValueError: if there is no such order or mode, or a shape does not fit.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science.ndimage import affine_transform
        >>> affine_transform(jnp.array([0.0, 2.0, 4.0]), [[0.5]], 0.5, order=1)
        Array([1., 2., 3.], dtype=float32)
    """
    name = "affine_transform"
    image = image_of(name, input)
    ndim = image.aval.ndim
    matrix = array(f"{_PACKAGE}.{name}", matrix)
    shape = matrix.aval.shape
    if ndim and shape in ((ndim, ndim + 1), (ndim + 1, ndim + 1)):
        offset, matrix = matrix[:ndim, ndim], matrix[:ndim, :ndim]
    elif shape == (ndim,):
        matrix = jnp.diag(matrix)
    elif shape != (ndim, ndim) or not ndim:
        refuse_shape(
            f"{_PACKAGE}.{name}",
            "matrix",
            f"{matrix.aval} for an image of {ndim} axes",
            f"shape ({ndim}, {ndim}), ({ndim},), or homogeneous ({ndim}, {ndim + 1})",
            "Give a row for each axis of the image.",
        )
    offset = jnp.broadcast_to(array(f"{_PACKAGE}.{name}", offset), (ndim,))
    shape = image.aval.shape if output_shape is None else tuple(output_shape)
    if len(shape) != ndim:
        refuse_shape(
            f"{_PACKAGE}.{name}",
            "output_shape",
            f"{shape}",
            f"{ndim} lengths, as the image has {ndim} axes",
            "Leave it out for the image's shape.",
        )
    kind = inexact_type(f"{_PACKAGE}.{name}", matrix, offset)[0]
    indices = [jnp.reshape(jnp.arange(n, dtype=kind), _line(i, ndim)) for i, n in enumerate(shape)]
    places = []
    for row in range(ndim):
        terms = [matrix[row, i] * indices[i] for i in range(ndim)]
        places.append(jnp.broadcast_to(sum(terms, offset[row]), shape))
    return _read(name, image, places, output, order, mode, cval)


def _line(axis: int, ndim: int) -> tuple[int, ...]:
    return tuple([-1 if i == axis else 1 for i in range(ndim)])


def _read(
    name: str, image: Any, places: Sequence[Any], output: Any, order: Any, mode: Any, cval: Any
) -> Any:
    """The image at places, by SciPy's modes."""
    where = f"{_PACKAGE}.{name}"
    check_choice(where, "order", order, (0, 1))
    check_choice(where, "mode", mode, tuple(_MODES))
    if output is not None:
        image = with_dtype(name, image, output, image)
    if 0 in image.aval.shape or not places:
        return jnp.full(places[0].aval.shape if places else (), cval, image.aval.dtype)
    lengths = image.aval.shape
    inside = [(x >= 0) & (x <= n - 1) for x, n in zip(places, lengths, strict=True)]
    if mode == "wrap":
        places = [
            jnp.where(known, x, _wrapped(x, n - 1))
            for x, n, known in zip(places, lengths, inside, strict=True)
        ]
    if order == 0 and mode in ("reflect", "mirror"):
        places = [_reflected(x, n, mode) for x, n in zip(places, lengths, strict=True)]
    if order == 0 and mode not in ("wrap", "nearest", "constant"):
        # SciPy's ties go up, after the reflection; `map_coordinates` rounds −1/2 to −1.
        places = [jnp.floor(x + 0.5) for x in places]
    found = map_coordinates(image, places, order, _MODES[mode], cval)
    if mode == "constant":
        found = jnp.where(functools.reduce(lax.bitwise_and, inside), found, cval)
    return convert(found, image.aval.dtype)


def _reflected(x: Any, length: int, mode: str) -> Any:
    """Places in a period of the reflected image.

    From the right, what lies up to half a step beyond the last sample stays there, to be rounded
    before it is reflected: half of a step beyond the end is one step beyond it, as in SciPy.
    """
    step = int(mode == "reflect")
    period = max(2 * (length - 1 + step), 1)
    ahead = x - lax.stop_gradient(jnp.floor(x / period)) * period
    back = period - step - ahead
    return jnp.where((x < 0) | (ahead >= length), jnp.minimum(ahead, back), ahead)


def _wrapped(x: Any, period: int) -> Any:
    """Places beyond the edges in a period: from the right its end, from the left its start."""
    if not period:
        return 0 * x
    turns = jnp.where(x < 0, jnp.floor(-x / period) + 1, -jnp.floor(x / period))
    return x + lax.stop_gradient(turns) * period


def shift(
    input: Any,
    shift: Any,
    output: Any = None,
    *,
    order: int,
    mode: str = "constant",
    cval: Any = 0.0,
) -> Any:
    """An image moved by `shift` samples, one number or one for each axis; see `affine_transform`.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science import ndimage
        >>> ndimage.shift(jnp.array([0.0, 2.0, 4.0]), 0.5, order=1, mode="nearest")
        Array([0., 1., 3.], dtype=float32)
    """
    name = "shift"
    image = image_of(name, input)
    steps = for_each(name, "shift", shift, image.aval.ndim)
    places = _grid(image, image.aval.shape, [(1, -v) for v in steps])
    return _read(name, image, places, output, order, mode, cval)


def _grid(image: Any, shape: Sequence[int], lines: Sequence[tuple[Any, Any]]) -> list[Any]:
    """The places a i + b along each axis, for all indices i of the result."""
    ndim, kind = len(shape), inexact_type(_PACKAGE, image)[0]
    kind = np.finfo(kind).dtype
    return [
        jnp.broadcast_to(jnp.reshape(jnp.arange(n, dtype=kind) * a + b, _line(i, ndim)), shape)
        for i, (n, (a, b)) in enumerate(zip(shape, lines, strict=True))
    ]


def zoom(
    input: Any,
    zoom: Any,
    output: Any = None,
    *,
    order: int,
    mode: str = "constant",
    cval: Any = 0.0,
    grid_mode: bool = False,
) -> Any:
    """An image scaled by factors, one number or one for each axis; see `affine_transform`.

    Lengths n become n · zoom, rounded.  The first and last samples stay where they are, or with
    `grid_mode`, where samples are cells, the outer edges of the first and the last cell.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science import ndimage
        >>> ndimage.zoom(jnp.array([0.0, 2.0]), 2.5, order=1)
        Array([0. , 0.5, 1. , 1.5, 2. ], dtype=float32)
    """
    name = "zoom"
    image = image_of(name, input)
    factors = [
        float(concrete_values(f"{_PACKAGE}.{name}, argument zoom", v, "Factors decide shapes."))
        for v in for_each(name, "zoom", zoom, image.aval.ndim)
    ]
    if any(not 0 <= f < math.inf for f in factors):
        refuse(f"{_PACKAGE}.{name}", "zoom", f"{factors}", "finite factors ≥ 0", "Shrink by 1/2.")
    shape = [round(n * f) for n, f in zip(image.aval.shape, factors, strict=True)]
    lines = []
    for n, m in zip(image.aval.shape, shape, strict=True):
        if grid_mode:
            scale = n / m if m else 1.0
            lines.append((scale, 0.5 * scale - 0.5))
        else:
            lines.append(((n - 1) / (m - 1) if m > 1 else 1.0, 0.0))
    return _read(name, image, _grid(image, shape, lines), output, order, mode, cval)


def rotate(
    input: Any,
    angle: Any,
    axes: tuple[int, int] = (1, 0),
    reshape: bool = True,
    output: Any = None,
    *,
    order: int,
    mode: str = "constant",
    cval: Any = 0.0,
) -> Any:
    """An image turned by an angle, in degrees, in the plane of two axes; see `affine_transform`.

    With `reshape` the result is large enough to hold all of the image: then the angle must be known
    while tracing.

    Raises:
        ConcretizationTypeError: if it is not.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science import ndimage
        >>> ndimage.rotate(jnp.array([[1, 2], [3, 4], [5, 6]]), 90, order=0)
        Array([[2, 4, 6],
               [1, 3, 5]], dtype=int32)
    """
    name = "rotate"
    image = image_of(name, input)
    ndim = image.aval.ndim
    first, second = sorted(canonical_axes(f"{_PACKAGE}.{name}, argument axes", tuple(axes), ndim))
    c, s = _cosine_and_sine(angle)
    shape, new = np.array(image.aval.shape), np.array(image.aval.shape)
    plane = [first, second]
    if reshape:
        fix = "Pass reshape=False to keep the shape."
        known = concrete_values(f"{_PACKAGE}.{name}, argument angle", angle, fix)
        turn = np.exp(1j * np.deg2rad(float(known)))
        cosine, sine = abs(turn.real), abs(turn.imag)
        sides = np.array([[cosine, sine], [sine, cosine]]) @ shape[plane]
        new[plane] = (sides + 0.5).astype(int)
    centre, middle = (shape[plane] - 1) / 2, (new[plane] - 1) / 2
    matrix = jnp.eye(ndim).at[first, first].set(c).at[second, second].set(c)
    matrix = matrix.at[first, second].set(s).at[second, first].set(-s)
    offset = jnp.zeros((ndim,))
    offset = offset.at[first].set(centre[0] - c * middle[0] - s * middle[1])
    offset = offset.at[second].set(centre[1] + s * middle[0] - c * middle[1])
    lengths = [integer("shape", n) for n in new.tolist()]
    return affine_transform(
        image, matrix, offset, lengths, output, order=order, mode=mode, cval=cval
    )


def _cosine_and_sine(angle: Any) -> tuple[Any, Any]:
    """Of an angle in degrees; exact for right angles, so that samples fall on samples."""
    (angle,) = inexact(f"{_PACKAGE}.rotate, argument angle", angle)
    quarters = lax.stop_gradient(jnp.round(angle / 90))
    radians = jnp.deg2rad(angle - 90 * quarters)
    c, s = jnp.cos(radians), jnp.sin(radians)
    quarter = jnp.remainder(quarters, 4)
    is_odd, is_turned = quarter % 2 == 1, quarter >= 2
    c, s = jnp.where(is_odd, -s, c), jnp.where(is_odd, c, s)
    return jnp.where(is_turned, -c, c), jnp.where(is_turned, -s, s)
