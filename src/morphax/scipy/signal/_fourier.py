"""The short-time Fourier transform, and its inverse by weighted overlap and addition.

The transform of a segment is divided by the sum of the window.  The inverse multiplies segments by
the window once more, adds them up where they overlap, and divides by what the squares of the
windows add up to: of all signals it returns the one whose transform is nearest in least squares.

Reference: D. Griffin, J. Lim, "Signal estimation from modified short-time Fourier transform", IEEE
Transactions on Acoustics, Speech, and Signal Processing 32 (1984).
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...core import Tracer
from ...errors import ShapeError
from ...lax.elementwise.convert import convert
from ...lax.ground.axes import canonical_axis
from ...lax.ground.linear_structure import moved_axis
from ...numpy.operands import as_array
from ...util.messages import message
from ._segments import (
    Segments,
    checked_segments,
    detrending,
    frequencies,
    one_sided,
    overlap_added,
    positive,
    real_type,
    segments_of,
    signals,
    spectra,
)

_BOUNDARIES = ("even", "odd", "constant", "zeros", None)
# Places whose windows add up to less keep the sum as it stands, as in SciPy.
_LEAST_WEIGHT = 1e-10


def stft(
    x: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int | None = 256,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = False,
    return_onesided: bool = True,
    boundary: Any = "zeros",
    padded: bool = True,
    axis: int = -1,
) -> tuple[Any, Any, Any]:
    """Short-time Fourier transforms: ``Z[k, s] = Σₙ w[n] x[n + s h] exp(−2πi kn / m) / Σ w``.

    Args:
        x: signals (..., n, ...), float32 or float64 or complex; integers become floating.
        fs: samples per unit of time.
        window, nperseg, noverlap, nfft, detrend, return_onesided: see `csd`; h is
            ``nperseg - noverlap``.
        boundary: how signals go on for half a segment at both ends: ``"zeros"``; ``"constant"``,
            ``"even"`` and ``"odd"`` with the last sample, or a reflection in it; `None` if they do
            not.
        padded: whether zeros fill the last segment; otherwise what does not fill one is left out.
        axis: the axis of the samples.

    Returns:
        `(f, t, Z)`: frequencies (m,), times (s,) of the middles of segments, and transforms (...,
        m, ..., s), with frequencies in place of the samples and segments along the last axis.

    Raises:
        ValueError: if an option is none of the above, or shapes do not suit.
        ZeroDivisionError: if `fs` is 0.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> f, t, Z = jax.scipy.signal.stft(jnp.ones(8), nperseg=4)
        >>> abs(Z[0])
        Array([0.75, 1.  , 1.  , 1.  , 0.25], dtype=float32)
    """
    (x,) = signals("stft", x)
    trend = detrending("stft", detrend)
    if boundary not in _BOUNDARIES:
        raise ValueError(
            message(
                "scipy.signal.stft, argument boundary",
                given=f"{boundary!r}",
                expected=" or ".join(map(repr, _BOUNDARIES)),
                fix="Leave it out for zeros.",
            )
        )
    place = canonical_axis("scipy.signal.stft, argument axis", axis, x.aval.ndim)
    x = moved_axis(x, place, x.aval.ndim - 1)
    samples = x.aval.shape[-1]
    half = one_sided("stft", return_onesided, x)
    if not x.aval.size:
        empty = jnp.zeros(x.aval.shape, real_type(x))
        return empty, empty, convert(empty, np.result_type(empty.aval.dtype, np.complex64))
    cut = segments_of("stft", window, nperseg, noverlap, nfft, samples, real_type(x))
    x = _extended(x, cut, boundary, padded)
    found = spectra(x, cut, trend, half) / jnp.sum(cut.window)
    first = 0 if boundary is not None else cut.size / 2
    times = (cut.starts(x.aval.shape[-1]) + first) / fs
    # Now (..., segments, frequencies): segments go last, frequencies to the place of the samples.
    found = jnp.moveaxis(found, (-2, -1), (-1, place))
    places = frequencies(cut.transform, fs, half, real_type(x))
    return places, jnp.asarray(times, real_type(x)), found


def istft(
    Zxx: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    input_onesided: bool = True,
    boundary: bool = True,
    time_axis: int = -1,
    freq_axis: int = -2,
) -> tuple[Any, Any]:
    """Signals from their short-time Fourier transforms: the inverse of `stft`.

    Args:
        Zxx: transforms, as `stft` returns them.
        fs, window, noverlap: as for `stft`.
        nperseg: samples of a segment, by default what the number of frequencies says; for an odd
            length, and for segments that were padded with zeros, it has to be given.
        nfft: length of the transforms.
        input_onesided: whether there are the frequencies of a real signal.
        boundary: whether the signal was extended by half a segment at both ends, which is cut off.
        time_axis: the axis of segments.
        freq_axis: the axis of frequencies.

    Returns:
        `(t, x)`: times (n,) and signals (..., n), real if `input_onesided`.

    Raises:
        ValueError: if an option or a shape does not suit.

    Warns:
        UserWarning: if there are samples that no segment tells, for the window is 0 there.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> f, t, Z = jax.scipy.signal.stft(jnp.array([1.0, 2.0, 4.0, 3.0]), nperseg=4)
        >>> jax.scipy.signal.istft(Z)[1].round(4)
        Array([1., 2., 4., 3.], dtype=float32)
    """
    (z,) = signals("istft", Zxx)
    z = _times_then_frequencies(z, time_axis, freq_axis)
    count, frequency_count = z.aval.shape[-2:]
    natural = 2 * (frequency_count - 1) if input_onesided else frequency_count
    size = natural if nperseg is None else positive("istft", "nperseg", nperseg)
    if nfft is None:
        # n/2 + 1 frequencies belong to an even length, and to the odd one above it.
        nfft = size if input_onesided and size == natural + 1 else natural
    if not isinstance(window, (str, tuple)):
        window = jnp.asarray(window)
        _check_window(window, size)
    cut = checked_segments("istft", window, size, noverlap, nfft, real_type(z))
    back = jnp.fft.irfft if input_onesided else jnp.fft.ifft
    pieces = back(z, cut.transform)[..., :size] * (cut.window * jnp.sum(cut.window))
    x = overlap_added(pieces, cut.step)
    windows = jnp.broadcast_to(lax.square(cut.window), (count, size))
    weights = overlap_added(windows, cut.step)
    if boundary:
        kept = slice(size // 2, x.aval.shape[-1] - size // 2)
        x, weights = x[..., kept], weights[kept]
    _warn_of_gaps(weights)
    x = x / jnp.where(weights > _LEAST_WEIGHT, weights, 1)
    times = np.arange(x.aval.shape[-1]) / fs
    return jnp.asarray(times, real_type(z)), x


def _extended(x: Any, cut: Segments, boundary: str | None, padded: bool) -> Any:
    """Signals along the last axis, with what goes before and behind them."""
    samples = x.aval.shape[-1]
    axes = [(0, 0)] * (x.aval.ndim - 1)
    if boundary is not None:
        way = {
            "zeros": {"mode": "constant"},
            "constant": {"mode": "edge"},
            "even": {"mode": "reflect"},
            "odd": {"mode": "reflect", "reflect_type": "odd"},
        }[boundary]
        x = jnp.pad(x, [*axes, (cut.size // 2, cut.size // 2)], **way)
        samples += 2 * (cut.size // 2)
    missing = -(samples - cut.size) % cut.step % cut.size if padded else 0
    return jnp.pad(x, [*axes, (0, missing)]) if missing else x


def _times_then_frequencies(z: Any, time_axis: int, freq_axis: int) -> Any:
    """Transforms (..., segments, frequencies)."""
    z = as_array("scipy.signal.istft", z)
    if z.aval.ndim < 2:
        raise ShapeError(
            message(
                "scipy.signal.istft, argument Zxx",
                given=f"{z.aval}",
                expected="an axis of frequencies and one of segments",
                fix="Pass the last result of stft.",
            )
        )
    times = canonical_axis("scipy.signal.istft, argument time_axis", time_axis, z.aval.ndim)
    others = canonical_axis("scipy.signal.istft, argument freq_axis", freq_axis, z.aval.ndim)
    if times == others or not z.aval.shape[times] or not z.aval.shape[others]:
        raise ShapeError(
            message(
                "scipy.signal.istft, arguments time_axis and freq_axis",
                given=f"axes {times} and {others} of {z.aval}",
                expected="two different axes, not empty",
                fix="Leave them out for the last result of stft.",
            )
        )
    return jnp.moveaxis(z, (times, others), (-2, -1))


def _check_window(window: Any, size: int) -> None:
    if window.aval.shape != (size,):
        raise ShapeError(
            message(
                "scipy.signal.istft, argument window",
                given=f"an array of shape {window.aval.shape}",
                expected=f"a vector of {size} numbers, as segments are that long",
                fix="Pass the window, nperseg and nfft that stft was given.",
            )
        )


def _warn_of_gaps(weights: Any) -> None:
    """Tell of samples that no segment tells, if the window is known."""
    if isinstance(weights, Tracer):
        return
    if not (np.asarray(weights) > _LEAST_WEIGHT).all():
        warnings.warn(
            "scipy.signal.istft: the windows do not cover all samples; those are no part of the "
            "signal that was transformed. Let segments overlap more (noverlap).",
            UserWarning,
            stacklevel=3,
        )
