"""`jax.image`: resize, scale and translate images by resampling.

Along one axis, pixel i of the result lies at s(i) = (i + ½ - translation) / scale - ½ of the image,
whose pixels lie at 0, 1, 2, …, and is their weighted mean

    out[i] = Σ_j k((s(i) - j) / w) image[j]  /  Σ_j k((s(i) - j) / w)

with the kernel k of the method.  Antialiasing widens it by w = max(1, 1 / scale), so that each
pixel of a smaller image is a mean of all that it stands for.  What lies outside of the image, by
more than half a pixel, is 0.  The sums are matrix products, one for each axis.

References: R. Keys, "Cubic convolution interpolation for digital image processing", IEEE Trans.
ASSP 29 (1981); C. Duchon, "Lanczos filtering in one and two dimensions",
J. Appl. Meteor. 18 (1979).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, final

import numpy as np

from . import dtypes, lax
from . import numpy as jnp
from .core import aval_of
from .engines.reference.replay import replayed
from .lax.ground.axes import canonical_axes, integer_tuple
from .numpy.operands import promoted_inexact
from .util.messages import message

# PyTorch lets the pixels at the border go on for this many more.
_BORDER = 2


@final
class ResizeMethod(Enum):
    """How pixels between pixels are found.

    - ``NEAREST``: the nearest pixel.
    - ``LINEAR``: the triangle kernel, that is linear interpolation.
    - ``LANCZOS3``, ``LANCZOS5``: Lanczos kernels of radius 3 and 5.
    - ``CUBIC``: Keys' cubic kernel, with a = -½.
    - ``CUBIC_PYTORCH``: as PyTorch has it: without antialiasing a = -¾, and the border goes on.
    - ``AREA``: the mean over the area of a pixel of the result.

    Example:
        >>> import morphax as jax
        >>> jax.image.ResizeMethod.from_string("bilinear")
        <ResizeMethod.LINEAR: 1>
    """

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6

    @staticmethod
    def from_string(s: str) -> ResizeMethod:
        """The method of a name such as ``"linear"``, ``"bilinear"`` or ``"cubic-pytorch"``."""
        if s not in _NAMES:
            raise ValueError(_unknown_method("image.ResizeMethod.from_string, argument s", s))
        return _NAMES[s]


_NAMES = {
    "nearest": ResizeMethod.NEAREST,
    "linear": ResizeMethod.LINEAR,
    "bilinear": ResizeMethod.LINEAR,
    "trilinear": ResizeMethod.LINEAR,
    "triangle": ResizeMethod.LINEAR,
    "lanczos3": ResizeMethod.LANCZOS3,
    "lanczos5": ResizeMethod.LANCZOS5,
    "cubic": ResizeMethod.CUBIC,
    "bicubic": ResizeMethod.CUBIC,
    "tricubic": ResizeMethod.CUBIC,
    "cubic-pytorch": ResizeMethod.CUBIC_PYTORCH,
    "bicubic-pytorch": ResizeMethod.CUBIC_PYTORCH,
    "area": ResizeMethod.AREA,
}


def _unknown_method(where: str, given: object) -> str:
    return message(
        where,
        given=f"{given!r:.80}",
        expected=f"a ResizeMethod or one of {', '.join(_NAMES)}",
        fix="Choose one of these.",
    )


def _method(where: str, given: str | ResizeMethod) -> ResizeMethod:
    if isinstance(given, ResizeMethod):
        return given
    if isinstance(given, str) and given in _NAMES:
        return _NAMES[given]
    kind = ValueError if isinstance(given, str) else TypeError
    raise kind(_unknown_method(f"{where}, argument method", given))


def _triangle(x: Any) -> Any:
    return jnp.maximum(0, 1 - x)


def _keys_cubic(a: float) -> Callable[[Any], Any]:
    """Keys' kernel: a cubic on [0, 1] and one on [1, 2], with slope a at 1."""

    def kernel(x: Any) -> Any:
        near = ((a + 2) * x - (a + 3)) * x * x + 1
        far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
        return jnp.where(x < 1, near, jnp.where(x < 2, far, 0))

    return kernel


def _lanczos(radius: int) -> Callable[[Any], Any]:
    """sinc x, windowed by sinc (x / radius)."""
    return lambda x: jnp.where(x < radius, jnp.sinc(x) * jnp.sinc(x / radius), 0)


# Of the distance to a pixel, which is not negative.
_KERNELS: dict[ResizeMethod, Callable[[Any], Any]] = {
    ResizeMethod.LINEAR: _triangle,
    ResizeMethod.LANCZOS3: _lanczos(3),
    ResizeMethod.LANCZOS5: _lanczos(5),
    ResizeMethod.CUBIC: _keys_cubic(-0.5),
    # With antialiasing PyTorch does as Pillow, which agrees with Keys.
    ResizeMethod.CUBIC_PYTORCH: _keys_cubic(-0.5),
}


