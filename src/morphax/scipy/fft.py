"""The discrete cosine transform of type 2, and its inverse.

A cosine transform of n numbers is a Fourier transform of the same numbers in another order, those
at even places first and those at odd places behind them in reverse, turned by quarter periods.  The
frequencies k and n − k of the one are the two parts of a complex number of the other.

Reference: J. Makhoul, "A fast cosine transform in one and two dimensions", IEEE Transactions on
Acoustics, Speech, and Signal Processing 28 (1980).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes, lax
from ..engines.reference.replay import replayed
from ..errors import ShapeError
from ..lax.elementwise.convert import convert
from ..lax.fourier.fft import fft
from ..lax.ground.axes import canonical_axes, canonical_axis, integer, integer_tuple
from ..lax.ground.linear_structure import moved_axis
from ..numpy.operands import as_array
from ..util.messages import message


@replayed(1)
def dct(
    x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Any:
    """The discrete cosine transform: ``y[k] = 2 Σⱼ x[j] cos(π k (2j + 1) / 2n)``.

    Args:
        x: array (..., m, ...), real or complex.
        type: 2, the only type there is.
        n: the length of the result; the axis is cropped, or padded with zeros at its end.
        axis: the axis.
        norm: `None` or ``"backward"`` for the sum as it stands; ``"ortho"`` makes the transform
            orthogonal, by the factors 1/√4n of y[0] and 1/√2n of the others.

    Returns:
        Array (..., n, ...), of at least 32 bits per real number.

    Raises:
        NotImplementedError: if `type` is not 2.
        ShapeError: if there is nothing to transform.
        ValueError: if there is no such axis or norm.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.scipy.fft.dct(jnp.array([1.0, 2.0, 4.0])).round(3)
        Array([14.   , -5.196,  1.   ], dtype=float32)
    """
    return _along_one("dct", _cosines, x, type, n, axis, norm)


@replayed(1)
def idct(
    x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Any:
    """The inverse of `dct`; see there for the arguments.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.scipy.fft.idct(jax.scipy.fft.dct(jnp.array([1.0, 2.0, 3.0]))).round(4)
        Array([1., 2., 3.], dtype=float32)
    """
    return _along_one("idct", _from_cosines, x, type, n, axis, norm)


@replayed(1)
def dctn(
    x: Any,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Any:
    """`dct` along several axes.

    Args:
        x: array, real or complex.
        type: 2, the only type there is.
        s: the lengths of the axes in the result; each is cropped or padded with zeros.
        axes: the axes, all different; by default the last of them if `s` is given, otherwise all.
        norm: see `dct`.

    Returns:
        Array, of at least 32 bits per real number.

    Raises:
        NotImplementedError: if `type` is not 2.
        ShapeError: if there is nothing to transform.
        ValueError: if an axis is missing or named twice, there are more or fewer lengths than axes,
            or there is no such norm.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.scipy import fft
        >>> fft.dctn(jnp.ones((2, 2)))
        Array([[16.,  0.],
               [ 0.,  0.]], dtype=float32)
    """
    return _along_several("dctn", _cosines, x, type, s, axes, norm)


@replayed(1)
def idctn(
    x: Any,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Any:
    """The inverse of `dctn`; see there for the arguments.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.scipy import fft
        >>> fft.idctn(fft.dctn(jnp.eye(2))).round(5)
        Array([[1., 0.],
               [0., 1.]], dtype=float32)
    """
    return _along_several("idctn", _from_cosines, x, type, s, axes, norm)


def _along_one(
    name: str, transform: Any, x: Any, type: int, n: int | None, axis: int, norm: str | None
) -> Any:
    x = _operand(name, x, type, norm)
    place = canonical_axis(f"scipy.fft.{name}, argument axis", axis, x.aval.ndim)
    length = x.aval.shape[place] if n is None else integer(f"scipy.fft.{name}, argument n", n)
    return _transformed(name, transform, x, (length,), (place,), norm)


def _along_several(
    name: str, transform: Any, x: Any, type: int, s: Any, axes: Any, norm: str | None
) -> Any:
    x = _operand(name, x, type, norm)
    ndim = x.aval.ndim
    lengths = None if s is None else _several(f"scipy.fft.{name}, argument s", s)
    if axes is None:
        axes = range(ndim) if lengths is None else range(-len(lengths), 0)
    where = f"scipy.fft.{name}, argument axes"
    places = canonical_axes(where, _several(where, axes), ndim)
    if lengths is None:
        lengths = tuple([x.aval.shape[place] for place in places])
    if len(lengths) != len(places):
        raise ValueError(
            message(
                f"scipy.fft.{name}, argument s",
                given=f"{len(lengths)} lengths for {len(places)} axes",
                expected="a length for each axis",
                fix="Give s and axes as many numbers.",
            )
        )
    return _transformed(name, transform, x, lengths, places, norm)


def _several(where: str, numbers: Any) -> tuple[int, ...]:
    return integer_tuple(where, numbers if np.iterable(numbers) else (numbers,))


def _operand(name: str, x: Any, type: Any, norm: Any) -> Any:
    """`x` as an array of at least 32 bits per real number, once the options are checked."""
    if type != 2:
        raise NotImplementedError(
            message(
                f"scipy.fft.{name}, argument type",
                given=f"{type!r}",
                expected="2",
                fix="Leave it out: this is the transform that is usually meant.",
            )
        )
    if norm not in (None, "backward", "ortho"):
        raise ValueError(
            message(
                f"scipy.fft.{name}, argument norm",
                given=f"{norm!r}",
                expected="'backward', 'ortho' or None",
                fix="Leave it out, and scale the result.",
            )
        )
    x = as_array(f"scipy.fft.{name}", x)
    dtype, _ = dtypes.to_inexact(x.aval.dtype)
    return convert(x, dtypes.canonicalize(np.promote_types(dtype, np.float32)))


def _transformed(
    name: str,
    transform: Any,
    x: Any,
    lengths: Sequence[int],
    axes: Sequence[int],
    norm: str | None,
) -> Any:
    if dtypes.issubdtype(x.aval.dtype, np.complexfloating):
        parts = [
            _transformed(name, transform, part, lengths, axes, norm)
            for part in (lax.real(x), lax.imag(x))
        ]
        return lax.complex(*parts)
    for length, axis in zip(lengths, axes, strict=True):
        if length < 1:
            raise ShapeError(
                message(
                    f"scipy.fft.{name}, length of the transform",
                    given=f"{length}",
                    expected="a positive length",
                    fix="Transform axes that are not empty.",
                )
            )
        change = length - x.aval.shape[axis]
        if change:
            padding = [(0, change if i == axis else 0, 0) for i in range(x.aval.ndim)]
            x = lax.pad(x, x.aval.dtype.type(0), padding)
        last = x.aval.ndim - 1
        x = moved_axis(transform(moved_axis(x, axis, last), length, norm), last, axis)
    return x


def _cosines(x: Any, n: int, norm: str | None) -> Any:
    """The transform along the last axis, of length n, of real numbers."""
    axis = x.aval.ndim - 1
    odd = lax.rev(lax.slice_in_dim(x, min(1, n - 1), None, 2, axis), (axis,))
    even = lax.slice_in_dim(x, 0, None, 2, axis)
    ordered = lax.concatenate([even, odd], axis) if n > 1 else x
    pairs = lax.mul(fft(ordered, "RFFT", (n,)), _turns(x, n, -1))
    first = lax.mul(lax.real(pairs), x.aval.dtype.type(2))
    second = lax.mul(lax.imag(pairs), x.aval.dtype.type(-2))
    second = lax.rev(lax.slice_in_dim(second, 1, (n + 1) // 2, 1, axis), (axis,))
    return _scaled(lax.concatenate([first, second], axis), n, norm, 1)


def _from_cosines(x: Any, n: int, norm: str | None) -> Any:
    """The inverse of `_cosines`."""
    axis = x.aval.ndim - 1
    x = _scaled(x, n, norm, -1)
    first = lax.slice_in_dim(x, 0, n // 2 + 1, 1, axis)
    # There is no frequency n: as the partner of 0 it counts as 0.
    partners = lax.rev(lax.slice_in_dim(x, n - n // 2, n, 1, axis), (axis,))
    second = lax.pad(partners, x.aval.dtype.type(0), [(0, 0, 0)] * axis + [(1, 0, 0)])
    pairs = lax.complex(first, lax.neg(second))
    half = pairs.aval.dtype.type(0.5)
    ordered = fft(lax.mul(pairs, lax.mul(_turns(x, n, 1), half)), "IRFFT", (n,))
    return _interleaved(ordered, n, axis)


def _interleaved(ordered: Any, n: int, axis: int) -> Any:
    """The first half of an axis at even places, the second at odd places in reverse."""
    if n == 1:
        return ordered
    middle, zero = (n + 1) // 2, ordered.aval.dtype.type(0)
    even = lax.slice_in_dim(ordered, 0, middle, 1, axis)
    odd = lax.rev(lax.slice_in_dim(ordered, middle, n, 1, axis), (axis,))
    others = [(0, 0, 0)] * axis
    spread = lax.pad(even, zero, [*others, (0, 1 - n % 2, 1)])
    return lax.add(spread, lax.pad(odd, zero, [*others, (1, n % 2, 1)]))


def _turns(x: Any, n: int, sign: int) -> Any:
    """exp(± πik / 2n) for k ≤ n/2, of the complex dtype to `x`, along its last axis."""
    dtype = np.result_type(x.aval.dtype, np.complex64)
    angles = np.arange(n // 2 + 1) * (np.pi / (2 * n))
    shape = (*x.aval.shape[:-1], n // 2 + 1)
    return lax.broadcast_in_dim(np.exp(sign * 1j * angles).astype(dtype), shape, (len(shape) - 1,))


def _scaled(x: Any, n: int, norm: str | None, power: int) -> Any:
    """Frequencies times what `norm` asks for, or divided by it."""
    if norm != "ortho":
        return x
    factors = np.full(n, (2 * n) ** -0.5)
    factors[0] = (4 * n) ** -0.5
    shape = x.aval.shape
    row = (factors**power).astype(x.aval.dtype)
    return lax.mul(x, lax.broadcast_in_dim(row, shape, (len(shape) - 1,)))
