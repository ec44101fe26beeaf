"""Transforms along any axes, of any lengths, with any normalization.

Along an axis of length n, with ω = exp(−2πi/n), the forward transforms (`fft`, `rfft`, `hfft` …)
are ``y[k] = Σⱼ a[j] ωʲᵏ`` and the others their inverses.  `norm` says where the factor 1/n stands:

- ``"backward"`` (also `None`): at the inverse;
- ``"forward"``: at the forward transform;
- ``"ortho"``: one of 1/√n at each, which makes them unitary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ... import lax
from ...engines.reference.replay import replayed
from ...lax.fourier.fft import FftType
from ...lax.ground.axes import integer_tuple
from ...util.messages import message
from ..complex_numbers import conj
from ..operands import as_array
from .along_axes import along_axes, along_axis, check_norm

_FFT, _IFFT, _RFFT, _IRFFT = FftType
_REVERSED: Final = {"backward": "forward", None: "forward", "forward": "backward"}
_LAST_TWO: Final = (-2, -1)


@replayed(1)
def fft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The discrete Fourier transform along an axis: ``y[k] = Σⱼ a[j] exp(−2πi jk / n)``.

    Args:
        a: array (..., m, ...), real or complex.
        n: the length of the result; the axis is cropped, or padded with zeros at its end.
        axis: the axis.
        norm: ``"backward"`` (the default) for the sum as it stands, ``"ortho"`` for 1/√n times it,
            ``"forward"`` for 1/n times it.

    Returns:
        Array (..., n, ...), complex64 or complex128.

    Raises:
        TypeError: if `n` or `axis` is no integer.
        ValueError: if there is no such axis or norm, or `n` is not positive.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.fft.fft(jnp.array([1.0, 0.0, 2.0, 0.0]))
        Array([ 3.+0.j, -1.+0.j,  3.+0.j, -1.+0.j], dtype=complex64)
    """
    return along_axis("fft", _FFT, a, n, axis, norm)


@replayed(1)
def ifft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse of `fft`: ``x[j] = 1/n Σₖ a[k] exp(2πi jk / n)``; see there for the arguments.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.fft.ifft(jnp.array([4.0, 0.0, 0.0, 0.0])).real
        Array([1., 1., 1., 1.], dtype=float32)
    """
    return along_axis("ifft", _IFFT, a, n, axis, norm)


@replayed(1)
def rfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The Fourier transform of a real signal: the frequencies k ≤ n/2 of `fft`.

    The others are their conjugates: y[n − k] is that of y[k].

    Args:
        a: array (..., m, ...), float32 or float64; integers become floating.
        n, axis, norm: see `fft`.

    Returns:
        Array (..., n // 2 + 1, ...), complex64 or complex128.

    Raises:
        ValueError: if `a` is complex, of a short float or empty; and as `fft`.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.fft.rfft(jnp.array([1.0, 0.0, 2.0, 0.0]))
        Array([ 3.+0.j, -1.+0.j,  3.+0.j], dtype=complex64)
    """
    return along_axis("rfft", _RFFT, a, n, axis, norm)


@replayed(1)
def irfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse of `rfft`: the real signal with the frequencies `a`.

    The imaginary parts of a[0] and, if n is even, of a[n/2] are ignored, for a real signal has
    none there.

    Args:
        a: array (..., m, ...), real or complex.
        n: the length of the result, by default the even one, 2 (m − 1).
        axis, norm: see `fft`.

    Returns:
        Array (..., n, ...), float32 or float64.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.fft.irfft(jnp.fft.rfft(jnp.array([1.0, 0.0, 2.0])), 3).round(6)
        Array([1., 0., 2.], dtype=float32)
    """
    return along_axis("irfft", _IRFFT, a, n, axis, norm)


@replayed(1)
def hfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The Fourier transform of a signal with a[n − j] = conj a[j], which is real.

    Args:
        a: array (..., m, ...): the first half of the signal.
        n, axis, norm: see `irfft`.

    Returns:
        Array (..., n, ...), float32 or float64.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.fft.hfft(jnp.array([1.0, 2.0j, 3.0]))
        Array([ 4.,  2.,  4., -6.], dtype=float32)
    """
    reflected = conj(as_array("fft.hfft", a))
    return along_axis("hfft", _IRFFT, reflected, n, axis, _back("hfft", norm))