def _weights(
    method: ResizeMethod, size: int, out_size: int, scale: Any, translation: Any, antialias: bool
) -> Any:
    """(size, out_size): how much each pixel of the image counts in each of the result."""
    inverse = 1 / scale
    at = (jnp.arange(out_size, dtype=scale.dtype) + 0.5 - translation) * inverse - 0.5
    if method is ResizeMethod.CUBIC_PYTORCH and not antialias:
        return _bordered(at, size)
    pixels = jnp.arange(size, dtype=scale.dtype)[:, None]
    if method is ResizeMethod.AREA:
        low, high = at - (inverse - 1) / 2, at + (inverse + 1) / 2
        shares = jnp.minimum(high, pixels + 1) - jnp.maximum(low, pixels)
        weights = _normalised(jnp.maximum(shares, 0))
    else:
        width = jnp.maximum(inverse, 1) if antialias else 1
        weights = _normalised(_KERNELS[method](jnp.abs(at - pixels) / width))
    return jnp.where((at >= -0.5) & (at <= size - 0.5), weights, 0)


def _bordered(at: Any, size: int) -> Any:
    """Weights of cubic interpolation in an image whose border pixels go on."""
    pixels = jnp.arange(-_BORDER, size + _BORDER, dtype=at.dtype)[:, None]
    weights = _normalised(_keys_cubic(-0.75)(jnp.abs(at - pixels)))
    inside = jnp.clip(pixels[:, 0].astype(np.int32), 0, size - 1)
    return jnp.zeros((size, *weights.shape[1:]), weights.dtype).at[inside].add(weights)


def _normalised(weights: Any) -> Any:
    """Weights that sum to 1 for each pixel of the result; 0 where nothing of the image is near."""
    total = jnp.sum(weights, axis=0)
    reached = jnp.abs(total) > 1000 * float(dtypes.finfo(weights.dtype).eps)
    return jnp.where(reached, weights / jnp.where(reached, total, 1), 0)


def _resampled(
    image: Any,
    shape: tuple[int, ...],
    axes: Sequence[int],
    scales: Sequence[Any],
    translations: Sequence[Any],
    method: ResizeMethod,
    antialias: bool,
    precision: Any,
) -> Any:
    (out,) = promoted_inexact("image.resize", image)
    dtype = out.dtype
    # Narrow dtypes cannot hold positions: 1001 is no bfloat16.
    real = dtypes.promote_types(dtypes.finfo(dtype).dtype, np.float32)
    order = list(range(out.ndim))
    for axis, scale, translation in zip(axes, scales, translations, strict=True):
        factor, shift = jnp.asarray(scale, real), jnp.asarray(translation, real)
        place = order.index(axis)
        weights = _weights(method, out.shape[place], shape[axis], factor, shift, antialias)
        weights = weights.astype(dtype)
        # Sums have the new axis first or last; their axes are put in order once, in the end.
        del order[place]
        if axis == axes[0] and place < out.ndim - 1:
            out = jnp.tensordot(weights, out, (0, place), precision=precision)
            order.insert(0, axis)
        else:
            out = jnp.tensordot(out, weights, (place, 0), precision=precision)
            order.append(axis)
    return jnp.transpose(out, np.argsort(order).tolist())


def _nearest(image: Any, shape: tuple[int, ...], axes: Sequence[int]) -> Any:
    for axis in axes:
        size, out_size = image.shape[axis], shape[axis]
        # ⌊(i + ½) size / out_size⌋ in integers.
        places = (2 * np.arange(out_size) + 1) * size // (2 * max(out_size, 1))
        # All places are inside, which "clip" does not ask.
        image = jnp.take(image, places.astype(np.int32), axis=axis, mode="clip")
    return image


def _checked_shape(where: str, image: Any, shape: Any) -> tuple[int, ...]:
    sizes = integer_tuple(f"{where}, argument shape", shape) if np.iterable(shape) else None
    aval = aval_of(image)
    if sizes is None or len(sizes) != aval.ndim or min(sizes, default=0) < 0:
        raise ValueError(
            message(
                f"{where}, argument shape",
                given=f"{shape!r:.80} for an image {aval}",
                expected=f"a size for each axis of the image ({aval.ndim}), not negative",
                fix="Name all sizes: those of batch and channels too.",
            )
        )
    empty = [axis for axis, n in enumerate(sizes) if n and not aval.shape[axis]]
    if empty:
        raise ValueError(
            message(
                f"{where}, argument image",
                given=f"{aval}, to be made {sizes}",
                expected=f"pixels along axis {empty[0]}",
                fix="Pass an image that is not empty.",
            )
        )
    return sizes


def resize(
    image: Any,
    shape: Sequence[int],
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = lax.Precision.HIGHEST,
) -> Any:
    """An image resized to `shape`, whose corners are those of the given one.

    Args:
        image: array of any rank; axes whose size stays are not touched.
        shape: the new sizes of all axes.
        method: a `ResizeMethod` or its name: ``"nearest"``, ``"linear"``, ``"cubic"``,
            ``"lanczos3"``, ``"area"``, …
        antialias: whether axes that get smaller are smoothed; of no concern to ``"nearest"`` and
            ``"area"``.
        precision: of the matrix products, as in `lax.dot`.

    Returns:
        Array of the given shape; of the image's dtype if that is inexact or the method
        ``"nearest"``, else floating.

    Raises:
        ValueError: an unknown method, or sizes that do not fit the image.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.image.resize(jnp.array([1.0, 2.0, 4.0]), (6,), "linear")
        Array([1.  , 1.25, 1.75, 2.5 , 3.5 , 4.  ], dtype=float32)
    """
    chosen = _method("image.resize", method).name
    image = jnp.asarray(image)
    sizes = _checked_shape("image.resize", image, shape)
    return _resized(image, sizes, chosen, bool(antialias), _name_of(precision))


@replayed(1)
def _resized(
    image: Any, sizes: tuple[int, ...], method: str, antialias: bool, precision: Any
) -> Any:
    axes = [axis for axis, n in enumerate(sizes) if n != image.shape[axis]]
    if method == "NEAREST":
        return _nearest(image, sizes, axes)
    scales = [sizes[axis] / max(image.shape[axis], 1) for axis in axes]
    if 0 in sizes:
        return jnp.zeros(sizes, promoted_inexact("image.resize", image)[0].dtype)
    shifts = [0] * len(axes)
    return _resampled(
        image, sizes, axes, scales, shifts, ResizeMethod[method], antialias, precision
    )


def _name_of(precision: Any) -> Any:
    """A precision as text, of which programs can be kept."""
    return precision.name.lower() if isinstance(precision, lax.Precision) else precision


def scale_and_translate(
    image: Any,
    shape: Sequence[int],
    spatial_dims: Sequence[int],
    scale: Any,
    translation: Any,
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = lax.Precision.HIGHEST,
) -> Any:
    """An image scaled, then moved: what was at x comes to x * `scale` + `translation`.

    Positions are those of the edges of pixels: pixel i reaches from i to i + 1.  The function can
    be differentiated with respect to the image, the scale and the translation.

    Args:
        image: array of any rank.
        shape: sizes of all axes of the result, which is cut off there, or padded with 0.
        spatial_dims: the axes to scale and move.
        scale: (len(spatial_dims),), one factor for each.
        translation: (len(spatial_dims),), in pixels of the result.
        method: a `ResizeMethod` or its name, but not ``"nearest"``.
        antialias: whether axes that get smaller are smoothed.
        precision: of the matrix products, as in `lax.dot`.

    Returns:
        Array of the given shape, of the image's dtype if that is inexact, else floating.

    Raises:
        ValueError: the method is unknown or ``"nearest"``, or shapes do not fit each other.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> x = jnp.array([1.0, 2.0, 4.0])
        >>> two, one = jnp.array([2.0]), jnp.array([1.0])
        >>> jax.image.scale_and_translate(x, (8,), (0,), two, one, "linear")
        Array([0.  , 1.  , 1.25, 1.75, 2.5 , 3.5 , 4.  , 0.  ], dtype=float32)
    """
    where = "image.scale_and_translate"
    chosen = _method(where, method)
    if chosen is ResizeMethod.NEAREST:
        raise ValueError(
            message(
                f"{where}, argument method",
                given="'nearest', which has no weights",
                expected="a method that takes means of pixels",
                fix="Use 'linear', or jax.image.resize.",
            )
        )
    image = jnp.asarray(image)
    sizes = _checked_shape(where, image, shape)
    axes = canonical_axes(where, tuple(spatial_dims), image.ndim)
    scale, translation = jnp.asarray(scale), jnp.asarray(translation)
    _check_transformation(where, image, sizes, axes, scale, translation)
    return _scaled_and_translated(
        image, scale, translation, sizes, axes, chosen.name, bool(antialias), _name_of(precision)
    )


@replayed(3)
def _scaled_and_translated(
    image: Any,
    scale: Any,
    translation: Any,
    sizes: tuple[int, ...],
    axes: tuple[int, ...],
    method: str,
    antialias: bool,
    precision: Any,
) -> Any:
    factors = [scale[i] for i in range(len(axes))]
    shifts = [translation[i] for i in range(len(axes))]
    return _resampled(
        image, sizes, axes, factors, shifts, ResizeMethod[method], antialias, precision
    )


def _check_transformation(
    where: str,
    image: Any,
    sizes: tuple[int, ...],
    axes: Sequence[int],
    scale: Any,
    translation: Any,
) -> None:
    for name, value in {"scale": scale, "translation": translation}.items():
        if value.shape != (len(axes),):
            raise ValueError(
                message(
                    f"{where}, argument {name}",
                    given=f"{value.aval} for spatial_dims of length {len(axes)}",
                    expected=f"shape ({len(axes)},): a number for each of these axes",
                    fix=f"Pass jnp.array([...]) with {len(axes)} numbers.",
                )
            )
    for axis in range(image.ndim):
        if axis not in axes and sizes[axis] != image.shape[axis]:
            raise ValueError(
                message(
                    f"{where}, argument shape",
                    given=f"{sizes} for an image {image.aval}",
                    expected=f"{image.shape[axis]} along axis {axis}, which is not in spatial_dims",
                    fix="Name the axis in spatial_dims, or leave its size.",
                )
            )