@replayed(1)
def ihfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse of `hfft`: the first half of the signal with the real spectrum `a`.

    Args:
        a: array (..., m, ...), float32 or float64; integers become floating.
        n, axis, norm: see `fft`.

    Returns:
        Array (..., n // 2 + 1, ...), complex64 or complex128.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.fft.ihfft(jnp.array([1.0, 1.0, 1.0, 1.0])).real
        Array([1., 0., 0.], dtype=float32)
    """
    return lax.conj(along_axis("ihfft", _RFFT, a, n, axis, _back("ihfft", norm)))


@replayed(1)
def fftn(
    a: Any,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Any:
    """The discrete Fourier transform along several axes.

    Args:
        a: array, real or complex.
        s: the lengths of the axes in the result; each is cropped or padded with zeros.
        axes: the axes, all different; by default the last of them if `s` is given, otherwise all.
        norm: see `fft`; n is the product of the lengths.

    Returns:
        Array, complex64 or complex128; of no axes, `a` itself.

    Raises:
        TypeError: if `s` or `axes` are no sequences of integers.
        ValueError: if an axis is missing or named twice, a length is not positive, there are more
            or fewer lengths than axes, or there is no such norm.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.fft.fftn(jnp.eye(2))
        Array([[2.+0.j, 0.+0.j],
               [0.+0.j, 2.+0.j]], dtype=complex64)
    """
    return along_axes("fftn", _FFT, a, s, axes, norm)


@replayed(1)
def ifftn(
    a: Any,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Any:
    """The inverse of `fftn`; see there for the arguments.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.fft.ifftn(jnp.fft.fftn(jnp.array([[1.0, 2.0], [3.0, 4.0]]))).real.round(5)
        Array([[1., 2.],
               [3., 4.]], dtype=float32)
    """
    return along_axes("ifftn", _IFFT, a, s, axes, norm)


@replayed(1)
def rfftn(
    a: Any,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Any:
    """`rfft` along the last of the axes, then `fft` along the others; see `fftn` and `rfft`.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.fft.rfftn(jnp.ones((2, 2, 4)))[0, 0, 0]
        Array(16.+0.j, dtype=complex64)
    """
    return along_axes("rfftn", _RFFT, a, s, axes, norm)


@replayed(1)
def irfftn(
    a: Any,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Any:
    """The inverse of `rfftn`; its last length is by default the even one, see `irfft`.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.fft.irfftn(jnp.fft.rfftn(jnp.array([1.0, 2.0, 3.0])), s=(3,)).round(5)
        Array([1., 2., 3.], dtype=float32)
    """
    return along_axes("irfftn", _IRFFT, a, s, axes, norm)


@replayed(1)
def fft2(
    a: Any,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = _LAST_TWO,
    norm: str | None = None,
) -> Any:
    """`fftn` along two axes, by default the last two; see there for the arguments.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.fft.fft2(jnp.ones((2, 2))).real
        Array([[4., 0.],
               [0., 0.]], dtype=float32)
    """
    return along_axes("fft2", _FFT, a, s, _two("fft2", axes), norm)


@replayed(1)
def ifft2(
    a: Any,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = _LAST_TWO,
    norm: str | None = None,
) -> Any:
    """`ifftn` along two axes, by default the last two; see `fftn` for the arguments.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.fft.ifft2(jnp.array([[4.0, 0.0], [0.0, 0.0]])).real
        Array([[1., 1.],
               [1., 1.]], dtype=float32)
    """
    return along_axes("ifft2", _IFFT, a, s, _two("ifft2", axes), norm)


@replayed(1)
def rfft2(
    a: Any,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = _LAST_TWO,
    norm: str | None = None,
) -> Any:
    """`rfftn` along two axes, by default the last two; see `fftn` for the arguments.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.fft.rfft2(jnp.ones((2, 4))).shape
        (2, 3)
    """
    return along_axes("rfft2", _RFFT, a, s, _two("rfft2", axes), norm)


@replayed(1)
def irfft2(
    a: Any,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = _LAST_TWO,
    norm: str | None = None,
) -> Any:
    """`irfftn` along two axes, by default the last two; see `fftn` for the arguments.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.fft.irfft2(jnp.fft.rfft2(jnp.array([[1.0, 2.0], [3.0, 4.0]]))).round(5)
        Array([[1., 2.],
               [3., 4.]], dtype=float32)
    """
    return along_axes("irfft2", _IRFFT, a, s, _two("irfft2", axes), norm)


def _back(name: str, norm: str | None) -> str | None:
    """The norm with which the inverse scales as the transform does with `norm`."""
    check_norm(name, norm)
    return _REVERSED.get(norm, norm)


def _two(name: str, axes: Any) -> tuple[int, ...]:
    named = integer_tuple(f"jnp.fft.{name}, argument axes", axes)
    if len(named) == 2:
        return named
    raise ValueError(
        message(
            f"jnp.fft.{name}, argument axes",
            given=f"{named}",
            expected="two axes",
            fix=f"Use jnp.fft.{name[:-1]}n for any number of axes.",
        )
    )
